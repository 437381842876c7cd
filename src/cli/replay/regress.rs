use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, anyhow, bail};
use clap::Args;
use mitmcraft::proxy::{ConnectError, EngineRunner, LogWriter, ReplayClient};
use mitmcraft::proxy::{Stop, UpstreamName};
use mitmcraft_engine::regress::{Behaviour, Freedom, Normalisation, Regression, Run};
use mitmcraft_engine::replay::{ClientOptions, Pace, Tally};

use super::client::{Outcomes, check_room};
use super::play::PlayArguments;
use crate::cli::exit::Done;
use crate::cli::output::Output;
use crate::cli::plural::count;
use crate::cli::report::ReportOutput;
use crate::cli::run::{connect, logged, look_up, stop_on_signals};

/// Report how another build of a server behaves differently
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  mitmcraft regress baseline.jsonl localhost:25565
  mitmcraft regress baseline.jsonl localhost --calibrate 3 > normal.toml
  mitmcraft regress baseline.jsonl localhost --normalise normal.toml --json

`-`: missing, `+`: new, `~`: changed, `>`: at another place, `!`: too late. See \
`mitmcraft help regress-guide`.

Exit code: 0 if the server behaves as recorded, 1 if not, 2 on an error.")]
pub(crate) struct Arguments {
    #[command(flatten)]
    play: PlayArguments,

    /// The server: `host[:port]` or `[ipv6]:port`
    upstream: UpstreamName,

    /// The player's name [default: as recorded]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,

    /// Play N times against the recorded build, and print a file of what differs, for `--normalise`
    #[arg(long, value_name = "N", conflicts_with = "json")]
    calibrate: Option<u32>,

    /// Also ignore the differences that a file lists (repeatable)
    #[arg(long, value_name = "FILE")]
    normalise: Vec<PathBuf>,

    /// Also ignore a packet (`entity_*`) or a field (`map_chunk.x`) (repeatable)
    #[arg(long, value_name = "PATH|PACKET")]
    ignore: Vec<String>,

