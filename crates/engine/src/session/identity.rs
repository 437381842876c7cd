use super::AuthMode;
use crate::link::{Preamble, PreambleRead};
use mitmcraft_protocol::packet::{Content, Packet};
use mitmcraft_protocol::schema::{Direction, Role, State};

/// Who the player is, as far as the proxy has to know. Nothing of a client goes on without it: until a
/// client that is asked has proved who it is, the server gets no more from it than a PROXY header, a handshake,
/// the packets of a Server List Ping, and a Login Start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Identity {
    /// Every client may play.
    NotAsked,
    /// The client has to prove who it is.
    Unknown,
    /// The same, and the server has the Login Start, with this name.
    Claimed(String),
    /// The client has proved that it is a player who may play.
    Proved,
}

/// The proof that a packet, or everything that goes in a direction, may go on: only an [`Identity`] makes
/// one.
#[derive(Debug, Clone, Copy)]
pub(super) struct Passage(());

impl Identity {
    /// The identity of a client that has said nothing.
    pub(super) fn new(auth: &AuthMode) -> Self {
        match auth {
            AuthMode::Verify { .. } => Self::Unknown,
            AuthMode::Offline | AuthMode::Account { .. } | AuthMode::Client { .. } => {
                Self::NotAsked
            }
        }
    }

    /// Lets a packet pass, unless its sender has to prove who it is before.
    #[inline]
    pub(super) fn passes(&self, packet: &Packet, role: Option<Role>) -> Option<Passage> {
        self.passage(packet.direction()).or_else(|| {
            let begins = match packet.content() {
                Content::Frame(_) => true,
                Content::Raw(bytes, _) => is_preamble(bytes),
            };
            let harmless = begins && matches!(packet.state(), State::Handshaking | State::Status);
            // These prove it, or are held until it is proved.
            let proves =
                matches!(role, Some(Role::Greeting | Role::LoginStart | Role::EncryptionResponse));
            (harmless || proves).then_some(Passage(()))
        })
    }

    /// Returns whether a packet lets a player in who has proved nothing. It has to wait for the proof, with all
    /// that follows it.
    #[inline]
    pub(super) fn asks_first(&self, packet: &Packet, role: Option<Role>) -> bool {
        matches!(self, Self::Claimed(_))
            && packet.direction() == Direction::Clientbound
            && !matches!(role, Some(Role::EncryptionRequest | Role::Disconnect))
    }

    /// Lets everything pass that goes in a direction, if all of it may.
    #[inline]
    pub(super) fn passage(&self, direction: Direction) -> Option<Passage> {
        (direction == Direction::Clientbound || self.is_proved()).then_some(Passage(()))
    }

    /// Returns the name of a player whose Login Start the server has, and who has proved nothing yet.
    pub(super) fn claimed(&self) -> Option<&str> {
        match self {
            Self::Claimed(name) => Some(name),
            Self::NotAsked | Self::Unknown | Self::Proved => None,
        }
    }

    /// Returns whether the client has nothing left to prove.
    pub(super) fn is_proved(&self) -> bool {
        matches!(self, Self::NotAsked | Self::Proved)
    }
}

/// Returns whether bytes are a PROXY header, and nothing else.
fn is_preamble(bytes: &[u8]) -> bool {
    matches!(Preamble::read(bytes), Ok(PreambleRead::Whole(it)) if it.length == bytes.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auth::Profile;
    use crate::link::Recorder;
    use crate::session::{Admitted, ClientLeg};
    use mitmcraft_protocol::codec::Frame;
    use mitmcraft_protocol::packet::{Content, Context, RawReason, Timestamp};
    use mitmcraft_protocol::schema::Catalog;

    use Direction::{Clientbound, Serverbound};

    fn packet(direction: Direction, state: State) -> Packet {
        let protocol = Catalog::embedded().find(47).unwrap().protocol;
        let context = Context::new(1, Timestamp(0), ([127, 0, 0, 1], 1).into(), protocol);
        let mut recorder = Recorder::new(context);
        recorder.enter(state);
        let content = Content::Frame(Frame::from_body(vec![0].into()));
        recorder.packet(direction, content)
    }

    /// `+` goes on, `?` waits for the proof, `-` goes nowhere.
    fn gate(identity: &Identity, direction: Direction, state: State, role: Option<Role>) -> char {
        let packet = packet(direction, state);
        match identity.passes(&packet, role) {
            Some(_) if identity.asks_first(&packet, role) => '?',
            Some(_) => '+',
            None => '-',
        }
    }

    #[test]
    fn a_server_gets_nothing_of_a_player_who_has_proved_nothing() {
        let mut identity = Identity::Unknown;
        for (state, role, expected) in [
            (State::Handshaking, Some(Role::Handshake), '+'),
            (State::Status, Some(Role::Ping), '+'),
            (State::Login, Some(Role::LoginStart), '+'),
            (State::Login, Some(Role::EncryptionResponse), '+'),
            (State::Play, Some(Role::Greeting), '+'),
            (State::Login, None, '-'),
            (State::Configuration, None, '-'),
            (State::Play, Some(Role::Chat), '-'),
        ] {
            for identity in [Identity::Unknown, Identity::Claimed("Steve".into())] {
                assert_eq!(gate(&identity, Serverbound, state, role), expected, "{state} {role:?}");
            }
            for identity in [Identity::NotAsked, Identity::Proved] {
                assert_eq!(gate(&identity, Serverbound, state, role), '+', "{state} {role:?}");
            }
        }
        assert!(identity.passage(Serverbound).is_none(), "nor what nobody looks at");
        identity = Identity::Proved;
        assert!(identity.passage(Serverbound).is_some());
    }

    #[test]
    fn a_server_that_has_the_name_lets_nobody_in_before_the_proof() {
        let mut identity = Identity::Unknown;
        assert_eq!(gate(&identity, Clientbound, State::Login, Some(Role::SetCompression)), '+');
        identity = Identity::Claimed("Steve".into());
        assert_eq!(identity.claimed(), Some("Steve"));
        for (role, expected) in [
            (Role::LoginSuccess, '?'),
            (Role::SetCompression, '?'),
            (Role::EncryptionRequest, '+'),
            (Role::Disconnect, '+'),
        ] {
            assert_eq!(
                gate(&identity, Clientbound, State::Login, Some(role)),
                expected,
                "{role:?}"
            );
        }
        identity = Identity::Proved;
        assert_eq!(gate(&identity, Clientbound, State::Login, Some(Role::LoginSuccess)), '+');
    }

    #[test]
    fn bytes_that_are_no_frame_wait_for_the_proof_in_every_state() {
        for state in [State::Handshaking, State::Status, State::Login] {
            let mut raw = packet(Serverbound, state);
            raw.set_content(Content::Raw(vec![1].into(), RawReason::NotMinecraft));
            assert!(Identity::Unknown.passes(&raw, None).is_none(), "{state}");
        }
    }

    #[test]
    fn only_clients_that_are_to_be_verified_are_asked() {
        let profile = Profile { name: "Steve".into(), id: 1 };
        let asked = AuthMode::Verify { profile: profile.clone(), admitted: Admitted::Anyone };
        assert_eq!(Identity::new(&asked), Identity::Unknown);
        let account = AuthMode::Account { profile, client: ClientLeg::Plain };
        for auth in [AuthMode::Offline, account] {
            assert_eq!(Identity::new(&auth), Identity::NotAsked);
        }
    }
}
