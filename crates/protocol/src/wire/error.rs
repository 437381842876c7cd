use thiserror::Error;

/// The error of decoding a primitive from bytes.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum WireError {
    /// The input ended early. More bytes may complete the primitive.
    #[error("{} needed, {left} left", bytes(*needed))]
    Incomplete {
        /// Lower bound of the bytes that the primitive needs.
        needed: usize,
        /// Bytes that were available.
        left: usize,
    },
    /// A length or count outside the range that a valid packet can have.
    #[error("{what} of {length} is out of range (0 to {limit})")]
    Length {
        /// The counted quantity, for example `string length`.
        what: &'static str,
        /// The value on the wire.
        length: i64,
        /// The largest value accepted.
        limit: usize,
    },
    /// Bytes that are invalid in the named text encoding, or text that it cannot represent.
    #[error("text is not valid {0}")]
    Text(&'static str),
    /// A VarInt or VarLong (named) with more bytes than the type allows.
    #[error("{0} does not end after {1} bytes")]
    VarInt(&'static str, usize),
    /// An NBT tag type above 12.
    #[error("unknown NBT tag type {0}")]
    TagType(u8),
    /// NBT nested deeper than the game's limit of this many levels.
    #[error("NBT nested deeper than {0} levels")]
    Depth(usize),
}

/// Returns a number of bytes in words: `1 byte`, `2 bytes`.
pub fn bytes(count: usize) -> String {
    if count == 1 { "1 byte".to_owned() } else { format!("{count} bytes") }
}

impl WireError {
    /// Returns whether more input could turn the error into a success.
    #[must_use]
    pub fn is_incomplete(&self) -> bool {
        matches!(self, Self::Incomplete { .. })
    }
}
