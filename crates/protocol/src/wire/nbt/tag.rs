use std::borrow::Cow;

use bytes::Bytes;

use super::TagType;
use crate::wire::Encoding;

/// An NBT tag without its name.
#[derive(Debug, Clone, PartialEq)]
pub enum Tag {
    /// A signed 8-bit integer; the game also stores booleans in it.
    Byte(i8),
    /// A signed 16-bit integer.
    Short(i16),
    /// A signed 32-bit integer.
    Int(i32),
    /// A signed 64-bit integer.
    Long(i64),
    /// A 32-bit float, with the bits of a NaN.
    Float(f32),
    /// A 64-bit float, with the bits of a NaN.
    Double(f64),
    /// An array of bytes, which the game treats as signed.
    ByteArray(Bytes),
    /// A string: raw modified UTF-8 of at most 65,535 bytes, valid or not.
    Text(Bytes),
    /// A sequence of tags of one type.
    List(List),
    /// A sequence of named tags.
    Compound(Compound),
    /// An array of signed 32-bit integers.
    IntArray(Vec<i32>),
    /// An array of signed 64-bit integers.
    LongArray(Vec<i64>),
}

impl Tag {
    /// Creates a string tag. [`Encoding::decode_lossy`] converts back.
    #[must_use]
    pub fn text(text: &str) -> Self {
        Self::Text(Bytes::copy_from_slice(&encode(text)))
    }

    /// Returns the number, if this is an integer of any width.
    #[must_use]
    pub fn as_int(&self) -> Option<i64> {
        Some(match self {
            Self::Byte(value) => (*value).into(),
            Self::Short(value) => (*value).into(),
            Self::Int(value) => (*value).into(),
            Self::Long(value) => *value,
            _ => return None,
        })
    }

    /// Returns the type of the tag, which is never [`TagType::End`].
    #[must_use]
    pub fn tag_type(&self) -> TagType {
        match self {
            Self::Byte(_) => TagType::Byte,
            Self::Short(_) => TagType::Short,
            Self::Int(_) => TagType::Int,
            Self::Long(_) => TagType::Long,
            Self::Float(_) => TagType::Float,
            Self::Double(_) => TagType::Double,
            Self::ByteArray(_) => TagType::ByteArray,
            Self::Text(_) => TagType::Text,
            Self::List(_) => TagType::List,
            Self::Compound(_) => TagType::Compound,
            Self::IntArray(_) => TagType::IntArray,
            Self::LongArray(_) => TagType::LongArray,
        }
    }
}

/// A sequence of unnamed tags of one type.
#[derive(Debug, Clone, PartialEq)]
pub struct List {
    /// The type of every item, also present in an empty list.
    pub element: TagType,
    /// The items, each of type `element`.
    pub items: Vec<Tag>,
    /// The count, <= 0, with which an empty list was read: the game reads a negative count as an
    /// empty list. Ignored if there are items.
    pub(super) empty_count: i32,
}

impl List {
    /// Creates a list. Every item must be of type `element`.
    #[must_use]
    pub fn new(element: TagType, items: Vec<Tag>) -> Self {
        Self { element, items, empty_count: 0 }
    }
}

/// A sequence of named tags in wire order.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Compound {
    /// Names in raw modified UTF-8, and their tags. A name may occur more than once.
    pub entries: Vec<(Bytes, Tag)>,
}

impl Compound {
    /// Returns the first tag named `key`.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Tag> {
        let key = encode(key);
        self.entries.iter().find(|(name, _)| name[..] == key[..]).map(|(_, tag)| tag)
    }

    /// Returns the first tag named `key` for modification.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut Tag> {
        let key = encode(key);
        self.entries.iter_mut().find(|(name, _)| name[..] == key[..]).map(|(_, tag)| tag)
    }
}

/// Returns the modified UTF-8 of `text`.
pub(super) fn encode(text: &str) -> Cow<'_, [u8]> {
    Encoding::ModifiedUtf8.encode(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn returns_the_first_of_two_tags_with_the_same_name() {
        let face = Bytes::copy_from_slice(&encode("\u{1f600}"));
        let twice = Bytes::from_static(b"twice");
        let mut compound = Compound {
            entries: vec![
                (face, Tag::Byte(1)),
                (twice.clone(), Tag::Byte(2)),
                (twice, Tag::Byte(3)),
            ],
        };
        assert_eq!(compound.get("\u{1f600}"), Some(&Tag::Byte(1)));
        *compound.get_mut("twice").unwrap() = Tag::Int(4);
        assert_eq!(compound.get("twice"), Some(&Tag::Int(4)));
        assert_eq!(compound.entries[2].1, Tag::Byte(3));
        assert_eq!(compound.get("none"), None);
    }
}
