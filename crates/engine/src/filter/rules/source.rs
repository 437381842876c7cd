use std::ops::Range;

use super::{Severity, SourceFault};
use crate::lang::ExprError;

/// The text of a filter file, with the faults found so far.
pub(super) struct Source<'t> {
    text: &'t str,
    /// The offsets of the lines.
    lines: Vec<usize>,
    /// The faults, each with the offset where it begins.
    faults: Vec<(usize, SourceFault)>,
}

impl<'t> Source<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        let newlines = text.match_indices('\n').map(|(at, _)| at + 1);
        Self { text, lines: [0].into_iter().chain(newlines).collect(), faults: Vec::new() }
    }

    pub(super) fn error(&mut self, span: Range<usize>, message: impl Into<String>) {
        self.add(Severity::Error, span, message.into(), None);
    }

    pub(super) fn error_with(
        &mut self,
        span: Range<usize>,
        message: impl Into<String>,
        hint: impl Into<Option<String>>,
    ) {
        self.add(Severity::Error, span, message.into(), hint.into());
    }

    pub(super) fn warning(
        &mut self,
        span: Range<usize>,
        message: impl Into<String>,
        hint: impl Into<Option<String>>,
    ) {
        self.add(Severity::Warning, span, message.into(), hint.into());
    }

    /// Adds a fault of an expression within a string; `skip` bytes of the string's value precede it.
    pub(super) fn expr(
        &mut self,
        severity: Severity,
        string: Range<usize>,
        skip: usize,
        fault: ExprError,
    ) {
        let span = self.inside(string, fault.span, skip);
        self.add(severity, span, fault.message, fault.hint);
    }

    /// Returns the number of the line at an offset, from 1.
    pub(super) fn line(&self, at: usize) -> usize {
        self.lines.partition_point(|start| *start <= at)
    }

    /// Removes the faults from an offset on.
    pub(super) fn truncate(&mut self, end: usize) {
        self.faults.retain(|(at, _)| *at < end);
    }

    /// Returns the number of faults.
    pub(super) fn count(&self) -> usize {
        self.faults.len()
    }

    /// Removes all faults but the first `count` found.
    pub(super) fn keep(&mut self, count: usize) {
        self.faults.truncate(count);
    }

    /// Returns the number of errors.
    pub(super) fn errors(&self) -> usize {
        self.faults.iter().filter(|(_, fault)| fault.severity == Severity::Error).count()
    }

    /// Returns whether there are errors behind the first `count` faults found.
    pub(super) fn has_errors_after(&self, count: usize) -> bool {
        self.faults[count..].iter().any(|(_, fault)| fault.severity == Severity::Error)
    }

    /// Removes the warnings behind the first `count` faults found.
    pub(super) fn keep_errors_after(&mut self, count: usize) {
        let last = self.faults.split_off(count);
        self.faults.extend(last.into_iter().filter(|(_, it)| it.severity == Severity::Error));
    }

    /// Returns all faults in the order of the file.
    pub(super) fn finish(mut self) -> Vec<SourceFault> {
        self.faults.sort_by_key(|(at, _)| *at);
        let mut faults: Vec<SourceFault> =
            self.faults.into_iter().map(|(_, fault)| fault).collect();
        faults.dedup();
        faults
    }

    /// Returns the place in the file of a part of a string's value.
    pub(super) fn inside(
        &self,
        string: Range<usize>,
        part: Range<usize>,
        skip: usize,
    ) -> Range<usize> {
        let raw = &self.text[string.clone()];
        let places = places(raw);
        let place = |at: usize| {
            let last = places.last().copied().unwrap_or(0);
            string.start + places.get(at + skip).copied().unwrap_or(last)
        };
        place(part.start)..place(part.end)
    }

    fn add(
        &mut self,
        severity: Severity,
        span: Range<usize>,
        message: String,
        hint: Option<String>,
    ) {
        let (at, text) = (span.start, self.text);
        // Every offset is at or after that of the first line.
        let line = self.line(at);
        let line = (line, self.lines[line - 1]);
        let fault = SourceFault::in_line(text, line, span, severity, message, hint);
        self.faults.push((at, fault));
    }
}

/// Returns the offset in the raw text of each byte of a TOML string's value, and of its end.
///
/// After a syntax error the string may have no closing quotes, or none at all.
fn places(raw: &str) -> Vec<usize> {
    let quotes = ["\"\"\"", "'''", "\"", "'"];
    let quotes = quotes.into_iter().find(|quotes| raw.starts_with(quotes)).unwrap_or_default();
    let end = raw.strip_suffix(quotes).map_or(raw.len(), str::len);
    let escapes = quotes.starts_with('"');
    let mut at = quotes.len();
    if quotes.len() == 3 {
        // A newline right after the quotes is not part of the value.
        at += if raw[at..].starts_with("\r\n") {
            2
        } else {
            usize::from(raw[at..].starts_with('\n'))
        };
    }
    let mut places = Vec::new();
    while at < end {
        let char = raw[at..].chars().next().unwrap_or(' ');
        if !escapes || char != '\\' {
            places.extend((0..char.len_utf8()).map(|byte| at + byte));
            at += char.len_utf8();
            continue;
        }
        let escape = raw[at + 1..].chars().next().unwrap_or(' ');
        let hex = match escape {
            'x' => 2,
            'u' => 4,
            'U' => 8,
            _ => 0,
        };
        if hex == 0 && escape.is_whitespace() {
            // A line continuation: the whitespace up to the next text is not part of the value.
            let rest = &raw[at + 1..end];
            at += 1 + rest.len() - rest.trim_start().len();
            continue;
        }
        let digits = raw.get(at + 2..at + 2 + hex).unwrap_or_default();
        let code = u32::from_str_radix(digits, 16).ok().and_then(char::from_u32);
        // Without all of its digits the escape is a syntax error, and anything may follow.
        let (length, digits) = code.map_or((1, 0), |code| (code.len_utf8(), hex));
        places.extend(std::iter::repeat_n(at, length));
        at += 1 + escape.len_utf8() + digits;
    }
    places.push(end);
    places
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn positions_within_every_kind_of_toml_string_are_found() {
        for raw in [
            r#""say = \"ü\" or x""#,
            r#""say = \x22\U000000fc\x22 or x""#,
            "'say = \"ü\" or x'",
            "'''say = \"ü\" or x'''",
            "\"\"\"\nsay = \\\"\\u00fc\\\" \\\n   or x\"\"\"",
        ] {
            let value = "say = \"ü\" or x";
            let part = value.find(" or").unwrap()..value.len();
            let text = format!("a = {raw}\n");
            let source = Source::new(&text);
            let span = source.inside(4..4 + raw.len(), part.start + 1..part.end, 0);
            assert!(text[span.clone()].starts_with("or x"), "{raw}: {}", &text[span]);
        }
    }

    proptest! {
        #[test]
        fn positions_within_any_text_are_at_most_its_length(
            raw in "(\"\"\"|\"|'''|')?([“”a\\\\ \nux0]|\r\n){0,8}(\"\"\"|\"|'''|')?",
        ) {
            prop_assert!(places(&raw).iter().all(|place| *place <= raw.len()));
        }
    }

    #[test]
    fn an_escape_stands_where_its_backslash_is() {
        assert_eq!(places(r#""a\"b""#), [1, 2, 4, 5]);
    }

    #[test]
    fn an_escape_without_all_of_its_digits_ends_before_them() {
        assert_eq!(places("\"\\u000“\""), [1, 3, 4, 5, 6, 7, 8, 9]);
    }
}
