use thiserror::Error;

use mitmcraft_protocol::schema::{DecodeError, EncodeError};

/// An error in a Query datagram, or a missing answer.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum QueryError {
    /// The request does not begin with `FE FD`.
    #[error("the request does not begin with fe fd")]
    Magic,
    /// The datagram does not decode as its id says.
    #[error(transparent)]
    Decode(#[from] DecodeError),
    /// The token is not a decimal number of 32 bits.
    #[error("the token `{0}` is not a 32-bit number")]
    Token(String),
    /// A message cannot be encoded.
    #[error(transparent)]
    Encode(#[from] EncodeError),
    /// The server sent another message than the one that was asked for.
    #[error("the server sent another answer than was asked for")]
    Unexpected,
    /// The last try had no answer.
    #[error("no answer after {tries} tries{}", Self::heard(heard))]
    Timeout {
        /// The number of tries.
        tries: u32,
        /// The fault of the last datagram that arrived, if one did.
        heard: Option<Box<Self>>,
    },
}

impl QueryError {
    fn heard(heard: &Option<Box<Self>>) -> String {
        heard.as_ref().map_or(String::new(), |error| format!(": {error}"))
    }
}
