use std::ffi::OsString;
use std::io::{self, Write as _};

use anstream::{AutoStream, ColorChoice};
use clap::ValueEnum;

/// When to use colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    /// On a terminal
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

impl Color {
    /// What a command line says of it, whether or not the rest can be understood.
    pub(crate) fn of(words: &[OsString]) -> Self {
        let mut found = Self::Auto;
        let mut words = words.iter().skip(1).map(|word| word.to_string_lossy());
        while let Some(word) = words.next() {
            let value = match word.strip_prefix("--color") {
                Some("") => words.next(),
                Some(rest) => rest.strip_prefix('=').map(|value| value.to_owned().into()),
                None if word == "--" => break,
                None => continue,
            };
            let value = value.and_then(|value| Self::from_str(&value, true).ok());
            found = value.unwrap_or(found);
        }
        found
    }
}

/// The one place that prints: data to stdout, all else to stderr.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Output {
    color: Color,
}

impl Output {
    pub(crate) fn new(color: Color) -> Self {
        Self { color }
    }

    /// Something the user should know, on stderr.
    pub(crate) fn note(&self, text: &str) {
        // A stderr that is gone has no reader.
        let _ = writeln!(io::stderr().lock(), "{text}");
    }

    /// What is not as it should be, on stderr.
    pub(crate) fn warning(&self, text: &str) {
        self.labelled("warning", "\x1b[33m", text);
    }

    /// Why the command cannot go on, on stderr.
    pub(crate) fn error(&self, text: &str) {
        self.labelled("error", "\x1b[31m", text);
    }

    /// A line of data, on stdout.
    ///
    /// # Errors
    /// When stdout takes no more.
    pub(crate) fn line(&self, text: &str) -> io::Result<()> {
        writeln!(io::stdout().lock(), "{text}")
    }

    /// Whether stdout gets colour.
    pub(crate) fn colors_stdout(&self) -> bool {
        self.colors(AutoStream::choice(&io::stdout()))
    }

    /// Whether stderr gets colour.
    pub(crate) fn colors_stderr(&self) -> bool {
        self.colors(AutoStream::choice(&io::stderr()))
    }

    /// As clap has it, for help and what it says of a command line.
    pub(crate) fn choice(&self) -> clap::ColorChoice {
        match self.color {
            Color::Auto => clap::ColorChoice::Auto,
            Color::Always => clap::ColorChoice::Always,
            Color::Never => clap::ColorChoice::Never,
        }
    }

    fn labelled(&self, label: &str, color: &str, text: &str) {
        let (on, off) = match self.colors_stderr() {
            true => (color, "\x1b[0m"),
            false => ("", ""),
        };
        self.note(&format!("{on}{label}{off}: {text}"));
    }

    fn colors(&self, found: ColorChoice) -> bool {
        match self.color {
            Color::Auto => found != ColorChoice::Never,
            Color::Always => true,
            Color::Never => false,
        }
    }
}
