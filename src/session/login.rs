use super::{AuthMode, Session};
use crate::auth::Profile;
use crate::filter::Verdict;
use crate::link::Handshake;
use crate::link::{Output, Side};
use crate::packet::{Packet, RawReason, component_text};
use crate::schema::{Direction, Name, Protocol, Role, State, Value};

/// The packets that drive a connection.
impl Session {
    /// Does what a packet of that role means, and forwards it.
    pub(super) fn on_role(&mut self, packet: Packet, role: Role) {
        match role {
            Role::Handshake => self.on_handshake(packet),
            Role::LoginStart => self.on_login_start(packet),
            Role::EncryptionRequest => self.on_encryption_request(packet),
            Role::EncryptionResponse => self.on_encryption_response(packet),
            Role::SetCompression => self.on_set_compression(packet),
            Role::Greeting => self.on_greeting(packet),
            Role::Login => self.on_login(packet),
            Role::Transfer => self.on_transfer(packet),
            Role::BundleDelimiter => self.on_bundle_delimiter(packet),
            Role::ChatSession => self.on_chat_session(packet),
            Role::Join | Role::ServerData => self.note_policy(packet),
            Role::LoginSuccess
            | Role::LoginAcknowledged
            | Role::StartConfiguration
            | Role::ConfigurationAcknowledged
            | Role::FinishConfiguration => self.on_transition(packet, role),
            Role::Disconnect => self.on_disconnect(packet),
            Role::StatusRequest
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
            | Role::Momentary => self.judge_and_forward(packet),
        }
    }

    /// Chooses the description and the state; gives what the handshake says and its value.
    pub(super) fn read_handshake(&mut self, packet: &Packet) -> Option<(Handshake, Value)> {
        let value = packet.value().ok()?;
        let handshake = Handshake::of(&value)?;
        let version = handshake.version;
        self.later.address = Some(handshake.address());
        if let Some(found) = self.config.catalog.find(version) {
            self.later.describe(&found.protocol);
            if !found.exact && handshake.next == Some(State::Login) {
                self.outputs.push_back(Output::Tell(guessed(version, &found.protocol)));
            }
            self.update_context(|context| {
                context.protocol = found.protocol;
                context.guess = !found.exact;
                context.version = Some(version);
            });
        }
        if let Some(next) = handshake.next {
            self.set_state(Direction::Clientbound, next);
            self.set_state(Direction::Serverbound, next);
        }
        Some((handshake, value))
    }

