use crate::packet::Packet;
use crate::schema::{Direction, PerDirection, Protocol, Role, State};

/// The largest body of a compressed packet of the game whose role is looked for, per direction.
///
/// A large body is not inflated to find out, unless the server's policy can be in it: no packet
/// that drives the connection in the game is large.
#[derive(Debug)]
pub(super) struct RoleLimits(PerDirection<usize>);

impl Default for RoleLimits {
    fn default() -> Self {
        Self(PerDirection::from_fn(|_| MAX_DRIVING))
    }
}

impl RoleLimits {
    /// Sets the limits that a version needs.
    pub(super) fn describe(&mut self, protocol: &Protocol) {
        self.policy_is_known(protocol);
        if protocol.role(State::Play, Direction::Serverbound, Role::ChatSession).is_some() {
            self.0 = PerDirection::from_fn(|_| usize::MAX);
        }
    }

    /// Stops inflating large packets once the server has said whether it enforces signed chat.
    pub(super) fn policy_is_known(&mut self, protocol: &Protocol) {
        let transfers = protocol.role(State::Play, Direction::Clientbound, Role::Transfer);
        self.0.clientbound = if transfers.is_some() { MAX_TRANSFER } else { MAX_DRIVING };
    }

    /// Returns the packet's role, if it can matter to the session.
    pub(super) fn role(&self, packet: &Packet) -> Option<Role> {
        let frame = packet.frame()?;
        let limit = self.0[packet.direction];
        if packet.state == State::Play && frame.is_deflated() && frame.size() > limit {
            return None;
        }
        packet.kind()?.role()
    }
}

/// Largest body of a packet that drives the connection during the game: Set Compression is an id
/// and a VarInt.
const MAX_DRIVING: usize = 10;

/// Largest body of a Transfer: a name has 253 characters at most.
const MAX_TRANSFER: usize = 300;
