use std::io::{self, IsTerminal as _, Write};

use anstream::{AutoStream, ColorChoice};
use clap::ValueEnum;
use mitmcraft::capture::{Compression, FileType, Format};
use mitmcraft::packet::Timestamp;
use mitmcraft::text::{EscapedJson, EscapedJsonWriter, EscapedLines, LineOptions, Verbosity};
use serde_json::Value as Json;

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
        self.stderr("", text);
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

    /// Prints a line of JSON to stdout, safe for a terminal if stdout is one.
    ///
    /// # Errors
    /// If stdout cannot be written.
    pub(crate) fn json(&self, json: &Json) -> io::Result<()> {
        let text = json.to_string();
        if io::stdout().is_terminal() {
            return self.line(&EscapedJson(&text).to_string());
        }
        self.line(&text)
    }

    /// Returns stdout for a capture. JSON is made safe for a terminal if stdout is one; a file or a
    /// pipe gets exactly what is written.
    pub(crate) fn capture_stdout(file: FileType) -> Box<dyn Write + Send> {
        let json = file.format == Format::Jsonl && file.compression == Compression::None;
        if json && io::stdout().is_terminal() {
            return Box::new(EscapedJsonWriter::new(io::stdout()));
        }
        Box::new(io::stdout())
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
        self.stderr(&format!("{on}{label}{off}: "), text);
    }

    /// Prints to stderr. The text may quote a peer.
    fn stderr(&self, label: &str, text: &str) {
        // A closed stderr has no reader.
        let _ = stream(io::stderr).write_all(format!("{label}{}\n", EscapedLines(text)).as_bytes());
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
