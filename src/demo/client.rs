use std::sync::Arc;

use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::{RngCore as _, SeedableRng as _};
use serde_json::json;

use super::connection::{ALPHA_VERSION, Connection, VERSION};
use super::conversation::{Conversation, Peer};
use super::message::{Message, Received};
use super::player::{Player, Walk};
use super::scene::Scene;
use super::{DemoError, DemoOptions, DemoReport, Opening};
use mitmcraft_engine::link::{KeyMaterial, Request, Side};
use mitmcraft_protocol::packet::{Timestamp, plain_text};
use mitmcraft_protocol::schema::State;

/// The client of one connection, 1.8 or Alpha.
#[derive(Debug)]
pub(super) struct Client {
    options: Arc<DemoOptions>,
    phase: Phase,
    /// The time at which the server has been silent for too long.
    patience: Timestamp,
    /// Makes the shared secret.
    random: ChaCha20Rng,
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

impl Conversation<Client> {
    /// A client that has just connected; what comes of it is added to `report`.
    pub(super) fn client(
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
        let (patience, random) =
            (opening.at.plus(options.timeout), ChaCha20Rng::from_seed(opening.seed));
        let peer = Client { options, phase, patience, random, report, result: None };
        let mut client = Self::new(peer, Connection::new(Side::Server, opening));
        if let Err(error) = client.peer.start(opening, visit, &mut client.connection) {
            client.connection.endpoint.end(error.to_string());
            client.peer.result = Some(Err(error));
        }
        client
    }

    /// Returns what came of the connection, once it is over.
    pub(super) fn finish(self) -> Result<DemoReport, DemoError> {
        let Self { peer: Client { mut report, result, .. }, connection } = self;
        result.unwrap_or_else(|| Err(DemoError::Closed(connection.state())))?;
        (report.sent, report.received) = (connection.sent, connection.received);
        Ok(report)
    }
}

impl Client {
    fn start(
        &self,
        opening: &Opening,
        visit: Visit,
        connection: &mut Connection,
    ) -> Result<(), DemoError> {
        let name = json!({ "username": self.options.username });
        let (number, state, first) = match visit {
            Visit::Alpha => {
                connection.use_alpha();
                return connection.send(&Message::new("handshake", name));
            }
            Visit::Status => (1, State::Status, Message::new("ping_start", json!({}))),
            Visit::Game => (2, State::Login, Message::new("login_start", name)),
        };
        let handshake = json!({
            "protocolVersion": VERSION, "serverHost": opening.server.ip().to_string(),
            "serverPort": opening.server.port(), "nextState": number,
        });
        connection.send(&Message::new("set_protocol", handshake))?;
        connection.endpoint.enter(state);
        connection.send(&first)
    }

    fn on_login_packet(
        &mut self,
        packet: &Received,
        connection: &mut Connection,
    ) -> Result<(), DemoError> {
        let options = Arc::clone(&self.options);
        let player = match &*packet.name {
            "encryption_begin" => return self.on_encryption_request(packet, connection),
            "compress" => return self.on_compress(packet, connection),
            "success" => {
                packet.text("uuid")?.clone_into(&mut self.report.uuid);
                connection.endpoint.enter(State::Play);
                Player::start(Scene::java(), options, Some(Walk::new()), connection)?
            }
            // Alpha's.
            "login" => Player::start(Scene::alpha(), options, None, connection)?,
            "disconnect" | "kick_disconnect" => return Err(disconnected(packet, connection)?),
            _ => return Err(unexpected(packet, connection)),
        };
        self.phase = Phase::Play(Box::new(player));
        Ok(())
    }

    fn on_encryption_request(
        &mut self,
        packet: &Received,
        connection: &mut Connection,
    ) -> Result<(), DemoError> {
        let request = Request::of(packet.value.clone()).ok_or_else(|| packet.fault("publicKey"))?;
        let (mut secret, mut seed) = ([0; 16], [0; 32]);
        self.random.fill_bytes(&mut secret);
        self.random.fill_bytes(&mut seed);
        let answer = request.answer(&secret, seed).ok_or(DemoError::KeyExchange)?;
        let [value, _] = answer.alone();
        connection.send(&Message { name: "encryption_begin".into(), value })?;
        connection.endpoint.set_cipher(&secret);
        self.report.encrypted = true;
        Ok(())
    }

