use thiserror::Error;

use crate::schema::{DecodeError, EncodeError};

/// Why a datagram is no message of Query, or why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum QueryError {
    /// A request begins with `FE FD`.
    #[error("the request does not begin with fe fd")]
    Magic,
    /// The datagram is not what its id says.
    #[error(transparent)]
    Decode(#[from] DecodeError),
    /// The token is a number in text.
    #[error("the token `{0}` is no number of 32 bits")]
    Token(String),
    /// A part cannot be sent.
    #[error(transparent)]
    Encode(#[from] EncodeError),
    /// Another message came than the one that was asked for.
    #[error("the server answers something else than was asked")]
    Unexpected,
    /// The last try has had no answer; why the last datagram that came was none, if one came.
    #[error("no answer after {tries} tries{}", Self::heard(heard))]
    Timeout {
        /// How often it was tried.
        tries: u32,
        /// What was wrong with the last datagram that came.
        heard: Option<Box<Self>>,
    },
}

impl QueryError {
    fn heard(heard: &Option<Box<Self>>) -> String {
        heard.as_ref().map_or(String::new(), |error| format!(": {error}"))
    }
}
