use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::Context as _;
use clap::Args;
use mitmcraft::proxy::{EngineRunner, LogWriter, Stop, serve_replay};
use mitmcraft_engine::replay::{Extra, Pace, Recording, ServerOptions, Tally};

use super::live_filters::FilterArguments;
use super::play::PlayArguments;
use super::progress::{Progress, summary};
use crate::cli::args::{Choice, listen_address, one_of};
use crate::cli::exit::Done;
use crate::cli::listen::bind;
use crate::cli::output::Output;
use crate::cli::plural::count;
use crate::cli::run::{logged, stop_on_signals};

/// Act as the recorded server: clients that connect see the recorded session
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  mitmcraft replay server session.jsonl
  mitmcraft replay server session.pcapng -l 0.0.0.0:25566 --speed 2 --hold
  mitmcraft replay server session.jsonl --from @100 --to @400 --loop
  mitmcraft replay server session.jsonl --pace lockstep --extra log -v
  mitmcraft replay server session.jsonl --script greet.lua

Clients log in with their own names, and must have the recorded version. With `--from`, they \
first receive the state at that point: the world, entities, the inventory.")]
pub(crate) struct Arguments {
    #[command(flatten)]
    play: PlayArguments,

    /// Address to listen on, or a port of this machine; port 0 picks a free one
    #[arg(
        short,
        long,
        value_name = "ADDR",
        default_value = "127.0.0.1:25566",
        value_parser = listen_address
    )]
    listen: SocketAddr,

    /// When packets are sent
    #[arg(long, value_name = "WHEN", default_value = "recorded", value_parser = one_of(PACES))]
    pace: Pace,

    /// Compress packets of at least this size; -1 does not compress [default: as recorded]
    #[arg(long, value_name = "BYTES", allow_hyphen_values = true)]
    threshold: Option<i64>,

    /// Encrypt the connection, without verifying the client
    #[arg(long)]
    encrypt: bool,

    /// Start again when the recording ends
    #[arg(long = "loop")]
    repeat: bool,

    /// Keep clients in the game when the recording ends
    #[arg(long, conflicts_with = "repeat")]
    hold: bool,

    /// Reaction to packets that are not in the recording
    #[arg(long, value_name = "ACTION", default_value = "ignore", value_parser = one_of(EXTRAS))]
    extra: Extra,

    /// Maximum number of concurrent clients; further clients are refused
    #[arg(long, value_name = "N", default_value_t = 1000)]
    max_sessions: usize,

    #[command(flatten)]
    filters: FilterArguments,
}

/// When packets are sent.
const PACES: &[Choice<Pace>] = &[
    ("recorded", "At the recorded times, whatever the client does", Pace::RECORDED),
    (
        "lockstep",
        "As soon as the client has sent everything that precedes it in the recording",
        Pace::LOCKSTEP,
    ),
    ("asap", "At once", Pace::ASAP),
];

/// The actions taken on packets that are not in the recording.
const EXTRAS: &[Choice<Extra>] = &[
    ("ignore", "Ignore them", Extra::Ignore),
    ("log", "Show and record them with a comment", Extra::Log),
    ("close", "Disconnect the client", Extra::Close),
];

pub(crate) async fn run(mut arguments: Arguments, output: &Output) -> anyhow::Result<Done> {
    let recording = Arc::new(arguments.play.recording(output)?);
    let options = options(&arguments, &recording)?;
    let filters = std::mem::take(&mut arguments.filters).check(&arguments.play, output)?;
    let planned = arguments.play.plan(output)?;
    let redaction = planned.captures.redaction.clone();
    let listener = bind(arguments.listen, arguments.max_sessions, "-l").await?;
    let address = listener.local_addr().context("cannot listen")?;
    let log_options = arguments.play.log(output);
    let notices = log_options.notices.clone();
    let mut sinks = planned.create()?;
    let mut filters = filters.start(&mut sinks, &redaction, output)?;
    let (log, writer) = LogWriter::start(sinks, log_options).context("cannot start the log")?;
    let (tally, stop) = (Tally::default(), Stop::new());
    let runner = EngineRunner::new(log.clone()).with_notices(notices);
    let runner = runner.with_pipelines(filters.pipelines());
    let serving = serve_replay(listener, options, runner, tally.clone(), &stop);
    let context = &recording.context;
    stop_on_signals(&stop, output)?;
    output.note(&format!(
        "listening on {address}, replaying session {} of {}: {}, {}, {}",
        context.session,
        arguments.play.capture.display(),
        context.game_version(),
        count(recording.len() as u64, "packet"),
        context
            .player
            .as_deref()
            .map_or_else(|| "no player".to_owned(), |name| format!("player {name}")),
    ));
    let progress = Progress::new(tally.clone(), recording.len(), output);
    let shown = arguments.play.shows_progress();
    let running = async {
        tokio::select! {
            () = serving => {}
            () = progress.show(), if shown => {}
            never = filters.failed() => match never {},
        }
    };
    let ended = logged(running, &stop, log, writer, output).await;
    progress.clear();
    output.note(&summary(&tally.counts()));
    let ((), recorded) = ended?;
    Ok(recorded.and(filters.report(&arguments.play, output)?))
}

/// Returns how the recording is played.
fn options(arguments: &Arguments, recording: &Arc<Recording>) -> anyhow::Result<ServerOptions> {
    let mut options = ServerOptions::new(Arc::clone(recording));
    options.play = arguments.play.options(arguments.pace)?;
    if let Some(threshold) = arguments.threshold {
        options.threshold = usize::try_from(threshold).ok();
    }
    options.encrypt = arguments.encrypt;
    options.repeat = arguments.repeat;
    options.hold = arguments.hold;
    options.extra = arguments.extra;
    options.catalog = arguments.play.protocols.catalog()?;
    options.memory = arguments.play.memory.budget();
    Ok(options)
}
