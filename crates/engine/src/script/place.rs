//! Places in a script: of calls, and in the messages of errors.

use std::fmt;
use std::sync::Arc;

use mlua::{Error, Lua, Value as LuaValue};

use super::host::host;
use super::work::charge;
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
    fail_at(lua, None, message)
}

/// Returns the error of a function of the host about a line of the script; `None` is the line that calls it.
pub(super) fn fail_at(lua: &Lua, at: Option<usize>, message: impl fmt::Display) -> Error {
    let file = match host(lua) {
        Ok(host) => {
            host.work.spend(FAILURE);
            Arc::clone(&host.file)
        }
        Err(error) => return error,
    };
    let message = shortened(message.to_string(), MAX_TEXT);
    Error::RuntimeError(match at.or_else(|| line(lua, &file)) {
        Some(line) => format!("{file}:{line}: {message}"),
        None => message,
    })
}

/// Returns what a script gets of an error that it has caught: of one of the host the text, since the error itself
/// would keep memory that is not counted.
///
/// # Errors
/// If the state is out of memory: nothing that goes on there would get far, and each step would cost a collection.
pub(super) fn shown(lua: &Lua, caught: LuaValue) -> Result<LuaValue, Error> {
    let LuaValue::Error(error) = caught else { return Ok(caught) };
    charge(lua, FAILURE)?;
    let text = match root(&error) {
        Error::MemoryError(_) => return Err(*error),
        _ => shortened(cause(&error).0, MAX_TEXT),
    };
    lua.create_string(text).map(LuaValue::String)
}

fn root(error: &Error) -> &Error {
    match error {
        Error::CallbackError { cause, .. } => root(cause),
        other => other,
    }
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
        Error::RuntimeError(text) if text.starts_with(NO_MEMORY) => (MEMORY.to_owned(), None),
        Error::RuntimeError(text) => match text.split_once("\nstack traceback:") {
            Some((text, traceback)) => (text.to_owned(), Some(traceback.into())),
            None => (text.clone(), None),
        },
        Error::SyntaxError { message, .. } => (message.clone(), None),
        Error::MemoryError(_) => (MEMORY.to_owned(), None),
        Error::BadArgument { to, pos, cause, .. } => {
            let to = to.as_deref().map(|to| format!(" to `{to}`")).unwrap_or_default();
            (format!("bad argument {pos}{to}: {}", self::cause(cause).0), None)
        }
        other => (other.to_string(), None),
    }
}

const MEMORY: &str = "the script used more memory than it may";

/// The message of Lua's own error.
const NO_MEMORY: &str = "not enough memory";

/// The work of an error: its message, its place, and the way there.
const FAILURE: usize = 4000;

/// Bytes of the message of an error.
const MAX_TEXT: usize = 1000;

/// Levels of the stack that are searched for a line of the script.
const MAX_LEVEL: usize = 16;
