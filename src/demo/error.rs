use std::io;

use thiserror::Error;

use crate::codec::CodecError;
use crate::schema::{DecodeError, EncodeError, State};

/// Why a demo came to no good end.
#[derive(Debug, Error)]
pub enum DemoError {
    /// The socket failed.
    #[error("the demo's connection failed in state {state}")]
    Io {
        /// How far it had come.
        state: State,
        /// What the operating system says.
        source: io::Error,
    },
    /// There was no connection to begin with.
    #[error("the demo's client cannot connect")]
    Connect(#[source] io::Error),
    /// The operating system gives no random numbers.
    #[error("the operating system gives no random numbers")]
    Random(#[source] io::Error),
    /// The peer closed the connection before it was over.
    #[error("the peer closed the connection in state {0}")]
    Closed(State),
    /// The peer owes an answer.
    #[error("the peer is silent in state {0}")]
    Silent(State),
    /// The demo's server was told to stop.
    #[error("the server stops")]
    Stopped,
    /// The player said farewell, and the server goes on.
    #[error("the server did not kick the player that said farewell")]
    NotKicked,
    /// The server ended the connection, and was not asked to.
    #[error("the server disconnected the player in state {state}: {reason}")]
    Disconnected {
        /// How far it had come.
        state: State,
        /// As plain text.
        reason: String,
    },
    /// The bytes are no frames.
    #[error("the peer's bytes are no frames")]
    Codec(#[from] CodecError),
    /// A frame beyond the limit.
    #[error("the peer sent a frame of {0} bytes")]
    Oversize(usize),
    /// A packet that does not decode before the game has begun.
    #[error("a packet of state {state} does not decode")]
    Decode {
        /// How far the connection had come.
        state: State,
        /// Where, and why.
        source: DecodeError,
    },
    /// A packet that has no place there.
    #[error("packet `{packet}` is not expected in state {state}")]
    Unexpected {
        /// Its name.
        packet: String,
        /// How far the connection had come.
        state: State,
    },
    /// A packet without a field that it must have, or with a number in it that means nothing.
    #[error("packet `{packet}` has no usable field `{field}`")]
    Field {
        /// Its name.
        packet: String,
        /// The field's name.
        field: &'static str,
    },
    /// The key exchange failed; in which way is not told.
    #[error("the key exchange failed")]
    KeyExchange,
    /// The demo's own fault: a packet that the description does not have as it was written.
    #[error("the demo cannot encode its own packet `{packet}`")]
    Encode {
        /// Its name.
        packet: &'static str,
        /// The field; `None`: there is no such packet.
        source: Option<EncodeError>,
    },
}
