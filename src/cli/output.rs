use std::io::{self, IsTerminal as _, Write};
use std::sync::{Mutex, PoisonError};

use anstream::{AutoStream, ColorChoice};
use clap::ValueEnum;
use mitmcraft::proxy::Clock;
use mitmcraft::tui::Inbox;
use mitmcraft_engine::capture::{Compression, FileType, Format};
use mitmcraft_engine::text::{
    Composed, Escaped, EscapedJson, EscapedJsonWriter, LineOptions, Verbosity,
};
use mitmcraft_protocol::packet::Timestamp;

use super::terminal_writer::stream;

/// The members of an object in JSON.
pub(crate) type JsonObject = serde_json::Map<String, serde_json::Value>;

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

/// Format of messages on stderr.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum LogFormat {
    /// Text for people
    #[default]
    Text,
    /// One object per line, with `time`, `level` and `message`
    Json,
}

/// The level of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Level {
    Info,
    Warning,
    Error,
}

/// Prints everything that the command says: data to stdout, all else to stderr.
///
/// Text may quote anyone. What is printed as one line is escaped here; what is composed of several lines, or
/// coloured, is escaped where it is put together.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Output {
    color: Color,
    log_format: LogFormat,
    /// Messages below this level are not printed.
    least: Level,
}

impl Output {
    pub(crate) fn new(color: Color, log_format: LogFormat) -> Self {
        Self { color, log_format, least: Level::Info }
    }

    /// Prints no message that is only information.
    pub(crate) fn set_terse(&mut self) {
        self.least = Level::Warning;
    }

    /// Prints information to stderr, in one line.
    pub(crate) fn note(&self, text: &str) {
        self.message(Level::Info, text, &Escaped(text).to_string());
    }

    /// Prints information to stderr, in one line. If messages are JSON, `fields` are members of the object.
    pub(crate) fn note_with(&self, text: &str, fields: JsonObject) {
        self.message_with(Level::Info, text, &Escaped(text).to_string(), fields);
    }

    /// Prints a warning to stderr, in one line.
    pub(crate) fn warning(&self, text: &str) {
        self.message(Level::Warning, text, &Escaped(text).to_string());
    }

    /// Prints an error to stderr, in one line.
    pub(crate) fn error(&self, text: &str) {
        self.message(Level::Error, text, &Escaped(text).to_string());
    }

    /// Prints a composed message of several lines to stderr.
    pub(crate) fn message_lines(&self, level: Level, text: &str) {
        self.message(level, text, &Composed(text, self.colors_stderr()).to_string());
    }

    /// Prints a line of data to stdout.
    ///
    /// # Errors
    /// If stdout cannot be written.
    pub(crate) fn line(&self, text: &str) -> io::Result<()> {
        writeln!(io::stdout().lock(), "{}", Escaped(text))
    }

    /// Prints composed data of several lines to stdout.
    ///
    /// # Errors
    /// If stdout cannot be written.
    pub(crate) fn lines(&self, text: &str) -> io::Result<()> {
        writeln!(io::stdout().lock(), "{}", Composed(text, self.colors_stdout()))
    }

    /// Prints a line of JSON to stdout.
    ///
    /// # Errors
    /// If stdout cannot be written.
    pub(crate) fn json(&self, json: &serde_json::Value) -> io::Result<()> {
        self.line(&EscapedJson(&json.to_string()).to_string())
    }

    /// Returns stdout for a capture. JSON is made safe for a terminal if stdout is one; a file or a
    /// pipe gets exactly what is written.
    pub(crate) fn capture_stdout(file: FileType) -> Box<dyn Write + Send> {
        let is_json = file.format == Format::Jsonl;
        let json = is_json && file.compression == Compression::None;
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
        LineOptions { verbosity, color, offset: Box::new(local_offset), ..LineOptions::default() }
    }

    /// Returns the width of the terminal that messages go to; `None` if they go elsewhere.
    pub(crate) fn stderr_columns() -> Option<usize> {
        let size = terminal_size::terminal_size_of(io::stderr());
        size.map(|(width, _)| usize::from(width.0))
    }

    /// Checks that packets, which are text, are not printed among messages in JSON.
    ///
    /// # Errors
    /// If they would be: `on_stderr`, because stdout carries a capture.
    pub(crate) fn check_screen(&self, on_stderr: bool) -> anyhow::Result<()> {
        if on_stderr && self.logs_json() {
            anyhow::bail!(
                "`--log-format json` needs `-q` here: stdout carries the capture, and packets would be \
                 printed on stderr"
            );
        }
        Ok(())
    }

    /// Returns whether messages are JSON.
    pub(crate) fn logs_json(&self) -> bool {
        self.log_format == LogFormat::Json
    }

    /// Prints a message to stderr, as JSON or `shown` behind its level.
    fn message(&self, level: Level, text: &str, shown: &str) {
        self.message_with(level, text, shown, JsonObject::new());
    }

    /// Prints a message to stderr, with `fields` if messages are JSON.
    fn message_with(&self, level: Level, text: &str, shown: &str, fields: JsonObject) {
        if level < self.least {
            return;
        }
        let diverted = DIVERTED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(to) = &*diverted {
            to.say(Composed(text, false).to_string().replace('\n', " "));
            return;
        }
        let (name, color) = match level {
            Level::Info => ("info", None),
            Level::Warning => ("warning", Some("\x1b[33m")),
            Level::Error => ("error", Some("\x1b[31m")),
        };
        let line = match (self.log_format, color) {
            (LogFormat::Json, _) => {
                let time = Clock::new().now().to_string();
                let mut json = serde_json::json!({ "time": time, "level": name, "message": text });
                if let Some(members) = json.as_object_mut() {
                    members.extend(fields);
                }
                EscapedJson(&json.to_string()).to_string()
            }
            (LogFormat::Text, Some(color)) if self.colors_stderr() => {
                format!("{color}{name}\x1b[0m: {shown}")
            }
            (LogFormat::Text, Some(_)) => format!("{name}: {shown}"),
            (LogFormat::Text, None) => shown.to_owned(),
        };
        // A closed stderr has no reader.
        let _ = stream(io::stderr).write_all(format!("{line}\n").as_bytes());
    }

    fn colors(&self, detected: ColorChoice) -> bool {
        match self.color {
            Color::Auto => detected != ColorChoice::Never && enable_escapes(),
            Color::Always => {
                enable_escapes();
                true
            }
            Color::Never => false,
        }
    }
}

/// Tells the console to interpret escape sequences, and returns whether it does: consoles before Windows 10
/// print them.
#[cfg(windows)]
fn enable_escapes() -> bool {
    ratatui_crossterm::crossterm::ansi_support::supports_ansi()
}

/// Terminals of other systems interpret escape sequences.
#[cfg(not(windows))]
fn enable_escapes() -> bool {
    true
}

/// Passes all messages for stderr on to an interface that has the terminal, or to stderr again.
pub(crate) fn divert(to: Option<Inbox>) {
    *DIVERTED.lock().unwrap_or_else(PoisonError::into_inner) = to;
}

static DIVERTED: Mutex<Option<Inbox>> = Mutex::new(None);

/// Returns the offset of local time from UTC at `at`, in seconds east.
fn local_offset(at: Timestamp) -> i32 {
    let seconds = i64::try_from(at.0 / 1_000_000_000).unwrap_or_default();
    let Ok(moment) = jiff::Timestamp::from_second(seconds) else { return 0 };
    jiff::tz::TimeZone::system().to_offset(moment).seconds()
}
