use std::sync::Arc;

use super::playback::Playback;
use super::secret;
use super::server::{Phase, ServerReplay};
use super::server_play::Playing;
use crate::link::Output;
use crate::link::{KeyMaterial, open_secret};
use crate::packet::Packet;
use crate::schema::{Direction, Role, State, Value};

/// The login, with the client's own name.
impl ServerReplay {
    pub(super) fn on_login_packet(&mut self, packet: Packet) {
        let role = packet.kind().and_then(|packet| packet.role());
        let value = packet.value().unwrap_or(Value::Absent);
        self.end.record(packet, None);
        let phase = std::mem::replace(&mut self.phase, Phase::Login);
        match (phase, role) {
            (Phase::Login, Some(Role::LoginStart)) => self.on_login_start(&value),
            (Phase::AwaitSecret { name, material }, Some(Role::EncryptionResponse)) => {
                match open_secret(&material.key, &material.token, &value) {
                    Some(secret) => {
                        self.end.set_cipher(&secret);
                        self.admit(&name);
                    }
                    None => self.send_away("the Encryption Response does not fit the request"),
                }
            }
            (Phase::AwaitAcknowledge, Some(Role::LoginAcknowledged)) => {
                self.end.set_state(Direction::Serverbound, State::Configuration);
                self.begin();
            }
            // Answers to what we did not ask.
            (phase, _) => self.phase = phase,
        }
    }

    fn on_login_start(&mut self, value: &Value) {
        let name = value.get("username").and_then(Value::as_text).unwrap_or("").to_owned();
        self.end.update_context(|context| context.player = Some(name.clone()));
        let recording = &self.options.recording;
        if recording.is_alpha() || self.version != recording.version() {
            let spoken = self.end.context.protocol.name().to_owned();
            return self
                .refuse(&format!("your client speaks {spoken} (protocol {})", self.version));
        }
        if self.options.encrypt {
            self.phase = Phase::AwaitKey(name);
            self.end.outputs.push_back(Output::GenerateKey);
            return;
        }
        self.admit(&name);
    }

    pub(super) fn on_key(&mut self, material: Box<KeyMaterial>) {
        let Phase::AwaitKey(name) = &mut self.phase else { return };
        let name = std::mem::take(name);
        let requests = secret::requests(&material.key, &material.token);
        let said = requests.into_iter().flatten();
        let said = said.into_iter().any(|it| self.end.say(Role::EncryptionRequest, &it));
        if !said {
            return self.send_away("this version's key exchange is not known");
        }
        self.phase = Phase::AwaitSecret { name, material };
    }

    /// The rest of the login.
    fn admit(&mut self, name: &str) {
        if let Some(threshold) = self.options.threshold {
            let fields = Value::map([("threshold", Value::Int(threshold as i64))]);
            if self.end.say(Role::SetCompression, &fields) {
                self.end.set_compression(Some(threshold));
            }
        }
        let recording = Arc::clone(&self.options.recording);
        let recorded = recording.success.clone().map(|value| with(value, "username", name));
        let made = [
            ("uuid", Value::from(NO_UUID)),
            ("username", Value::from(name)),
            ("properties", Value::List(Vec::new())),
        ];
        let made = [Value::map(made[..2].iter().cloned()), Value::map(made)];
        let said = recorded.into_iter().chain(made).any(|it| self.end.say(Role::LoginSuccess, &it));
        if !said {
            return self.send_away("this version's login is not known");
        }
        let protocol = Arc::clone(&self.end.context.protocol);
        let acknowledged =
            protocol.role(State::Login, Direction::Serverbound, Role::LoginAcknowledged);
        if acknowledged.is_some() {
            self.end.set_state(Direction::Clientbound, State::Configuration);
            self.end.state_event();
            self.phase = Phase::AwaitAcknowledge;
            return;
        }
        self.end.enter(State::Play);
        self.begin();
    }

    /// Whether the front of Alpha's login, which says the version, is there; a client of another
    /// version is sent away before its login is measured.
    pub(super) fn knows_version(&mut self) -> bool {
        let protocol = Arc::clone(&self.end.context.protocol);
        let login = protocol.role(State::Play, Direction::Serverbound, Role::Login);
        let login = login.and_then(|login| u8::try_from(login.id()).ok());
        match *self.end.peek() {
            [id, a, b, c, d, ..] if Some(id) == login => {
                let version = i32::from_be_bytes([a, b, c, d]);
                let fits = version == self.options.recording.version();
                self.end.update_context(|context| context.version = Some(version));
                if !fits {
                    self.refuse(&format!("your client speaks protocol {version} of its time"));
                }
                fits
            }
            [id, ..] => Some(id) != login,
            [] => false,
        }
    }

    pub(super) fn on_old_login(&mut self, packet: Packet) {
        let role = packet.kind().and_then(|packet| packet.role());
        let value = packet.value().unwrap_or(Value::Absent);
        self.end.record(packet, None);
        match role {
            Some(Role::Greeting) => {
                self.end.say(Role::Greeting, &Value::map([("connectionHash", Value::from("-"))]));
            }
            Some(Role::Login) => {
                let name = value.get("username").and_then(Value::as_text).map(str::to_owned);
                self.end.update_context(|context| context.player = name);
                self.end.state_event();
                self.begin();
            }
            _ => self.end.end("the client did not log in"),
        }
    }

    fn begin(&mut self) {
        let (recording, play) = (Arc::clone(&self.options.recording), self.options.play);
        let playback = Playback::new(recording, play, Direction::Clientbound);
        self.tally.begun();
        self.phase = Phase::Play(Box::new(Playing::new(playback, self.end.now, self.seed)));
    }

    pub(super) fn refuse(&mut self, why: &str) {
        self.send_away(&format!("{}, and {why}", self.played()));
    }
}

/// A map with another text in the field of that name.
pub(super) fn with(value: Value, name: &str, text: &str) -> Value {
    let Value::Map(mut fields) = value.plain().clone() else { return value };
    for (key, value) in &mut fields {
        if **key == *name {
            *value = Value::from(text);
        }
    }
    Value::Map(fields)
}

/// A player of whom the recording says nothing.
const NO_UUID: &str = "00000000-0000-0000-0000-000000000000";
