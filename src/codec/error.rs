use thiserror::Error;

/// Why a stream is no stream of frames, or a frame has no body.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum CodecError {
    /// The length in front of a frame has a sixth byte. The stream goes on, unframed.
    #[error("frame length at byte {at} of the stream does not end after 5 bytes")]
    FrameLength {
        /// Offset in the direction's decrypted stream.
        at: u64,
    },
    /// The length in front of a frame is below 0. The stream goes on, unframed.
    #[error("frame length {length} at byte {at} of the stream is negative")]
    NegativeFrameLength {
        /// The number on the wire.
        length: i32,
        /// Offset in the direction's decrypted stream.
        at: u64,
    },
    /// No packet has the id, and nothing else tells where it ends. The stream goes on, unframed.
    #[error("unknown packet id 0x{id:02x} at byte {at} of the stream")]
    UnknownPacket {
        /// The id.
        id: i32,
        /// Offset of the id in the direction's stream.
        at: u64,
    },
    /// A packet that is not framed has bytes that no such packet has, so that it has no end. The
    /// stream goes on, unframed.
    #[error("{cause}, at byte {at} of the stream")]
    Unmeasured {
        /// Offset in the direction's stream.
        at: u64,
        /// What is wrong, and the field.
        cause: String,
    },
    /// A packet that is not framed would have to be held to find its end, and is too large. The
    /// stream goes on, unframed.
    #[error(
        "packet of {needed} bytes or more at byte {at} of the stream, and the limit is {limit}"
    )]
    BareLimit {
        /// Bytes that it has at least.
        needed: usize,
        /// [`Limits::frame`](super::Limits::frame).
        limit: usize,
        /// Offset in the direction's stream.
        at: u64,
    },
    /// Bytes of the stream were not seen. The stream goes on, unframed.
    #[error("{bytes} bytes are missing at byte {at} of the stream")]
    Missing {
        /// How many.
        bytes: u64,
        /// Offset in the direction's stream.
        at: u64,
    },
    /// Compression is on, and the frame ends before its data length does.
    #[error("frame of {bytes} bytes ends before its data length does")]
    MissingDataLength {
        /// Bytes of the frame after its length.
        bytes: usize,
    },
    /// The data length has a sixth byte.
    #[error("data length of a frame does not end after 5 bytes")]
    DataLength,
    /// The data length is below 0.
    #[error("data length {length} of a frame is negative")]
    NegativeDataLength {
        /// The number on the wire.
        length: i32,
    },
    /// The body would be larger than the limit; nothing was inflated.
    #[error("body inflates to {size} bytes, and the limit is {limit}")]
    InflatedLimit {
        /// Size that the frame declares.
        size: usize,
        /// [`Limits::inflated`](super::Limits::inflated) when the frame was received.
        limit: usize,
    },
    /// The body is shorter than its frame declares.
    #[error("body inflates to {inflated} bytes, and {declared} are declared")]
    InflatedShort {
        /// Size that there is.
        inflated: usize,
        /// Size that the frame declares.
        declared: usize,
    },
    /// The body is longer than its frame declares.
    #[error("body inflates to more than the {declared} bytes that are declared")]
    InflatedLong {
        /// Size that the frame declares.
        declared: usize,
    },
    /// The deflated bytes are no zlib stream.
    #[error("zlib stream is corrupt at byte {at} of {length}")]
    Zlib {
        /// Bytes of the stream that were taken.
        at: usize,
        /// Bytes of the stream.
        length: usize,
    },
}
