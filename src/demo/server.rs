use std::sync::Arc;
use std::time::Duration;

use md5::{Digest as _, Md5};
use serde_json::{Value as Json, json};

use super::connection::{ALPHA_VERSION, Connection, VERSION};
use super::conversation::Conversation;
use super::game::Game;
use super::message::{Message, Received};
use super::scene::{self, Scene};
use super::{DemoError, DemoOptions, Opening};
use mitmcraft_engine::link::{
    Endpoint, Exchange, Input, KeyMaterial, Output, PeerEngine, Side, disconnect_body,
};
use mitmcraft_engine::ping::{Answerer, Reply, Status};
use mitmcraft_protocol::packet::Timestamp;
use mitmcraft_protocol::schema::{Catalog, Direction, LEGACY_PING_ID, State, format_uuid};

/// The server of one client, 1.8 or Alpha, which also answers every Server List Ping.
#[derive(Debug)]
pub(super) struct Server {
    connection: Connection,
    options: Arc<DemoOptions>,
    phase: Phase,
    /// The time at which a client has been silent, or has not logged in, for too long.
    patience: Timestamp,
}

#[derive(Debug)]
enum Phase {
    /// For the first bytes.
    Detect,
    LegacyPing(Box<LegacyPing>),
    Handshake,
    Status,
    Login,
    AlphaLogin,
    /// For a key, to encrypt the connection of the player of that name.
    AwaitKey(String),
    AwaitSecret(String, Box<Exchange>),
    Play(Box<Game>),
}

#[derive(Debug)]
struct LegacyPing {
    answerer: Answerer,
    received: Vec<u8>,
    /// The time at which what was received is taken to be the whole ping.
    quiet: Timestamp,
}

impl Server {
    /// The server of a client that has just connected.
    pub(super) fn new(options: Arc<DemoOptions>, opening: &Opening) -> Self {
        let patience = opening.at.plus(options.timeout);
        let connection = Connection::new(Side::Client, opening);
        Self { connection, options, phase: Phase::Detect, patience }
    }

    fn on_first_bytes(&mut self, bytes: &[u8]) -> Result<(), DemoError> {
        match bytes {
            [ALPHA_LOGIN | ALPHA_HANDSHAKE, ..] => {
                self.connection.use_alpha();
                self.phase = Phase::AlphaLogin;
            }
            [LEGACY_PING_ID, ..] => {
                let status = Status::from_json(&status()).expect("the embedded status is one");
                let quiet = self.connection.now().plus(QUIET);
                let (answerer, received) = (Answerer::new(status), Vec::new());
                self.phase = Phase::LegacyPing(Box::new(LegacyPing { answerer, received, quiet }));
                return self.on_bytes(bytes);
            }
            _ => self.phase = Phase::Handshake,
        }
        self.connection.endpoint.receive(bytes);
        Ok(())
    }

    fn on_reply(&mut self, reply: Reply) {
        let Phase::LegacyPing(ping) = &mut self.phase else { return };
        match reply {
            Reply::Wait => ping.quiet = self.connection.now().plus(QUIET),
            Reply::Send(answer) | Reply::Close(answer) => {
                let protocol = Catalog::embedded().legacy_ping();
                self.connection.use_bare(protocol, State::Status);
                self.connection.endpoint.receive(&ping.received);
                while let Some(packet) = self.connection.endpoint.poll() {
                    self.connection.endpoint.record(packet);
                }
                self.connection.endpoint.send(&answer);
                self.connection.endpoint.end("the status was requested");
            }
            Reply::Other(bytes) => {
                self.phase = Phase::Handshake;
                self.connection.endpoint.receive(&bytes);
            }
        }
    }

    fn on_handshake(&mut self, packet: &Received) -> Result<(), DemoError> {
        match packet.int("nextState")? {
            1 => {
                self.connection.endpoint.enter(State::Status);
                self.phase = Phase::Status;
                Ok(())
            }
            2 => {
                self.connection.endpoint.enter(State::Login);
                self.phase = Phase::Login;
                if packet.int("protocolVersion")? == i64::from(VERSION) {
                    return Ok(());
                }
                Err(DemoError::Rejected("This demo speaks Minecraft 1.8."))
            }
            _ => Err(packet.fault("nextState")),
        }
    }

