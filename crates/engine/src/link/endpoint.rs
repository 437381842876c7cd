use std::collections::VecDeque;
use std::sync::Arc;

use super::{End, Output, Recorder, Side, Upstream};
use crate::capture::{Entry, EventKind, Record};
use mitmcraft_protocol::codec::{Limits, MemoryBudget, Unit};
use mitmcraft_protocol::packet::{Content, Context, Packet, RawReason, Timestamp};
use mitmcraft_protocol::schema::{Direction, PacketType, Protocol, Role, State, Value};

/// The only connection of an engine that is itself client or server: its `End`, its records, and
/// the outputs for the driver.
#[derive(Debug)]
pub struct Endpoint {
    peer: Side,
    end: End,
    recorder: Recorder,
    outputs: VecDeque<Output>,
    /// `true` if the peer has been told that nothing more comes, or will be.
    shut: bool,
    over: bool,
    /// The reason why the connection ends; the first reason given is kept.
    reason: Option<String>,
}

impl Endpoint {
    /// Starts with a new connection to `peer`, and records that the session is open.
    #[must_use]
    pub fn new(peer: Side, context: Context, limits: Limits) -> Self {
        let mut recorder = Recorder::new(context);
        recorder.event(EventKind::Open);
        let outputs = VecDeque::new();
        let end = End::new(limits);
        Self { peer, end, recorder, outputs, shut: false, over: false, reason: None }
    }

    /// Counts what the end buffers in `budget` from now on.
    pub fn set_budget(&mut self, budget: &MemoryBudget) {
        self.end.leg.set_budget(budget);
    }

    /// Sets the time of everything that follows.
    pub fn set_now(&mut self, now: Timestamp) {
        self.recorder.now = now;
    }

    /// Takes bytes that the peer sent.
    pub fn receive(&mut self, bytes: &[u8]) {
        self.recorder.count_bytes(self.peer.sends(), bytes.len());
        self.end.leg.decoder.receive(bytes);
    }

    /// Returns the peer's next complete packet, which the caller records.
    pub fn poll(&mut self) -> Option<Packet> {
        let direction = self.peer.sends();
        let content = match self.end.leg.decoder.poll()? {
            Unit::Frame(frame) => Content::Frame(frame),
            Unit::Piece { bytes, frame, left } => {
                Content::Raw(bytes, RawReason::Oversize { frame, left })
            }
            Unit::Opaque { bytes, reason } => Content::Raw(bytes, RawReason::unreadable(reason)),
        };
        if let Content::Frame(_) | Content::Raw(_, RawReason::Oversize { left: 0, .. }) = content {
            self.recorder.count_packet(direction);
        }
        Some(self.recorder.packet(direction, content))
    }

    /// Sends a body to the peer, and records it.
    pub fn send(&mut self, body: &[u8]) {
        let direction = self.sends();
        let frame = self.end.leg.encoder.send(body);
        self.recorder.count_packet(direction);
        self.recorder.count_bytes(direction, frame.wire().len());
        let packet = self.recorder.packet(direction, Content::Frame(frame));
        self.record(packet);
    }

    /// Sends the packet that has `role` in the present state. Returns `false`, and sends nothing,
    /// if there is none or if it does not have these fields.
    pub fn send_role(&mut self, role: Role, fields: &Value) -> bool {
        self.send_fields(fields, |protocol, state, way| protocol.role(state, way, role))
    }

    /// Sends the packet of that name in the present state. Returns `false`, and sends nothing, if there is no
    /// such packet or if it does not have these fields.
    pub fn send_named(&mut self, name: &str, fields: &Value) -> bool {
        self.send_fields(fields, |protocol, state, way| protocol.named(state, way, name))
    }

    /// Sends the packet that has `role`, with the first of these fields that it has.
    pub fn send_first(&mut self, role: Role, forms: impl IntoIterator<Item = Value>) -> bool {
        forms.into_iter().any(|fields| self.send_role(role, &fields))
    }

    /// Records a packet of the peer.
    pub fn record(&mut self, packet: Packet) {
        self.recorder.record(Record::passed(packet));
    }

    /// Records a packet of the peer with a comment.
    pub fn record_with_comment(&mut self, packet: Packet, comment: &str) {
        self.recorder.record(Record::remarked(packet, comment));
    }

    /// Records state, compression and encryption.
    pub fn record_state(&mut self) {
        self.recorder.state_event(self.recorder.now, &self.end, &self.end);
    }

    /// Asks the driver for something.
    pub fn request(&mut self, output: Output) {
        self.outputs.push_back(output);
    }

    /// Changes what is known of the session from the next record on.
    pub fn update_context(&mut self, update: impl FnOnce(&mut Context)) {
        self.recorder.update_context(update);
    }

    /// Enters a state in one direction.
    pub fn set_state(&mut self, direction: Direction, state: State) {
        self.recorder.states[direction] = state;
    }

    /// Enters a state in both directions, and records it.
    pub fn enter(&mut self, state: State) {
        self.recorder.enter(state);
        self.record_state();
    }

    /// Changes the compression of both directions, and records it.
    pub fn set_compression(&mut self, threshold: Option<usize>) {
        self.end.set_compression(threshold);
        self.record_state();
    }

    /// Encrypts both directions, and records it.
    pub fn set_cipher(&mut self, secret: &[u8; 16]) {
        self.end.set_cipher(secret);
        self.record_state();
    }

