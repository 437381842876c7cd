use super::Session;
use super::incoming::Incoming;
use super::phase::Phase;
use crate::link::{Old, Side};
use mitmcraft_protocol::packet::RawReason;
use mitmcraft_protocol::schema::{Direction, Family, Role, State};

/// Alpha sessions: no frames, one state, and a version that only the login packet contains.
///
/// Until the login, packets are decoded as those of [`ANY_VERSION`]: what is sent before
/// (handshake, its answer, a kick) is the same in all versions.
impl Session {
    pub(super) fn begin_alpha(&mut self) {
        self.describe_alpha(ANY_VERSION);
        self.delivery.recorder.update_context(|context| context.version = None);
        self.delivery.recorder.enter(State::Play);
        for side in Side::ALL {
            self.measure(side);
            self.ends[side].send_bare();
        }
        self.state_event();
    }

    /// Chooses the description when the client's next packet is its login. Returns whether more
    /// bytes of that packet are needed.
    pub(super) fn awaits_version(&mut self) -> bool {
        let context = self.context();
        let decoder = &self.ends.client.leg.decoder;
        let protocol = &context.protocol;
        let undecided = protocol.family() == Family::Alpha && context.version.is_none();
        if !undecided || !decoder.is_bare() {
            return false;
        }
        let login = protocol.role(State::Play, Direction::Serverbound, Role::Login);
        let login = login.and_then(|login| u8::try_from(login.id()).ok());
        match *decoder.peek() {
            // Every version's login begins with the number, so unknown ones do too.
            [id, a, b, c, d, ..] if Some(id) == login => {
                self.on_version(i32::from_be_bytes([a, b, c, d]));
                false
            }
            [id, ..] => Some(id) == login,
            [] => false,
        }
    }

    fn on_version(&mut self, version: i32) {
        if !self.config.catalog.alpha(version).exact {
            return match self.phase {
                Phase::Refused(_) => self.ends.client.set_opaque(),
                _ => self.relay(not_understood(version)),
            };
        }
        self.describe_alpha(version);
        for side in Side::ALL {
            if self.ends[side].leg.decoder.is_bare() {
                self.measure(side);
            }
        }
    }

    fn describe_alpha(&mut self, version: i32) {
        let protocol = self.config.catalog.alpha(version).protocol;
        self.delivery.recorder.update_context(|context| {
            context.protocol = protocol;
            context.guess = false;
            context.version = Some(version);
        });
    }

    /// Handles the client's name, or the server's answer that says how to authenticate. The client
    /// does that itself: it authenticates to that server, whoever forwards the bytes.
    pub(super) fn on_greeting(&mut self, incoming: Incoming) {
        if incoming.packet.direction() == Direction::Serverbound {
            self.note_player(&incoming.packet);
        }
        self.judge_and_deliver(incoming);
    }

    pub(super) fn on_login(&mut self, incoming: Incoming) {
        self.note_player(&incoming.packet);
        let close = self.judge_and_pass(incoming);
        self.finish_change(close, true);
    }
}

impl Old {
    /// Returns why sessions of this generation are relayed as bytes.
    pub(super) fn reason(self) -> RawReason {
        let what = match self {
            Self::Login(version) => return not_understood(version),
            Self::Beta => "a handshake of Beta 1.5 to 1.2.5".into(),
            Self::Release(version) => format!("a handshake of 1.3 to 1.6, protocol {version}"),
        };
        RawReason::Opaque(format!("{what}; only Alpha is understood before 1.7"))
    }
}

/// Returns why a session with this protocol number in its login is relayed as bytes.
fn not_understood(version: i32) -> RawReason {
    let when = match version {
        7..=14 => "Beta",
        15..=78 => "between Beta and 1.7",
        _ => "unknown",
    };
    RawReason::Opaque(format!("login with protocol number {version} ({when}); Alpha has 1 to 6"))
}

/// The version of the Alpha protocol document.
const ANY_VERSION: i32 = 5;
