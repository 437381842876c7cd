use std::collections::HashMap;

use mitmcraft_protocol::packet::Packet;
use mitmcraft_protocol::schema::{PerDirection, Protocol, Role, State};

/// Follows the states of sessions by the packets of another version than that with which they were recorded.
#[derive(Debug, Default)]
pub struct FollowedStates {
    /// The states of the sessions whose handshake was seen.
    sessions: HashMap<u64, PerDirection<State>>,
}

impl FollowedStates {
    /// Forgets a session, which begins or ends.
    pub fn forget(&mut self, session: u64) {
        self.sessions.remove(&session);
    }

    /// Takes a packet that may be the handshake of a session, which is the same in all versions.
    pub fn begin(&mut self, packet: &Packet) {
        if packet.role() != Some(Role::Handshake) {
            return;
        }
        let next = packet.value().ok().and_then(|it| it.get("nextState")?.as_int());
        let next = if next == Some(1) { State::Status } else { State::Login };
        if self.sessions.len() >= MOST_SESSIONS {
            self.sessions.clear();
        }
        self.sessions.insert(packet.context().session, PerDirection::new(next, next));
    }

    /// Takes the next packet of a session. Returns its state in `protocol`; `None` if the capture does not begin with
    /// the session's handshake.
    pub fn take(&mut self, packet: &Packet, body: &[u8], protocol: &Protocol) -> Option<State> {
        let (session, direction) = (packet.context().session, packet.direction());
        let states = self.sessions.get_mut(&session)?;
        let state = states[direction];
        let role = protocol.identify(state, direction, body).ok().and_then(|(kind, _)| kind.role());
        if let Some(role) = role {
            protocol.follow(role, direction, states);
        }
        Some(state)
    }
}

/// The most sessions that are followed at a time.
const MOST_SESSIONS: usize = 100_000;
