use std::sync::Arc;

use serde_json::json;

use super::connection::{ALPHA_VERSION, Connection, VERSION};
use super::conversation::Conversation;
use super::message::{Message, Received};
use super::player::{Player, Walk};
use super::scene;
use super::{DemoError, DemoOptions, DemoReport, Opening};
use mitmcraft_engine::link::{Endpoint, Input, PeerEngine, Request, Side};
use mitmcraft_protocol::packet::{Timestamp, plain_text};
use mitmcraft_protocol::schema::State;

/// The client of one connection, 1.8 or Alpha.
#[derive(Debug)]
pub(super) struct Client {
    connection: Connection,
    options: Arc<DemoOptions>,
    phase: Phase,
    /// The time at which the server has been silent for too long.
    patience: Timestamp,
    /// Makes the shared secret.
    seed: [u8; 32],
    report: DemoReport,
    result: Option<Result<(), DemoError>>,
}

/// The purpose of a client's connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Visit {
    /// Requests the status of a 1.8 server, and pings it.
    Status,
    /// Logs in to a 1.8 server, and plays.
    Game,
    /// Logs in to an Alpha server, and plays.
    Alpha,
}

#[derive(Debug)]
enum Phase {
    Status,
    /// For the answer to the ping of that time.
    AwaitPong(Timestamp),
    AlphaHandshake,
    Login,
    Play(Box<Player>),
}

impl Client {
    /// A client that has just connected; what comes of it is added to `report`.
    pub(super) fn new(
        options: Arc<DemoOptions>,
        opening: &Opening,
        visit: Visit,
        report: DemoReport,
    ) -> Self {
        let phase = match visit {
            Visit::Status => Phase::Status,
            Visit::Game => Phase::Login,
            Visit::Alpha => Phase::AlphaHandshake,
        };
        let (patience, seed) = (opening.at.plus(options.timeout), opening.seed);
        let connection = Connection::new(Side::Server, opening);
        let mut client = Self { connection, options, phase, patience, seed, report, result: None };
        if let Err(error) = client.start(opening, visit) {
            client.fail(error);
        }
        client
    }

    /// Returns what came of the connection, once it is over.
    pub(super) fn finish(self) -> Result<DemoReport, DemoError> {
        let Self { connection, mut report, result, .. } = self;
        result.unwrap_or_else(|| Err(DemoError::Closed(connection.state())))?;
        (report.sent, report.received) = (connection.sent, connection.received);
        Ok(report)
    }

    fn start(&mut self, opening: &Opening, visit: Visit) -> Result<(), DemoError> {
        let name = json!({ "username": self.options.username });
        let (number, state, first) = match visit {
            Visit::Alpha => {
                self.connection.use_alpha();
                return self.connection.send(&Message::new("handshake", name));
            }
            Visit::Status => (1, State::Status, Message::new("ping_start", json!({}))),
            Visit::Game => (2, State::Login, Message::new("login_start", name)),
        };
        let handshake = json!({
            "protocolVersion": VERSION, "serverHost": opening.server.ip().to_string(),
            "serverPort": opening.server.port(), "nextState": number,
        });
        self.connection.send(&Message::new("set_protocol", handshake))?;
        self.connection.endpoint.enter(state);
        self.connection.send(&first)
    }

    fn on_login_packet(&mut self, packet: &Received) -> Result<(), DemoError> {
        let options = Arc::clone(&self.options);
        let player = match &*packet.name {
            "encryption_begin" => return self.on_encryption_request(packet),
            "compress" => return self.on_compress(packet),
            "success" => {
                packet.text("uuid")?.clone_into(&mut self.report.uuid);
                self.connection.endpoint.enter(State::Play);
                Player::start(&scene::JAVA, options, Some(Walk::new()), &mut self.connection)?
            }
            // Alpha's.
            "login" => Player::start(&scene::ALPHA, options, None, &mut self.connection)?,
            "disconnect" | "kick_disconnect" => return Err(self.disconnected(packet)?),
            _ => return Err(self.unexpected(packet)),
        };
        self.phase = Phase::Play(Box::new(player));
        Ok(())
    }

