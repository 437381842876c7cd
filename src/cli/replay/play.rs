use std::io::{IsTerminal as _, stdout};
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context as _, bail};
use clap::Args;
use mitmcraft::proxy::{LogOptions, NamedSink, Notices};
use mitmcraft_engine::lang::amount::Period;
use mitmcraft_engine::replay::{Pace, PlayOptions, Point, Recording};

use crate::cli::args::{
    self, Condition, Lines, Memory, PlannedCaptures, Protocols, Quiet, verbosity,
};
use crate::cli::input::{Input, Reading, capture_files};
use crate::cli::mistakes::is_server;
use crate::cli::notice::run_notice;
use crate::cli::output::Output;
use crate::cli::screen::Screen;

/// Options that server and client replay share.
#[derive(Debug, Args)]
pub(super) struct PlayArguments {
    /// The capture, in any format; `-` is stdin. A folder means all captures in it and its
    /// subfolders, a quoted pattern (`'run-*.jsonl'`) the files that match it, as one capture
    #[arg(value_name = "CAPTURE")]
    pub(super) capture: PathBuf,

    /// The session to replay [default: the first that reached the game]
    #[arg(long, value_name = "N")]
    session: Option<u64>,

    /// Replay this many times faster than recorded
    #[arg(long, value_name = "FACTOR", default_value_t = 1.0)]
    speed: f64,

    /// Start at this point: seconds since the session began (`12.5`), or a packet (`@120`)
    #[arg(long, value_name = "POINT")]
    pub(super) from: Option<Point>,

    /// End at this point
    #[arg(long, value_name = "POINT")]
    pub(super) to: Option<Point>,

    /// How long to wait for a packet of the peer that precedes the next packet in the recording
    #[arg(
        long,
        value_name = "DURATION",
        default_value = "5",
        value_parser = Period::positive
    )]
    patience: Period,

    /// Send keep-alives and answers as recorded, even if this connection needs other values
    #[arg(long)]
    no_refresh: bool,

    #[command(flatten)]
    pub(super) captures: args::CaptureOptions,

    #[command(flatten)]
    condition: Condition,

    /// Show packets; `-vv` shows all fields, `-vvv` adds a hex dump
    #[arg(short, long, action = clap::ArgAction::Count)]
    verbose: u8,

    #[command(flatten)]
    lines: Lines,

    #[command(flatten)]
    quiet: Quiet,

    #[command(flatten)]
    pub(super) protocols: Protocols,

    #[command(flatten)]
    pub(super) memory: Memory,
}

impl PlayArguments {
    /// Reads the session to replay.
    pub(super) fn recording(&self, output: &Output) -> anyhow::Result<Recording> {
        let path = &self.capture;
        if path.extension().is_none() && !path.exists() && is_server(&path.to_string_lossy()) {
            bail!("`{}` looks like a server, and the capture comes before it", path.display());
        }
        let files = capture_files(std::slice::from_ref(path))?;
        let (catalog, silent) = (self.protocols.catalog()?, !stdout().is_terminal());
        let reading = Reading::new(&files, silent, &catalog, &self.memory, output);
        let entries = Input::open(&files, &reading)?.into_entries();
        drop(reading);
        let recording = Recording::read(entries, self.session)
            .with_context(|| format!("cannot replay `{}`", path.display()))?;
        self.check_range(&recording)?;
        match recording.left_out {
            0 => {}
            1 => output.warning("skipped 1 entry that cannot be read or decoded"),
            many => {
                output.warning(&format!("skipped {many} entries that cannot be read or decoded"))
            }
        }
        Ok(recording)
    }

    /// Checks that packets are left between `--from` and `--to`.
    fn check_range(&self, recording: &Recording) -> anyhow::Result<()> {
        let Some(from) = self.from else { return Ok(()) };
        let is_behind = |end: Point| match (from, end) {
            (Point::Time(from), Point::Time(end)) => from > end,
            (Point::Packet(from), Point::Packet(end)) => from > end,
            _ => false,
        };
        if let Some(to) = self.to.filter(|to| is_behind(*to)) {
            bail!("`--from {from}` is after `--to {to}`");
        }
        match recording.end() {
            Some((time, number))
                if is_behind(Point::Time(time)) || is_behind(Point::Packet(number)) =>
            {
                let end = time.as_secs_f64();
                bail!("`--from {from}` is after the session's end ({end:.3}s, packet @{number})")
            }
            _ => Ok(()),
        }
    }

    pub(super) fn options(&self, pace: Pace) -> anyhow::Result<PlayOptions> {
        if !(self.speed.is_finite() && self.speed > 0.0) {
            bail!("`--speed {}`: expected a factor above 0, such as 2 or 0.5", self.speed);
        }
        let mut options = PlayOptions::default();
        options.pace = pace;
        options.speed = self.speed;
        options.from = self.from;
        options.to = self.to;
        options.patience = self.patience.0;
        options.refresh = !self.no_refresh;
        Ok(options)
    }

    /// Returns the name of the player: `name`, else the recorded one.
    pub(super) fn player(name: Option<&String>, recording: &Recording) -> anyhow::Result<String> {
        let name = name.or(recording.context.player.as_ref()).cloned();
        name.context("the recording has no player name: give one with `--name`")
    }

    /// Checks the options of captures and screen, and creates no file.
    pub(super) fn plan(&self, output: &Output) -> anyhow::Result<PlannedSinks> {
        let catalog = self.protocols.catalog()?;
        let condition = self.condition.compile(&catalog, output)?;
        let captures = self.captures.plan(None, &catalog, output)?;
        let shows = self.shows_packets() && !self.quiet.quiet;
        output.check_screen(shows && self.captures.files.on_stdout())?;
        let screen = shows.then(|| {
            let verbosity = verbosity(self.verbose.saturating_sub(1));
            Screen::new(verbosity, self.lines, self.captures.files.on_stdout(), output)
                .only(condition)
        });
        Ok(PlannedSinks { captures, screen })
    }

    /// Returns how the log is written.
    pub(super) fn log(&self, output: &Output) -> LogOptions {
        let output = *output;
        let mut options = LogOptions::default();
        self.captures.set_log(&mut options);
        options.notices = Notices::new(Arc::new(move |notice| output.warning(&run_notice(notice))));
        options
    }

    /// Returns whether progress is shown: neither `-q` nor packets.
    pub(super) fn shows_progress(&self) -> bool {
        !self.quiet.quiet && !self.shows_packets()
    }

    fn shows_packets(&self) -> bool {
        self.verbose > 0 || self.condition.is_set()
    }
}

/// Captures and screen of a replay, checked but not created.
pub(super) struct PlannedSinks {
    pub(super) captures: PlannedCaptures,
    screen: Option<Screen>,
}

impl PlannedSinks {
    /// Creates the captures.
    pub(super) fn create(self) -> anyhow::Result<Vec<NamedSink>> {
        let mut sinks = self.captures.create()?;
        sinks.extend(self.screen.map(Screen::named));
        Ok(sinks)
    }
}