    /// Sends and receives packets without frames, whose ends the protocol's description tells.
    pub fn set_bare(&mut self) {
        let direction = self.peer.sends();
        self.end.measure(&self.recorder.context.protocol, self.state(direction), direction);
        self.end.leg.encoder.set_bare();
    }

    /// Tells the peer that nothing more comes, once everything pending is written.
    pub fn shutdown(&mut self) {
        if !std::mem::replace(&mut self.shut, true) {
            self.outputs.push_back(Output::Shutdown(self.peer));
        }
    }

    /// Sets why the connection ends, unless a reason is known already.
    pub fn give_reason(&mut self, reason: impl Into<String>) {
        self.reason.get_or_insert_with(|| reason.into());
    }

    /// Ends the connection once everything pending is written. `reason` counts if none was given
    /// before.
    pub fn end(&mut self, reason: impl Into<String>) {
        if std::mem::replace(&mut self.over, true) {
            return;
        }
        let rest = self.end.leg.decoder.take_rest();
        if !rest.is_empty() {
            let content = Content::Raw(rest, RawReason::CutOff);
            let packet = self.recorder.packet(self.peer.sends(), content);
            self.record(packet);
        }
        self.outputs.push_back(Output::Close(self.peer));
        let reason = self.reason.take().unwrap_or_else(|| reason.into());
        self.recorder.close_event(reason);
    }

    /// Takes the next request to the driver.
    pub fn poll_output(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    /// Appends what was recorded since the last call.
    pub fn take_entries(&mut self, into: &mut Vec<Entry>) {
        self.recorder.take_entries(into);
    }

    /// Counts the first `count` pending bytes of `side` as written.
    pub fn advance(&mut self, side: Side, count: usize) {
        if side == self.peer {
            self.end.leg.encoder.advance(count);
        }
    }

    /// Returns the time that was set last.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.recorder.now
    }

    /// Returns what is known of the session.
    #[must_use]
    pub fn context(&self) -> &Arc<Context> {
        &self.recorder.context
    }

    /// Returns the state of a direction.
    #[must_use]
    pub fn state(&self, direction: Direction) -> State {
        self.recorder.states[direction]
    }

    /// Bytes received that are not a complete packet yet.
    #[must_use]
    pub fn peek(&self) -> &[u8] {
        self.end.leg.decoder.peek()
    }

    /// Returns the bytes to be written to `side`; none if it is not the peer.
    #[must_use]
    pub fn pending(&self, side: Side) -> &[u8] {
        if side == self.peer { self.end.leg.encoder.pending() } else { &[] }
    }

    /// Returns whether so much waits to be written that nothing more should be sent.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.end.leg.encoder.pending().len() > MAX_PENDING
    }

    /// Returns whether more should be read from `side`.
    #[must_use]
    pub fn wants_read(&self, side: Side) -> bool {
        side == self.peer && !self.is_over()
    }

    /// Returns whether the connection has ended.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.over
    }

    fn send_fields(
        &mut self,
        fields: &Value,
        find: impl Fn(&Protocol, State, Direction) -> Option<&PacketType>,
    ) -> bool {
        let (protocol, direction) = (&self.recorder.context.protocol, self.sends());
        let packet = find(protocol, self.state(direction), direction);
        let body = packet.and_then(|it| protocol.encode(it, fields).ok());
        if let Some(body) = &body {
            self.send(body);
        }
        body.is_some()
    }

    /// The direction of what is sent here.
    fn sends(&self) -> Direction {
        self.peer.other().sends()
    }
}

/// The behaviour that all clients share.
impl Endpoint {
    /// Sends the handshake of a client of this version, and enters the state that it asks for.
    pub fn shake_hands(&mut self, version: i32, server: &Upstream, next: State) {
        let handshake = Value::map([
            ("protocolVersion", Value::Int(version.into())),
            ("serverHost", Value::from(&*server.host)),
            ("serverPort", Value::Int(server.port.into())),
            ("nextState", Value::Int(if next == State::Status { 1 } else { 2 })),
        ]);
        self.send_role(Role::Handshake, &handshake);
        self.enter(next);
    }

    /// Does what a client must when it gets a packet with this role: answers it, and enters the state, or
    /// sets the compression, that follows.
    pub fn answer(&mut self, role: Role, fields: &Value) {
        let nothing = Value::map([]);
        match role {
            Role::KeepAlive | Role::Echo => {
                self.send_role(role, fields);
            }
            Role::SetCompression => {
                let threshold = fields.get("threshold").and_then(Value::as_int);
                self.set_compression(threshold.and_then(|it| usize::try_from(it).ok()));
            }
            Role::LoginSuccess => {
                let configures = self.send_role(Role::LoginAcknowledged, &nothing);
                self.enter(if configures { State::Configuration } else { State::Play });
            }
            Role::FinishConfiguration => {
                self.send_role(role, &nothing);
                self.enter(State::Play);
            }
            Role::StartConfiguration => {
                self.send_role(Role::ConfigurationAcknowledged, &nothing);
                self.enter(State::Configuration);
            }
            // The server has rejected a click.
            Role::Transaction
                if fields.get("accepted").map(Value::plain) == Some(&Value::Bool(false)) =>
            {
                let confirmed = fields.clone().with_field("accepted", Value::Bool(true));
                self.send_role(role, &confirmed);
            }
            Role::Teleport => {
                if let Some(number) = fields.get("teleportId") {
                    let number = Value::map([("teleportId", number.clone())]);
                    self.send_role(Role::TeleportConfirm, &number);
                }
            }
            _ => {}
        }
    }
}

/// Enough to keep a fast link busy.
const MAX_PENDING: usize = 256 << 10;
