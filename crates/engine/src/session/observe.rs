use std::net::SocketAddr;
use std::sync::Arc;

use super::encryption::sealed;
use super::incoming::Incoming;
use super::phase::Phase;
use super::{Config, Session, Start};
use crate::filter::Pipeline;
use crate::link::{Engine as _, Input, Side};
use mitmcraft_protocol::codec::{Bare, Decoder, KeyLogLine, KeyRing, Limits, Reservation, Unit};
use mitmcraft_protocol::packet::RawReason;
use mitmcraft_protocol::schema::{DecodeCause, DecodeError, Direction, Protocol, Role, State};
use mitmcraft_protocol::wire::{VarInt, to_hex};

/// Observed sessions: every recorded byte is read once, and nothing is sent.
impl Session {
    /// Starts a session that observes a recorded connection. Nothing is ever pending, and no output
    /// needs an answer; entries come from `take_entries`. Encrypted bytes are decoded if `keys` has
    /// the session's secret. Returns `None` if `config.catalog` has no protocol 47.
    #[must_use]
    pub fn observe(
        mut config: Arc<Config>,
        start: Start,
        server: SocketAddr,
        keys: Arc<KeyRing>,
    ) -> Option<Self> {
        if !config.keep_host || config.follow_transfers {
            let config = Arc::make_mut(&mut config);
            (config.keep_host, config.follow_transfers) = (true, false);
        }
        let at = start.at;
        let mut session = Self::new(config, start, Pipeline::default())?;
        for side in Side::ALL {
            session.ends[side].leg.encoder.set_mute();
        }
        session.keys = Some(keys);
        session.handle(at, Input::Connected(server));
        Some(session)
    }

    /// Returns why neither direction is decoded any more; `None` while packets are decoded.
    #[must_use]
    pub fn relayed(&self) -> Option<&RawReason> {
        match &self.phase {
            Phase::Relay(reason) => Some(reason),
            _ => None,
        }
    }

    /// Reads the verify token. The server's next bytes are encrypted if the client answers.
    pub(super) fn watch_request(&mut self, incoming: Incoming) {
        let value = incoming.packet.value().ok();
        let token = value.as_ref().and_then(|value| value.get("verifyToken")?.as_bytes());
        let challenge = token.map(|token| KeyLogLine::challenge_of(token));
        self.judge_and_deliver(incoming);
        match challenge {
            Some(challenge) => self.phase = Phase::AwaitResponse(challenge),
            None => self.relay(sealed()),
        }
    }

    /// Handles the point from which both sides encrypt.
    pub(super) fn on_encryption(&mut self, challenge: [u8; 4]) {
        let secrets = self.keys.as_ref().map_or(&[][..], |keys| keys.find(challenge)).to_vec();
        if secrets.is_empty() {
            return self.relay(unknown(challenge));
        }
        self.phase = Phase::ChooseSecret(secrets);
    }

    /// Decrypts with the secret that turns the server's first bytes into a login packet; the two
    /// legs of a proxy have one token and two secrets. Returns whether that has been decided now.
    pub(super) fn choose_secret(&mut self) -> bool {
        if !matches!(self.phase, Phase::AwaitResponse(_) | Phase::ChooseSecret(_)) {
            return false;
        }
        let waiting = self.ends.iter().map(|end| end.leg.decoder.buffered()).sum::<usize>();
        let pressed = waiting > Reservation::FREE && self.config.memory.is_exhausted();
        if waiting > MAX_WAITING || pressed {
            self.relay(RawReason::Opaque("the key exchange has no end".into()));
            return true;
        }
        let confirms = self.confirms_encryption();
        let Phase::ChooseSecret(secrets) = &mut self.phase else { return false };
        let bytes = self.ends.server.leg.decoder.peek();
        let (limits, protocol) = (self.config.limits, &self.delivery.recorder.context.protocol);
        let mut chosen = None;
        let encrypted = match confirms {
            true => after_confirmation(bytes, protocol),
            false => Some(bytes),
        };
        secrets.retain(|secret| {
            let fits = match encrypted {
                Some(bytes) if confirms => fits_unframed(secret, bytes, limits, protocol),
                Some(bytes) => fits(secret, bytes, limits, protocol),
                None => None,
            };
            if fits == Some(true) {
                chosen.get_or_insert(*secret);
            }
            fits != Some(false)
        });
        let ended = Side::ALL.into_iter().any(|side| self.closing.is_closed(side));
        let Some(secret) = chosen else {
            if !secrets.is_empty() && !ended {
                return false;
            }
            let why = "encrypted, and none of the key log's secrets for its token fits";
            self.relay(RawReason::Opaque(why.into()));
            return true;
        };
        self.phase = Phase::Frames;
        if confirms && let Some(unit) = self.ends.server.leg.decoder.poll() {
            self.on_unit(Direction::Clientbound, unit);
        }
        for side in Side::ALL {
            self.ends[side].set_cipher(&secret);
        }
        self.state_event();
        true
    }

