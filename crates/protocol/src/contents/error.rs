use crate::codec::CodecError;
use crate::packet::Undecoded;
use crate::wire::WireError;

/// The reason why the contents of a packet cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ContentsError {
    /// The packet does not decode.
    #[error(transparent)]
    Undecoded(#[from] Undecoded),
    /// The compressed data does not inflate within the limit.
    #[error(transparent)]
    Inflate(#[from] CodecError),
    /// The data ends early.
    #[error("section {section}: {error}")]
    Data {
        /// The place of the section among those in the packet, from 0.
        section: usize,
        /// The value that is cut off.
        error: WireError,
    },
    /// The data has another size than its sections.
    #[error("the data has {found} bytes, and its sections take {expected}")]
    Size {
        /// The number of bytes.
        found: usize,
        /// The number that the sections need.
        expected: usize,
    },
    /// A palette has more entries than there are blocks.
    #[error("section {section}: a palette of {entries} entries for {blocks} blocks")]
    Palette {
        /// The place of the section among those in the packet, from 0.
        section: usize,
        /// The declared number of entries.
        entries: i32,
        /// The number of blocks, or of cells with a biome.
        blocks: usize,
    },
    /// An array of numbers has another length than its width needs.
    #[error("section {section}: {found} longs, and {bits} bits per entry need {expected}")]
    Longs {
        /// The place of the section among those in the packet, from 0.
        section: usize,
        /// The declared number of longs.
        found: i32,
        /// The width of an entry.
        bits: u8,
        /// The number of longs that the entries take.
        expected: usize,
    },
    /// An entry is wider than any number of a block.
    #[error("section {section}: {bits} bits per entry")]
    Width {
        /// The place of the section among those in the packet, from 0.
        section: usize,
        /// The declared width.
        bits: u8,
    },
    /// Bytes are left after the last section.
    #[error("{left} bytes are left after the last section")]
    Rest {
        /// The number of bytes left.
        left: usize,
    },
    /// A field does not have the form that it has in the game.
    #[error("`{0}` is not as in the game")]
    Field(&'static str),
}
