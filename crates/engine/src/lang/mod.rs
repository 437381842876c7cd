//! The filter language: conditions on packets and values computed from them.
//!
//! An expression is split into tokens (`lexer`), parsed into a tree (`parser`, `ast`), then checked
//! against the protocols of all versions and compiled (`checker`, `names`). For each type of
//! packet, everything that is certain is evaluated once (`plan`). The rest is evaluated on the
//! fields it needs, which one walk through the body extracts (`collector`).
//!
//! What the program itself writes in this language is built as a tree, combined and printed
//! (`condition`), never put together as text.
//!
//! # The language, where it differs from Wireshark's
//!
//! * A lone name is a direction, a state (but `login` is the packet, and `state.login` the state), a
//!   packet, a glob of packets, or a field of type bool. In an operand, a name is a field.
//! * A packet is named as in the tables, otherwise by its official name; `role.chat` is all packets
//!   with that role, whatever a version calls them.
//! * `chat.message` is the field of the packet `chat` if any version has it, else a field `message`
//!   within a field `chat`; `*.chat.message` is always the latter. `tag."minecraft:x"` takes any name.
//! * From loosest to tightest: `or`, `and`, `not`, comparisons (which do not chain), `+ -`, `* / %`,
//!   `-x`.
//! * A comparison of several values (`a[*]`) holds if it holds for one of them, also with `!=`.
//! * Integers are exact, `/` truncates, and `%` has the sign of its left side; a result above 64 bits
//!   or a division by zero is absent. A literal is compared with a 32-bit float at 32 bits.
//! * A mapped number equals its name and its number; a UUID equals its text; bytes can be compared
//!   with text and searched for it. `+` with a text on either side joins texts.
//! * Operators and functions on text take a component in NBT as the text that a player reads.
//! * `x is name` holds if the value stands for that item, block, entity and so on in the packet's
//!   version. `distance` takes two points in blocks, and divides fields in smaller units.
//! * `replace` changes what a regular expression finds, in each text of a component on its own. `slice` counts
//!   characters, negative places from the end.
//! * `len` counts characters, bytes or elements. A regular expression matches bytes: `(?-u:\xff)`.
//! * Text has the escapes `\n \r \t \0 \" \\ \u{..}`; after `matches`, other backslashes belong to the
//!   regular expression. `r".."` has no escapes.

pub mod amount;
mod ast;
mod attribute;
mod checker;
mod collector;
mod completion;
mod condition;
mod datum;
mod error;
mod expr;
mod field;
mod field_index;
mod fit;
mod formula;
mod lexer;
mod memo;
mod names;
mod packets;
mod parser;
mod plan;
mod predicate;
mod renamed;
mod replacement;
mod thing_checker;
mod vocabulary;

#[cfg(test)]
mod tests;

pub use ast::{Literal, Path};
pub use attribute::{MARK, Subject};
pub use completion::Completion;
pub use condition::Condition;
pub use error::{ExprError, Warning, closest};
pub(crate) use error::{did_you_mean, marked_line};
pub use expr::Expr;
pub(crate) use expr::Possible;
pub(crate) use field::{holders, meaning_path, payload_steps, shape_at};
pub(crate) use field_index::FieldIndex;
#[cfg(test)]
pub(crate) use field_index::lookups::LOOKUPS;
pub use formula::Formula;
pub use lexer::split;
pub use vocabulary::Vocabulary;

/// The longest expression, in bytes.
const MAX_LENGTH: usize = 1 << 16;
