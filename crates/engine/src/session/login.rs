use std::sync::Arc;

use bytes::Bytes;

use super::incoming::Incoming;
use super::{AuthMode, Session};
use crate::auth::Profile;
use crate::filter::Verdict;
use crate::link::{Handshake, Notice, Output, Side, disconnect_body};
use mitmcraft_protocol::packet::{Content, Neighbors, Packet, RawReason, Undecoded};
use mitmcraft_protocol::schema::{
    DecodeCause, DecodeError, Direction, Name, PerDirection, Role, State, Value,
};
use mitmcraft_protocol::wire::VarInt;

/// Packets that drive a connection.
impl Session {
    /// Acts on a packet with a role, and forwards it.
    pub(super) fn on_role(&mut self, incoming: Incoming, role: Role) {
        match role {
            Role::Handshake => self.on_handshake(incoming),
            Role::LoginStart => self.on_login_start(incoming),
            Role::EncryptionRequest => self.on_encryption_request(incoming),
            Role::EncryptionResponse => self.on_encryption_response(incoming),
            Role::EncryptionStarted => self.on_encryption_started(incoming),
            Role::SetCompression => self.on_set_compression(incoming),
            Role::Greeting => self.on_greeting(incoming),
            Role::UnframedLogin => self.on_login(incoming),
            Role::Transfer => self.on_transfer(incoming),
            Role::JoinGame | Role::ServerData => {
                self.confirm_secret();
                self.judge_and_deliver(incoming);
                if self.delivery.guard.enforced.is_some() {
                    self.role_limits.policy_is_known(&self.delivery.recorder.context.protocol);
                }
            }
            Role::LoginSuccess
            | Role::LoginAcknowledged
            | Role::StartConfiguration
            | Role::ConfigurationAcknowledged
            | Role::FinishConfiguration => self.on_transition(incoming, role),
            Role::Disconnect => self.on_disconnect(incoming),
            Role::PluginMessage => {
                if resets_client(&incoming.packet) {
                    self.resets = PerDirection::from_fn(|_| true);
                }
                self.judge_and_deliver(incoming);
            }
            Role::BundleDelimiter
            | Role::ChatSession
            | Role::StatusRequest
            | Role::StatusResponse
            | Role::Ping
            | Role::KeepAlive
            | Role::Chat
            | Role::PlayerChat
            | Role::Command
            | Role::Teleport
            | Role::TeleportConfirm
            | Role::Movement
            | Role::Transaction
            | Role::Echo
            | Role::Time
            | Role::Momentary
            | Role::Spawn
            | Role::Title
            | Role::ResourcePack => self.judge_and_deliver(incoming),
        }
    }

    /// Chooses description and state by a handshake; returns its fields, its value, and what follows them.
    pub(super) fn read_handshake(&mut self, packet: &Packet) -> Option<(Handshake, Value, Bytes)> {
        let (value, rest) = fields_and_rest(packet)?;
        let handshake = Handshake::of(&value)?;
        self.address = Some(handshake.address());
        self.describe(handshake.version, handshake.next == Some(State::Login));
        match handshake.next {
            Some(next) => self.delivery.recorder.enter(next),
            None => self.awaits_state = true,
        }
        Some((handshake, value, rest))
    }

    /// Chooses the description of a version. `warns`: the user is to know if that is a guess.
    fn describe(&mut self, version: i32, warns: bool) {
        if let Some(found) = self.config.catalog.find(version) {
            self.role_limits.describe(&found.protocol);
            if !found.exact && warns {
                let (used, name) =
                    (found.protocol.version(), found.protocol.newest_name().to_owned());
                let notice = Notice::GuessedVersion { version, used, name };
                self.outputs.push_back(Output::Notice(notice));
            }
            let later = self.config.catalog.later(version).filter(|_| !found.exact);
            let other = later.filter(|it| !Arc::ptr_eq(it, &found.protocol));
            self.neighbors = other.map(|it| Box::new(Neighbors::new(it)));
            self.delivery.recorder.update_context(|context| {
                context.protocol = found.protocol;
                context.guess = !found.exact;
                context.version = Some(version);
            });
        }
    }