    fn on_compress(
        &mut self,
        packet: &Received,
        connection: &mut Connection,
    ) -> Result<(), DemoError> {
        let threshold = usize::try_from(packet.int("threshold")?).ok();
        connection.endpoint.set_compression(threshold);
        self.report.threshold = threshold;
        Ok(())
    }

    fn on_game_packet(
        &mut self,
        packet: &Received,
        connection: &mut Connection,
    ) -> Result<(), DemoError> {
        let Phase::Play(player) = &mut self.phase else { return Ok(()) };
        match &*packet.name {
            "chat" => self.report.chat.push(plain_text(packet.text("message")?)),
            "set_compression" => return self.on_compress(packet, connection),
            "kick_disconnect" => {
                if !player.has_said_farewell() {
                    return Err(disconnected(packet, connection)?);
                }
                self.report.kick = Some(plain_text(packet.text("reason")?));
                self.finish("kicked", connection);
            }
            _ => return player.on_packet(packet, connection),
        }
        Ok(())
    }

    fn finish(&mut self, reason: &str, connection: &mut Connection) {
        self.result = Some(Ok(()));
        connection.endpoint.end(reason);
    }
}

impl Peer for Client {
    fn on_packet(
        &mut self,
        packet: &Received,
        connection: &mut Connection,
    ) -> Result<(), DemoError> {
        let now = connection.now();
        self.patience = now.plus(self.options.timeout);
        match (&self.phase, &*packet.name) {
            (Phase::Status, "server_info") => {
                packet.text("response")?.clone_into(&mut self.report.status);
                self.phase = Phase::AwaitPong(now);
                let time = now.0 / 1_000_000;
                connection.send(&Message::new("ping", json!({ "time": time })))
            }
            (Phase::AwaitPong(asked), "ping") => {
                self.report.latency = now.since(*asked);
                self.finish("the status was received", connection);
                Ok(())
            }
            (Phase::AlphaHandshake, "handshake") => {
                self.phase = Phase::Login;
                let login = json!({
                    "protocolVersion": ALPHA_VERSION, "username": self.options.username,
                    "password": "Password", "mapSeed": 0, "dimension": 0,
                });
                connection.send(&Message::new("login", login))
            }
            (Phase::AlphaHandshake | Phase::Login, _) => self.on_login_packet(packet, connection),
            (Phase::Play(_), _) => self.on_game_packet(packet, connection),
            _ => Err(unexpected(packet, connection)),
        }
    }

    fn on_timeout(&mut self, connection: &mut Connection) -> Result<(), DemoError> {
        if let Phase::Play(player) = &mut self.phase {
            player.on_timeout(connection)?;
        }
        if connection.now() >= self.patience {
            return Err(DemoError::Silent(connection.state()));
        }
        Ok(())
    }

    fn on_key(&mut self, _: &KeyMaterial, _: &mut Connection) -> Result<(), DemoError> {
        // Only the server asks for a key.
        Ok(())
    }

    fn on_error(&mut self, error: DemoError, _: &mut Connection) {
        self.result = Some(Err(error));
    }

    fn timeout(&self) -> Timestamp {
        match &self.phase {
            Phase::Play(player) => player.timeout().min(self.patience),
            _ => self.patience,
        }
    }
}

fn disconnected(packet: &Received, connection: &Connection) -> Result<DemoError, DemoError> {
    let reason = plain_text(packet.text("reason")?);
    Ok(DemoError::Disconnected { state: connection.state(), reason })
}

fn unexpected(packet: &Received, connection: &Connection) -> DemoError {
    DemoError::Unexpected { packet: packet.name.to_string(), state: connection.state() }
}
