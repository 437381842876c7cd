//! The keys of a filter file.

/// Keys of the file itself.
pub(super) const FILE: &[&str] = &["rule", "expect", "capture"];

/// Keys of `[capture]`.
pub(super) const CAPTURE: &[&str] = &["file", "ring", "bytes"];

/// Keys of `[[rule]]`.
pub(super) const RULE: &[&str] = &[
    "name", "when", "timer", "after", "for", "every", "chance", "once_per", "limit", "seed", "log",
    "show", "record", "comment", "tag", "write", "drop", "set", "remove", "replace", "truncate",
    "corrupt", "send", "delay", "throttle", "reorder", "copy", "close",
];

/// Keys of `[[rule]]` that are not actions.
pub(super) const CONDITIONS: &[&str] =
    &["name", "when", "timer", "after", "for", "every", "chance", "once_per", "limit", "seed"];

/// Keys of `[[rule]]` that a rule with `timer` can have.
pub(super) const TIMED: &[&str] = &[
    "name", "when", "timer", "after", "for", "chance", "once_per", "limit", "seed", "send", "close",
];

/// Keys of `[[expect]]`.
pub(super) const EXPECT: &[&str] =
    &["name", "after", "within", "when", "count", "never", "order", "same", "bytes", "rate", "per"];

/// Keys of `replace`.
pub(super) const REPLACE: &[&str] = &["packet", "fields", "hex"];

/// Keys of an entry of `send`.
pub(super) const SEND: &[&str] = &["to", "packet", "fields", "hex", "raw", "place"];
