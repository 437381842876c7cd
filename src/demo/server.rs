use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use md5::{Digest as _, Md5};
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::{RngCore as _, SeedableRng as _};
use rsa::pkcs8::EncodePublicKey as _;
use rsa::{Pkcs1v15Encrypt, RsaPrivateKey};
use serde_json::{Value as Json, json};

use super::end::{End, VERSION};
use super::game::{Game, Stay};
use super::message::{Message, Received};
use super::peer::Peer;
use super::status::status;
use super::world::World;
use super::{DemoError, DemoOptions};
use crate::schema::{Direction, State, format_uuid};

/// What all connections of a server have in common.
#[derive(Debug)]
pub(super) struct House {
    pub(super) options: Arc<DemoOptions>,
    pub(super) world: World,
    /// None: no encryption.
    pub(super) key: Option<ServerKey>,
}

/// The server's key pair, 1024 bits as the game has it.
pub(super) struct ServerKey {
    private: RsaPrivateKey,
    public: Bytes,
}

/// The server's end of one connection, sans-IO.
#[derive(Debug)]
pub(super) struct ServerCore {
    house: Arc<House>,
    random: ChaCha20Rng,
    end: End,
    phase: Phase,
    player: Option<String>,
    /// When a client that is not in the game yet has taken too long.
    patience: Duration,
}

#[derive(Debug)]
enum Phase {
    Handshake,
    Status,
    Login,
    /// The key and the token were sent to the player of that name.
    AwaitSecret {
        name: String,
        token: [u8; 4],
    },
    Play(Box<Game>),
    Over,
}

impl ServerKey {
    /// Takes a few milliseconds, or a second when luck is bad.
    pub(super) fn generate(random: &mut ChaCha20Rng) -> Option<Self> {
        let private = RsaPrivateKey::new(random, KEY_BITS).ok()?;
        let public = private.to_public_key().to_public_key_der().ok()?;
        Some(Self { public: Bytes::copy_from_slice(public.as_bytes()), private })
    }
}

impl fmt::Debug for ServerKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ServerKey")
    }
}

impl ServerCore {
    /// The end of a connection that was just accepted; `seed` decides its verify token.
    pub(super) fn new(house: Arc<House>, seed: [u8; 32]) -> Self {
        Self {
            random: ChaCha20Rng::from_seed(seed),
            end: End::new(Direction::Clientbound, house.options.record),
            phase: Phase::Handshake,
            player: None,
            patience: house.options.timeout,
            house,
        }
    }

    /// Ends the connection, with a reason where there is a packet for it.
    pub(super) fn kick(&mut self, reason: &Json) -> Result<(), DemoError> {
        self.phase = Phase::Over;
        let name = match self.end.state() {
            State::Login => "disconnect",
            State::Play => "kick_disconnect",
            _ => return Ok(()),
        };
        self.end.send(&Message::new(name, json!({ "reason": reason.to_string() })))
    }

    fn on_handshake(&mut self, packet: &Received) -> Result<(), DemoError> {
        match packet.int("nextState")? {
            1 => {
                self.end.set_state(State::Status);
                self.phase = Phase::Status;
            }
            2 => {
                self.end.set_state(State::Login);
                self.phase = Phase::Login;
                if packet.int("protocolVersion")? != i64::from(VERSION) {
                    return self.kick(&json!({ "text": "This demo speaks Minecraft 1.8." }));
                }
            }
            _ => return Err(packet.fault("nextState")),
        }
        Ok(())
    }

    fn on_status_request(&mut self) -> Result<(), DemoError> {
        self.end.send(&Message::new("server_info", json!({ "response": status() })))
    }

    /// A status connection is over with its pong.
    fn on_ping(&mut self, packet: &Received) -> Result<(), DemoError> {
        self.end.send(&Message::new("ping", json!({ "time": packet.int("time")? })))?;
        self.phase = Phase::Over;
        Ok(())
    }

    fn on_login_start(&mut self, now: Duration, packet: &Received) -> Result<(), DemoError> {
        let name = packet.text("username")?.to_owned();
        if !(1..=16).contains(&name.chars().count()) {
            return self.kick(&json!({ "text": "A name has 1 to 16 characters." }));
        }
        let Some(key) = &self.house.key else { return self.admit(now, name) };
        let mut token = [0; 4];
        self.random.fill_bytes(&mut token);
        let request = Message::new("encryption_begin", json!({ "serverId": "" }))
            .with_bytes("publicKey", Bytes::clone(&key.public))
            .with_bytes("verifyToken", token.to_vec());
        self.end.send(&request)?;
        self.phase = Phase::AwaitSecret { name, token };
        Ok(())
    }

