//! Places in a script: of calls, and in the messages of errors.

use std::fmt;
use std::sync::Arc;

use mlua::{Error, Lua};

use super::host::host;
use crate::filter::shortened;

/// Returns the line of the script that is running, or that calls the function of the host.
pub(super) fn line(lua: &Lua, file: &str) -> Option<usize> {
    (0..MAX_LEVEL).find_map(|level| {
        lua.inspect_stack(level, |debug| {
            let source = debug.source();
            let ours = source.source.is_some_and(|it| it.strip_prefix('@') == Some(file));
            debug.current_line().filter(|_| ours)
        })?
    })
}

/// Returns the error of a function of the host, with the place of the script that calls it.
pub(super) fn fail(lua: &Lua, message: impl fmt::Display) -> Error {
    let file = match host(lua) {
        Ok(host) => Arc::clone(&host.file),
        Err(error) => return error,
    };
    Error::RuntimeError(match line(lua, &file) {
        Some(line) => format!("{file}:{line}: {message}"),
        None => message.to_string(),
    })
}

/// The message of an error, in one line, with its place in the script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Placed {
    file: Arc<str>,
    pub(super) line: usize,
    pub(super) text: String,
}

impl Placed {
    pub(super) fn new(file: &Arc<str>, line: usize, text: impl fmt::Display) -> Self {
        Self { file: Arc::clone(file), line, text: shortened(text.to_string(), MAX_TEXT) }
    }

    /// Finds the place of an error. `file` and `line` are those of the function that was called, for errors that have
    /// no place of their own.
    pub(super) fn of(error: &Error, file: &Arc<str>, line: usize) -> Self {
        let (text, traceback) = cause(error);
        let text = text.lines().next().unwrap_or_default().trim();
        // The functions of the prelude stand between the script and Lua's own.
        let text = match text.strip_prefix("prelude:").and_then(|rest| rest.split_once(": ")) {
            Some((line, rest)) if line.bytes().all(|it| it.is_ascii_digit()) => rest,
            _ => text,
        };
        if let Some((line, text)) = line_of(text, file) {
            return Self::new(file, line, text.strip_prefix(": ").unwrap_or(text));
        }
        let traceback = traceback.as_deref().unwrap_or_default();
        let called = traceback.lines().find_map(|line| line_of(line.trim_start(), file));
        Self::new(file, called.map_or(line, |(line, _)| line), text)
    }

    /// The place: `greet.lua:3`.
    pub(super) fn place(&self) -> String {
        format!("{}:{}", self.file, self.line)
    }
}

impl fmt::Display for Placed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place(), self.text)
    }
}

/// Returns the line with which a text begins, as in `greet.lua:3: ..`, and what follows it.
fn line_of<'t>(text: &'t str, file: &str) -> Option<(usize, &'t str)> {
    let rest = text.strip_prefix(file)?.strip_prefix(':')?;
    let end = rest.find(|char: char| !char.is_ascii_digit())?;
    Some((rest[..end].parse().ok()?, &rest[end..]))
}

fn cause(error: &Error) -> (String, Option<Arc<str>>) {
    match error {
        Error::CallbackError { traceback, cause } => {
            let (text, inner) = self::cause(cause);
            (text, inner.or_else(|| Some(traceback.as_str().into())))
        }
        Error::RuntimeError(text) => match text.split_once("\nstack traceback:") {
            Some((text, traceback)) => (text.to_owned(), Some(traceback.into())),
            None => (text.clone(), None),
        },
        Error::SyntaxError { message, .. } => (message.clone(), None),
        Error::MemoryError(_) => ("the script used more memory than it may".to_owned(), None),
        Error::BadArgument { to, pos, cause, .. } => {
            let to = to.as_deref().map(|to| format!(" to `{to}`")).unwrap_or_default();
            (format!("bad argument {pos}{to}: {}", self::cause(cause).0), None)
        }
        other => (other.to_string(), None),
    }
}

/// Bytes of the message of an error.
const MAX_TEXT: usize = 1000;

/// Levels of the stack that are searched for a line of the script.
const MAX_LEVEL: usize = 16;