    /// Also write the result as XML, in the format of JUnit
    #[arg(long, value_name = "FILE", conflicts_with = "calibrate")]
    junit: Option<PathBuf>,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(arguments: &Arguments, output: &Output) -> anyhow::Result<Done> {
    if arguments.play.from.is_some() {
        bail!("`--from` cannot be used here: the recording is played from its beginning");
    }
    if arguments.calibrate == Some(0) {
        bail!("`--calibrate 0`: expected at least 1");
    }
    if let Some(path) = &arguments.junit {
        arguments.play.captures.files.overwrite.check(path)?;
    }
    let mut normalisation = normalisation(arguments)?;
    let recording = Arc::new(arguments.play.recording(output)?);
    let name = PlayArguments::player(arguments.name.as_ref(), &recording)?;
    let upstream = look_up(&arguments.upstream).await?;
    let mut options = ClientOptions::new(Arc::clone(&recording));
    options.play = arguments.play.options(Pace::FAITHFUL)?;
    let planned = arguments.play.plan(output)?;
    let connection = connect(&upstream).await?;
    let mut sinks = planned.create()?;
    let mut regression = Regression::new(&recording, None, arguments.play.to);
    regression.set_room(arguments.play.memory.bytes());
    let (tally, stop) = (Tally::default(), Stop::new());
    let (outcome, mut outcomes) = Outcomes::of(Some(regression), &stop);
    sinks.push(outcome);
    let (log, writer) =
        LogWriter::start(sinks, arguments.play.log(output)).context("cannot start the log")?;
    stop_on_signals(&stop, output)?;
    let runner = EngineRunner::new(log.clone());
    let client = ReplayClient::new(upstream.clone(), options, runner, tally.clone());
    let rounds = arguments.calibrate.unwrap_or(1);
    let (stopping, says) = (stop.clone(), *output);
    let is_calibration = arguments.calibrate.is_some();
    let running = async move {
        let say = |round: u32| {
            if is_calibration {
                says.note(&format!("played {round} of {rounds}"));
            }
        };
        client.play_over(connection, &name, &stopping).await;
        say(1);
        for round in 2..=rounds {
            tokio::time::sleep(PAUSE).await;
            client.play(&name, &stopping).await?;
            say(round);
        }
        Ok::<(), ConnectError>(())
    };
    let (played, recorded) = logged(running, &stop, log, writer, output).await?;
    played.map_err(|fault| anyhow!("cannot reach {upstream}: {fault}"))?;
    let outcomes = outcomes.try_recv().context("the log was not completed")?;
    let mut regression = outcomes.regression.context("nothing was compared")?;
    check_room(&regression)?;
    let (runs, baseline) = (regression.take(), &regression.baseline);
    if tally.counts().finished < u64::from(rounds) {
        for reason in outcomes.reasons.keys() {
            output.note(reason);
        }
        output.warning("the recording was not played to its end");
    }
    if arguments.calibrate.is_some() {
        let all: Vec<&Behaviour> =
            std::iter::once(baseline).chain(runs.iter().map(|run| &run.behaviour)).collect();
        let compare = |normalisation: &Normalisation| {
            let first = runs.first().context("the server did not let the client in")?;
            anyhow::Ok(baseline.compare(&first.behaviour, normalisation))
        };
        let before = compare(&normalisation)?;
        let differ = before.deviations.len();
        let pairs = runs.iter().enumerate().flat_map(|(place, run)| {
            runs[place + 1..].iter().map(move |other| (&run.behaviour, &other.behaviour))
        });
        let deviations =
            pairs.map(|(one, other)| one.compare(other, &normalisation).deviations.len());
        // A busy world differs much between any two runs.
        let noise = deviations.max().unwrap_or(0);
        if differ as u64 * 2 > before.compared && differ > noise * 2 {
            bail!(
                "{upstream} does not behave like the recorded server: {differ} deviations in {} compared. Calibrate \
                 with the server from which the recording was made, unchanged",
                count(before.compared, "packet")
            );
        }
        normalisation.calibrate(&all);
        let left = compare(&normalisation)?.compared;
        output.note(&format!("{} of {} will be compared", left, count(before.compared, "packet")));
        let title =
            format!("# What differs between {} of {upstream}.", count(rounds.into(), "run"));
        output.lines(format!("{title}\n{}", normalisation.toml()).trim_end())?;
        return Ok(recorded);
    }
    Ok(recorded.and(report(arguments, baseline, &runs, &normalisation, output)?))
}

/// Prints how the server deviates.
fn report(
    arguments: &Arguments,
    baseline: &Behaviour,
    runs: &[Run],
    normalisation: &Normalisation,
    output: &Output,
) -> anyhow::Result<Done> {
    let run = runs.first().context("the server did not let the client in")?;
    let comparison = baseline.compare(&run.behaviour, normalisation);
    let overwrite = arguments.play.captures.files.overwrite;
    let report = ReportOutput::create(arguments.junit.as_deref(), arguments.json, overwrite)?;
    let done = report.print(&comparison, true, output)?;
    if !arguments.json {
        let [compared, deviations] = [comparison.compared, comparison.deviations.len() as u64];
        let deviations = count(deviations, "deviation");
        output.note(&format!("{} compared, {deviations}", count(compared, "packet")));
    }
    Ok(done)
}

fn normalisation(arguments: &Arguments) -> anyhow::Result<Normalisation> {
    let mut normalisation = Normalisation::default();
    for path in &arguments.normalise {
        let text = std::fs::read_to_string(path)
            .with_context(|| format!("cannot read `{}`", path.display()))?;
        normalisation.read(&text).with_context(|| format!("`{}`", path.display()))?;
    }
    for rule in &arguments.ignore {
        normalisation.add(Freedom::Ignore, rule).context("`--ignore`")?;
    }
    Ok(normalisation)
}

/// Between two runs.
const PAUSE: Duration = Duration::from_millis(250);
