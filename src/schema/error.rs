use thiserror::Error;

use super::{Direction, State};
use crate::wire::WireError;

/// Why a protocol description cannot be compiled.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{at}: {cause}")]
pub struct SchemaError {
    /// Where in the description, for example `play.toClient.types.packet_chat`.
    pub at: String,
    /// What is wrong there.
    pub cause: String,
}

/// Why a body is not the packet that its id says.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{}{cause}", Self::place(path))]
pub struct DecodeError {
    /// Offset in the body, in bytes.
    pub at: usize,
    /// The field, for example `items[3].nbtData`; empty before the first.
    pub path: String,
    /// What is wrong there.
    pub cause: DecodeCause,
}

impl DecodeError {
    fn place(path: &str) -> String {
        if path.is_empty() { String::new() } else { format!("{path}: ") }
    }
}

/// What is wrong with the bytes of a field.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum DecodeCause {
    /// The bytes are not the primitive that stands there.
    #[error(transparent)]
    Wire(#[from] WireError),
    /// No packet of that id in that state and direction.
    #[error("no {direction} packet 0x{id:02x} in state {state}")]
    UnknownId {
        /// The id.
        id: i32,
        /// The state.
        state: State,
        /// The direction.
        direction: Direction,
    },
    /// The packet ended and bytes are left.
    #[error("{0} bytes left after the last field")]
    Trailing(usize),
    /// The types nest too deeply.
    #[error("nested deeper than {0} levels")]
    Depth(usize),
    /// A frame with nothing in it.
    #[error("empty frame: no packet id")]
    Empty,
}

/// Why a value cannot be encoded as a packet.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{}{cause}", DecodeError::place(path))]
pub struct EncodeError {
    /// The field, for example `items[3].itemCount`.
    pub path: String,
    /// What is wrong with it.
    pub cause: String,
}
