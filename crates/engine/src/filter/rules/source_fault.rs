use std::fmt;
use std::ops::Range;

use serde::Serialize;

use crate::lang::marked_line;
use mitmcraft_protocol::wire::Escaped;

/// An error or a warning about a user's file, with its place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
#[cfg_attr(feature = "test-support", derive(ts_rs::TS), ts(rename = "RulesFault"))]
pub struct SourceFault {
    /// Its severity.
    pub severity: Severity,
    /// A description of the problem.
    pub message: String,
    /// The line number, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// The text of the line, or the part of a long one around the fault.
    pub text: String,
    /// The number of marked characters, at least 1.
    pub width: usize,
    /// Advice on fixing it.
    pub hint: Option<String>,
    /// The marked bytes of `text`.
    #[serde(skip)]
    #[cfg_attr(feature = "test-support", ts(skip))]
    marked: Range<usize>,
}

/// The severity of a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "test-support", derive(ts_rs::TS))]
pub enum Severity {
    /// The file cannot be used.
    Error,
    /// The file can be used.
    Warning,
}

impl Severity {
    /// Returns `error` or `warning`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
        }
    }
}

impl SourceFault {
    /// Creates a fault about the bytes `span` of `text`.
    #[must_use]
    pub fn at(
        text: &str,
        span: Range<usize>,
        severity: Severity,
        message: String,
        hint: Option<String>,
    ) -> Self {
        let before = &text[..floor(text, span.start)];
        let line = before.matches('\n').count() + 1;
        let start = before.rfind('\n').map_or(0, |newline| newline + 1);
        Self::in_line(text, (line, start), span, severity, message, hint)
    }

    /// Creates a fault about the bytes `span` of `text`, which begin in the line of that number and
    /// offset.
    pub(super) fn in_line(
        text: &str,
        (line, start): (usize, usize),
        span: Range<usize>,
        severity: Severity,
        message: String,
        hint: Option<String>,
    ) -> Self {
        let at = floor(text, span.start);
        let end = text[at..].find('\n').map_or(text.len(), |newline| at + newline);
        let last = start + text[start..end].trim_end().len();
        // Of a long line, a part from before the fault.
        let is_long = last - start > MAX_LINE;
        let from = if is_long { floor(text, at.saturating_sub(BEFORE).max(start)) } else { start };
        let to = if is_long { floor(text, last.min(from + MAX_LINE)) } else { last };
        let front = if from > start { "…" } else { "" };
        let behind = if to < last { "…" } else { "" };
        let marked = floor(text, span.end.min(to)).max(at);
        let place = |at: usize| front.len() + at - from;
        Self {
            severity,
            message: shortened(message, MAX_MESSAGE),
            line,
            column: text[start..at].chars().count() + 1,
            text: format!("{front}{}{behind}", &text[from..to.max(from)]),
            width: text[at..marked].chars().count().max(1),
            hint: hint.map(|hint| shortened(hint, MAX_MESSAGE)),
            marked: place(at)..place(marked),
        }
    }

    /// Formats the fault with its line, without a newline at the end and safe for a terminal.
    ///
    /// ```text
    /// error: unknown key `drp`
    ///  --> rules.toml:4:1
    ///   | drp = true
    ///   | ^^^ did you mean `drop`?
    /// ```
    #[must_use]
    pub fn render(&self, file: &str) -> String {
        let Self { message, line, column, text, hint, marked, .. } = self;
        let severity = self.severity.name();
        let part = |range: Range<usize>| text.get(range).unwrap_or_default();
        let (text, marks) = marked_line(text, part(0..marked.start), part(marked.clone()));
        let hint = hint.as_ref().map(|hint| format!(" {}", Escaped(hint))).unwrap_or_default();
        let (message, file) = (Escaped(message), Escaped(file));
        format!("{severity}: {message}\n --> {file}:{line}:{column}\n  | {text}\n  | {marks}{hint}")
    }
}

impl std::error::Error for SourceFault {}

impl fmt::Display for SourceFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.line, self.column, self.message)
    }
}

/// Returns the nearest character boundary at or before an offset.
pub(crate) fn floor(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// Returns a text, or as much of a long one as fits in `most` bytes, and an ellipsis.
pub(crate) fn shortened(mut text: String, most: usize) -> String {
    if text.len() > most {
        text.truncate(floor(&text, most));
        text.push_str("..");
    }
    text
}

/// Bytes of a line that is shown whole; of a longer one this many are shown.
const MAX_LINE: usize = 400;

/// Bytes that are shown before the fault in a long line.
const BEFORE: usize = 100;

/// Bytes of a message or a hint, which may quote the file.
const MAX_MESSAGE: usize = 1000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_in_a_long_line_is_shown_with_the_part_around_it() {
        let line = format!("a = '{}' oops {}", "ü".repeat(100_000), "ä".repeat(100_000));
        let at = line.find("oops").unwrap();
        let message = "x".repeat(5000);
        let fault = SourceFault::at(&line, at..at + 4, Severity::Error, message, None);
        assert_eq!((fault.column, fault.width), (100_008, 4));
        let shown = fault.render("f");
        assert!(shown.len() < 2000, "{}", shown.len());
        let rows: Vec<&str> = shown.lines().collect();
        let column = |row: &str, part: &str| row[..row.find(part).unwrap()].chars().count();
        assert_eq!(column(rows[2], "oops"), column(rows[3], "^^^^"), "{shown}");
        assert!(rows[2].starts_with("  | …ü") && rows[2].ends_with("ä…"), "{shown}");
        // Everything else in the line is marked too.
        let fault = SourceFault::at(&line, 0..line.len(), Severity::Error, "odd".into(), None);
        assert!(fault.render("f").len() < 2000);
    }

    #[test]
    fn nothing_of_a_file_controls_a_terminal_or_makes_a_line() {
        let text = "a = 1 # \x1b[2J\u{202e}\rb\tc";
        let at = text.find('c').unwrap();
        let fault = SourceFault::at(text, at..at + 1, Severity::Error, "no\n\x07".into(), None);
        let shown = fault.render("f\n");
        let rows = [
            "error: no\\n\\u{7}",
            " --> f\\n:1:17",
            "  | a = 1 # \\u{1b}[2J\\u{202e}\\rb\tc",
            &format!("  | {}\t^", " ".repeat(28)),
        ];
        assert_eq!(shown, rows.join("\n"));
    }

    #[test]
    fn a_fault_within_a_character_is_shown_at_the_character() {
        let fault = SourceFault::at("aü", 2..3, Severity::Error, "odd".into(), None);
        assert_eq!(fault.to_string(), "1:2: odd");
    }

    #[test]
    fn a_fault_is_shown_in_its_line() {
        let fault = SourceFault::at("a\nbc d\ne", 5..6, Severity::Error, "odd".into(), None);
        assert_eq!(fault.render("f"), "error: odd\n --> f:2:4\n  | bc d\n  |    ^");
    }
}