    fn on_handshake(&mut self, incoming: Incoming) {
        let Some((handshake, value, rest)) = self.read_handshake(&incoming.packet) else {
            return self.on_malformed_handshake(incoming);
        };
        let Incoming { packet, role, decided, .. } = incoming;
        let mut judgement = self.delivery.judge(&packet, role, decided);
        if handshake.next.is_none() {
            let comment = "`nextState` is not 1 (status), 2 (login) or 3 (transfer)";
            judgement.effects.notes.remark(comment);
        }
        if self.ends.server.ahead > 0 {
            judgement.keep();
            let comment = "its first bytes were forwarded before it was whole";
            judgement.effects.notes.remark(comment);
        } else if judgement.verdict == Verdict::Pass && !self.config.keep_host {
            let towards = handshake.towards(&self.upstream, &value);
            if let Some(mut body) = towards.and_then(|value| encode(&packet, &value)) {
                body.extend_from_slice(&rest);
                judgement.verdict = Verdict::Replace(body.into());
                judgement.effects.notes.remark("host and port are the upstream's");
            }
        }
        let close = self.delivery.deliver(&mut self.ends, packet, judgement);
        self.finish_change(close, true);
    }

    /// Forwards a handshake whose fields end before the next state. Its version is read if it can be.
    fn on_malformed_handshake(&mut self, incoming: Incoming) {
        let packet = &incoming.packet;
        let version =
            packet.body().ok().and_then(|it| VarInt::read(&it[packet.fields_at()..]).ok());
        if let Some(version) = version {
            self.describe(version.value, false);
        }
        self.awaits_state = true;
        self.delivery.recorder.remark(packet.seq(), MALFORMED);
        self.judge_and_deliver(incoming);
    }

    /// Handles the packet behind a handshake that names no state: the one in which it decodes is the client's.
    pub(super) fn on_stateless(&mut self, incoming: Incoming) {
        self.awaits_state = false;
        let Incoming { mut packet, decided, .. } = incoming;
        let fits = |state: &State| {
            packet.set_state(*state);
            packet.kind().is_some() && packet.error().is_none()
        };
        let state = [State::Status, State::Login].into_iter().find(fits);
        packet.set_state(state.unwrap_or(State::Handshaking));
        let role = packet.role().filter(|_| state.is_some());
        let Some(incoming) = self.admit(packet, role, decided) else { return };
        let Some(state) = state else {
            self.judge_and_deliver(incoming);
            return self.relay(RawReason::Opaque(NO_STATE.into()));
        };
        let why = if state == State::Login { NAMELESS_LOGIN } else { NAMELESS_STATUS };
        self.delivery.recorder.remark(incoming.packet.seq(), why);
        self.delivery.recorder.enter(state);
        self.state_event();
        match role {
            Some(role) => self.on_role(incoming, role),
            None => self.judge_and_deliver(incoming),
        }
    }

    fn on_login_start(&mut self, incoming: Incoming) {
        self.note_player(&incoming.packet);
        self.delivery.guard.observe(&incoming.packet, incoming.role);
        match self.config.auth {
            AuthMode::Verify { .. } => self.verify_first(incoming),
            AuthMode::Offline | AuthMode::Account { .. } | AuthMode::Client { .. } => {
                self.forward_login(incoming);
            }
        }
    }

    /// Forwards a Login Start with the account's name.
    fn forward_login(&mut self, incoming: Incoming) {
        let Some(body) = self.renamed(&incoming.packet) else {
            return self.judge_and_deliver(incoming);
        };
        // The guard has seen it with its key.
        let Incoming { packet, decided, .. } = incoming;
        let mut judgement = self.delivery.judge(&packet, None, decided);
        if judgement.verdict == Verdict::Pass {
            judgement.verdict = Verdict::Replace(body.into());
            judgement.effects.notes.remark("the player is the account's");
        }
        self.deliver(packet, judgement);
    }

    /// Builds a Login Start with the account's name; returns `None` if it is forwarded as it is. A
    /// client's key is kept only with the client's own name and its own answer to the server.
    pub(super) fn renamed(&mut self, packet: &Packet) -> Option<Vec<u8>> {
        let auth = &self.config.auth;
        let unsigned = self.delivery.guard.key_in_login && auth.answers_alone();
        let renamed = renamed(packet, auth.profile()?, unsigned)?;
        self.delivery.guard.key_in_login = false;
        Some(renamed)
    }

