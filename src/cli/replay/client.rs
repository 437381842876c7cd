use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, bail};
use clap::Args;
use mitmcraft::proxy::{
    ConnectError, EngineRunner, LogWriter, NamedSink, ReplayClient, ServerConnection, Stop,
    UpstreamName,
};
use mitmcraft_engine::analysis::Ignore;
use mitmcraft_engine::capture::{Entry, EventKind, Sink};
use mitmcraft_engine::lang::amount::Period;
use mitmcraft_engine::regress::{Comparison, Normalisation, Regression, Run};
use mitmcraft_engine::replay::{ClientOptions, Pace, Recording, Tally};
use mitmcraft_engine::report::Report as _;
use mitmcraft_engine::text::{Escaped, Verbosity};
use tokio::sync::oneshot;
use tokio::task::JoinSet;

use super::live_filters::FilterArguments;
use super::play::PlayArguments;
use super::progress::{Progress, summary};
use crate::cli::args::{Choice, compile, one_of};
use crate::cli::exit::Done;
use crate::cli::output::Output;
use crate::cli::plural::count;
use crate::cli::report_sink::ReportSink;
use crate::cli::run::{connect, logged, look_up, stop_on_signals};

/// Act as the recorded client: send its packets to a server
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  mitmcraft replay client session.jsonl mc.example.org
  mitmcraft replay client session.pcapng localhost:25565 --name Steve --pace lockstep
  mitmcraft replay client session.jsonl localhost --clients 50 --stagger 0.2
  mitmcraft replay client session.jsonl localhost --expect --expect-where '*chat* or window_items'
  mitmcraft replay client session.jsonl localhost -f tests.toml --junit results.xml
  mitmcraft replay client session.jsonl localhost --script greet.lua

Each packet is sent after the server has sent the packets that precede it in the recording. \
Keep-alives, teleports and the like are answered with the values of this connection. The server \
must be in offline mode.

Exit code: 0 if everything was replayed (and answered as expected), else 1.")]
pub(crate) struct Arguments {
    #[command(flatten)]
    play: PlayArguments,

    /// The server: `host[:port]` or `[ipv6]:port`. Without a port, its SRV record is looked up, and
    /// 25565 is used if there is none
    upstream: UpstreamName,

    /// The player's name [default: as recorded]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,

    /// When packets are sent
    #[arg(long, value_name = "WHEN", default_value = "recorded", value_parser = one_of(PACES))]
    pace: Pace,

    /// Number of clients; numbers are appended to their names
    #[arg(long, value_name = "N", default_value_t = 1)]
    clients: usize,

    /// Time between the starts of two clients
    #[arg(long, value_name = "DURATION", requires = "clients", value_parser = Period::positive)]
    stagger: Option<Period>,

    /// Connect and play again when the recording ends
    #[arg(long = "loop")]
    repeat: bool,

    /// Stay in the game when the recording ends
    #[arg(long, conflicts_with = "repeat")]
    hold: bool,

    /// Compare the packets of the server with the recording, and print the differences
    #[arg(long, conflicts_with = "from")]
    expect: bool,

    /// Compare only packets that match
    #[arg(long, value_name = "EXPR", requires = "expect")]
    expect_where: Option<String>,

    /// Also ignore a packet (`entity_*`) or a field (`map_chunk.x`) (repeatable). By default,
    /// entity ids and everything that `mitmcraft diff --list-ignored` prints may differ
    #[arg(long, value_name = "PATH|PACKET", requires = "expect")]
    ignore: Vec<String>,

    /// Let nothing differ by default
    #[arg(long, requires = "expect")]
    ignore_nothing: bool,

    #[command(flatten)]
    filters: FilterArguments,
}

/// When packets are sent.
const PACES: &[Choice<Pace>] = &[
    (
        "recorded",
        "Once the server has sent everything that precedes it, and the recorded time has passed",
        Pace::FAITHFUL,
    ),
    ("lockstep", "As soon as the server has sent everything that precedes it", Pace::LOCKSTEP),
    ("asap", "At once", Pace::ASAP),
];

