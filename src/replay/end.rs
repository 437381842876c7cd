use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;

use crate::capture::{Entry, Event, EventKind, LegState, Record, Summary};
use crate::codec::{Bare, Frame, Leg, Limits, Unit};
use crate::link::{Output, Side};
use crate::packet::{Content, Context, Packet, RawReason, Timestamp};
use crate::schema::{Direction, PacketType, Role, State, Value};

/// One connection of a replay: our end of it, and what is recorded of it.
#[derive(Debug)]
pub(super) struct End {
    /// Who the peer is.
    peer: Side,
    leg: Leg,
    pub(super) context: Arc<Context>,
    /// By direction.
    states: [State; 2],
    threshold: Option<usize>,
    encrypted: bool,
    /// When what is handled now has happened.
    pub(super) now: Timestamp,
    sequence: u64,
    /// By direction.
    packets: [u64; 2],
    bytes: [u64; 2],
    entries: Vec<Entry>,
    pub(super) outputs: VecDeque<Output>,
    /// Whether the peer has sent all it will send.
    closed: bool,
    over: bool,
    /// Why it ends, as far as it is known.
    pub(super) reason: Option<String>,
}

impl End {
    pub(super) fn new(peer: Side, context: Context, limits: Limits) -> Self {
        let mut end = Self {
            peer,
            leg: Leg::new(limits),
            now: context.opened,
            context: Arc::new(context),
            states: [State::Handshaking; 2],
            threshold: None,
            encrypted: false,
            sequence: 0,
            packets: [0; 2],
            bytes: [0; 2],
            entries: Vec::new(),
            outputs: VecDeque::new(),
            closed: false,
            over: false,
            reason: None,
        };
        end.event(EventKind::Open);
        end
    }

    pub(super) fn receive(&mut self, bytes: &[u8]) {
        self.bytes[self.peer.sends() as usize] += bytes.len() as u64;
        self.leg.decoder.receive(bytes);
    }

    /// The next packet of the peer, if it is all there.
    pub(super) fn poll(&mut self) -> Option<Packet> {
        let content = match self.leg.decoder.poll()? {
            Unit::Frame(frame) => Content::Frame(frame),
            Unit::Piece { bytes, frame, left } => {
                Content::Raw(bytes, RawReason::Oversize { frame, left })
            }
            Unit::Opaque { bytes, reason } => {
                let why = reason.map_or_else(|| "not Minecraft".to_owned(), |it| it.to_string());
                Content::Raw(bytes, RawReason::Opaque(why))
            }
        };
        self.packets[self.peer.sends() as usize] += 1;
        Some(self.packet(self.peer.sends(), content))
    }

    /// Sends a body to the peer, and records it.
    pub(super) fn send(&mut self, body: &[u8], comment: Option<&str>) {
        let direction = self.peer.other().sends();
        let frame = self.leg.encoder.send(body);
        self.packets[direction as usize] += 1;
        self.bytes[direction as usize] += frame.wire().len() as u64;
        let packet = self.packet(direction, Content::Frame(frame));
        self.record(packet, comment);
    }

    /// Sends bytes that have no frame.
    pub(super) fn put(&mut self, bytes: Bytes) {
        let direction = self.peer.other().sends();
        self.leg.encoder.put(&bytes);
        self.packets[direction as usize] += 1;
        self.bytes[direction as usize] += bytes.len() as u64;
        let packet = self.packet(direction, Content::Frame(Frame::bare(bytes)));
        self.record(packet, None);
    }

    /// Sends the packet that has that role here; whether there is one, and takes these fields.
    pub(super) fn say(&mut self, role: Role, value: &Value) -> bool {
        let Some(body) = self.body(role, value) else { return false };
        self.send(&body, None);
        true
    }

    /// The body of the packet that has that role here.
    pub(super) fn body(&self, role: Role, value: &Value) -> Option<Vec<u8>> {
        self.context.protocol.encode(self.role(role)?, value).ok()
    }

    /// The packet of ours that has that role here.
    pub(super) fn role(&self, role: Role) -> Option<&PacketType> {
        let direction = self.peer.other().sends();
        self.context.protocol.role(self.state(direction), direction, role)
    }

    pub(super) fn record(&mut self, packet: Packet, comment: Option<&str>) {
        let comment = comment.map(str::to_owned);
        self.entries.push(Entry::Packet(Record { comment, ..Record::passed(packet) }));
    }

    pub(super) fn update_context(&mut self, update: impl FnOnce(&mut Context)) {
        update(Arc::make_mut(&mut self.context));
    }

