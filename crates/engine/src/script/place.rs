//! Places in a script: of calls, and in the messages of errors.

use std::sync::Arc;

use mlua::{Error, Lua};

use super::host::host;

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
pub(super) fn fail(lua: &Lua, message: impl std::fmt::Display) -> Error {
    let file = match host(lua) {
        Ok(host) => Arc::clone(&host.file),
        Err(error) => return error,
    };
    Error::RuntimeError(match line(lua, &file) {
        Some(line) => format!("{file}:{line}: {message}"),
        None => message.to_string(),
    })
}

/// Returns the message of an error in one line, with a place. `file` and `line` are those of the function
/// that was called, for errors that have no place of their own.
pub(super) fn message(error: &Error, file: &str, line: usize) -> String {
    let (text, traceback) = cause(error);
    let text = text.lines().next().unwrap_or_default().trim();
    // The functions of the prelude stand between the script and Lua's own.
    let text = match text.strip_prefix("prelude:").and_then(|rest| rest.split_once(": ")) {
        Some((line, rest)) if line.bytes().all(|it| it.is_ascii_digit()) => rest,
        _ => text,
    };
    if text.starts_with(file) && text[file.len()..].starts_with(':') {
        return text.to_owned();
    }
    let place = traceback.as_deref().and_then(|traceback| first_place(traceback, file));
    match place {
        Some(place) => format!("{place}: {text}"),
        None => format!("{file}:{line}: {text}"),
    }
}

/// Returns the place with which a message begins: `greet.lua:3`.
pub(super) fn of(message: &str) -> &str {
    let digits = |at: usize| message[at..].find(|char: char| !char.is_ascii_digit());
    let end = message.find(':').and_then(|colon| Some(colon + 1 + digits(colon + 1)?));
    &message[..end.unwrap_or(message.len())]
}

/// Returns the line with which a message begins.
pub(super) fn line_of(message: &str, file: &str) -> Option<usize> {
    let rest = message.strip_prefix(file)?.strip_prefix(':')?;
    let end = rest.find(|char: char| !char.is_ascii_digit())?;
    rest[..end].parse().ok()
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

/// Returns the first place of the file in a traceback.
fn first_place(traceback: &str, file: &str) -> Option<String> {
    traceback.lines().find_map(|line| {
        let line = line.trim_start();
        Some(format!("{file}:{}", line_of(line, file)?))
    })
}

/// Levels of the stack that are searched for a line of the script.
const MAX_LEVEL: usize = 16;