    fn on_handshake(&mut self, packet: Packet) {
        let Some((handshake, value)) = self.read_handshake(&packet) else {
            // It has the length and the id of a handshake, and is none.
            self.forward(packet);
            return self.relay(RawReason::NotMinecraft);
        };
        let mut judgement = self.pipeline.apply(&packet);
        if self.is_ahead() {
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
        if judgement.verdict == Verdict::Drop {
            judgement.verdict = Verdict::Pass;
        }
        self.carry_out(packet, judgement);
        self.state_event();
    }

    fn on_login_start(&mut self, packet: Packet) {
        self.note_player(&packet);
        let signature = packet.value().ok().and_then(|value| value.get("signature").cloned());
        self.signs = signature.is_some_and(|it| *it.plain() != Value::Absent);
        match self.config.auth {
            AuthMode::Verify { .. } => self.verify_first(packet),
            AuthMode::Offline | AuthMode::Account { .. } => self.forward_login(packet),
        }
    }

    /// Sends a Login Start on, with the account's name.
    fn forward_login(&mut self, packet: Packet) {
        let Some(body) = self.renamed(&packet) else { return self.judge_and_forward(packet) };
        let mut judgement = self.pipeline.apply(&packet);
        if judgement.verdict == Verdict::Pass {
            judgement.verdict = Verdict::Replace(body.into());
            judgement.effects.notes.comments.push("the player is the account's".into());
        }
        self.carry_out(packet, judgement);
    }

    /// A Login Start with the account's name; None when it goes as it is. A client's key goes with
    /// its own name and its own answer to the server alone.
    pub(super) fn renamed(&mut self, packet: &Packet) -> Option<Vec<u8>> {
        let auth = &self.config.auth;
        let unsigned = self.signs && auth.answers_alone();
        let renamed = renamed(packet, auth.profile()?, unsigned)?;
        self.signs = false;
        Some(renamed)
    }

    /// Remembers the name that the client logs in with.
    pub(super) fn note_player(&mut self, packet: &Packet) {
        if let Ok(value) = packet.value() {
            let player = value.get("username").and_then(Value::as_text).map(str::to_owned);
            self.update_context(|context| context.player = player);
        }
    }

    fn on_set_compression(&mut self, packet: Packet) {
        let threshold = packet.value().ok().and_then(|value| value.get("threshold")?.as_int());
        self.judge_and_keep(packet);
        if let Some(threshold) = threshold {
            self.set_compression(usize::try_from(threshold).ok());
        }
    }

    fn on_transition(&mut self, packet: Packet, role: Role) {
        let direction = packet.direction;
        let configures = packet
            .context
            .protocol
            .role(State::Login, Direction::Serverbound, Role::LoginAcknowledged)
            .is_some();
        match role {
            // The name and the UUID that the client is told may be changed.
            Role::LoginSuccess => {
                self.wants_account = false;
                self.tell_who_was_not_asked();
                self.judge_success(packet);
            }
            _ => self.judge_and_keep(packet),
        }
        self.later.bundled = false;
        match role {
            Role::LoginSuccess if configures => {
                self.set_state(Direction::Clientbound, State::Configuration);
            }
            Role::LoginSuccess => {
                self.set_state(Direction::Clientbound, State::Play);
                self.set_state(Direction::Serverbound, State::Play);
            }
            Role::FinishConfiguration => self.set_state(direction, State::Play),
            _ => self.set_state(direction, State::Configuration),
        }
        self.state_event();
    }

    fn judge_success(&mut self, packet: Packet) {
        let mut judgement = self.pipeline.apply(&packet);
        if judgement.verdict == Verdict::Drop {
            judgement.verdict = Verdict::Pass;
        }
        judgement.effects.delay = None;
        self.carry_out(packet, judgement);
    }

    fn on_disconnect(&mut self, packet: Packet) {
        let reason = packet.value().ok();
        let reason = reason.as_ref().and_then(|value| match value.get("reason")?.plain() {
            // Since 1.20.3.
            Value::Nbt(nbt) => component_text(&nbt.root),
            reason => reason.as_text().map(str::to_owned),
        });
        if let Some(reason) = reason {
            let hint = if std::mem::take(&mut self.wants_account) { NO_ACCOUNT } else { "" };
            self.reason = Some(format!("disconnected by the server: {reason}{hint}"));
        }
        self.judge_and_forward(packet);
    }

    /// Ends the login of a client whose packet cannot be passed on.
    pub(super) fn turn_away(&mut self, packet: Packet, reason: &str) {
        self.swallow(packet, reason);
        self.dismiss(reason);
    }

    /// Ends a login, and tells the player why.
    pub(super) fn dismiss(&mut self, reason: &str) {
        if let Some(body) = self.disconnect_body(reason) {
            self.send(Direction::Clientbound, State::Login, &body, None);
        }
        self.reason = Some(reason.to_owned());
        self.end();
    }

    /// A server that lets players in without encryption has verified nobody.
    fn tell_who_was_not_asked(&mut self) {
        let Some(profile) = self.config.auth.profile() else { return };
        if !self.is_encrypted(Side::Server) {
            let (upstream, name) = (&self.upstream, &profile.name);
            let told = format!(
                "{upstream} asks for no account: it is in offline mode, and takes `{name}` at its \
                 word"
            );
            self.outputs.push_back(Output::Tell(told));
        }
    }

    /// Tells a player whom the server has dropped without a word what it has probably wanted.
    pub(super) fn explain_silence(&mut self, closed: Side) {
        let login = self.state(Direction::Clientbound) == State::Login;
        if closed != Side::Server || !login || !std::mem::take(&mut self.wants_account) {
            return;
        }
        let reason = format!("closed by the server without a word{NO_ACCOUNT}");
        if let Some(body) = self.disconnect_body(&reason) {
            self.send(Direction::Clientbound, State::Login, &body, None);
        }
        self.reason = Some(reason);
    }

    /// A Disconnect of the login state.
    pub(super) fn disconnect_body(&self, reason: &str) -> Option<Vec<u8>> {
        let protocol = &self.context.protocol;
        let packet = protocol.role(State::Login, Direction::Clientbound, Role::Disconnect)?;
        let text = serde_json::json!({ "text": format!("mitmcraft: {reason}") }).to_string();
        protocol.encode(packet, &Value::map([("reason", Value::from(text.as_str()))])).ok()
    }
}

/// A Login Start with the account's name and UUID, without the client's key; None when it has them
/// and need not be `unsigned`.
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

fn guessed(version: i32, protocol: &Protocol) -> String {
    format!(
        "protocol {version} is unknown: its packets are read by the tables of {} ({}), and what \
         they say is a guess; `--protocol {version}.json` adds its own",
        protocol.version(),
        protocol.name()
    )
}

/// The packet with other fields.
pub(super) fn encode(packet: &Packet, value: &Value) -> Option<Vec<u8>> {
    packet.context.protocol.encode(packet.kind()?, value).ok()
}

/// What is added to the reason of a server that refuses a player without an account.
const NO_ACCOUNT: &str = " (it asks for an account, and the proxy has none: see `--auth account`)";