    fn on_login_start(&mut self, packet: &Received) -> Result<(), DemoError> {
        let name = packet.text("username")?.to_owned();
        if !(1..=16).contains(&name.chars().count()) {
            return Err(DemoError::Rejected("A name has 1 to 16 characters."));
        }
        if !self.options.encrypt {
            return self.admit(name);
        }
        self.phase = Phase::AwaitKey(name);
        self.connection.endpoint.request(Output::GenerateKey);
        Ok(())
    }

    /// Completes the login, and begins the game.
    fn admit(&mut self, name: String) -> Result<(), DemoError> {
        if let Some(threshold) = self.options.threshold {
            self.connection.send(&Message::new("compress", json!({ "threshold": threshold })))?;
            self.connection.endpoint.set_compression(Some(threshold));
        }
        let uuid = format_uuid(offline_uuid(&name));
        let success = json!({ "uuid": uuid, "username": name });
        self.connection.send(&Message::new("success", success))?;
        self.connection.endpoint.enter(State::Play);
        self.play(&scene::JAVA, name, &uuid)
    }

    fn on_alpha_login(&mut self, packet: &Received) -> Result<(), DemoError> {
        if packet.int("protocolVersion")? != i64::from(ALPHA_VERSION) {
            return Err(DemoError::Rejected("This demo speaks Alpha's protocol 5."));
        }
        self.play(&scene::ALPHA, packet.text("username")?.to_owned(), "")
    }

    fn play(&mut self, scene: &'static Scene, name: String, uuid: &str) -> Result<(), DemoError> {
        let given = json!({ "player": name, "uuid": uuid });
        self.connection.endpoint.update_context(|context| context.player = Some(name));
        let game = Game::start(scene, Arc::clone(&self.options), given, &mut self.connection)?;
        self.phase = Phase::Play(Box::new(game));
        Ok(())
    }
}

impl Conversation for Server {
    fn connection(&mut self) -> &mut Connection {
        &mut self.connection
    }

    fn on_bytes(&mut self, bytes: &[u8]) -> Result<(), DemoError> {
        match &mut self.phase {
            Phase::Detect => return self.on_first_bytes(bytes),
            Phase::LegacyPing(ping) => {
                ping.received.extend_from_slice(bytes);
                let reply = ping.answerer.handle_received(bytes);
                self.on_reply(reply);
            }
            _ => self.connection.endpoint.receive(bytes),
        }
        Ok(())
    }

    fn on_packet(&mut self, packet: &Received) -> Result<(), DemoError> {
        if let Phase::Play(game) = &mut self.phase {
            self.patience = self.connection.now().plus(self.options.timeout);
            if game.handle(packet, &mut self.connection)? {
                self.connection.endpoint.end("the player left");
            }
            return Ok(());
        }
        match (&self.phase, &*packet.name) {
            (Phase::Handshake, "set_protocol") => self.on_handshake(packet),
            (Phase::Status, "ping_start") => {
                self.connection.send(&Message::new("server_info", json!({ "response": status() })))
            }
            (Phase::Status, "ping") => {
                let time = json!({ "time": packet.int("time")? });
                self.connection.send(&Message::new("ping", time))?;
                self.connection.endpoint.end("the status was requested");
                Ok(())
            }
            (Phase::Login, "login_start") => self.on_login_start(packet),
            (Phase::AwaitSecret(name, exchange), "encryption_begin") => {
                let opened = exchange.open(&packet.value).ok_or(DemoError::KeyExchange)?;
                self.connection.endpoint.set_cipher(&opened.key.secret);
                let name = name.clone();
                self.admit(name)
            }
            (Phase::AlphaLogin, "handshake") => {
                // No authentication.
                self.connection.send(&Message::new("handshake", json!({ "connectionHash": "-" })))
            }
            (Phase::AlphaLogin, "login") => self.on_alpha_login(packet),
            (_, name) => {
                let (packet, state) = (name.to_owned(), self.connection.state());
                Err(DemoError::Unexpected { packet, state })
            }
        }
    }

