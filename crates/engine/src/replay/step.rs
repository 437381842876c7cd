use bytes::Bytes;

use mitmcraft_protocol::packet::Timestamp;
use mitmcraft_protocol::schema::{Direction, Name, Role, State};

/// A packet of a recording.
#[derive(Debug, Clone)]
pub(super) struct Step {
    pub(super) at: Timestamp,
    /// The packet's number in the recorded session.
    pub(super) number: u64,
    pub(super) direction: Direction,
    pub(super) state: State,
    /// `None` if the packet id is unknown.
    pub(super) name: Option<Name>,
    pub(super) role: Option<Role>,
    /// Id and fields.
    pub(super) body: Bytes,
    /// `true` if the packet came from the peer that sends in its direction.
    pub(super) came: bool,
    /// `true` if the packet went to the other peer.
    pub(super) went: bool,
}