    /// Stores the name that the client logs in with.
    pub(super) fn note_player(&mut self, packet: &Packet) {
        if let Ok(value) = packet.value() {
            // 1.2 has the host behind the name: `Steve;localhost:25565`.
            let name = |text: &str| text.split(';').next().unwrap_or_default().to_owned();
            let player = value.get("username").and_then(Value::as_text).map(name);
            // From 1.3 to 1.6 the login has no name: the handshake had it.
            if player.is_some() {
                self.delivery.recorder.update_context(|context| context.player = player);
            }
        }
    }

    fn on_set_compression(&mut self, incoming: Incoming) {
        let value = incoming.packet.value().ok();
        let threshold = value.and_then(|value| value.get("threshold")?.as_int());
        let close = self.judge_and_pass(incoming);
        if let Some(threshold) = threshold {
            for side in Side::ALL {
                self.ends[side].set_compression(usize::try_from(threshold).ok());
            }
        }
        self.finish_change(close, threshold.is_some());
    }

    /// Closes the session if a rule gave a reason to, else records what has changed.
    pub(super) fn finish_change(&mut self, close: Option<String>, changed: bool) {
        if close.is_some() {
            self.close_by_rule(close);
        } else if changed {
            self.state_event();
        }
    }

    fn on_transition(&mut self, incoming: Incoming, role: Role) {
        if role == Role::LoginSuccess {
            self.resets = PerDirection::default();
            self.wants_account = false;
            self.note_unverified();
        }
        let direction = incoming.packet.direction();
        let close = self.judge_and_pass(incoming);
        self.delivery.on_transition(direction, role);
        self.finish_change(close, true);
    }

    /// Goes back to the login if the next packet of a direction is one of it, and none of the game.
    pub(super) fn follow_reset(&mut self, direction: Direction, content: &Content) {
        let mut packet = self.delivery.recorder.unnumbered(direction, content.clone());
        let mut fits = |state| {
            packet.set_state(state);
            packet.kind().is_some() && packet.error().is_none()
        };
        if fits(State::Login) && !fits(State::Play) {
            self.resets[direction] = false;
            self.delivery.recorder.states[direction] = State::Login;
            // It gets another number if what is held goes before it.
            if !self.control.holds_any() {
                self.delivery.recorder.remark(packet.seq(), SECOND_LOGIN);
            }
            self.state_event();
        }
    }

    fn on_disconnect(&mut self, incoming: Incoming) {
        let packet = &incoming.packet;
        if packet.kind().is_some_and(|kind| kind.state() != packet.state()) {
            self.delivery.recorder.remark(packet.seq(), STRAY_DISCONNECT);
        }
        if let Some(reason) = incoming.packet.reason() {
            let hint = if std::mem::take(&mut self.wants_account) { NO_ACCOUNT } else { "" };
            self.closing.set_reason(format!("disconnected by the server: {reason}{hint}"));
        }
        self.judge_and_deliver(incoming);
    }

    /// Ends the login of a client whose packet cannot be passed on.
    pub(super) fn turn_away(&mut self, packet: Packet, reason: &str) {
        self.swallow(packet, reason);
        self.dismiss(reason);
    }

    /// Returns the state in which players log in: before 1.7 there was only one.
    pub(super) fn login_state(&self) -> State {
        if self.context().protocol.family().is_unframed_game() { State::Play } else { State::Login }
    }

    /// Ends a login, and tells the player why.
    pub(super) fn dismiss(&mut self, reason: &str) {
        if let Some(body) = self.login_disconnect(reason) {
            self.send(Direction::Clientbound, self.login_state(), body);
        }
        self.closing.set_reason(reason);
        self.discard_rest();
        self.closing.end_now();
    }

    /// Reports a server that lets the player in without encryption: it has verified nobody.
    fn note_unverified(&mut self) {
        let Some(profile) = self.config.auth.profile() else { return };
        if !self.ends.server.encrypted {
            let (upstream, player) = (self.upstream.clone(), profile.name.clone());
            self.outputs.push_back(Output::Notice(Notice::NotVerified { upstream, player }));
        }
    }

    /// Tells a player whom the server dropped without a reason what the server probably wanted.
    pub(super) fn explain_silence(&mut self) {
        let login = match self.context().protocol.family().is_unframed_game() {
            true => self.unconfirmed.server.is_some(),
            false => self.delivery.recorder.states.clientbound == State::Login,
        };
        if self.closing.is_closed(Side::Client)
            || !login
            || !std::mem::take(&mut self.wants_account)
        {
            return;
        }
        let reason = format!("closed by the server without a word{NO_ACCOUNT}");
        if let Some(body) = self.login_disconnect(&reason) {
            self.send(Direction::Clientbound, self.login_state(), body);
        }
        self.closing.set_reason(reason);
    }

