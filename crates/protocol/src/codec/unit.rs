use std::sync::Arc;

use bytes::Bytes;

use super::{CodecError, Frame};

/// A delimited part of a decoder's stream. The units in order are the whole decrypted stream, byte
/// for byte.
#[derive(Debug, Clone)]
pub enum Unit {
    /// A whole frame.
    Frame(Frame),
    /// A part of a frame above [`Limits::frame`](super::Limits::frame), which is never held as a whole.
    Piece {
        /// The decrypted bytes; those of the first piece begin with the frame's length prefix.
        bytes: Bytes,
        /// Bytes of the frame after its length prefix, as the prefix declares.
        frame: usize,
        /// Bytes still to come after this piece; 0 in the last one.
        left: usize,
    },
    /// Bytes of a stream that is no longer framed.
    Opaque {
        /// The decrypted bytes.
        bytes: Bytes,
        /// The error that ended framing; `None` after [`Decoder::set_opaque`](super::Decoder::set_opaque).
        reason: Option<Arc<CodecError>>,
    },
}

impl Unit {
    /// Returns the bytes of the unit as received, decrypted.
    #[must_use]
    pub fn wire(&self) -> &Bytes {
        match self {
            Self::Frame(frame) => frame.wire(),
            Self::Piece { bytes, .. } | Self::Opaque { bytes, .. } => bytes,
        }
    }
}