    fn on_encryption_request(&mut self, packet: &Received) -> Result<(), DemoError> {
        let request = Request::of(packet.value.clone()).ok_or_else(|| packet.fault("publicKey"))?;
        let answer = request.answer_seeded(self.seed).ok_or(DemoError::KeyExchange)?;
        let [value, _] = answer.alone();
        self.connection.send(&Message { name: "encryption_begin".into(), value })?;
        self.connection.endpoint.set_cipher(&answer.key.secret);
        self.report.encrypted = true;
        Ok(())
    }

    fn on_compress(&mut self, packet: &Received) -> Result<(), DemoError> {
        let threshold = usize::try_from(packet.int("threshold")?).ok();
        self.connection.endpoint.set_compression(threshold);
        self.report.threshold = threshold;
        Ok(())
    }

    fn on_game_packet(&mut self, packet: &Received) -> Result<(), DemoError> {
        let Phase::Play(player) = &mut self.phase else { return Ok(()) };
        match &*packet.name {
            "chat" => self.report.chat.push(plain_text(packet.text("message")?)),
            "set_compression" => return self.on_compress(packet),
            "kick_disconnect" => {
                if !player.has_said_farewell() {
                    return Err(self.disconnected(packet)?);
                }
                self.report.kick = Some(plain_text(packet.text("reason")?));
                self.end("kicked");
            }
            _ => return player.on_packet(packet, &mut self.connection),
        }
        Ok(())
    }

    fn end(&mut self, reason: &str) {
        self.result = Some(Ok(()));
        self.connection.endpoint.end(reason);
    }

    fn disconnected(&self, packet: &Received) -> Result<DemoError, DemoError> {
        let reason = plain_text(packet.text("reason")?);
        Ok(DemoError::Disconnected { state: self.connection.state(), reason })
    }

    fn unexpected(&self, packet: &Received) -> DemoError {
        DemoError::Unexpected { packet: packet.name.to_string(), state: self.connection.state() }
    }
}

impl Conversation for Client {
    fn connection(&mut self) -> &mut Connection {
        &mut self.connection
    }

    fn on_packet(&mut self, packet: &Received) -> Result<(), DemoError> {
        let now = self.connection.now();
        self.patience = now.plus(self.options.timeout);
        match (&self.phase, &*packet.name) {
            (Phase::Status, "server_info") => {
                packet.text("response")?.clone_into(&mut self.report.status);
                self.phase = Phase::AwaitPong(now);
                let time = now.0 / 1_000_000;
                self.connection.send(&Message::new("ping", json!({ "time": time })))
            }
            (Phase::AwaitPong(asked), "ping") => {
                self.report.latency = now.since(*asked);
                self.end("the status was received");
                Ok(())
            }
            (Phase::AlphaHandshake, "handshake") => {
                self.phase = Phase::Login;
                let login = json!({
                    "protocolVersion": ALPHA_VERSION, "username": self.options.username,
                    "password": "Password", "mapSeed": 0, "dimension": 0,
                });
                self.connection.send(&Message::new("login", login))
            }
            (Phase::AlphaHandshake | Phase::Login, _) => self.on_login_packet(packet),
            (Phase::Play(_), _) => self.on_game_packet(packet),
            _ => Err(self.unexpected(packet)),
        }
    }

    fn on_timeout(&mut self) -> Result<(), DemoError> {
        if let Phase::Play(player) = &mut self.phase {
            player.on_timeout(&mut self.connection)?;
        }
        if self.connection.now() >= self.patience {
            return Err(DemoError::Silent(self.connection.state()));
        }
        Ok(())
    }

    fn on_error(&mut self, error: DemoError) {
        self.result = Some(Err(error));
    }
}

impl PeerEngine for Client {
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
            Phase::Play(player) => player.timeout().min(self.patience),
            _ => self.patience,
        })
    }
}
