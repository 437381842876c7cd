use std::sync::Arc;

use bytes::{Bytes, BytesMut};

use super::Session;
use super::phase::Phase;
use crate::capture::Record;
use crate::codec::Frame;
use crate::link::Emission;
use crate::link::Side;
use crate::packet::{Content, Context, Packet, RawReason, Timestamp};
use crate::schema::{Direction, LEGACY_PING_ID, Role, State, Value};

/// A Server List Ping from before 1.7. Its three forms differ only in where they end, which nothing
/// but the answer, or the close, tells: bytes are forwarded as they come, and recorded then. What a
/// rule is to judge is held until it is whole, or has not grown for a while.
#[derive(Debug)]
pub(super) struct LegacyPing {
    /// The request so far; None once it is recorded.
    request: Option<BytesMut>,
    /// When the last byte of it came.
    at: Timestamp,
    /// Whether nothing of it is forwarded before it is whole.
    held: bool,
}

impl Session {
    pub(super) fn begin_legacy_ping(&mut self) -> LegacyPing {
        let protocol = self.config.catalog.legacy_ping();
        self.update_context(|context| {
            context.protocol = protocol;
            context.version = None;
            context.guess = false;
        });
        for side in Side::ALL {
            self.set_state(side.sends(), State::Status);
        }
        self.client.decoder.set_opaque();
        self.measure(Side::Server);
        self.client.encoder.set_bare();
        self.server.encoder.set_bare();
        self.state_event();
        let held = !self.is_ahead() && self.rules_want_ping();
        LegacyPing { request: Some(BytesMut::new()), at: self.heard, held }
    }

    /// Whether a rule may have something to say of a request.
    pub(super) fn rules_want_ping(&self) -> bool {
        let mut context = Context::clone(&self.context);
        context.protocol = self.config.catalog.legacy_ping();
        let content = Content::Frame(Frame::bare(Bytes::from_static(&[LEGACY_PING_ID])));
        let (direction, state) = (Direction::Serverbound, State::Status);
        let packet = Packet::new(Arc::new(context), 0, self.now, direction, state, content);
        self.pipeline.wants(&packet)
    }

    /// Forwards a part of the request.
    pub(super) fn on_ping_bytes(&mut self, bytes: Bytes) {
        let heard = self.heard;
        let Phase::LegacyPing(LegacyPing { request: Some(request), at, held }) = &mut self.phase
        else {
            return self.on_raw(Direction::Serverbound, bytes, behind());
        };
        request.extend_from_slice(&bytes);
        *at = heard;
        let ends =
            request.len() > LONGEST || *held && is_longest_form(&self.context.protocol, request);
        match *held {
            true => self.settle(),
            false => self.emit_in_order(Direction::Serverbound, Emission::Bytes(bytes)),
        }
        if ends {
            self.end_ping();
        }
    }

    /// Records the request, of which no more comes, and forwards it if it was held.
    pub(super) fn end_ping(&mut self) {
        let Phase::LegacyPing(LegacyPing { request, at, held }) = &mut self.phase else { return };
        let (request, at, held) = (request.take().unwrap_or_default(), *at, *held);
        if request.is_empty() {
            return;
        }
        let packet = self.ping_packet(request, at);
        match held {
            true => self.judge_and_forward(packet),
            false => self.record(Record::passed(packet)),
        }
    }

    /// Answers the ping of a client whose server cannot be reached, once all of it is there:
    /// `ended` if no more comes.
    pub(super) fn on_refused_ping(&mut self, bytes: &[u8], ended: bool) {
        let heard = self.heard;
        let Phase::Refused(refusal) = &mut self.phase else { return };
        let Some(LegacyPing { request: Some(request), at, .. }) = &mut refusal.ping else { return };
        if !bytes.is_empty() {
            request.extend_from_slice(bytes);
            *at = heard;
        }
        let reason = refusal.reason.clone();
        let whole = ended || is_longest_form(&self.context.protocol, request);
        if !whole && request.len() <= LONGEST {
            return;
        }
        let (request, at) = (std::mem::take(request), *at);
        refusal.ping = None;
        let packet = self.ping_packet(request, at);
        self.swallow(packet, &reason);
        if let Some(body) = self.ping_answer(&format!("mitmcraft: {reason}")) {
            self.send(Direction::Clientbound, State::Status, &body, None);
        }
        self.shutdown(Side::Client);
        self.linger();
    }

    fn ping_packet(&mut self, request: BytesMut, at: Timestamp) -> Packet {
        self.count_packet(Direction::Serverbound);
        self.asks_by_one_byte = request.len() == 1;
        let content = Content::Frame(Frame::bare(request.freeze()));
        let mut packet = self.packet(Direction::Serverbound, content);
        let said = packet.value().ok();
        let version = said.and_then(|value| value.get("protocolVersion")?.as_int());
        self.update_context(|context| context.version = version.and_then(|it| it.try_into().ok()));
        packet.at = at;
        packet.context = self.context.clone();
        packet
    }

    /// The text that a client shows as the server's name: the fields stand between `§` up to 1.3,
    /// and since 1.4, whose request is longer than a byte, between NULs.
    pub(super) fn ping_answer(&self, reason: &str) -> Option<Vec<u8>> {
        let protocol = &self.context.protocol;
        let packet = protocol.role(State::Status, Direction::Clientbound, Role::StatusResponse)?;
        let clean = |char: &char| !matches!(char, '§' | '\0');
        let motd: String = reason.chars().filter(clean).take(LONGEST_MOTD).collect();
        let version = self.context.version.unwrap_or(NO_VERSION);
        let none = || Value::Int(0);
        let mut parts = vec![("motd", motd.as_str().into()), ("online", none()), ("max", none())];
        if !self.asks_by_one_byte {
            parts.push(("protocolVersion", Value::Int(version.into())));
            parts.push(("version", "mitmcraft".into()));
        }
        protocol.encode(packet, &Value::map(parts)).ok()
    }
}

/// Whether this is 1.6's request, the only form that says where it ends.
fn is_longest_form(protocol: &crate::schema::Protocol, request: &[u8]) -> bool {
    let identified = protocol.identify(State::Status, Direction::Serverbound, request);
    let value = identified.and_then(|(packet, start)| protocol.decode(packet, request, start));
    value.is_ok_and(|value| value.get("serverPort").is_some_and(|port| port.as_int().is_some()))
}

/// Why bytes behind a recorded request are raw.
fn behind() -> RawReason {
    RawReason::Opaque("bytes behind a Server List Ping".into())
}

/// Bytes of a request beyond which it is none: 1.6's has two texts, a channel and a host.
const LONGEST: usize = 4 << 10;

/// Characters of a server's name that every client takes.
const LONGEST_MOTD: usize = 200;

/// A protocol number that no old client has, so that it shows the version's name.
const NO_VERSION: i32 = 127;