    /// Builds a Disconnect of the login state.
    pub(super) fn login_disconnect(&self, reason: &str) -> Option<Vec<u8>> {
        let text = format!("mitmcraft: {reason}");
        disconnect_body(&self.context().protocol, self.login_state(), &text)
    }
}

/// Builds a Login Start with the account's name and UUID, without the client's key; returns `None`
/// if it has them already and need not be `unsigned`.
fn renamed(packet: &Packet, profile: &Profile, unsigned: bool) -> Option<Vec<u8>> {
    let value = packet.value().ok()?;
    let Value::Map(mut fields) = value.plain().clone() else { return None };
    let is_other = |(name, value): &(Name, Value)| match (&**name, value.plain()) {
        ("username", Value::Text(name)) => **name != *profile.name,
        ("playerUUID", Value::Uuid(id)) => *id != profile.id,
        _ => false,
    };
    if !unsigned && !fields.iter().any(is_other) {
        return None;
    }
    for (name, value) in &mut fields {
        match (&**name, value.plain()) {
            ("username", _) => *value = Value::from(profile.name.as_str()),
            ("playerUUID", Value::Uuid(_)) => *value = Value::Uuid(profile.id),
            ("signature", _) => *value = Value::Absent,
            _ => {}
        }
    }
    encode(packet, &Value::Map(fields))
}

/// Returns whether a Login Start has the account's name, and its UUID if it has one.
pub(super) fn is_of(packet: &Packet, profile: &Profile) -> bool {
    packet.value().is_ok() && renamed(packet, profile, false).is_none()
}

/// Returns whether a packet of the game leads the client back to the login: message 98 of Forge's handshake
/// (Forge Client Reset Packet, 1.16.5 to 1.20.1).
fn resets_client(packet: &Packet) -> bool {
    packet.direction() == Direction::Clientbound
        && packet.state() == State::Play
        && packet.size() < MAX_RESET
        && packet.body().is_ok_and(|body| body.ends_with(b"fml:handshake\x62"))
}

/// Decodes the fields of a packet, and returns the bytes behind them too.
fn fields_and_rest(packet: &Packet) -> Option<(Value, Bytes)> {
    let end = match packet.value() {
        Ok(value) => return Some((value, Bytes::new())),
        Err(Undecoded::Decode(DecodeError { at, cause: DecodeCause::Trailing(_), .. })) => at,
        Err(_) => return None,
    };
    let (body, protocol) = (packet.body().ok()?, &packet.context().protocol);
    let value = protocol.decode(packet.kind()?, &body[..end], packet.fields_at()).ok()?;
    Some((value, body.slice(end..)))
}

/// Encodes a packet of the same type with other fields.
pub(super) fn encode(packet: &Packet, value: &Value) -> Option<Vec<u8>> {
    packet.context().protocol.encode(packet.kind()?, value).ok()
}

/// Longest packet that resets a client, in bytes: id, channel, and the number of a message.
const MAX_RESET: usize = 32;

/// Why a frame is taken as a handshake that cannot be read as one.
const MALFORMED: &str =
    "taken as a malformed handshake, because it is the first frame and has the id 0";

/// Why a packet behind a handshake without a state is taken as one of a state.
const NAMELESS_LOGIN: &str =
    "taken as a login, because it decodes as one and the handshake names no state";
const NAMELESS_STATUS: &str =
    "taken as a status, because it decodes as one and the handshake names no state";

/// Why a packet of the game is taken as one of a login.
const SECOND_LOGIN: &str =
    "taken as a second login, because Forge has reset the client and it fits no packet of the game";

/// Why a packet is taken as the Disconnect of another state.
const STRAY_DISCONNECT: &str = "taken as the Disconnect of another state, because this state has no such packet and it decodes whole";

/// Why a session is relayed whose handshake names no state.
const NO_STATE: &str =
    "the handshake names no state, and the packet after it fits neither status nor login";

/// Added to the reason of a server that refuses a player without an account.
const NO_ACCOUNT: &str = " (it asks for an account, and the proxy is not logged in to one)";
