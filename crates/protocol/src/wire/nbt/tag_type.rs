use crate::wire::{WireError, named};

named! {
    /// The type of a tag. Its number precedes the tag's name in a compound, and the items of a list.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    #[repr(u8)]
    pub enum TagType {
        /// The end of a compound; also the element type of most empty lists.
        End => "end",
        /// A signed 8-bit integer.
        Byte => "byte",
        /// A signed 16-bit integer.
        Short => "short",
        /// A signed 32-bit integer.
        Int => "int",
        /// A signed 64-bit integer.
        Long => "long",
        /// A 32-bit IEEE 754 float.
        Float => "float",
        /// A 64-bit IEEE 754 float.
        Double => "double",
        /// Bytes, counted by an int.
        ByteArray => "byteArray",
        /// Modified UTF-8, counted in bytes by an unsigned short.
        Text => "string",
        /// Payloads of one type, counted by an int.
        List => "list",
        /// Named tags up to a [`TagType::End`].
        Compound => "compound",
        /// Signed 32-bit integers, counted by an int.
        IntArray => "intArray",
        /// Signed 64-bit integers, counted by an int.
        LongArray => "longArray",
    }

    const ALL;

    /// Returns the name of the type in prismarine-nbt's JSON.
    pub fn name;
}

impl TagType {
    /// Returns the type with this number.
    ///
    /// # Errors
    /// [`WireError::TagType`] if `id` is above 12.
    pub fn new(id: u8) -> Result<Self, WireError> {
        Self::ALL.get(usize::from(id)).copied().ok_or(WireError::TagType(id))
    }

    /// Returns the type with this name in JSON.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// Returns the number of the type on the wire, 0 to 12.
    #[must_use]
    pub fn id(self) -> u8 {
        self as u8
    }

    /// Returns the payload size of a type whose payloads all have the same size.
    pub(super) fn fixed_size(self) -> Option<usize> {
        match self {
            Self::End => Some(0),
            Self::Byte => Some(1),
            Self::Short => Some(2),
            Self::Int | Self::Float => Some(4),
            Self::Long | Self::Double => Some(8),
            Self::ByteArray
            | Self::Text
            | Self::List
            | Self::Compound
            | Self::IntArray
            | Self::LongArray => None,
        }
    }

    /// Returns the size of the shortest payload of the type.
    pub(super) fn min_size(self) -> usize {
        match self {
            Self::Compound => 1,
            Self::Text => 2,
            Self::ByteArray | Self::IntArray | Self::LongArray => 4,
            Self::List => 5,
            _ => self.fixed_size().unwrap_or(0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_is_found_by_its_number_and_its_name() {
        for id in 0..=12 {
            let kind = TagType::new(id).unwrap();
            assert_eq!(kind.id(), id);
            assert_eq!(TagType::named(kind.name()), Some(kind));
        }
        assert_eq!(TagType::new(13), Err(WireError::TagType(13)));
        assert_eq!(TagType::named("text"), None);
    }
}