pub(crate) async fn run(mut arguments: Arguments, output: &Output) -> anyhow::Result<Done> {
    let recording = Arc::new(arguments.play.recording(output)?);
    let names = names(&arguments, &recording)?;
    let upstream = look_up(&arguments.upstream).await?;
    let mut options = ClientOptions::new(Arc::clone(&recording));
    options.play = arguments.play.options(arguments.pace)?;
    options.hold = arguments.hold;
    options.catalog = arguments.play.protocols.catalog()?;
    options.memory = arguments.play.memory.budget();
    let filters = std::mem::take(&mut arguments.filters).check(&arguments.play, output)?;
    let planned = arguments.play.plan(output)?;
    let redaction = planned.captures.redaction.clone();
    let stop = Stop::new();
    let (outcome, mut outcomes) = Outcomes::of(regression(&arguments, &recording, output)?, &stop);
    // Creating the captures truncates existing ones, so a server that cannot be reached comes first.
    let connection = connect(&upstream).await?;
    let mut sinks = planned.create()?;
    sinks.push(outcome);
    let mut filters = filters.start(&mut sinks, &redaction, output)?;
    let log_options = arguments.play.log(output);
    let notices = log_options.notices.clone();
    let (log, writer) = LogWriter::start(sinks, log_options).context("cannot start the log")?;
    let tally = Tally::default();
    let context = &recording.context;
    stop_on_signals(&stop, output)?;
    output.note(&format!(
        "replaying session {} of {} against {upstream}: {}, {}",
        context.session,
        arguments.play.capture.display(),
        context.game_version(),
        count(recording.len() as u64, "packet"),
    ));
    let number = names.len();
    let runner = EngineRunner::new(log.clone()).with_notices(notices);
    let runner = runner.with_pipelines(filters.pipelines());
    let client = ReplayClient::new(upstream.clone(), options, runner, tally.clone());
    let clients = Clients {
        client,
        connection,
        names,
        stagger: arguments.stagger.map_or(Duration::ZERO, |stagger| stagger.0),
        repeat: arguments.repeat,
    };
    let progress = Progress::new(tally.clone(), recording.len(), output);
    let shown = arguments.play.shows_progress();
    let running = async {
        tokio::select! {
            faults = clients.play(&stop) => faults,
            () = progress.show(), if shown => Vec::new(),
            never = filters.failed() => match never {},
        }
    };
    let ended = logged(running, &stop, log, writer, output).await;
    progress.clear();
    let counted = tally.counts();
    output.note(&summary(&counted));
    let (faults, mut done) = ended?;
    if let Ok(outcomes) = outcomes.try_recv() {
        for (reason, sessions) in &outcomes.reasons {
            output.note(&format!("{sessions} × {reason}"));
        }
        if let Some(mut regression) = outcomes.regression {
            check_room(&regression)?;
            let normalisation = normalisation(&arguments)?;
            done = done.and(compare(&mut regression, &normalisation, output)?);
        }
    }
    done = done.and(filters.report(&arguments.play, output)?);
    if let Some(fault) = faults.first() {
        bail!("{} of {number} clients cannot reach {upstream}: {fault}", faults.len());
    }
    // A loop ends within a round.
    let started = if arguments.repeat && stop.is_stopped() { 0 } else { counted.sessions };
    if counted.finished < started.max(number as u64) {
        output.warning("not every client played the recording to its end");
        done = Done::No;
    }
    Ok(done)
}

/// The clients of a replay.
struct Clients {
    client: ReplayClient,
    /// The connection of the first client.
    connection: ServerConnection,
    names: Vec<String>,
    /// Time between the starts of two clients.
    stagger: Duration,
    /// `true` if each client plays until it is stopped.
    repeat: bool,
}

impl Clients {
    /// Plays all clients, and returns why some could not connect.
    async fn play(self, stop: &Stop) -> Vec<ConnectError> {
        let Self { client, connection, names, stagger, repeat } = self;
        let mut connection = Some(connection);
        let mut tasks = JoinSet::new();
        for (number, name) in (0..).zip(names) {
            let (client, stop, connection) = (client.clone(), stop.clone(), connection.take());
            tasks.spawn(async move {
                tokio::select! {
                    () = tokio::time::sleep(stagger * number) => {}
                    () = stop.stopped() => return Ok(()),
                }
                match connection {
                    Some(connection) => client.play_over(connection, &name, &stop).await,
                    None => client.play(&name, &stop).await?,
                }
                while repeat && !stop.is_stopped() {
                    tokio::time::sleep(PAUSE).await;
                    client.play(&name, &stop).await?;
                }
                Ok(())
            });
        }
        // The log ends when its last handle is gone: from here on, only the tasks have one.
        drop(client);
        let mut faults = Vec::new();
        while let Some(joined) = tasks.join_next().await {
            if let Ok(Err(fault)) = joined {
                faults.push(fault);
            }
        }
        faults
    }
}

