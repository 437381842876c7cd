use std::sync::Arc;
use std::time::Duration;

use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::RngCore as _;
use rsa::pkcs8::DecodePublicKey as _;
use rsa::{Pkcs1v15Encrypt, RsaPublicKey};
use serde_json::json;

use super::end::{End, VERSION};
use super::message::{Message, Received};
use super::peer::Peer;
use super::player::Player;
use super::script;
use super::text::plain_text;
use super::{DemoError, DemoOptions, DemoReport};
use crate::schema::{Direction, State};

/// The client's end of one connection, sans-IO.
#[derive(Debug)]
pub(super) struct ClientCore {
    options: Arc<DemoOptions>,
    random: ChaCha20Rng,
    end: End,
    phase: Phase,
    /// When the server has been silent for too long.
    patience: Duration,
    report: DemoReport,
}

#[derive(Debug)]
enum Phase {
    Status,
    /// The ping was sent then.
    AwaitPong(Duration),
    Login,
    Play(Box<Player>),
    Over(Result<(), DemoError>),
}

impl ClientCore {
    /// Asks a server for its status and pings it. `host` and `port` are what the handshake says.
    pub(super) fn status(
        options: Arc<DemoOptions>,
        random: ChaCha20Rng,
        host: &str,
        port: u16,
    ) -> Self {
        let mut core = Self::new(options, random, Phase::Status, DemoReport::default());
        core.start(host, port, State::Status, &Message::new("ping_start", json!({})));
        core
    }

    /// Logs in and plays; the report goes on.
    pub(super) fn game(
        options: Arc<DemoOptions>,
        random: ChaCha20Rng,
        host: &str,
        port: u16,
        report: DemoReport,
    ) -> Self {
        let name = json!({ "username": options.username });
        let mut core = Self::new(options, random, Phase::Login, report);
        core.start(host, port, State::Login, &Message::new("login_start", name));
        core
    }

    fn new(
        options: Arc<DemoOptions>,
        random: ChaCha20Rng,
        phase: Phase,
        report: DemoReport,
    ) -> Self {
        Self {
            end: End::new(Direction::Serverbound, options.record),
            patience: options.timeout,
            options,
            random,
            phase,
            report,
        }
    }

    /// What came of it, once it is over; `connection` is its number in the report.
    pub(super) fn finish(mut self, connection: usize) -> Result<DemoReport, DemoError> {
        match self.phase {
            Phase::Over(result) => result?,
            _ => return Err(DemoError::Closed(self.end.state())),
        }
        self.report.add(&mut self.end, connection);
        Ok(self.report)
    }

    fn start(&mut self, host: &str, port: u16, next: State, first: &Message) {
        let handshake = json!({
            "protocolVersion": VERSION, "serverHost": host, "serverPort": port,
            "nextState": if next == State::Status { 1 } else { 2 },
        });
        let sent = self.end.send(&Message::new("set_protocol", handshake)).and_then(|()| {
            self.end.set_state(next);
            self.end.send(first)
        });
        if let Err(error) = sent {
            self.on_error(error);
        }
    }

    fn on_login_packet(&mut self, now: Duration, packet: &Received) -> Result<(), DemoError> {
        match &*packet.name {
            "encryption_begin" => self.on_encryption_request(packet),
            "compress" => self.on_compress(packet),
            "success" => {
                self.report.uuid = packet.text("uuid")?.to_owned();
                self.end.set_state(State::Play);
                self.phase = Phase::Play(Box::new(Player::new(&self.options, now)));
                script::greeting().iter().try_for_each(|message| self.end.send(message))
            }
            "disconnect" => Err(self.disconnected(packet.text("reason")?)),
            _ => Err(self.unexpected(packet)),
        }
    }