    fn on_secret(&mut self, now: Duration, packet: &Received) -> Result<(), DemoError> {
        let phase = std::mem::replace(&mut self.phase, Phase::Over);
        let (Phase::AwaitSecret { name, token: expected }, Some(key)) = (phase, &self.house.key)
        else {
            return Err(DemoError::KeyExchange);
        };
        let random = &mut self.random;
        let mut open = |sealed| key.private.decrypt_blinded(random, Pkcs1v15Encrypt, sealed);
        // Both are opened, whatever comes of the first: which one was wrong must not be told.
        let secret = open(packet.bytes("sharedSecret")?);
        let token = open(packet.bytes("verifyToken")?);
        let secret = secret.ok().and_then(|secret| <[u8; 16]>::try_from(secret).ok());
        let Some(secret) = secret.filter(|_| token.is_ok_and(|token| token == expected)) else {
            return Err(DemoError::KeyExchange);
        };
        self.end.set_cipher(&secret);
        self.admit(now, name)
    }

    /// The rest of the login, and the beginning of the game.
    fn admit(&mut self, now: Duration, name: String) -> Result<(), DemoError> {
        let options = Arc::clone(&self.house.options);
        if let Some(threshold) = options.threshold {
            self.end.send(&Message::new("compress", json!({ "threshold": threshold })))?;
            self.end.set_compression(Some(threshold));
        }
        let uuid = offline_uuid(&name);
        let success = json!({ "uuid": format_uuid(uuid), "username": name });
        self.end.send(&Message::new("success", success))?;
        self.end.set_state(State::Play);
        self.player = Some(name.clone());
        let game = Game::start(options, &self.house.world, (name, uuid), now, &mut self.end)?;
        self.phase = Phase::Play(Box::new(game));
        Ok(())
    }

    fn follow(&mut self, stay: Stay) -> Result<(), DemoError> {
        match stay {
            Stay::Continue(()) => Ok(()),
            Stay::Break(reason) => self.kick(&reason),
        }
    }
}

impl Peer for ServerCore {
    fn on_packet(&mut self, now: Duration, packet: &Received) -> Result<(), DemoError> {
        match (&mut self.phase, &*packet.name) {
            (Phase::Play(game), _) => {
                let stay = game.handle(now, packet, &mut self.end)?;
                self.follow(stay)
            }
            (Phase::Handshake, "set_protocol") => self.on_handshake(packet),
            (Phase::Status, "ping_start") => self.on_status_request(),
            (Phase::Status, "ping") => self.on_ping(packet),
            (Phase::Login, "login_start") => self.on_login_start(now, packet),
            (Phase::AwaitSecret { .. }, "encryption_begin") => self.on_secret(now, packet),
            (Phase::Over, _) => Ok(()),
            (_, name) => {
                Err(DemoError::Unexpected { packet: name.to_owned(), state: self.end.state() })
            }
        }
    }

    fn on_timeout(&mut self, now: Duration) -> Result<(), DemoError> {
        if let Phase::Play(game) = &mut self.phase {
            let stay = game.on_timeout(now, &mut self.end)?;
            return self.follow(stay);
        }
        if now >= self.patience {
            return Err(DemoError::Silent(self.end.state()));
        }
        Ok(())
    }

    fn on_error(&mut self, error: DemoError) {
        self.phase = Phase::Over;
        if matches!(error, DemoError::Closed(_) | DemoError::Io { .. }) {
            return;
        }
        // Nothing more can be done for a client that the reason does not reach.
        let _ = self.kick(&json!({ "text": error.to_string(), "color": "red" }));
    }

    fn end(&self) -> &End {
        &self.end
    }

    fn end_mut(&mut self) -> &mut End {
        &mut self.end
    }

    fn player(&self) -> Option<&str> {
        self.player.as_deref()
    }

    fn is_over(&self) -> bool {
        matches!(self.phase, Phase::Over)
    }

    fn timeout(&self) -> Duration {
        match &self.phase {
            Phase::Play(game) => game.timeout(),
            _ => self.patience,
        }
    }
}

/// The UUID of a player whom no session server knows: version 3, without a namespace.
pub(super) fn offline_uuid(name: &str) -> u128 {
    let digest = Md5::digest(format!("OfflinePlayer:{name}"));
    let number = u128::from_be_bytes(digest.into());
    let version = number & !(0xf << 76) | 3 << 76;
    version & !(0b11 << 62) | 0b10 << 62
}

/// Bits of the server's key, as the game has them.
const KEY_BITS: usize = 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_offline_uuid_is_the_one_that_servers_give() {
        let uuid = format_uuid(offline_uuid("Notch"));
        assert_eq!(uuid, "b50ad385-829d-3141-a216-7e7d7539ba7f");
    }
}
