use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::Context as _;
use clap::{Args, ValueEnum};
use mitmcraft::codec::Limits;
use mitmcraft::proxy::{LogWriter, ReplayServer, Stop};
use mitmcraft::replay::{Extra, Pace, ServerOptions, Tally};
use mitmcraft::schema::Catalog;

use super::play::PlayArguments;
use super::progress::{Progress, summary};
use crate::cli::exit::Done;
use crate::cli::output::Output;
use crate::cli::run::{bind, logged};

/// Be the server of a capture: clients that connect see the recorded session
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  mitmcraft replay server session.jsonl
  mitmcraft replay server session.pcapng -l 0.0.0.0:25566 --speed 2 --hold
  mitmcraft replay server session.jsonl --from 60 --to 90 --loop
  mitmcraft replay server session.jsonl --pace lockstep --extra log -v

Clients log in with their own name, and must be of the recorded version. `--from` gives them at
once what they need from before: the world, entities, the inventory.")]
pub(crate) struct Arguments {
    #[command(flatten)]
    play: PlayArguments,

    /// Where clients connect; port 0 picks a free one
    #[arg(short, long, value_name = "ADDR", default_value = "127.0.0.1:25566")]
    listen: SocketAddr,

    /// When packets are sent: at the recorded times, as soon as the client has sent what preceded
    /// in the recording, or at once
    #[arg(long, value_enum, value_name = "WHEN", default_value_t = ServerPace::Recorded)]
    pace: ServerPace,

    /// Compress packets of so many bytes and more; -1: none; by default as recorded
    #[arg(long, value_name = "BYTES", allow_hyphen_values = true)]
    threshold: Option<i64>,

    /// Encrypt the connection, without asking a session server
    #[arg(long)]
    encrypt: bool,

    /// Begin again when the recording is over
    #[arg(long = "loop")]
    repeat: bool,

    /// Keep clients in the game when the recording is over
    #[arg(long, conflicts_with = "repeat")]
    hold: bool,

    /// What to do about packets that the recording has not
    #[arg(long, value_enum, value_name = "WHAT", default_value_t = ExtraPackets::Ignore)]
    extra: ExtraPackets,

    /// Clients at the same time; further ones wait
    #[arg(long, value_name = "N", default_value_t = 1000)]
    max_sessions: usize,
}

/// When packets are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ServerPace {
    /// At the recorded times, whatever the client does
    Recorded,
    /// As soon as the client has sent what preceded in the recording
    Lockstep,
    /// At once
    Asap,
}

/// What to do about packets that the recording has not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ExtraPackets {
    /// Nothing
    Ignore,
    /// Show and record them with a comment
    Log,
    /// Send the client away
    Close,
}

pub(crate) fn run(arguments: Arguments, output: &Output) -> anyhow::Result<Done> {
    let runtime = tokio::runtime::Runtime::new()?;
    runtime.block_on(serve(arguments, output))
}

async fn serve(arguments: Arguments, output: &Output) -> anyhow::Result<Done> {
    let recording = Arc::new(arguments.play.recording(output)?);
    let options = ServerOptions {
        play: arguments.play.options(match arguments.pace {
            ServerPace::Recorded => Pace::RECORDED,
            ServerPace::Lockstep => Pace::LOCKSTEP,
            ServerPace::Asap => Pace::ASAP,
        })?,
        threshold: match arguments.threshold {
            Some(threshold) => usize::try_from(threshold).ok(),
            None => recording.thresholds.client,
        },
        encrypt: arguments.encrypt,
        repeat: arguments.repeat,
        hold: arguments.hold,
        extra: match arguments.extra {
            ExtraPackets::Ignore => Extra::Ignore,
            ExtraPackets::Log => Extra::Log,
            ExtraPackets::Close => Extra::Close,
        },
        catalog: Catalog::embedded().clone(),
        limits: Limits::default(),
        recording: Arc::clone(&recording),
    };
    let planned = arguments.play.plan(output)?;
    let listener = bind(arguments.listen, arguments.max_sessions, "-l").await?;
    let address = listener.local_addr().context("cannot listen")?;
    let (log, writer) = LogWriter::start(planned.create()?, arguments.play.log(output))
        .context("cannot start the log")?;
    let (tally, stop) = (Tally::default(), Stop::new());
    let server = ReplayServer::new(listener, options, log.clone(), tally.clone());
    let context = &recording.context;
    output.note(&format!(
        "listening on {address}, replaying session {} of {}: {}, {} packets, {}",
        context.session,
        arguments.play.capture.display(),
        context.protocol.name(),
        recording.len(),
        context
            .player
            .as_deref()
            .map_or_else(|| "no player".to_owned(), |name| format!("player {name}")),
    ));
    let progress = Progress::new(tally.clone(), recording.len(), output);
    let shown = !arguments.play.quiet && !arguments.play.shows_packets();
    let running = async {
        tokio::select! {
            () = server.run(&stop) => {}
            () = progress.show(), if shown => {}
        }
    };
    let ended = logged(running, &stop, log, writer, output).await;
    progress.clear();
    output.note(&summary(&tally.counted()));
    ended.map(|()| Done::Yes)
}
