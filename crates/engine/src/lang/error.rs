use std::ops::Range;

use thiserror::Error;

use mitmcraft_protocol::wire::{Escaped, EscapedLines};

/// An error in an expression, with its place.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{message}")]
#[non_exhaustive]
pub struct ExprError {
    /// A description of the error.
    pub message: String,
    /// The place in the text, in bytes.
    pub span: Range<usize>,
    /// Advice on fixing it.
    pub hint: Option<String>,
}

impl ExprError {
    pub(super) fn new(span: &Range<usize>, message: impl Into<String>) -> Self {
        Self { message: message.into(), span: span.clone(), hint: None }
    }

    pub(super) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Formats the message, the marked line of the parsed `text`, and the hint.
    ///
    /// ```text
    /// no packet has a field `mesage`
    ///   chat and mesage == "hello"
    ///            ^^^^^^ did you mean `message`?
    /// ```
    #[must_use]
    pub fn render(&self, text: &str) -> String {
        let Self { message, span, hint } = self;
        let place = span.start.min(text.len());
        let start = text[..place].rfind('\n').map_or(0, |newline| newline + 1);
        let end = text[place..].find('\n').map_or(text.len(), |newline| place + newline);
        let line = text[start..end].trim_end();
        let marked = text.get(place..span.end.min(end)).unwrap_or_default();
        let (line, marks) = marked_line(line, &text[start..place], marked);
        let hint = hint.as_ref().map(|hint| format!(" {}", Escaped(hint))).unwrap_or_default();
        format!("{}\n  {line}\n  {marks}{hint}", Escaped(message))
    }
}

/// Returns a line that another file has, safe for a terminal, and the text for below it with carets under
/// `marked`, which follows `before`.
pub(crate) fn marked_line(line: &str, before: &str, marked: &str) -> (String, String) {
    let shown = |text: &str| EscapedLines(text).to_string();
    // Tabs are kept, so that the carets stay aligned with the text.
    let blank = |char| if char == '\t' { '\t' } else { ' ' };
    let indent: String = shown(before).chars().map(blank).collect();
    let carets = "^".repeat(shown(marked).chars().count().max(1));
    (shown(line), indent + &carets)
}

/// A probable mistake in an expression, with its place. It has the form of an error.
pub type Warning = ExprError;

/// Returns a hint that names the candidate most similar to `word`, if any is similar enough to be meant.
pub(crate) fn did_you_mean<'c>(
    word: &str,
    candidates: impl IntoIterator<Item = &'c str>,
) -> Option<String> {
    closest(word, candidates).map(|near| format!("did you mean `{near}`?"))
}

/// Returns the candidate most similar to `word`, if any is similar enough to be meant.
#[must_use]
pub fn closest<'c>(word: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
    let limit = (word.chars().count() / 3).clamp(1, 3);
    let near = candidates.into_iter().filter_map(|candidate| {
        let distance = distance(&word.to_lowercase(), &candidate.to_lowercase());
        (distance <= limit && candidate != word).then_some((distance, candidate))
    });
    near.min().map(|(_, candidate)| candidate)
}

/// Returns the edit distance: insertions, deletions, substitutions and swaps of neighbours.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    if a.len().abs_diff(b.len()) > MAX_DISTANCE {
        return usize::MAX;
    }
    let mut before = vec![0; b.len() + 1];
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for (i, left) in a.iter().enumerate() {
        let mut row = vec![i + 1; b.len() + 1];
        for (j, right) in b.iter().enumerate() {
            let change = last[j] + usize::from(left != right);
            row[j + 1] = change.min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *left == b[j - 1] && a[i - 1] == *right {
                row[j + 1] = row[j + 1].min(before[j - 1] + 1);
            }
        }
        before = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

/// Words that differ by more are not suggested.
const MAX_DISTANCE: usize = 3;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_the_span_in_its_own_line() {
        let text = "chat\n\tand größe == 1\n";
        let start = text.find("größe").unwrap();
        let error = ExprError::new(&(start..start + "größe".len()), "what").hint("so");
        assert_eq!(error.render(text), "what\n  \tand größe == 1\n  \t    ^^^^^ so");
        assert_eq!(ExprError::new(&(4..4), "end").render("chat"), "end\n  chat\n      ^");
        assert_eq!(ExprError::new(&(9..12), "far").render(""), "far\n  \n  ^");
    }

    #[test]
    fn suggests_only_the_nearest_similar_word() {
        let names = ["message", "messages", "position", "x", "y", "onGround"];
        for (word, found) in [
            ("mesage", Some("message")),
            ("messgae", Some("message")),
            ("Message", Some("message")),
            ("ongruond", Some("onGround")),
            ("z", Some("x")),
            ("velocity", None),
            ("", Some("x")),
        ] {
            assert_eq!(closest(word, names), found, "{word}");
        }
        assert_eq!(distance("ca", "abc"), 3);
        assert_eq!(distance("abcd", "acbd"), 1);
    }
}
