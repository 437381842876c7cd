use clap::{ArgAction, Args};
use mitmcraft_engine::text::Verbosity;

/// `-v`, for more of each packet.
#[derive(Debug, Args)]
pub(crate) struct Verbose {
    /// Show all fields of each packet; `-vv` adds a hex dump
    #[arg(short, long, action = ArgAction::Count)]
    verbose: u8,
}

impl Verbose {
    /// Returns how much of each packet is shown.
    pub(crate) fn verbosity(&self) -> Verbosity {
        verbosity(self.verbose)
    }
}

/// `-q`, for no packets at all.
#[derive(Debug, Args)]
pub(crate) struct Quiet {
    /// Show no packets, only the summary
    #[arg(short, long, conflicts_with = "verbose")]
    pub(crate) quiet: bool,
}

/// Returns how much of each packet is shown if `-v` is given `count` times.
pub(crate) fn verbosity(count: u8) -> Verbosity {
    match count {
        0 => Verbosity::Main,
        1 => Verbosity::All,
        _ => Verbosity::Hex,
    }
}