    pub(super) fn state(&self, direction: Direction) -> State {
        self.states[direction as usize]
    }

    pub(super) fn set_state(&mut self, direction: Direction, state: State) {
        self.states[direction as usize] = state;
    }

    /// Both directions are in that state now.
    pub(super) fn enter(&mut self, state: State) {
        self.states = [state; 2];
        self.state_event();
    }

    pub(super) fn set_compression(&mut self, threshold: Option<usize>) {
        self.leg.set_compression(threshold);
        self.threshold = threshold;
        self.state_event();
    }

    pub(super) fn set_cipher(&mut self, secret: &[u8; 16]) {
        self.leg.set_cipher(secret);
        self.encrypted = true;
        self.state_event();
    }

    /// Speaks without frames from here on: packets end where the description says.
    pub(super) fn set_bare(&mut self) {
        let (protocol, direction) = (self.context.protocol.clone(), self.peer.sends());
        self.leg.decoder.set_bare(Bare::new(protocol, State::Play, direction));
        self.leg.encoder.set_bare();
    }

    /// Takes what comes to be the messages of a ping, which end where the description says.
    pub(super) fn set_bare_status(&mut self) {
        let (protocol, direction) = (self.context.protocol.clone(), self.peer.sends());
        self.leg.decoder.set_bare(Bare::new(protocol, State::Status, direction));
    }

    /// What came and was not looked at yet.
    pub(super) fn peek(&self) -> &[u8] {
        self.leg.decoder.peek()
    }

    pub(super) fn pending(&self, side: Side) -> &[u8] {
        if side == self.peer { self.leg.encoder.pending() } else { &[] }
    }

    pub(super) fn advance(&mut self, side: Side, count: usize) {
        if side == self.peer {
            self.leg.encoder.advance(count);
        }
    }

    /// Whether the peer takes too long to read for more to be written.
    pub(super) fn is_full(&self) -> bool {
        self.leg.encoder.pending().len() > MAX_PENDING
    }

    pub(super) fn wants_read(&self, side: Side) -> bool {
        side == self.peer && !self.closed && !self.over
    }

    pub(super) fn take_entries(&mut self, into: &mut Vec<Entry>) {
        into.append(&mut self.entries);
    }

    pub(super) fn is_over(&self) -> bool {
        self.over
    }

    /// The peer has sent all it will send.
    pub(super) fn set_closed(&mut self) {
        if std::mem::replace(&mut self.closed, true) {
            return;
        }
        let rest = self.leg.decoder.take_rest();
        if !rest.is_empty() {
            let content = Content::Raw(rest, RawReason::CutOff);
            let packet = self.packet(self.peer.sends(), content);
            self.record(packet, None);
        }
    }

    /// Tells the peer that no more comes, once all is written.
    pub(super) fn shutdown(&mut self) {
        self.outputs.push_back(Output::Shutdown(self.peer));
    }

    /// Ends the connection, once all is written. The first reason counts.
    pub(super) fn end(&mut self, reason: &str) {
        if std::mem::replace(&mut self.over, true) {
            return;
        }
        let reason = self.reason.get_or_insert_with(|| reason.to_owned()).clone();
        self.set_closed();
        self.outputs.push_back(Output::Close(self.peer));
        let [clientbound, serverbound] = Direction::ALL.map(|direction| direction as usize);
        self.event(EventKind::Close(Summary {
            reason,
            serverbound_packets: self.packets[serverbound],
            clientbound_packets: self.packets[clientbound],
            serverbound_bytes: self.bytes[serverbound],
            clientbound_bytes: self.bytes[clientbound],
        }));
    }

    pub(super) fn state_event(&mut self) {
        self.event(EventKind::State(LegState {
            state: self.states[Direction::Clientbound as usize],
            client_threshold: self.threshold,
            server_threshold: self.threshold,
            client_encrypted: self.encrypted,
            server_encrypted: self.encrypted,
        }));
    }

    fn packet(&mut self, direction: Direction, content: Content) -> Packet {
        self.sequence += 1;
        let (context, state) = (Arc::clone(&self.context), self.state(direction));
        Packet::new(context, self.sequence, self.now, direction, state, content)
    }

    fn event(&mut self, kind: EventKind) {
        let context = Arc::clone(&self.context);
        self.entries.push(Entry::Event(Event { context, at: self.now, kind }));
    }
}

/// Enough to keep a fast link busy; the rest of the recording waits.
const MAX_PENDING: usize = 256 << 10;
