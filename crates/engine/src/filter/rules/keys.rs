//! The keys of a filter file. [`RuleKey::TABLE`] says of each key of a rule what kind it is, what it excludes, and what
//! it does: the parser, the checks, the JSON Schema and the table in `docs/filters.md` are made of it.
//!
//! # Adding an action
//!
//! 1. `filter/rules/keys.rs`: a variant of [`RuleKey`], and its line in the table.
//! 2. `filter/rules/rule.rs`: a field of `Actions`, and how its value is read; the compiler asks for that.
//! 3. `filter/rules/act.rs`: what it does with a packet.
//!
//! An action that does what no other does also needs a field of `Effects` in `filter/verdict.rs`, and `link/delivery.rs`
//! carries it out. `UPDATE_DOCS=1 cargo test -p mitmcraft-engine --lib filter::rules` then writes the JSON Schema and the
//! table; a test compares what each line says with what the parser and the checks do with its example.

use KeyKind::{Condition, Ends, Late, Notes, Rewrites, Sends};
use RuleKey::*;

/// A key of `[[rule]]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum RuleKey {
    Name,
    When,
    Timer,
    After,
    For,
    Every,
    Chance,
    OncePer,
    Limit,
    Seed,
    Log,
    Show,
    Record,
    Comment,
    Tag,
    Write,
    Drop,
    Set,
    Remove,
    Replace,
    Truncate,
    Corrupt,
    Send,
    Delay,
    Throttle,
    Reorder,
    Copy,
    Close,
}

/// The purpose of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KeyKind {
    /// It says when the rule acts.
    Condition,
    /// It says how the packet is logged.
    Notes,
    /// It changes the packet's bytes.
    Rewrites,
    /// It changes when the packet is forwarded, and how often.
    Late,
    /// It makes other packets.
    Sends,
    /// The packet is not forwarded.
    Ends,
}

/// A line of the table.
#[derive(Debug, Clone, Copy)]
pub(super) struct KeyInfo {
    pub(super) key: RuleKey,
    pub(super) name: &'static str,
    pub(super) kind: KeyKind,
    /// `true` if a rule with `timer` can have it, which acts without a packet.
    pub(super) timed: bool,
    /// The keys beside which it cannot be.
    pub(super) excludes: &'static [RuleKey],
    /// The keys of which the rule must have one.
    pub(super) needs: &'static [RuleKey],
    /// A value, in TOML.
    pub(super) example: &'static str,
    /// The members of its value's JSON Schema.
    #[cfg_attr(not(test), expect(dead_code, reason = "a test writes the schema"))]
    pub(super) schema: &'static str,
    /// What it does.
    #[cfg_attr(not(test), expect(dead_code, reason = "a test writes the docs"))]
    pub(super) help: &'static str,
}

impl RuleKey {
    /// All keys, in the order in which people read them.
    pub(super) const TABLE: &[KeyInfo] = TABLE;

    /// Returns the key with this name.
    pub(super) fn named(name: &str) -> Option<Self> {
        Self::TABLE.iter().find(|it| it.name == name).map(|it| it.key)
    }

    /// The line of the key.
    pub(super) fn info(self) -> &'static KeyInfo {
        // A test compares the order of both.
        &Self::TABLE[self as usize]
    }

    pub(super) fn name(self) -> &'static str {
        self.info().name
    }

    /// Returns the names of all keys.
    pub(super) fn names() -> Vec<&'static str> {
        Self::TABLE.iter().map(|it| it.name).collect()
    }

    /// Returns the keys of a kind.
    pub(super) fn of(kind: KeyKind) -> impl Iterator<Item = Self> {
        Self::TABLE.iter().filter(move |it| it.kind == kind).map(|it| it.key)
    }
}

impl KeyKind {
    /// Returns whether an action of this kind does something only with a packet that is forwarded.
    pub(super) fn needs_forwarding(self) -> bool {
        matches!(self, Self::Rewrites | Self::Late)
    }
}

impl KeyInfo {
    const fn timed(self) -> Self {
        Self { timed: true, ..self }
    }

    const fn excludes(self, excludes: &'static [RuleKey]) -> Self {
        Self { excludes, ..self }
    }

    const fn needs(self, needs: &'static [RuleKey]) -> Self {
        Self { needs, ..self }
    }
}

