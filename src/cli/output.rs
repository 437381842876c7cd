use std::io::{self, Write as _};

use anstream::{AutoStream, ColorChoice};
use clap::ValueEnum;
use mitmcraft::packet::Timestamp;
use mitmcraft::text::{LineOptions, Verbosity};

use super::terminal_writer::stream;

/// When to use colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum Color {
    /// On a terminal
    #[default]
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// Prints everything that the command says: data to stdout, all else to stderr.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Output {
    color: Color,
}

impl Output {
    pub(crate) fn new(color: Color) -> Self {
        Self { color }
    }

    /// Prints information to stderr.
    pub(crate) fn note(&self, text: &str) {
        // A closed stderr has no reader.
        let _ = stream(io::stderr).write_all(format!("{text}\n").as_bytes());
    }

    /// Prints a warning to stderr.
    pub(crate) fn warning(&self, text: &str) {
        self.labelled("warning", "\x1b[33m", text);
    }

    /// Prints an error to stderr.
    pub(crate) fn error(&self, text: &str) {
        self.labelled("error", "\x1b[31m", text);
    }

    /// Prints a line of data to stdout.
    ///
    /// # Errors
    /// If stdout cannot be written.
    pub(crate) fn line(&self, text: &str) -> io::Result<()> {
        writeln!(io::stdout().lock(), "{text}")
    }

    /// Returns whether stdout is coloured.
    pub(crate) fn colors_stdout(&self) -> bool {
        self.colors(AutoStream::choice(&io::stdout()))
    }

    /// Returns whether stderr is coloured.
    pub(crate) fn colors_stderr(&self) -> bool {
        self.colors(AutoStream::choice(&io::stderr()))
    }

    /// Returns the setting for clap, which prints help and usage errors.
    pub(crate) fn choice(&self) -> clap::ColorChoice {
        match self.color {
            Color::Auto => clap::ColorChoice::Auto,
            Color::Always => clap::ColorChoice::Always,
            Color::Never => clap::ColorChoice::Never,
        }
    }

    /// Returns how packets are printed, with times in the local time zone.
    pub(crate) fn line_options(verbosity: Verbosity, color: bool) -> LineOptions {
        LineOptions { verbosity, color, offset: Box::new(local_offset) }
    }

    fn labelled(&self, label: &str, color: &str, text: &str) {
        let (on, off) = if self.colors_stderr() { (color, "\x1b[0m") } else { ("", "") };
        self.note(&format!("{on}{label}{off}: {text}"));
    }

    fn colors(&self, detected: ColorChoice) -> bool {
        match self.color {
            Color::Auto => detected != ColorChoice::Never,
            Color::Always => true,
            Color::Never => false,
        }
    }
}

/// Returns the offset of local time from UTC at `at`, in seconds east.
fn local_offset(at: Timestamp) -> i32 {
    let seconds = i64::try_from(at.0 / 1_000_000_000).unwrap_or_default();
    let Ok(moment) = jiff::Timestamp::from_second(seconds) else { return 0 };
    jiff::tz::TimeZone::system().to_offset(moment).seconds()
}
