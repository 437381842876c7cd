use thiserror::Error;

use super::{Direction, State};
use crate::wire::WireError;

/// The error of compiling a protocol description.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{at}: {cause}")]
pub struct SchemaError {
    /// Place in the description, for example `play.toClient.types.packet_chat`.
    pub at: String,
    /// The problem, as a message for the author of the description.
    pub cause: String,
}

/// The error of decoding a packet body.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{}{cause}", Self::place(path))]
pub struct DecodeError {
    /// Offset in the body, in bytes.
    pub at: usize,
    /// Path of the field, for example `items[3].nbtData`; empty for the packet itself.
    pub path: String,
    /// The problem in that field.
    pub cause: DecodeCause,
}

impl DecodeError {
    fn place(path: &str) -> String {
        if path.is_empty() { String::new() } else { format!("{path}: ") }
    }
}

/// The cause of a [`DecodeError`].
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum DecodeCause {
    /// The bytes do not form the expected primitive.
    #[error(transparent)]
    Wire(#[from] WireError),
    /// The state and direction have no packet with this id.
    #[error("no {direction} packet 0x{id:02x} in state {state}")]
    UnknownId {
        /// The packet id.
        id: i32,
        /// The state of the connection.
        state: State,
        /// The direction of the packet.
        direction: Direction,
    },
    /// This many bytes remain after the last field.
    #[error("{0} bytes left after the last field")]
    Trailing(usize),
    /// Types nested deeper than this many levels.
    #[error("nested deeper than {0} levels")]
    Depth(usize),
    /// An empty body, without a packet id.
    #[error("empty frame: no packet id")]
    Empty,
}

/// The error of encoding a value as a packet.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{}{cause}", DecodeError::place(path))]
pub struct EncodeError {
    /// Path of the field, for example `items[3].itemCount`; empty for the packet itself.
    pub path: String,
    /// The problem in that field.
    pub cause: String,
}