    fn on_timeout(&mut self) -> Result<(), DemoError> {
        let now = self.connection.now();
        match &mut self.phase {
            Phase::Play(game) => {
                let ends = game.on_timeout(&mut self.connection)?;
                if ends {
                    self.connection.endpoint.end("the player sent no keep-alive");
                }
            }
            Phase::LegacyPing(ping) if now >= ping.quiet => {
                let reply = ping.answerer.handle_quiet();
                self.on_reply(reply);
            }
            _ => {}
        }
        if now >= self.patience && !self.connection.endpoint.is_over() {
            return Err(DemoError::Silent(self.connection.state()));
        }
        Ok(())
    }

    fn on_key(&mut self, material: &KeyMaterial) -> Result<(), DemoError> {
        let Phase::AwaitKey(name) = &mut self.phase else { return Ok(()) };
        let name = std::mem::take(name);
        let ([_, fields], exchange) =
            Exchange::own(material, false, false).ok_or(DemoError::KeyExchange)?;
        self.connection.send(&Message { name: "encryption_begin".into(), value: fields })?;
        self.phase = Phase::AwaitSecret(name, Box::new(exchange));
        Ok(())
    }

    fn on_closed(&mut self) -> Result<(), DemoError> {
        if let Phase::LegacyPing(ping) = &mut self.phase {
            // Nothing more comes: what was received is the whole ping.
            let reply = ping.answerer.handle_quiet();
            self.on_reply(reply);
        }
        if self.connection.endpoint.is_over() {
            return Ok(());
        }
        Err(DemoError::Closed(self.connection.state()))
    }

    fn on_error(&mut self, error: DemoError) {
        if matches!(error, DemoError::Closed(_) | DemoError::Lost { .. }) {
            return;
        }
        let endpoint = &self.connection.endpoint;
        let (protocol, state) =
            (&endpoint.context().protocol, endpoint.state(Direction::Clientbound));
        if let Some(body) = disconnect_body(protocol, state, &error.to_string()) {
            self.connection.endpoint.send(&body);
        }
    }
}

impl PeerEngine for Server {
    fn endpoint(&self) -> &Endpoint {
        &self.connection.endpoint
    }

    fn endpoint_mut(&mut self) -> &mut Endpoint {
        &mut self.connection.endpoint
    }

    fn on_input(&mut self, input: Input<'_>) {
        self.converse(input);
    }

    fn timeout(&self) -> Option<Timestamp> {
        Some(match &self.phase {
            Phase::Play(game) => game.timeout().min(self.patience),
            Phase::LegacyPing(ping) => ping.quiet.min(self.patience),
            _ => self.patience,
        })
    }
}

/// The UUID of a player in offline mode: version 3, without a namespace.
fn offline_uuid(name: &str) -> u128 {
    let digest = Md5::digest(format!("OfflinePlayer:{name}"));
    let number = u128::from_be_bytes(digest.into());
    let version = number & !(0xf << 76) | 3 << 76;
    version & !(0b11 << 62) | 0b10 << 62
}

/// The answer to a Server List Ping, as the server sends it.
fn status() -> String {
    let status: Json = serde_json::from_str(STATUS).expect("the embedded status is JSON");
    status.to_string()
}

/// The answer to a Server List Ping.
const STATUS: &str = include_str!("data/status.json");

/// The first bytes of an Alpha client, without and with a handshake.
const ALPHA_LOGIN: u8 = 0x01;
const ALPHA_HANDSHAKE: u8 = 0x02;

/// Silence after which what was received of a ping is taken to be all of it.
const QUIET: Duration = Duration::from_millis(100);

#[cfg(test)]
mod tests {
    use super::*;
    use base64::Engine as _;
    use base64::prelude::BASE64_STANDARD;

    #[test]
    fn the_offline_uuid_is_the_one_that_servers_give() {
        let uuid = format_uuid(offline_uuid("Notch"));
        assert_eq!(uuid, "b50ad385-829d-3141-a216-7e7d7539ba7f");
    }

    #[test]
    fn the_status_has_what_a_client_shows() {
        let status: Json = serde_json::from_str(&status()).unwrap();
        assert_eq!(status["version"], json!({ "name": "1.8", "protocol": VERSION }));
        assert_eq!(status["players"]["online"], 2);
        let favicon = status["favicon"].as_str().unwrap();
        let png = favicon.strip_prefix("data:image/png;base64,").unwrap();
        assert_eq!(BASE64_STANDARD.decode(png).unwrap()[1..4], *b"PNG");
    }
}
