use thiserror::Error;

use crate::schema::DecodeError;
use crate::wire::bytes as in_words;

/// The error of delimiting a stream into frames, or of reading the body of a frame.
///
/// A stream whose framing fails stays readable: its decoder returns the rest as
/// [`Unit::Opaque`](super::Unit::Opaque).
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum CodecError {
    /// A length prefix with more than 5 bytes. Ends framing.
    #[error("frame length at byte {at} of the stream does not end after 5 bytes")]
    FrameLength {
        /// Offset in the decrypted stream of the direction.
        at: u64,
    },
    /// A negative length prefix. Ends framing.
    #[error("frame length {length} at byte {at} of the stream is negative")]
    NegativeFrameLength {
        /// The length on the wire.
        length: i32,
        /// Offset in the decrypted stream of the direction.
        at: u64,
    },
    /// An unknown packet id in an unframed stream, where only the id tells the packet's length.
    /// Ends framing.
    #[error("unknown packet id 0x{id:02x} at byte {at} of the stream")]
    UnknownPacket {
        /// The packet id.
        id: i32,
        /// Offset of the id in the decrypted stream of the direction.
        at: u64,
    },
    /// A packet of an unframed stream that does not match its schema, so that its end is unknown.
    /// Ends framing.
    #[error("{error}, at byte {at} of the stream")]
    Unmeasured {
        /// Offset in the decrypted stream of the direction.
        at: u64,
        /// The field and the error in it.
        error: Box<DecodeError>,
    },
    /// A packet of an unframed stream that is too large to be buffered. Ends framing.
    #[error(
        "packet of {needed} bytes or more at byte {at} of the stream, and the limit is {limit}"
    )]
    BareLimit {
        /// Lower bound of the packet's length.
        needed: usize,
        /// [`Limits::frame`](super::Limits::frame).
        limit: usize,
        /// Offset in the decrypted stream of the direction.
        at: u64,
    },
    /// A packet of an unframed stream for which the memory is used up. Ends framing.
    #[error(
        "packet of {needed} bytes or more at byte {at} of the stream, and the {limit} bytes of memory \
         for all sessions are in use"
    )]
    Memory {
        /// Lower bound of the packet's length.
        needed: usize,
        /// [`MemoryBudget::limit`](super::MemoryBudget::limit).
        limit: usize,
        /// Offset in the decrypted stream of the direction.
        at: u64,
    },
    /// A gap in an observed stream. Ends framing.
    #[error("{bytes} bytes are missing at byte {at} of the stream")]
    Missing {
        /// Length of the gap.
        bytes: u64,
        /// Offset in the decrypted stream of the direction.
        at: u64,
    },
    /// A frame of a compressed stream that ends within its data length.
    #[error("frame of {} ends before its data length does", in_words(*bytes))]
    MissingDataLength {
        /// Bytes of the frame after its length prefix.
        bytes: usize,
    },
    /// A data length with more than 5 bytes.
    #[error("data length of a frame does not end after 5 bytes")]
    DataLength,
    /// A negative data length.
    #[error("data length {length} of a frame is negative")]
    NegativeDataLength {
        /// The data length on the wire.
        length: i32,
    },
    /// A body larger than the limit, which is not inflated.
    #[error("body inflates to {size} bytes, and the limit is {limit}")]
    InflatedLimit {
        /// Body size that the frame declares.
        size: usize,
        /// [`Limits::inflated`](super::Limits::inflated) when the frame was received.
        limit: usize,
    },
    /// A body shorter than its frame declares.
    #[error("body inflates to {}, and {declared} are declared", in_words(*inflated))]
    InflatedShort {
        /// Bytes that the stream inflated to.
        inflated: usize,
        /// Body size that the frame declares.
        declared: usize,
    },
    /// A body longer than its frame declares.
    #[error("body inflates to more than the {} declared", in_words(*declared))]
    InflatedLong {
        /// Body size that the frame declares.
        declared: usize,
    },
    /// A corrupt zlib stream.
    #[error("zlib stream is corrupt at byte {at} of {length}")]
    Zlib {
        /// Bytes of the stream that were consumed.
        at: usize,
        /// Length of the stream.
        length: usize,
    },
}

impl CodecError {
    /// Returns whether a text is that of an error for which the stream is at fault that cannot be decoded any more: no
    /// gap in a recording, and no limit. Captures have these errors as text.
    #[must_use]
    pub(crate) fn is_fault_of_stream(text: &str) -> bool {
        // Those of a limit, and of a gap.
        let others = [" bytes or more at byte ", " bytes are missing at byte "];
        text.contains(" of the stream") && !others.iter().any(|other| text.contains(other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::DecodeCause;

    #[test]
    fn the_text_of_each_error_tells_whether_the_stream_is_at_fault() {
        let (at, limit) = (7, 100);
        let error = Box::new(DecodeError::new(3, DecodeCause::Trailing(2)));
        for error in [
            CodecError::FrameLength { at },
            CodecError::NegativeFrameLength { length: -1, at },
            CodecError::UnknownPacket { id: 0x7f, at },
            CodecError::Unmeasured { at, error },
            CodecError::BareLimit { needed: 200, limit, at },
            CodecError::Memory { needed: 200, limit, at },
            CodecError::Missing { bytes: 5, at },
            CodecError::MissingDataLength { bytes: 1 },
            CodecError::DataLength,
            CodecError::NegativeDataLength { length: -1 },
            CodecError::InflatedLimit { size: 200, limit },
            CodecError::InflatedShort { inflated: 1, declared: 2 },
            CodecError::InflatedLong { declared: 2 },
            CodecError::Zlib { at: 1, length: 2 },
        ] {
            let expected = match error {
                CodecError::FrameLength { .. }
                | CodecError::NegativeFrameLength { .. }
                | CodecError::UnknownPacket { .. }
                | CodecError::Unmeasured { .. } => true,
                // A limit, a gap, or a fault of one frame.
                CodecError::BareLimit { .. }
                | CodecError::Memory { .. }
                | CodecError::Missing { .. }
                | CodecError::MissingDataLength { .. }
                | CodecError::DataLength
                | CodecError::NegativeDataLength { .. }
                | CodecError::InflatedLimit { .. }
                | CodecError::InflatedShort { .. }
                | CodecError::InflatedLong { .. }
                | CodecError::Zlib { .. } => false,
            };
            assert_eq!(CodecError::is_fault_of_stream(&error.to_string()), expected, "{error}");
        }
    }
}
