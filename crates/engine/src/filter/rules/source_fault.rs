use std::fmt;
use std::ops::Range;

use serde::Serialize;

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
    /// The text of the line.
    pub text: String,
    /// The number of marked characters, at least 1.
    pub width: usize,
    /// Advice on fixing it.
    pub hint: Option<String>,
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
        let words = text[start..end].trim_end();
        let marked = floor(text, span.end.min(start + words.len())).max(at);
        Self {
            severity,
            message,
            line,
            column: text[start..at].chars().count() + 1,
            text: words.to_owned(),
            width: text[at..marked].chars().count().max(1),
            hint,
        }
    }

    /// Formats the fault with its line, without a newline at the end.
    ///
    /// ```text
    /// error: unknown key `drp`
    ///  --> rules.toml:4:1
    ///   | drp = true
    ///   | ^^^ did you mean `drop`?
    /// ```
    #[must_use]
    pub fn render(&self, file: &str) -> String {
        let Self { message, line, column, text, hint, .. } = self;
        let severity = self.severity.name();
        // Tabs are kept, so that the carets stay aligned with the text.
        let blank = |char| if char == '\t' { '\t' } else { ' ' };
        let indent: String = text.chars().take(column - 1).map(blank).collect();
        let carets = "^".repeat(self.width);
        let hint = hint.as_ref().map(|hint| format!(" {hint}")).unwrap_or_default();
        format!(
            "{severity}: {message}\n --> {file}:{line}:{column}\n  | {text}\n  | {indent}{carets}{hint}"
        )
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

#[cfg(test)]
mod tests {
    use super::*;

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