/// Returns the names of the players.
fn names(arguments: &Arguments, recording: &Recording) -> anyhow::Result<Vec<String>> {
    let name = PlayArguments::player(arguments.name.as_ref(), recording)?;
    if !(1..=NAME).contains(&name.chars().count()) {
        bail!("invalid player name `{name}`: expected 1 to {NAME} characters");
    }
    match arguments.clients {
        0 => bail!("`--clients 0`: expected at least 1"),
        1 => Ok(vec![name]),
        clients => Ok((1..=clients)
            .map(|number| {
                let number = number.to_string();
                let room = NAME.saturating_sub(number.len());
                let front: String = name.chars().take(room).collect();
                format!("{front}{number}")
            })
            .collect()),
    }
}

fn regression(
    arguments: &Arguments,
    recording: &Recording,
    output: &Output,
) -> anyhow::Result<Option<Regression>> {
    if !arguments.expect {
        return Ok(None);
    }
    // A rule that is invalid is reported before the server is asked.
    normalisation(arguments)?;
    let condition = arguments.expect_where.as_deref();
    let condition =
        compile(condition, "--expect-where", &arguments.play.protocols.catalog()?, output)?;
    let mut regression = Regression::new(recording, condition, arguments.play.to);
    regression.set_room(arguments.play.memory.bytes());
    Ok(Some(regression))
}

/// Fails if a server has sent more than could be kept for the comparison.
pub(super) fn check_room(regression: &Regression) -> anyhow::Result<()> {
    match regression.overflow() {
        Some(overflow) => {
            bail!("{overflow}: raise `--max-memory`, or compare less (`--to`, `--expect-where`)")
        }
        None => Ok(()),
    }
}

fn normalisation(arguments: &Arguments) -> anyhow::Result<Normalisation> {
    let mut ignore = if arguments.ignore_nothing { Ignore::nothing() } else { Ignore::default() };
    for rule in &arguments.ignore {
        ignore.add(rule).context("`--ignore`")?;
    }
    Ok(Normalisation::new(ignore))
}

/// Prints how the sessions differ from the recorded one.
fn compare(
    regression: &mut Regression,
    normalisation: &Normalisation,
    output: &Output,
) -> anyhow::Result<Done> {
    let (mut compared, mut differ) = (0, 0);
    for run in regression.take() {
        let comparison = regression.baseline.compare(&run.behaviour, normalisation);
        compared += comparison.compared;
        differ += comparison.deviations.len();
        if !comparison.deviations.is_empty() {
            output.lines(&describe(&run, &comparison, output))?;
        }
    }
    output.note(&format!("{} compared, {differ} differ", count(compared, "packet")));
    if compared == 0 {
        output.error("`--expect` has compared no packet");
    }
    Ok(if differ == 0 && compared > 0 { Done::Yes } else { Done::No })
}

/// Describes how a session differs.
fn describe(run: &Run, comparison: &Comparison, output: &Output) -> String {
    let mut text =
        format!("session {} ({}) differs from the recording:\n", run.session, Escaped(&run.player));
    let options = Output::line_options(Verbosity::Main, output.colors_stdout());
    comparison.write_text(&mut text, &options);
    text.truncate(text.trim_end().len());
    text
}

/// Collects how sessions end and what the server answers.
#[derive(Default)]
pub(super) struct Outcomes {
    /// How many sessions ended for each reason.
    pub(super) reasons: BTreeMap<String, u64>,
    /// The recorded answers, and those of each session; `None` if they are not compared.
    pub(super) regression: Option<Regression>,
    /// Stopped when a server has sent more than can be compared.
    stop: Stop,
}

impl Outcomes {
    /// Returns a sink of the log, and what receives the outcomes.
    pub(super) fn of(
        regression: Option<Regression>,
        stop: &Stop,
    ) -> (NamedSink, oneshot::Receiver<Self>) {
        let outcomes = Self { regression, stop: stop.clone(), ..Self::default() };
        let (sink, outcomes) = ReportSink::new(outcomes, std::mem::take);
        (sink.named("the summary"), outcomes)
    }
}

impl Sink for Outcomes {
    fn write(&mut self, entry: &Entry) -> io::Result<()> {
        if let Entry::Event(event) = entry
            && let EventKind::Close(summary) = &event.kind
        {
            *self.reasons.entry(summary.reason.clone()).or_default() += 1;
        }
        let Some(regression) = &mut self.regression else { return Ok(()) };
        regression.write(entry)?;
        if regression.overflow().is_some() && !self.stop.is_stopped() {
            self.stop.stop("the server has sent more than can be compared");
        }
        Ok(())
    }
}

/// Longest player name, in characters.
const NAME: usize = 16;

/// Between two rounds of `--loop`.
const PAUSE: Duration = Duration::from_millis(250);
