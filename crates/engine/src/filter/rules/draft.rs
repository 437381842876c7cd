use std::ops::Range;

use super::rule::Rule;

/// A rule with the places of its parts in the file, for checks that need the whole rule.
#[derive(Default)]
pub(super) struct Draft {
    pub(super) rule: Rule,
    /// The place of the rule's first key.
    pub(super) span: Range<usize>,
    /// The places of all keys.
    pub(super) spans: Vec<(String, Range<usize>)>,
    /// The places of each entry of `set`: its path and its value.
    pub(super) set: Vec<(Range<usize>, Range<usize>)>,
    /// The place of each entry of `remove`.
    pub(super) remove: Vec<Range<usize>>,
    /// The place of each entry of `send`.
    pub(super) send: Vec<Range<usize>>,
}

impl Draft {
    pub(super) fn has(&self, key: &str) -> bool {
        self.spans.iter().any(|(name, _)| name == key)
    }

    /// Returns the place of a key, or of the rule when it has no such key.
    pub(super) fn span_of(&self, key: &str) -> Range<usize> {
        let found = self.spans.iter().find(|(name, _)| name == key);
        found.map_or_else(|| self.span.clone(), |(_, span)| span.clone())
    }
}
