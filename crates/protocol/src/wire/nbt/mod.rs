//! Lossless NBT: a document that was read is written as the same bytes.
//!
//! A document keeps its tag types, the order of its keys, duplicate keys, the element type of empty
//! lists, the bits of every NaN, and names and strings as raw bytes, whether they are valid
//! modified UTF-8 or not.
//!
//! Tag types 0 to 10 come from the game's first NBT specification; 11 (int array) was added in 1.2
//! and 12 (long array) in 1.12. Since 1.20.2 the root of network NBT has no name.

mod from_json;
mod json_error;
mod json_place;
mod read;
mod tag;
mod tag_type;
mod write;
mod write_json;

#[cfg(test)]
mod samples;
#[cfg(test)]
mod tests;

use bytes::Bytes;

pub use json_error::NbtJsonError;
pub use tag::{Compound, List, Tag};
pub use tag_type::TagType;

/// An NBT document: a root tag and its name.
///
/// Its JSON form is that of prismarine-nbt, for example
/// `{"type":"compound","name":"","value":{"x":{"type":"int","value":5}}}`. [`Nbt::write_json`]
/// says how it keeps what JSON cannot express.
#[derive(Debug, Clone, PartialEq)]
pub struct Nbt {
    /// Name of the root in raw modified UTF-8; `None` for network NBT since 1.20.2.
    pub name: Option<Bytes>,
    /// The root tag, usually a compound. Text components without a root name may be plain strings.
    pub root: Tag,
}

/// Deepest nesting of compounds and lists, the root included: the game's own limit.
const MAX_DEPTH: usize = 512;

/// Bytes of the longest name or string; the length is an unsigned short.
const MAX_TEXT: usize = 0xffff;

/// Elements of the longest list or array; the length is a signed int.
const MAX_COUNT: usize = i32::MAX as usize;
