use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context as _, bail};
use clap::Args;
use mitmcraft::proxy::{LogOptions, NamedSink, Notices};
use mitmcraft::replay::{Pace, PlayOptions, Point, Recording};
use mitmcraft::schema::Catalog;

use crate::cli::input::open;
use crate::cli::notice::notice_text;
use crate::cli::output::Output;
use crate::cli::proxy::parse;
use crate::cli::recording::{Planned, Recording as Written};
use crate::cli::screen::Screen;
use crate::cli::seconds::Seconds;
use crate::cli::show::verbosity;

/// What server and client replay have in common.
#[derive(Debug, Args)]
pub(crate) struct PlayArguments {
    /// The capture, in any format; `-` is stdin
    #[arg(value_name = "CAPTURE")]
    pub(crate) capture: PathBuf,

    /// The session of that number; by default the first that reached the game
    #[arg(long, value_name = "N")]
    session: Option<u64>,

    /// So many times faster than recorded
    #[arg(long, value_name = "FACTOR", default_value_t = 1.0)]
    speed: f64,

    /// Begin there: seconds since the session began (`12.5`), or a packet (`@120`)
    #[arg(long, value_name = "POINT")]
    from: Option<Point>,

    /// End there
    #[arg(long, value_name = "POINT")]
    pub(crate) to: Option<Point>,

    /// How long to wait for a packet of the peer that preceded in the recording, in seconds
    #[arg(long, value_name = "TIME", default_value = "5")]
    patience: Seconds,

    /// Send keep-alives and answers as they were recorded, not as this connection needs them
    #[arg(long)]
    no_refresh: bool,

    #[command(flatten)]
    written: Written,

    /// Show only packets that match
    #[arg(short = 'Y', long = "where", value_name = "EXPR")]
    condition: Option<String>,

    /// Show packets; twice: with all fields; three times: with hex
    #[arg(short, long, action = clap::ArgAction::Count)]
    verbose: u8,

    /// Show nothing but the summary
    #[arg(short, long, conflicts_with = "verbose")]
    pub(crate) quiet: bool,
}

impl PlayArguments {
    /// The session to be played.
    pub(crate) fn recording(&self, output: &Output) -> anyhow::Result<Recording> {
        let path = &self.capture;
        let entries = open(path)?;
        let recording = Recording::read(entries, self.session)
            .with_context(|| format!("cannot replay `{}`", path.display()))?;
        if recording.left_out > 0 {
            output.warning(&format!(
                "{} entries cannot be read, or are no packets that open, and are left out",
                recording.left_out
            ));
        }
        Ok(recording)
    }

    pub(crate) fn options(&self, pace: Pace) -> anyhow::Result<PlayOptions> {
        if !(self.speed.is_finite() && self.speed > 0.0) {
            bail!("`--speed {}`: a factor above 0, such as 2 or 0.5", self.speed);
        }
        Ok(PlayOptions {
            pace,
            speed: self.speed,
            from: self.from,
            to: self.to,
            patience: self.patience.0,
            refresh: !self.no_refresh,
        })
    }

    /// Checks the options of captures and of what is shown, and creates no file.
    pub(crate) fn plan(&self, output: &Output) -> anyhow::Result<PlannedSinks> {
        let condition = parse(self.condition.as_deref(), "--where", Catalog::embedded(), output)?;
        let captures = self.written.plan(Catalog::embedded(), output)?;
        let shown = self.verbose > 0 || condition.is_some();
        let screen = (shown && !self.quiet).then(|| {
            let verbosity = verbosity(self.verbose.saturating_sub(1));
            Screen::new(verbosity, self.written.on_stdout(), output).only(condition)
        });
        Ok(PlannedSinks { captures, screen })
    }

    /// How the log is written.
    pub(crate) fn log(&self, output: &Output) -> LogOptions {
        let told = *output;
        LogOptions {
            on_error: self.written.on_error(),
            notices: Notices::new(Arc::new(move |text| told.warning(text)), notice_text),
            ..LogOptions::default()
        }
    }

    /// Whether packets are shown, so that progress is not.
    pub(crate) fn shows_packets(&self) -> bool {
        self.verbose > 0 || self.condition.is_some()
    }
}

/// Where a replay's entries go, checked but not created.
pub(crate) struct PlannedSinks {
    captures: Planned,
    screen: Option<Screen>,
}

impl PlannedSinks {
    /// Creates the captures.
    pub(crate) fn create(self) -> anyhow::Result<Vec<NamedSink>> {
        let mut sinks = self.captures.create()?;
        sinks.extend(self.screen.map(Screen::named));
        Ok(sinks)
    }
}
