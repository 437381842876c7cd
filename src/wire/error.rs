use thiserror::Error;

/// Why bytes are not the primitive that was asked for.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum WireError {
    /// The bytes end too early: not wrong, only not all here yet.
    #[error("{needed} bytes needed, {left} left")]
    Incomplete {
        /// Bytes that the primitive takes at least.
        needed: usize,
        /// Bytes that were left.
        left: usize,
    },
    /// A length or count that no valid packet can have.
    #[error("{what} of {length} is out of range (0 to {limit})")]
    Length {
        /// What is counted, for example `string length`.
        what: &'static str,
        /// The number on the wire.
        length: i64,
        /// The largest number that would have been taken.
        limit: usize,
    },
    /// Text that its encoding does not allow.
    #[error("text is not valid {0}")]
    Text(&'static str),
    /// More continuation bytes than the type has bits.
    #[error("{0} does not end after {1} bytes")]
    VarInt(&'static str, usize),
    /// An NBT tag type that does not exist.
    #[error("unknown NBT tag type {0}")]
    TagType(u8),
    /// NBT nested deeper than the game allows.
    #[error("NBT nested deeper than {0} levels")]
    Depth(usize),
}

impl WireError {
    /// Whether more bytes could still make it right.
    #[must_use]
    pub fn is_incomplete(&self) -> bool {
        matches!(self, Self::Incomplete { .. })
    }
}
