use mitmcraft_protocol::packet::Packet;
use mitmcraft_protocol::schema::{Direction, PerDirection, Protocol, Role, State};

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
    #[inline]
    pub(super) fn role(&self, packet: &Packet) -> Option<Role> {
        let frame = packet.frame()?;
        if packet.state() == State::Play
            && frame.is_deflated()
            && self.exceeds(packet.direction(), frame.size())
        {
            return None;
        }
        packet.kind()?.role()
    }

    /// Returns whether a compressed packet of the game with a body of `size` bytes is too large to
    /// have a role that matters.
    pub(super) fn exceeds(&self, direction: Direction, size: usize) -> bool {
        size > self.0[direction]
    }
}

/// Largest body of a packet that drives the connection during the game: Set Compression is an id
/// and a VarInt.
const MAX_DRIVING: usize = 10;

/// Largest body of a Transfer: a name has 253 characters at most.
const MAX_TRANSFER: usize = 300;

#[cfg(test)]
mod tests {
    use super::*;
    use mitmcraft_protocol::codec::Leg;
    use mitmcraft_protocol::packet::{Content, Context, Timestamp};
    use mitmcraft_protocol::schema::Catalog;

    /// The role that is found in a body of that size, with its type's id in front.
    fn found(version: i32, role: Role, size: usize, known: bool, threshold: usize) -> Option<Role> {
        let protocol = Catalog::embedded().find(version).unwrap().protocol;
        let mut limits = RoleLimits::default();
        limits.describe(&protocol);
        if known {
            limits.policy_is_known(&protocol);
        }
        let mut body = vec![0; size];
        let clientbound = Direction::Clientbound;
        body[0] = protocol.role(State::Play, clientbound, role).unwrap().id().try_into().unwrap();
        let mut leg = Leg::default();
        leg.set_compression(Some(threshold));
        let context = Context {
            version: Some(version),
            ..Context::new(1, Timestamp(0), ([127, 0, 0, 1], 1).into(), protocol)
        };
        let content = Content::Frame(leg.encoder.send(&body));
        let packet =
            Packet::new(context.into(), 1, Timestamp(0), clientbound, State::Play, content);
        limits.role(&packet)
    }

    #[test]
    fn roles_of_compressed_packets_are_found_up_to_the_size_that_they_can_have() {
        for (version, role, largest, known) in [
            (47, Role::SetCompression, Some(10), false),
            (765, Role::ServerData, None, false),
            (765, Role::ServerData, Some(10), true),
            (766, Role::Transfer, Some(300), true),
        ] {
            let size = largest.unwrap_or(5000);
            assert_eq!(found(version, role, size, known, 1), Some(role), "{version}");
            if largest.is_some() {
                assert_eq!(found(version, role, size + 1, known, 1), None, "{version}");
                let plain = found(version, role, size + 1, known, 5000);
                assert_eq!(plain, Some(role), "{version}: nothing is to be inflated");
            }
        }
    }
}
