use thiserror::Error;

use crate::codec::CodecError;
use crate::schema::{DecodeError, EncodeError};

/// Why a ping has come to nothing.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PingError {
    /// The server is there, and has closed the connection instead of answering.
    #[error("the server closed the connection without an answer")]
    Closed,
    /// The time was over before the answer was there.
    #[error("no answer in time")]
    Timeout,
    /// The connection ended within the answer.
    #[error("the answer ends after {0} bytes")]
    CutOff(usize),
    /// What came is no frame.
    #[error("the answer is no packet: {0}")]
    Codec(#[from] CodecError),
    /// The answer is a frame beyond the limit.
    #[error("the answer has {0} bytes, which is too long")]
    TooLong(usize),
    /// The frame is not the packet that was expected.
    #[error("the answer does not decode: {0}")]
    Decode(#[from] DecodeError),
    /// Another packet came than the one that was asked for.
    #[error("the server answered with `{0}`")]
    Unexpected(String),
    /// The status is not the JSON that it should be.
    #[error("the status is no JSON object: {0}")]
    Json(String),
    /// A form from before 1.7 begins its answer with `FF`.
    #[error("the answer begins with 0x{0:02x}, not with 0xff")]
    NoAnswer(u8),
    /// The server refuses with a text that is no status.
    #[error("the server says: {0}")]
    Kick(String),
    /// The host's name has no place in a request.
    #[error("the host cannot be asked for: {0}")]
    Host(#[from] EncodeError),
}
