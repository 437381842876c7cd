use std::ops::Range;

use super::keys::{KeyKind, RuleKey};
use super::rule::Rule;

/// A rule with the places of its parts in the file, for checks that need the whole rule.
#[derive(Default)]
pub(super) struct Draft {
    pub(super) rule: Rule,
    /// The place of the rule's first key.
    pub(super) span: Range<usize>,
    /// The places of its keys.
    pub(super) keys: Vec<(RuleKey, Range<usize>)>,
    /// `true` if it has keys that no rule has.
    pub(super) has_unknown: bool,
    /// The places of each entry of `set`: its path and its value.
    pub(super) set: Vec<(Range<usize>, Range<usize>)>,
    /// The place of each entry of `remove`.
    pub(super) remove: Vec<Range<usize>>,
    /// The place of each entry of `send`.
    pub(super) send: Vec<Range<usize>>,
}

impl Draft {
    pub(super) fn has(&self, key: RuleKey) -> bool {
        self.keys.iter().any(|(own, _)| *own == key)
    }

    /// Returns its first key of a kind, in the order of the table.
    pub(super) fn first_of(&self, kind: KeyKind) -> Option<RuleKey> {
        RuleKey::of(kind).find(|key| self.has(*key))
    }

    /// Returns the place of a key, or of the rule when it has no such key.
    pub(super) fn span_of(&self, key: RuleKey) -> Range<usize> {
        let found = self.keys.iter().find(|(own, _)| *own == key);
        found.map_or_else(|| self.span.clone(), |(_, span)| span.clone())
    }
}
