use super::incoming::Incoming;
use super::{AuthMode, Session};
use crate::auth::Profile;
use crate::filter::Verdict;
use crate::link::{Handshake, Notice, Output, Side, disconnect_body};
use mitmcraft_protocol::packet::{Packet, RawReason};
use mitmcraft_protocol::schema::{Direction, Name, Role, State, Value};

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
            | Role::ResourcePack
            | Role::PluginMessage => self.judge_and_deliver(incoming),
        }
    }

    /// Chooses description and state by a handshake; returns its fields and its value.
    pub(super) fn read_handshake(&mut self, packet: &Packet) -> Option<(Handshake, Value)> {
        let value = packet.value().ok()?;
        let handshake = Handshake::of(&value)?;
        let version = handshake.version;
        self.address = Some(handshake.address());
        if let Some(found) = self.config.catalog.find(version) {
            self.role_limits.describe(&found.protocol);
            if !found.exact && handshake.next == Some(State::Login) {
                let (used, name) =
                    (found.protocol.version(), found.protocol.newest_name().to_owned());
                let notice = Notice::GuessedVersion { version, used, name };
                self.outputs.push_back(Output::Notice(notice));
            }
            self.delivery.recorder.update_context(|context| {
                context.protocol = found.protocol;
                context.guess = !found.exact;
                context.version = Some(version);
            });
        }
        if let Some(next) = handshake.next {
            self.delivery.recorder.enter(next);
        }
        Some((handshake, value))
    }

    fn on_handshake(&mut self, incoming: Incoming) {
        let Some((handshake, value)) = self.read_handshake(&incoming.packet) else {
            // It has the length and the id of a handshake, but not its fields.
            self.forward(incoming);
            return self.relay(RawReason::NotMinecraft);
        };
        let Incoming { packet, role, decided, .. } = incoming;
        let mut judgement = self.delivery.judge(&packet, role, decided);
        if self.ends.server.ahead > 0 {
            judgement.keep();
            let comment = "its first bytes were forwarded before it was whole";
            judgement.effects.notes.comments.push(comment.into());
        } else if judgement.verdict == Verdict::Pass && !self.config.keep_host {
            let towards = handshake.towards(&self.upstream, &value);
            if let Some(body) = towards.and_then(|value| encode(&packet, &value)) {
                judgement.verdict = Verdict::Replace(body.into());
                judgement.effects.notes.comments.push("host and port are the upstream's".into());
            }
        }
        let close = self.delivery.deliver(&mut self.ends, packet, judgement);
        self.finish_change(close, true);
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
            judgement.effects.notes.comments.push("the player is the account's".into());
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
            self.wants_account = false;
            self.note_unverified();
        }
        let direction = incoming.packet.direction();
        let close = self.judge_and_pass(incoming);
        self.delivery.on_transition(direction, role);
        self.finish_change(close, true);
    }

    fn on_disconnect(&mut self, incoming: Incoming) {
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

/// Encodes a packet of the same type with other fields.
pub(super) fn encode(packet: &Packet, value: &Value) -> Option<Vec<u8>> {
    packet.context().protocol.encode(packet.kind()?, value).ok()
}

/// Added to the reason of a server that refuses a player without an account.
const NO_ACCOUNT: &str = " (it asks for an account, and the proxy is not logged in to one)";
