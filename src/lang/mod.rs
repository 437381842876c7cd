//! The filter language: conditions on packets and values computed from them.
//!
//! Text is cut into tokens (`lexer`), read into a tree (`parser`), checked against the tables of
//! all versions and compiled (`checker`). For each type of packet that comes, what is certain of it
//! is taken out of the condition once (`plan`); what is left is evaluated on the fields that it asks
//! for, which one walk through the body finds (`collector`).
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

pub mod amount;
mod ast;
mod attribute;
mod checker;
mod collector;
mod datum;
mod error;
mod expr;
mod field;
mod formula;
mod lexer;
mod names;
mod parser;
mod plan;
mod predicate;

#[cfg(test)]
mod tests;

pub use attribute::Seen;
pub use error::{ExprError, Warning, closest};
pub use expr::Expr;
pub use formula::Formula;

/// Bytes of the longest expression.
const MAX_LENGTH: usize = 1 << 16;
