//! NBT, lossless: what is read is written as the same bytes.
//!
//! Kept are the tag types, the order of the keys, keys that occur twice, the element type of empty
//! lists, the bits of every NaN, and names and strings as the raw bytes that came, whether they
//! are valid modified UTF-8 or not.
//!
//! Types 0 to 10 are those of the game's first NBT specification; 11 (Anvil, 1.2) and 12 (1.12)
//! came later, and since 1.20.2 the root of network NBT has no name.

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

/// One NBT document: a root tag and its name.
///
/// The JSON form is that of prismarine-nbt, for example
/// `{"type":"compound","name":"","value":{"x":{"type":"int","value":5}}}`;
/// [`Nbt::write_json`] says how far it goes.
#[derive(Debug, Clone, PartialEq)]
pub struct Nbt {
    /// The root's name, raw modified UTF-8. `None`: anonymous NBT, as sent since 1.20.2.
    pub name: Option<Bytes>,
    /// The root, most often a compound; anonymous text components may be plain strings.
    pub root: Tag,
}

/// How deep compounds and lists may nest, the root included: the game's own limit.
const MAX_DEPTH: usize = 512;

/// Bytes of the longest name or string, since its length is an unsigned short.
const MAX_TEXT: usize = 0xffff;

/// Elements of the longest list or array, since its length is a signed int.
const MAX_COUNT: usize = i32::MAX as usize;
