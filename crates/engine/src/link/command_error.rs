use mitmcraft_protocol::schema::{Direction, State};
use thiserror::Error;

use crate::filter::EditError;

/// The reason why a [`Command`](super::Command) is not carried out, or not to its end.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum CommandError {
    /// The packet to be decided on has gone.
    #[error("packet {0} is not held any more")]
    NotHeld(u64),
    /// Some of several packets were not decided on.
    #[error("{} of them cannot be: {reason}", held.len())]
    NotAll {
        /// The numbers of these packets.
        held: Vec<u64>,
        /// The reason for the first of them.
        reason: String,
    },
    /// An edited packet would have become one of those that the session follows.
    #[error("it would become a packet that changes the connection")]
    DrivesConnection,
    /// The session would end; the text says why.
    #[error("{0}")]
    Guarded(String),
    /// Packets can be sent in no frames yet, or in none any more.
    #[error("the session is not at a point where packets can be sent")]
    NotReady,
    /// The number of times is not from 1 to this maximum.
    #[error("a packet can be sent 1 to {0} times")]
    Times(u32),
    /// The state has no packet of that name.
    #[error("there is no {direction} packet `{name}` in state {state} now")]
    NoSuchPacket {
        /// The direction in which it was to be sent.
        direction: Direction,
        /// The name of the packet.
        name: String,
        /// The direction's state.
        state: State,
    },
    /// This many packets are being repeated, which is the maximum: the packet was sent once.
    #[error("{0} packets are being repeated: only 1 is sent")]
    TooManyRepeats(usize),
    /// The state changed before this many packets were sent.
    #[error("the state changed: {0} packets were not sent")]
    StateChanged(u32),
    /// A packet without bytes.
    #[error("a packet has an id at least")]
    Empty,
    /// Fields were given for a packet whose type is unknown.
    #[error("it has no known type: give its bytes instead of fields")]
    UnknownType,
    /// The fields cannot be encoded.
    #[error("{cause}")]
    Encode {
        /// The path of the field that cannot be encoded; empty for the packet as a whole.
        path: String,
        /// The reason, which names the field too.
        cause: Box<EditError>,
    },
}
