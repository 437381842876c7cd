use bytes::Bytes;

use super::Container;

/// The blocks of a box in the form in which they came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Blocks {
    /// A byte for each, and half a byte for its data. Up to 1.7.
    Bytes {
        /// The low 8 bits of the numbers.
        ids: Bytes,
        /// The data of two blocks in each byte, the lower half first.
        data: Bytes,
        /// The high 4 bits of the numbers, as `data`; `None` if they are 0.
        add: Option<Bytes>,
    },
    /// Two bytes for each, little-endian: 12 bits of its number and 4 of its data. 1.8.
    Shorts(Bytes),
    /// A palette. Since 1.9.
    Packed(Container),
}

impl Blocks {
    /// Returns the state of the block at `index`; up to 1.12 its number times 16 and its data. `None` if
    /// there is none, or its palette does not have it.
    #[must_use]
    pub fn state(&self, index: usize) -> Option<u32> {
        match self {
            Self::Bytes { ids, data, add } => {
                let low = u32::from(*ids.get(index)?);
                let high = match add {
                    Some(add) => nibble(add, index)?,
                    None => 0,
                };
                Some((high << 8 | low) << 4 | nibble(data, index)?)
            }
            Self::Shorts(bytes) => {
                let bytes = bytes.get(2 * index..2 * index + 2)?;
                Some(u16::from_le_bytes(*bytes.first_chunk()?).into())
            }
            Self::Packed(container) => container.get(index),
        }
    }
}

/// Returns one of the half bytes of `bytes`, the lower half of each first.
pub(super) fn nibble(bytes: &Bytes, index: usize) -> Option<u32> {
    Some((bytes.get(index / 2)? >> (index % 2 * 4) & 15).into())
}
