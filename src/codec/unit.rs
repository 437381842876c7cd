use bytes::Bytes;

use super::Frame;

/// What a decoder gives out. The units in order are the whole decrypted stream, byte for byte.
#[derive(Debug, Clone)]
pub enum Unit {
    /// A whole frame.
    Frame(Frame),
    /// A part of a frame beyond the limit, which streams through and is never held.
    Piece {
        /// The bytes; those of the first piece begin with the frame's length.
        bytes: Bytes,
        /// Bytes of the frame after its length, as that declares.
        frame: usize,
        /// Bytes still to come after this piece; 0 in the last one.
        left: usize,
    },
    /// Bytes of a stream that is not framed any more.
    Opaque(Bytes),
}

impl Unit {
    /// The bytes as received after decryption.
    #[must_use]
    pub fn wire(&self) -> &Bytes {
        match self {
            Self::Frame(frame) => frame.wire(),
            Self::Piece { bytes, .. } | Self::Opaque(bytes) => bytes,
        }
    }
}
