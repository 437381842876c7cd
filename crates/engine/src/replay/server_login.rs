use std::sync::Arc;

use bytes::Bytes;

use super::playback::Playback;
use super::server::{Phase, ServerReplay};
use super::server_play::ServerPlay;
use crate::link::{Exchange, KeyMaterial, Output};
use mitmcraft_protocol::packet::Packet;
use mitmcraft_protocol::schema::{Direction, Role, State, Value};

/// The login, under the client's own name.
impl ServerReplay {
    pub(super) fn on_login_packet(&mut self, packet: Packet) {
        let role = packet.role();
        let fields = packet.value().unwrap_or(Value::Absent);
        self.endpoint.record(packet);
        match (std::mem::replace(&mut self.phase, Phase::Login), role) {
            (Phase::Login, Some(Role::LoginStart)) => self.on_login_start(&fields),
            // From 1.3 to 1.6 the handshake has the name, and every server encrypts.
            (Phase::Login, Some(Role::Greeting)) => {
                let name = fields.get("username").and_then(Value::as_text).unwrap_or("").to_owned();
                self.endpoint.update_context(|context| context.player = Some(name.clone()));
                self.phase = Phase::AwaitKey(name);
                self.endpoint.request(Output::GenerateKey);
            }
            (Phase::AwaitSecret(name, exchange), Some(Role::EncryptionResponse)) => {
                match exchange.open(&fields) {
                    Some(opened) => {
                        let nothing = || Value::Bytes(Bytes::new());
                        let fields = [("sharedSecret", nothing()), ("verifyToken", nothing())];
                        let confirmed =
                            self.endpoint.send_role(Role::EncryptionStarted, &Value::map(fields));
                        self.endpoint.set_cipher(&opened.key.secret);
                        if confirmed {
                            self.begin();
                        } else {
                            self.admit(&name);
                        }
                    }
                    None => self.disconnect("the Encryption Response does not fit the request"),
                }
            }
            (Phase::AwaitAcknowledge, Some(Role::LoginAcknowledged)) => {
                self.endpoint.set_state(Direction::Serverbound, State::Configuration);
                self.begin();
            }
            // An answer to a request that was not sent.
            (phase, _) => self.phase = phase,
        }
    }

    pub(super) fn on_key(&mut self, material: &KeyMaterial) {
        let Phase::AwaitKey(name) = &mut self.phase else { return };
        let name = std::mem::take(name);
        let exchange = Exchange::own(material, false, self.options.recording.is_unframed());
        let exchange = exchange.filter(|(forms, _)| {
            self.endpoint.send_first(Role::EncryptionRequest, forms.iter().cloned())
        });
        match exchange {
            Some((_, exchange)) => self.phase = Phase::AwaitSecret(name, Box::new(exchange)),
            None => self.disconnect("the key exchange of this version is unknown"),
        }
    }

    /// Returns whether the start of the login of a version before 1.7, which contains the version, has arrived. Rejects a
    /// client of another version, whose login has another layout.
    pub(super) fn knows_version(&mut self) -> bool {
        let protocol = &self.endpoint.context().protocol;
        let login = protocol.role(State::Play, Direction::Serverbound, Role::UnframedLogin);
        let login = login.and_then(|login| u8::try_from(login.id()).ok());
        match *self.endpoint.peek() {
            [id, a, b, c, d, ..] if Some(id) == login => {
                let version = i32::from_be_bytes([a, b, c, d]);
                let fits = version == self.options.recording.version();
                self.endpoint.update_context(|context| context.version = Some(version));
                if !fits {
                    self.reject(&format!("your client speaks protocol {version} of its time"));
                }
                fits
            }
            [id, ..] => Some(id) != login,
            [] => false,
        }
    }

    pub(super) fn on_unframed_login(&mut self, packet: Packet) {
        let role = packet.role();
        let fields = packet.value().unwrap_or(Value::Absent);
        self.endpoint.record(packet);
        match role {
            Some(Role::Greeting) => {
                let unverified = Value::map([("connectionHash", Value::from("-"))]);
                self.endpoint.send_role(Role::Greeting, &unverified);
            }
            Some(Role::UnframedLogin) => {
                let name = fields.get("username").and_then(Value::as_text).map(str::to_owned);
                self.endpoint.update_context(|context| context.player = name);
                self.endpoint.record_state();
                self.begin();
            }
            _ => self.finish("the client did not log in"),
        }
    }

    fn on_login_start(&mut self, fields: &Value) {
        let name = fields.get("username").and_then(Value::as_text).unwrap_or("").to_owned();
        self.endpoint.update_context(|context| context.player = Some(name.clone()));
        let (recording, context) = (&self.options.recording, self.endpoint.context());
        let version = context.version.unwrap_or_default();
        if recording.is_unframed() || version != recording.version() {
            let client = context.game_version();
            return self.reject(&format!("your client speaks {client} (protocol {version})"));
        }
        if self.options.encrypt {
            self.phase = Phase::AwaitKey(name);
            return self.endpoint.request(Output::GenerateKey);
        }
        self.admit(&name);
    }

    /// Completes the login.
    fn admit(&mut self, name: &str) {
        if let Some(threshold) = self.options.threshold {
            let fields = Value::map([("threshold", Value::Int(threshold as i64))]);
            if self.endpoint.send_role(Role::SetCompression, &fields) {
                self.endpoint.set_compression(Some(threshold));
            }
        }
        let recorded = self.options.recording.success.clone();
        let recorded = recorded.map(|success| success.with_field("username", Value::from(name)));
        let made = [("uuid", Value::from(NO_UUID)), ("username", Value::from(name))];
        let newer = made.clone().into_iter().chain([("properties", Value::List(Vec::new()))]);
        let made = [Value::map(made), Value::map(newer)];
        if !self.endpoint.send_first(Role::LoginSuccess, recorded.into_iter().chain(made)) {
            return self.disconnect("the login of this version is unknown");
        }
        let protocol = &self.endpoint.context().protocol;
        let acknowledged = Role::LoginAcknowledged;
        if protocol.role(State::Login, Direction::Serverbound, acknowledged).is_some() {
            self.endpoint.set_state(Direction::Clientbound, State::Configuration);
            self.endpoint.record_state();
            self.phase = Phase::AwaitAcknowledge;
            return;
        }
        self.endpoint.enter(State::Play);
        self.begin();
    }

    fn begin(&mut self) {
        let (recording, options) = (Arc::clone(&self.options.recording), self.options.play);
        let playback = Playback::new(recording, options, Direction::Clientbound);
        self.tally.begin();
        let play = ServerPlay::new(playback, self.endpoint.now(), self.seed);
        self.phase = Phase::Play(Box::new(play));
    }
}

/// UUID of a player whose recorded one is unknown.
const NO_UUID: &str = "00000000-0000-0000-0000-000000000000";
