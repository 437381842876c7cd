use std::net::SocketAddr;
use std::sync::Arc;

use super::encryption::sealed;
use super::phase::Phase;
use super::{Config, Session, Start};
use crate::codec::{Decoder, KeyLogLine, KeyRing, Limits, Unit};
use crate::filter::Pipeline;
use crate::link::{Engine as _, Input, Side};
use crate::packet::{Packet, RawReason};
use crate::schema::{DecodeCause, DecodeError, Direction, Protocol, State};
use crate::wire::VarInt;

/// Sessions of others that are only watched: every byte is seen once, and nothing is sent.
impl Session {
    /// Begins with a connection that others have made. Nothing is ever pending, and no output needs
    /// an answer; what was seen comes by [`take_entries`](Self::take_entries) as ever. What is
    /// encrypted is understood when `keys` has the session's secret.
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
            session.ends[side].mute();
        }
        session.keys = Some(keys);
        session.handle(at, Input::Connected(server));
        Some(session)
    }

    /// Why nothing more is understood, once that is so in both directions.
    #[must_use]
    pub fn relayed(&self) -> Option<&RawReason> {
        match &self.phase {
            Phase::Relay(reason) => Some(reason),
            _ => None,
        }
    }

    /// Reads the verify token. What the server sends next is encrypted if the client answers.
    pub(super) fn watch_request(&mut self, packet: Packet) {
        let value = packet.value().ok();
        let token = value.as_ref().and_then(|value| value.get("verifyToken")?.as_bytes());
        let challenge = token.map(|token| KeyLogLine::challenge_of(token));
        self.judge_and_deliver(packet, None);
        match challenge {
            Some(challenge) => self.phase = Phase::AwaitResponse(challenge),
            None => self.relay(sealed()),
        }
    }

    /// From here on both sides encrypt.
    pub(super) fn on_encryption(&mut self, challenge: [u8; 4]) {
        let secrets = self.keys.as_ref().map_or(&[][..], |keys| keys.find(challenge)).to_vec();
        if secrets.is_empty() {
            return self.relay(unknown(challenge));
        }
        self.phase = Phase::ChooseSecret(secrets);
    }

    /// Decrypts with the secret by which the server's first frame is one of the login; a proxy's
    /// two legs have one token and two secrets. Whether that is decided now.
    pub(super) fn choose_secret(&mut self) -> bool {
        let waiting = self.ends.iter().map(|end| end.leg.decoder.buffered()).sum::<usize>();
        let waits = matches!(self.phase, Phase::AwaitResponse(_) | Phase::ChooseSecret(_));
        if waits && waiting > MAX_WAITING {
            self.relay(RawReason::Opaque("the key exchange has no end".into()));
            return true;
        }
        let Phase::ChooseSecret(secrets) = &mut self.phase else { return false };
        let bytes = self.ends.server.leg.decoder.peek();
        let (limits, protocol) = (self.config.limits, &self.delivery.recorder.context.protocol);
        let mut chosen = None;
        secrets.retain(|secret| {
            let fits = fits(secret, bytes, limits, protocol);
            if fits == Some(true) {
                chosen.get_or_insert(*secret);
            }
            fits != Some(false)
        });
        let ended = self.ends.iter().any(|end| end.closed);
        let Some(secret) = chosen else {
            if !secrets.is_empty() && !ended {
                return false;
            }
            let why = "encrypted, and none of the key log's secrets for its token fits";
            self.relay(RawReason::Opaque(why.into()));
            return true;
        };
        self.phase = Phase::Frames;
        for side in Side::ALL {
            self.ends[side].set_cipher(&secret);
        }
        self.state_event();
        true
    }

    /// A side has ended before the client has answered: what the server sent is not encrypted.
    pub(super) fn expect_no_response(&mut self) {
        if let Phase::AwaitResponse(_) = self.phase {
            self.pump();
            if let Phase::AwaitResponse(_) = self.phase {
                self.phase = Phase::Frames;
            }
        }
    }

    pub(super) fn on_missing(&mut self, side: Side, bytes: u64) {
        self.pump();
        if let Phase::Detect(_) = self.phase {
            return self.on_start_missed();
        }
        self.ends[side].leg.decoder.set_missing(bytes);
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

/// Whether the server's first encrypted bytes begin with a frame of the login, decrypted so; None
/// when they are too few to tell.
fn fits(secret: &[u8; 16], bytes: &[u8], limits: Limits, protocol: &Protocol) -> Option<bool> {
    let mut decoder = Decoder::new(Limits { frame: limits.frame.min(MAX_FIRST), ..limits });
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

fn unknown(challenge: [u8; 4]) -> RawReason {
    let token: String = challenge.iter().map(|byte| format!("{byte:02x}")).collect();
    RawReason::Opaque(format!("encrypted, and no key log has the verify token `{token}`"))
}

/// Bytes of the first encrypted frame at most: a Set Compression, a Login Success with a skin, a
/// Disconnect.
const MAX_FIRST: usize = 64 << 10;

/// Bytes of both sides that wait for the end of a key exchange, in which nothing long is said.
const MAX_WAITING: usize = 1 << 20;
