//! What to do with a packet: filters, and what they are given.
//!
//! [`Expr`] and [`Formula`] are the filter language: conditions for what is shown, what is recorded
//! and rules, and values that rules compute. They see a packet through a [`View`].
//!
//! # The language, where Wireshark's does not settle it
//!
//! * A name that stands alone is a direction, a state (but `login` is the packet, `state.login` the
//!   state), a packet or a glob of packets; a field too, when it is a bool. Elsewhere it is a field.
//! * `chat.message` is the field of the packet `chat` if some version's has it, else `message` in a
//!   field `chat`; `*.chat.message` is the latter for sure. `tag."minecraft:x"` takes any name.
//! * Loosest first: `or`, `and`, `not`, comparisons (which do not chain), `+ -`, `* / %`, `-x`.
//! * A comparison of several values (`a[*]`) holds when it does for one of them, also `!=`.
//! * Integers are exact, `/` drops the rest and `%` has the sign of its left side; a result beyond
//!   64 bits or a division by zero is absent. A decimal is compared with a 32-bit float at 32 bits.
//! * A mapped number is its name and its number; a UUID is its text; bytes can be compared with and
//!   searched for text. `+` with a text on either side joins.
//! * What searches or changes text takes a component in NBT for the text that a player reads.
//! * `len` counts characters, bytes or elements. A regular expression sees bytes: `(?-u:\xff)`.
//! * In text `\n \r \t \0 \" \\ \u{..}` are escapes; behind `matches` other backslashes are the
//!   regular expression's. `r".."` has none.

mod context;
mod expr;
mod packet;
mod pipeline;
mod rules;
mod time;
mod verdict;
mod view;

pub use context::Context;
pub(crate) use expr::component_text;
pub use expr::{Expr, ExprError, Formula, Needs, Outlook, View, Warning, closest};
pub use packet::{Content, Origin, Packet, RawReason, Undecoded};
pub use pipeline::{Filter, Judgement, Pipeline};
pub use rules::{Checked, Fault, RingCapture, RuleCount, RuleSet, Rules, Severity};
pub use time::Timestamp;
pub use verdict::{Delay, Detail, Effects, Injection, Notes, Ring, Verdict};
