//! The keys that a filter file may have.

/// At the top.
pub(super) const FILE: &[&str] = &["rule", "capture"];

/// In `[capture]`.
pub(super) const CAPTURE: &[&str] = &["file", "ring", "bytes"];

/// In `[[rule]]`.
pub(super) const RULE: &[&str] = &[
    "name", "when", "after", "for", "every", "chance", "once_per", "limit", "seed", "log", "show",
    "record", "comment", "tag", "write", "drop", "set", "remove", "replace", "truncate", "corrupt",
    "send", "delay", "throttle", "reorder", "copy", "close",
];

/// In `replace`.
pub(super) const REPLACE: &[&str] = &["packet", "fields", "hex"];

/// In an entry of `send`.
pub(super) const SEND: &[&str] = &["to", "packet", "fields", "hex", "raw", "place"];