    /// Handles a side that closes before the client has answered: the server did not encrypt.
    /// Returns whether that was unknown.
    pub(super) fn expect_no_response(&mut self) -> bool {
        let awaits = matches!(self.phase, Phase::AwaitResponse(_));
        if awaits {
            self.phase = Phase::Frames;
        }
        awaits
    }

    pub(super) fn on_missing(&mut self, side: Side, bytes: u64) {
        if let Phase::Detect(_) = self.phase {
            return self.on_start_missed();
        }
        self.ends[side].leg.decoder.set_missing(bytes);
        self.keep_alives.lose(side.sends());
        match (&self.phase, side) {
            (&Phase::AwaitResponse(challenge), Side::Client) => self.on_encryption(challenge),
            (Phase::ChooseSecret(_), Side::Server) => self.relay(RawReason::Opaque(
                "encrypted, and bytes are missing that would tell by which secret".into(),
            )),
            _ => {}
        }
    }

    pub(super) fn on_start_missed(&mut self) {
        if let Phase::Detect(detection) = &mut self.phase {
            let held = std::mem::take(&mut detection.held);
            self.ends.client.leg.decoder.receive(&held);
        }
        self.relay(RawReason::Opaque("the recording begins within this connection".into()));
    }
}

/// Returns whether the server's first encrypted bytes, decrypted with `secret`, begin with a login
/// packet; `None` if they are too few to tell.
fn fits(secret: &[u8; 16], bytes: &[u8], limits: Limits, protocol: &Protocol) -> Option<bool> {
    let mut decoder = Decoder::new(Limits::new(limits.frame.min(MAX_FIRST), limits.inflated));
    decoder.set_cipher(secret);
    decoder.receive(&bytes[..bytes.len().min(MAX_FIRST + VarInt::MAX)]);
    let identify = |body| protocol.identify(State::Login, Direction::Clientbound, body);
    let frame = match decoder.poll() {
        Some(Unit::Frame(frame)) => frame,
        Some(Unit::Piece { .. } | Unit::Opaque { .. }) => return Some(false),
        None => {
            let front = decoder.peek();
            let body = &front[VarInt::read(front).map_or(front.len(), |it| it.length)..];
            let unknown = |error: DecodeError| matches!(error.cause, DecodeCause::UnknownId { .. });
            return identify(body).is_err_and(unknown).then_some(false);
        }
    };
    let Ok(body) = frame.body() else { return Some(false) };
    Some(identify(&body).is_ok_and(|(packet, start)| protocol.decode(packet, &body, start).is_ok()))
}

/// Returns what follows the server's confirmation of the secret, which is in the clear from 1.3 to 1.6; `None`
/// if it is not whole.
fn after_confirmation<'b>(bytes: &'b [u8], protocol: &Protocol) -> Option<&'b [u8]> {
    let identified = protocol.identify(State::Play, Direction::Clientbound, bytes);
    let (packet, start) = identified.ok()?;
    let confirms = packet.role() == Some(Role::EncryptionStarted);
    let end = protocol.measure(packet, bytes, start).ok().filter(|_| confirms)?;
    bytes.get(end..)
}

/// Returns whether the server's first encrypted bytes from 1.3 to 1.6, decrypted with `secret`, begin with a
/// packet that servers begin with; `None` if they are too few to tell.
fn fits_unframed(
    secret: &[u8; 16],
    bytes: &[u8],
    limits: Limits,
    protocol: &Arc<Protocol>,
) -> Option<bool> {
    let mut decoder = Decoder::new(Limits::new(limits.frame.min(MAX_FIRST), limits.inflated));
    decoder.set_bare(Bare::new(Arc::clone(protocol), State::Play, Direction::Clientbound));
    decoder.set_cipher(secret);
    decoder.receive(&bytes[..bytes.len().min(MAX_FIRST)]);
    let begins = |body: &[u8]| {
        let packet = protocol.identify(State::Play, Direction::Clientbound, body);
        let role = packet.ok().and_then(|(packet, _)| packet.role());
        matches!(role, Some(Role::JoinGame | Role::Disconnect | Role::PluginMessage))
    };
    match decoder.poll() {
        Some(Unit::Frame(frame)) => Some(begins(frame.wire())),
        Some(Unit::Piece { .. } | Unit::Opaque { .. }) => Some(false),
        None => {
            let front = decoder.peek();
            (!front.is_empty() && !begins(front)).then_some(false)
        }
    }
}

fn unknown(challenge: [u8; 4]) -> RawReason {
    let token = to_hex(&challenge, "");
    RawReason::Opaque(format!("encrypted, and no key log has the verify token `{token}`"))
}

/// Longest first encrypted frame in bytes: a Set Compression, a Login Success with a skin, a
/// Disconnect.
const MAX_FIRST: usize = 64 << 10;

/// Bytes of both sides held until the key exchange ends; its packets are short.
const MAX_WAITING: usize = 1 << 20;
