use std::sync::Arc;

use bytes::{Bytes, BytesMut};

use super::Session;
use super::phase::Phase;
use crate::capture::Record;
use crate::link::{Emission, Side, ping_answer};
use mitmcraft_protocol::codec::Frame;
use mitmcraft_protocol::packet::{Content, Context, Packet, RawReason, Timestamp};
use mitmcraft_protocol::schema::{Direction, LEGACY_PING_ID, PacketType, State};

/// A Server List Ping from before 1.7. Its three forms differ only in where they end, which only
/// the answer or the close tells: bytes are forwarded as they come, and recorded then. A request
/// that a rule may change is held until it is complete, or has not grown for a while.
#[derive(Debug)]
pub(super) struct LegacyPing {
    /// The request so far; `None` once it is recorded.
    request: Option<BytesMut>,
    /// The time at which the last byte of it came.
    at: Timestamp,
    /// `true` if the request is held until it is complete.
    held: bool,
    /// The time at which a request that could still grow counts as complete.
    pub(super) settle: Option<Timestamp>,
}

impl Session {
    pub(super) fn begin_legacy_ping(&mut self, settle: Option<Timestamp>) -> LegacyPing {
        let protocol = self.config.catalog.legacy_ping();
        self.delivery.recorder.update_context(|context| {
            context.protocol = protocol;
            context.version = None;
            context.guess = false;
        });
        self.delivery.recorder.enter(State::Status);
        self.ends.client.leg.decoder.set_opaque();
        self.measure(Side::Server);
        self.ends.client.leg.encoder.set_bare();
        self.ends.server.leg.encoder.set_bare();
        // The bytes that begin the request may have waited for those that tell what they begin.
        self.state_event_at(self.heard.client);
        let held = self.ends.server.ahead == 0 && self.rules_want_ping();
        LegacyPing { request: Some(BytesMut::new()), at: self.heard.client, held, settle }
    }

    /// Returns whether a rule may apply to a ping.
    pub(super) fn rules_want_ping(&self) -> bool {
        let mut context = Context::clone(self.context());
        context.protocol = self.config.catalog.legacy_ping();
        let content = Content::Frame(Frame::bare(Bytes::from_static(&[LEGACY_PING_ID])));
        let (direction, state) = (Direction::Serverbound, State::Status);
        let packet = Packet::new(Arc::new(context), 0, self.now(), direction, state, content);
        self.delivery.pipeline.wants(&packet)
    }

    /// Forwards a part of the request.
    pub(super) fn on_ping_bytes(&mut self, bytes: Bytes) {
        let (heard, settle) = (self.heard.client, self.settle_time());
        let Phase::LegacyPing(LegacyPing { request: Some(request), at, held, settle: settles }) =
            &mut self.phase
        else {
            return self.on_raw(Direction::Serverbound, bytes, after_request());
        };
        request.extend_from_slice(&bytes);
        *at = heard;
        let protocol = &self.delivery.recorder.context.protocol;
        let ends = request.len() > LONGEST || *held && is_longest_form(protocol, request);
        if *held {
            settles.get_or_insert(settle);
        } else {
            self.emit_in_order(Direction::Serverbound, Emission::Bytes(bytes));
        }
        if ends {
            self.end_ping();
        }
    }

    /// Ends the request when the answer to it has begun to come. Returns whether it was open.
    pub(super) fn answers_ping(&mut self) -> bool {
        let open = matches!(&self.phase, Phase::LegacyPing(ping) if ping.request.is_some());
        if !open || self.ends.server.leg.decoder.buffered() == 0 {
            return false;
        }
        self.end_ping();
        true
    }

    /// Records the complete request, and forwards it if it was held.
    pub(super) fn end_ping(&mut self) {
        let Phase::LegacyPing(LegacyPing { request, at, held, settle }) = &mut self.phase else {
            return;
        };
        *settle = None;
        let (request, at, held) = (request.take().unwrap_or_default(), *at, *held);
        if request.is_empty() {
            return;
        }
        let packet = self.ping_packet(request, at);
        if held {
            let role = packet.kind().and_then(PacketType::role);
            if let Some(ping) = self.admit(packet, role, None) {
                self.judge_and_deliver(ping);
            }
        } else {
            self.record(Record::passed(packet));
        }
    }

    /// Answers the ping of a client whose server cannot be reached, once the ping is complete;
    /// `ended` if no more comes.
    pub(super) fn on_refused_ping(&mut self, bytes: &[u8], ended: bool) {
        let heard = self.heard.client;
        let Phase::Refused(refusal) = &mut self.phase else { return };
        let Some(LegacyPing { request: Some(request), at, .. }) = &mut refusal.ping else { return };
        if !bytes.is_empty() {
            request.extend_from_slice(bytes);
            *at = heard;
        }
        let reason = refusal.reason.clone();
        let whole = ended || is_longest_form(&self.delivery.recorder.context.protocol, request);
        if !whole && request.len() <= LONGEST {
            return;
        }
        let (request, at) = (std::mem::take(request), *at);
        refusal.ping = None;
        let packet = self.ping_packet(request, at);
        let recorded = self.closing.reason().unwrap_or(&reason).to_owned();
        self.delivery.swallow(packet, &recorded);
        if self.closing.lost() == Some(Side::Client) {
            return;
        }
        let text = format!("mitmcraft: {reason}");
        let form = self.delivery.guard.ping;
        if let Some(body) = ping_answer(&self.context().protocol, &text, form) {
            self.send(Direction::Clientbound, State::Status, body);
        }
        self.dismiss_refused();
    }

    fn ping_packet(&mut self, request: BytesMut, at: Timestamp) -> Packet {
        let recorder = &mut self.delivery.recorder;
        recorder.count_packet(Direction::Serverbound);
        let content = Content::Frame(Frame::bare(request.freeze()));
        let mut packet = recorder.packet(Direction::Serverbound, content);
        let said = packet.value().ok();
        let version = said.and_then(|value| value.get("protocolVersion")?.as_int());
        recorder.update_context(|context| {
            context.version = version.and_then(|it| it.try_into().ok());
        });
        packet.set_at(at);
        packet.set_context(recorder.context.clone());
        self.delivery.guard.observe(&packet, None);
        packet
    }
}

/// Returns whether this is the request of 1.6, the only form that says where it ends.
fn is_longest_form(protocol: &mitmcraft_protocol::schema::Protocol, request: &[u8]) -> bool {
    let identified = protocol.identify(State::Status, Direction::Serverbound, request);
    let value = identified.and_then(|(packet, start)| protocol.decode(packet, request, start));
    value.is_ok_and(|value| value.get("serverPort").is_some_and(|port| port.as_int().is_some()))
}

/// Returns the reason for raw bytes after a recorded request.
fn after_request() -> RawReason {
    RawReason::Opaque("bytes after a Server List Ping".into())
}

/// Longest request in bytes: that of 1.6 has two texts, a channel and a host.
const LONGEST: usize = 4 << 10;
