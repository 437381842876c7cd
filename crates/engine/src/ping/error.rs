use thiserror::Error;

use mitmcraft_protocol::codec::CodecError;
use mitmcraft_protocol::schema::{DecodeError, EncodeError};

/// The error of a Server List Ping.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PingError {
    /// The server closed the connection without sending anything.
    #[error("the server closed the connection without an answer")]
    Closed,
    /// The server did not answer in time.
    #[error("no answer in time")]
    Timeout,
    /// The connection ended within the response, after this many bytes.
    #[error("the answer ends after {0} bytes")]
    CutOff(usize),
    /// The response is not framed as the protocol requires.
    #[error("the answer is not a packet: {0}")]
    Codec(#[from] CodecError),
    /// The response is a frame of this many bytes, which exceeds the limit.
    #[error("the answer has {0} bytes, which is too long")]
    TooLong(usize),
    /// The response does not decode.
    #[error("the answer does not decode: {0}")]
    Decode(#[from] DecodeError),
    /// The server sent this packet instead of the expected one.
    #[error("the server answered with `{0}`")]
    Unexpected(String),
    /// The status is not a JSON object; with the reason.
    #[error("the status is not a JSON object: {0}")]
    Json(String),
    /// The response of a form before 1.7 starts with this byte instead of `FF`.
    #[error("the answer begins with 0x{0:02x}, not with 0xff")]
    NoAnswer(u8),
    /// The server refused with this text, which is not a status.
    #[error("the server says: {0}")]
    Kick(String),
    /// The host name does not fit into a request.
    #[error("the host cannot be asked for: {0}")]
    Host(#[from] EncodeError),
}