/// [`RuleKey::TABLE`].
#[rustfmt::skip] // a line for each
const TABLE: &[KeyInfo] = &[
    key(Name, "name", Condition, r#""x""#, TEXT, "The rule's name in messages and counts; unique.").timed(),
    key(When, "when", Condition, r#""chat""#, TEXT, "A condition in the filter language; by default, every packet.").timed(),
    key(Timer, "timer", Condition, r#""10s""#, DURATION, "Act at this interval from the session's opening on, instead of on packets.").timed(),
    key(After, "after", Condition, r#""10s""#, DURATION, "The minimum age of the session.").timed(),
    key(For, "for", Condition, r#""10s""#, DURATION, "The time during which the rule acts, from its first match after `after`.").timed(),
    key(Every, "every", Condition, "3", COUNT, "Act on one of every n matches: with 3, on the first, the fourth, the seventh."),
    key(Chance, "chance", Condition, "0.5", PROBABILITY, "The probability of acting, from 0 to 1.").timed(),
    key(OncePer, "once_per", Condition, r#""session""#, SCOPE, "Act once per session, player or run.").timed(),
    key(Limit, "limit", Condition, "3", COUNT, "The most times that the rule acts per session.").timed(),
    key(Seed, "seed", Condition, "7", INTEGER, "The seed of `chance`, of jitter and of `corrupt`; by default, the rule's name.").timed(),
    key(Log, "log", Notes, "false", LOG, "`false`: neither on the screen nor in captures; a word: the level of detail on the screen."),
    key(Show, "show", Notes, "false", BOOL, "`false` hides the packet on the screen."),
    key(Record, "record", Notes, "false", BOOL, "`false` leaves the packet out of captures."),
    key(Comment, "comment", Notes, r#""seen""#, TEXT, "A comment in captures and on the screen; `=expression` computes it."),
    key(Tag, "tag", Notes, r#"["seen"]"#, TEXTS, "Tags, appended to the comment."),
    key(Write, "write", Notes, r#""flush""#, RING, "The action on the capture of `[capture]`."),
    key(Drop, "drop", Ends, "true", BOOL, "`true` does not forward the packet."),
    key(Set, "set", Rewrites, r#"{ message = "x" }"#, SETS, "Values by path; `=expression` computes them.").excludes(&[Replace]),
    key(Remove, "remove", Rewrites, r#"["message"]"#, PATHS, "Paths of optional fields and elements to remove.").excludes(&[Replace]),
    key(Replace, "replace", Rewrites, r#"{ hex = "01 01 78" }"#, BODY, "A whole packet in place of the matching one."),
    key(Truncate, "truncate", Rewrites, "4", LENGTH, "The number of bytes of id and fields to keep."),
    key(Corrupt, "corrupt", Rewrites, "3", BYTES, "The number of random bytes of the fields to change."),
    key(Send, "send", Sends, r#"{ to = "client", raw = "00" }"#, PACKETS, "Additional packets to send.").timed(),
    key(Delay, "delay", Late, r#""200ms ± 50ms""#, JITTERED, "The delay, such as `200ms` or `200ms ± 50ms`."),
    key(Throttle, "throttle", Late, r#""64kB/s""#, RATE, "The most bytes per second, such as `64kB/s`."),
    key(Reorder, "reorder", Late, "true", BOOL, "`true` lets later packets overtake a delayed one.").needs(&[Delay, Throttle]),
    key(Copy, "copy", Late, "2", COPIES, "The number of additional copies to send."),
    key(Close, "close", Ends, r#""bye""#, TEXT, "The reason for ending the session, shown to the player; the packet is not forwarded.").timed(),
];

const fn key(
    key: RuleKey,
    name: Text,
    kind: KeyKind,
    example: Text,
    schema: Text,
    help: Text,
) -> KeyInfo {
    KeyInfo { key, name, kind, timed: false, excludes: &[], needs: &[], example, schema, help }
}

type Text = &'static str;

const TEXT: Text = r#""type": "string""#;
const BOOL: Text = r#""type": "boolean""#;
const COUNT: Text = r#""type": "integer", "minimum": 1"#;
const PROBABILITY: Text = r#""type": "number", "minimum": 0, "maximum": 1"#;
const SCOPE: Text = r#""enum": ["session", "player", "run"]"#;
const LOG: Text = r#""enum": [true, false, "name", "full", "hex"]"#;
const TEXTS: Text =
    r#""anyOf": [{ "type": "string" }, { "type": "array", "items": { "type": "string" } }]"#;
const RING: Text = r#""enum": ["start", "stop", "flush"]"#;
const SETS: Text = r##""type": "object", "propertyNames": { "$ref": "#/$defs/path" }"##;
const PATHS: Text = r##""type": "array", "items": { "$ref": "#/$defs/path" }"##;
const LENGTH: Text = r#""type": "integer", "minimum": 0, "maximum": 1073741824"#;
const BYTES: Text = r#""type": "integer", "minimum": 1, "maximum": 1048576"#;
const PACKETS: Text = r##""anyOf": [{ "$ref": "#/$defs/send" }, { "type": "array", "items": { "$ref": "#/$defs/send" } }]"##;
const COPIES: Text = r#""type": "integer", "minimum": 1, "maximum": 1000"#;
const INTEGER: Text = r#""type": "integer""#;
const BODY: Text = r##""$ref": "#/$defs/replace""##;
const JITTERED: Text = r##""$ref": "#/$defs/jittered""##;
const RATE: Text = r##""$ref": "#/$defs/rate""##;
const DURATION: Text = r##""$ref": "#/$defs/duration""##;

/// Keys of the file itself.
pub(super) const FILE: &[&str] = &["rule", "expect", "capture"];

/// Keys of `[capture]`.
pub(super) const CAPTURE: &[&str] = &["file", "ring", "bytes"];

/// Keys of `[[expect]]`.
pub(super) const EXPECT: &[&str] = &[
    "name", "after", "within", "until", "at_end", "when", "count", "never", "order", "same",
    "bytes", "rate", "per",
];

/// Keys of `replace`.
pub(super) const REPLACE: &[&str] = &["packet", "fields", "hex"];

/// Keys of an entry of `send`.
pub(super) const SEND: &[&str] = &["to", "packet", "fields", "hex", "raw", "place"];
