use bytes::Bytes;

/// The biomes of a column, where they are not part of its sections.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BiomeMap {
    /// A byte for each of 16 × 16 blocks seen from above, up to 1.12.
    Bytes(Bytes),
    /// A number for each of 16 × 16 blocks seen from above; 1.13 and 1.14.
    Flat(Box<[u32]>),
    /// A number for each cell of 4 × 4 × 4 blocks, from the lowest up; 1.15 to 1.17.
    Cells(Box<[u32]>),
}

impl BiomeMap {
    /// Iterates over the numbers of the biomes.
    pub fn numbers(&self) -> Box<dyn Iterator<Item = u32> + '_> {
        match self {
            Self::Bytes(bytes) => Box::new(bytes.iter().map(|byte| u32::from(*byte))),
            Self::Flat(numbers) | Self::Cells(numbers) => Box::new(numbers.iter().copied()),
        }
    }
}