    fn on_encryption_request(&mut self, packet: &Received) -> Result<(), DemoError> {
        let key = RsaPublicKey::from_public_key_der(packet.bytes("publicKey")?);
        let key = key.map_err(|_| packet.fault("publicKey"))?;
        let mut secret = [0; 16];
        self.random.fill_bytes(&mut secret);
        let random = &mut self.random;
        let mut seal = |plain: &[u8]| {
            key.encrypt(random, Pkcs1v15Encrypt, plain).map_err(|_| DemoError::KeyExchange)
        };
        let (sealed, token) = (seal(&secret)?, seal(packet.bytes("verifyToken")?)?);
        let answer = Message::new("encryption_begin", json!({}))
            .with_bytes("sharedSecret", sealed)
            .with_bytes("verifyToken", token);
        self.end.send(&answer)?;
        self.end.set_cipher(&secret);
        self.report.encrypted = true;
        Ok(())
    }

    fn on_compress(&mut self, packet: &Received) -> Result<(), DemoError> {
        let threshold = usize::try_from(packet.int("threshold")?).ok();
        self.end.set_compression(threshold);
        self.report.threshold = threshold;
        Ok(())
    }

    fn on_game_packet(&mut self, packet: &Received) -> Result<(), DemoError> {
        let Phase::Play(player) = &mut self.phase else { return Ok(()) };
        match &*packet.name {
            // After its farewell a player says nothing, since the server would not hear it any more.
            "keep_alive" if !player.has_said_farewell() => {
                let number = json!({ "keepAliveId": packet.int("keepAliveId")? });
                self.end.send(&Message::new("keep_alive", number))
            }
            "position" => player.on_position(packet, &mut self.end),
            "chat" => {
                self.report.chat.push(plain_text(packet.text("message")?));
                Ok(())
            }
            "set_compression" => self.on_compress(packet),
            "kick_disconnect" => {
                let reason = packet.text("reason")?;
                if !player.has_said_farewell() {
                    return Err(self.disconnected(reason));
                }
                self.report.kick = Some(plain_text(reason));
                self.phase = Phase::Over(Ok(()));
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn disconnected(&self, reason: &str) -> DemoError {
        DemoError::Disconnected { state: self.end.state(), reason: plain_text(reason) }
    }

    fn unexpected(&self, packet: &Received) -> DemoError {
        DemoError::Unexpected { packet: packet.name.to_string(), state: self.end.state() }
    }
}

impl Peer for ClientCore {
    fn on_packet(&mut self, now: Duration, packet: &Received) -> Result<(), DemoError> {
        self.patience = now + self.options.timeout;
        match (&self.phase, &*packet.name) {
            (Phase::Status, "server_info") => {
                self.report.status = packet.text("response")?.to_owned();
                let time = i64::try_from(now.as_millis()).unwrap_or_default();
                self.phase = Phase::AwaitPong(now);
                self.end.send(&Message::new("ping", json!({ "time": time })))
            }
            (Phase::AwaitPong(asked), "ping") => {
                self.report.latency = now.saturating_sub(*asked);
                self.phase = Phase::Over(Ok(()));
                Ok(())
            }
            (Phase::Login, _) => self.on_login_packet(now, packet),
            (Phase::Play(_), _) => self.on_game_packet(packet),
            _ => Err(self.unexpected(packet)),
        }
    }

    fn on_timeout(&mut self, now: Duration) -> Result<(), DemoError> {
        if now >= self.patience {
            return Err(DemoError::Silent(self.end.state()));
        }
        match &mut self.phase {
            Phase::Play(player) => player.on_timeout(now, &mut self.end),
            _ => Ok(()),
        }
    }

    fn on_error(&mut self, error: DemoError) {
        self.phase = Phase::Over(Err(error));
    }

    fn end(&self) -> &End {
        &self.end
    }

    fn end_mut(&mut self) -> &mut End {
        &mut self.end
    }

    fn is_over(&self) -> bool {
        matches!(self.phase, Phase::Over(_))
    }

    fn timeout(&self) -> Duration {
        match &self.phase {
            Phase::Play(player) => player.timeout().min(self.patience),
            _ => self.patience,
        }
    }
}
