use super::Session;
use super::signing::Signing;
use crate::link::Upstream;
use crate::packet::Packet;
use crate::schema::{Direction, Protocol, Role, State, Value};

/// What a session keeps of what later versions have.
#[derive(Debug)]
pub(super) struct Later {
    /// By what address the client found us.
    pub(super) address: Option<Upstream>,
    /// Whether the client has had the first delimiter of a bundle, and not the second.
    pub(super) bundled: bool,
    pub(super) signing: Signing,
    /// Whether judgements are to be looked through for what would end the session.
    pub(super) guards: bool,
    /// By direction: the largest body of a compressed packet of the game whose id is looked for.
    looks: [usize; 2],
}

impl Default for Later {
    fn default() -> Self {
        Self {
            address: None,
            bundled: false,
            signing: Signing::default(),
            guards: false,
            looks: [MAX_DRIVING; 2],
        }
    }
}

impl Later {
    /// Looks into as many packets as that version's need it.
    pub(super) fn describe(&mut self, protocol: &Protocol) {
        let has = |direction, role| protocol.role(State::Play, direction, role).is_some();
        self.policy_is_known(protocol);
        if has(Direction::Serverbound, Role::ChatSession) {
            self.looks = [usize::MAX; 2];
        }
        self.guards = has(Direction::Clientbound, Role::PlayerChat)
            || has(Direction::Clientbound, Role::BundleDelimiter);
    }

    /// The server has said whether it enforces signed chat: its large packets are of no more use.
    pub(super) fn policy_is_known(&mut self, protocol: &Protocol) {
        let transfers = protocol.role(State::Play, Direction::Clientbound, Role::Transfer);
        let looks = if transfers.is_some() { MAX_TRANSFER } else { MAX_DRIVING };
        self.looks[Direction::Clientbound as usize] = looks;
    }
}

impl Session {
    /// The packet's role, as far as it can matter here. In the game a large body is not inflated
    /// to find out, unless the server's policy can be in it: no packet that drives the connection
    /// there is large.
    pub(super) fn role(&self, packet: &Packet) -> Option<Role> {
        let frame = packet.frame()?;
        let looks = self.later.looks[packet.direction as usize];
        if packet.state == State::Play && frame.is_deflated() && frame.size() > looks {
            return None;
        }
        packet.kind()?.role()
    }

    /// Begins or ends a bundle: the packets between two delimiters are handled together by the
    /// client, which waits for the second one however long it takes.
    pub(super) fn on_bundle_delimiter(&mut self, packet: Packet) {
        self.later.bundled = !self.later.bundled;
        self.judge_and_keep(packet);
    }

    /// Ends the bundle that is open, so that what is sent next is seen at once.
    pub(super) fn close_bundle(&mut self) {
        if !std::mem::take(&mut self.later.bundled) {
            return;
        }
        let protocol = &self.context.protocol;
        let role = Role::BundleDelimiter;
        let packet = protocol.role(State::Play, Direction::Clientbound, role);
        let body = packet.and_then(|packet| protocol.encode(packet, &Value::Map(Vec::new())).ok());
        if let Some(body) = body {
            self.send(Direction::Clientbound, State::Play, &body, None);
        }
    }
}

/// Largest body of a packet that drives the connection during the game: Set Compression is an id
/// and a VarInt.
const MAX_DRIVING: usize = 10;

/// Largest body of a Transfer: a name has 253 characters at most.
const MAX_TRANSFER: usize = 300;
