use thiserror::Error;

use crate::proxy::ConnectError;
use mitmcraft_engine::link::NetworkError;
use mitmcraft_protocol::packet::{Cause, RawReason, Undecoded};
use mitmcraft_protocol::schema::{EncodeError, State};

/// The reason why a connection of the demo failed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum DemoError {
    /// The connection broke.
    #[error("lost the connection in state {state}: {reason}")]
    Lost {
        /// The state of the connection.
        state: State,
        /// The error of the operating system.
        reason: NetworkError,
    },
    /// The connection could not be made.
    #[error("the demo's client cannot connect")]
    Connect(#[from] ConnectError),
    /// The peer closed the connection too early.
    #[error("the peer closed the connection in state {0}")]
    Closed(State),
    /// The peer sent nothing for too long.
    #[error("the peer is silent in state {0}")]
    Silent(State),
    /// The run ends, for that reason.
    #[error("{0}")]
    Stopped(Cause),
    /// The run ends because its server does.
    #[error("the server stops")]
    ServerStopped,
    /// The player said farewell, and the server did not end the connection.
    #[error("the server did not kick the player that said farewell")]
    NotKicked,
    /// The server ended the connection before the player said farewell.
    #[error("the server disconnected the player in state {state}: {reason}")]
    Disconnected {
        /// The state of the connection.
        state: State,
        /// The server's reason, as plain text.
        reason: String,
    },
    /// The server rejects a player, for that reason.
    #[error("{0}")]
    Rejected(&'static str),
    /// The peer's bytes are no frames, or a frame is too large.
    #[error("cannot read frames: {0}")]
    Unreadable(RawReason),
    /// A packet before the play state cannot be decoded.
    #[error("cannot decode a packet of state {state}")]
    Decode {
        /// The state of the connection.
        state: State,
        /// Where, and why.
        source: Undecoded,
    },
    /// A packet that the connection is not waiting for.
    #[error("packet `{packet}` is not expected in state {state}")]
    Unexpected {
        /// The packet's name.
        packet: String,
        /// The state of the connection.
        state: State,
    },
    /// A packet without a field that it must have, or with an unusable value in it.
    #[error("packet `{packet}` has no usable field `{field}`")]
    Field {
        /// The packet's name.
        packet: String,
        /// The field's name.
        field: &'static str,
    },
    /// The key exchange failed. The cause is kept secret, for an attacker could use it.
    #[error("the key exchange failed")]
    KeyExchange,
    /// The protocol's description does not have one of the demo's own packets.
    #[error("the demo cannot encode its own packet `{packet}`")]
    Encode {
        /// The packet's name.
        packet: String,
        /// The field's fault; `None` if there is no such packet.
        source: Option<EncodeError>,
    },
}
