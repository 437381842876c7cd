use std::borrow::Cow;

use bytes::Bytes;

use super::TagType;
use crate::wire::Encoding;

/// A tag without its name.
#[derive(Debug, Clone, PartialEq)]
pub enum Tag {
    /// 8-bit signed integer; also how the game stores a bool.
    Byte(i8),
    /// 16-bit signed integer.
    Short(i16),
    /// 32-bit signed integer.
    Int(i32),
    /// 64-bit signed integer.
    Long(i64),
    /// 32-bit number, with its NaN bits.
    Float(f32),
    /// 64-bit number, with its NaN bits.
    Double(f64),
    /// Bytes, signed in the game.
    ByteArray(Bytes),
    /// Raw modified UTF-8 of at most 65,535 bytes, valid or not.
    Text(Bytes),
    /// Tags of one type.
    List(List),
    /// Named tags.
    Compound(Compound),
    /// 32-bit signed integers.
    IntArray(Vec<i32>),
    /// 64-bit signed integers.
    LongArray(Vec<i64>),
}

impl Tag {
    /// A string tag; [`Encoding::decode_lossy`] goes the other way.
    #[must_use]
    pub fn text(text: &str) -> Self {
        Self::Text(Bytes::copy_from_slice(&encode(text)))
    }

    /// Its type, never [`TagType::End`].
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

/// Tags of one type, without names.
#[derive(Debug, Clone, PartialEq)]
pub struct List {
    /// The type of every item. An empty list has one too.
    pub element: TagType,
    /// The items, each of type `element`.
    pub items: Vec<Tag>,
    /// The count that an empty list came with, <= 0: a negative one reads as empty as well. It
    /// means nothing once there are items.
    pub(super) empty_count: i32,
}

impl List {
    /// A list of `items`, which are all of type `element`.
    #[must_use]
    pub fn new(element: TagType, items: Vec<Tag>) -> Self {
        Self { element, items, empty_count: 0 }
    }
}

/// Named tags in the order of the wire.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Compound {
    /// Names (raw modified UTF-8) and tags. A name may occur twice.
    pub entries: Vec<(Bytes, Tag)>,
}

impl Compound {
    /// The tag named `key`, the first when there are several.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Tag> {
        let key = encode(key);
        self.entries.iter().find(|(name, _)| name[..] == key[..]).map(|(_, tag)| tag)
    }

    /// The tag named `key` to change, the first when there are several.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut Tag> {
        let key = encode(key);
        self.entries.iter_mut().find(|(name, _)| name[..] == key[..]).map(|(_, tag)| tag)
    }
}

/// The modified UTF-8 of `text`.
pub(super) fn encode(text: &str) -> Cow<'_, [u8]> {
    Encoding::ModifiedUtf8.encode(text).expect("modified UTF-8 has a form for every character")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gets_the_first_of_two_tags_of_a_name() {
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
