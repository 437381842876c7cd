use std::collections::VecDeque;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};

use super::ends::{Ends, Totals};
use super::later::Later;
use super::phase::{Phase, Reach, Refusal};
use super::{Config, Start};
use crate::capture::{Entry, Event, EventKind, LegState, Outcome, Record};
use crate::codec::{Frame, KeyRing, Leg, Unit};
use crate::filter::Pipeline;
use crate::link::Upstream;
use crate::link::{DelayQueue, Emission};
use crate::link::{Detected, detect, detect_last, urgent};
use crate::link::{Input, Output, Side};
use crate::packet::{Content, Context, Packet, RawReason, Timestamp};
use crate::schema::{Direction, State};

/// One client with its server, from accept to close.
///
/// Bytes of a side that the session cannot use yet wait in its decoder; what is to be written to a
/// side waits in its encoder. [`wants_read`](Self::wants_read) says when a side must not be read
/// until the other has caught up, so both are bounded.
#[derive(Debug)]
pub struct Session {
    pub(super) config: Arc<Config>,
    pub(super) upstream: Upstream,
    pub(super) context: Arc<Context>,
    pub(super) phase: Phase,
    pub(super) client: Leg,
    pub(super) server: Leg,
    /// By direction.
    states: [State; 2],
    encrypted: [bool; 2],
    threshold: [Option<usize>; 2],
    pub(super) pipeline: Pipeline,
    /// When what is handled now has happened.
    pub(super) now: Timestamp,
    /// When the client was last heard.
    pub(super) heard: Timestamp,
    /// When a byte came last, from either side.
    pub(super) last_byte: Timestamp,
    pub(super) timed_out: bool,
    sequence: u64,
    pub(super) ends: Ends,
    pub(super) totals: Totals,
    /// What rules hold back, by direction.
    pub(super) queues: [DelayQueue; 2],
    pub(super) outputs: VecDeque<Output>,
    entries: Vec<Entry>,
    /// When to stop waiting for a peer that was told to go.
    pub(super) linger: Option<Timestamp>,
    /// When a ping to a server that is not there counts as whole.
    pub(super) settle: Option<Timestamp>,
    /// Bytes of what the client sends next that were forwarded before.
    pub(super) ahead: usize,
    /// Whether the client speaks Alpha and has not logged in.
    pub(super) awaits_login: bool,
    /// Whether the client's ping is the form up to 1.3.
    pub(super) asks_by_one_byte: bool,
    pub(super) later: Later,
    /// Whether the client has said that it signs what it is asked, with a key of its account.
    pub(super) signs: bool,
    /// Whether the server has asked for an account that there is not, and the login is not over.
    pub(super) wants_account: bool,
    /// When to stop waiting for an answer that a login needs.
    pub(super) patience: Option<Timestamp>,
    /// Why the session ends, as far as it is known.
    pub(super) reason: Option<String>,
    /// What decrypts a session that is only watched; None: it is ours.
    pub(super) keys: Option<Arc<KeyRing>>,
}

impl Session {
    /// Begins with a client that has just connected.
    #[must_use]
    pub fn new(config: Arc<Config>, start: Start, pipeline: Pipeline) -> Option<Self> {
        let known = config.catalog.find(DEFAULT_VERSION)?;
        let context = Arc::new(Context {
            session: start.session,
            opened: start.at,
            client: start.client,
            server: None,
            upstream: start.upstream.to_string(),
            player: None,
            protocol: known.protocol,
            version: None,
            guess: false,
        });
        let mut session = Self {
            client: Leg::new(config.limits),
            server: Leg::new(config.limits),
            config,
            upstream: start.upstream,
            context,
            phase: Phase::Detect { held: BytesMut::new(), sent: 0, reach: Reach::Unknown },
            states: [State::Handshaking; 2],
            encrypted: [false; 2],
            threshold: [None; 2],
            pipeline,
            now: start.at,
            heard: start.at,
            last_byte: start.at,
            timed_out: false,
            sequence: 0,
            ends: Ends::default(),
            totals: Totals::default(),
            queues: Default::default(),
            outputs: VecDeque::from([Output::Connect]),
            entries: Vec::new(),
            linger: None,
            settle: None,
            ahead: 0,
            awaits_login: false,
            asks_by_one_byte: false,
            later: Later::default(),
            signs: false,
            wants_account: false,
            patience: None,
            reason: None,
            keys: None,
        };
        session.event(EventKind::Open);
        Some(session)
    }

    /// Takes what has happened at that moment.
    pub fn handle(&mut self, at: Timestamp, input: Input<'_>) {
        self.now = at;
        if self.is_over() {
            return;
        }
        match input {
            Input::Connected(server) => self.on_connected(server),
            Input::Refused(why) => self.on_refused(why),
            Input::Received(side, bytes) => self.on_received(side, bytes),
            Input::Closed(side) => self.on_closed(side),
            Input::Lost(side, why) => self.on_lost(side, &why),
            Input::Key(material) => self.on_key(*material),
            Input::AccountJoined(joined) => self.on_account_joined(joined),
            Input::Verified(verified) => self.on_verified(verified),
            Input::Timeout => self.on_timeout(),
            Input::Missing(side, bytes) => self.on_missing(side, bytes),
            Input::Joined => self.on_joined(),
            Input::Stop(why) => {
                self.reason.get_or_insert(why);
                self.end();
            }
        }
        self.pump();
    }

    /// Judges by these filters from the next packet on.
    pub fn set_pipeline(&mut self, pipeline: Pipeline) {
        self.pipeline = pipeline;
    }

    /// What is to be done next, if anything.
    pub fn poll_output(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    /// Moves what was seen since the last call behind `into`.
    pub fn take_entries(&mut self, into: &mut Vec<Entry>) {
        into.append(&mut self.entries);
    }

    /// Says that so many of the [`pending`](Self::pending) bytes have been written.
    pub fn advance(&mut self, side: Side, count: usize) {
        self.leg_mut(side).encoder.advance(count);
    }

    /// Bytes to be written to that side.
    #[must_use]
    pub fn pending(&self, side: Side) -> &[u8] {
        self.leg(side).encoder.pending()
    }

    /// Whether that side should be read now. It should not while the session waits for the other
    /// one, or while what it sent before has not been written.
    #[must_use]
    pub fn wants_read(&self, side: Side) -> bool {
        let waiting = self.pending(side.other()).len() > MAX_PENDING;
        if self.ends.read[side as usize] || waiting || self.queue(side.sends()).is_full() {
            return false;
        }
        match &self.phase {
            Phase::Detect { held, reach, .. } => match side {
                Side::Client => held.len() < MAX_HELD,
                Side::Server => !matches!(reach, Reach::Refused(_)),
            },
            Phase::AwaitKey(_) | Phase::ChooseSecret(_) => false,
            Phase::AwaitResponse(_) | Phase::Refused(_) => side == Side::Client,
            Phase::AwaitVerified(_) | Phase::AwaitJoined(_) => {
                side == Side::Server || self.client.decoder.buffered() < MAX_HELD
            }
            Phase::AwaitSecret(_) => true,
            Phase::Frames | Phase::LegacyPing(_) | Phase::Relay(_) => true,
            Phase::Over => false,
        }
    }

    /// Whether nothing more will happen. What is pending is still to be written.
    #[must_use]
    pub fn is_over(&self) -> bool {
        matches!(self.phase, Phase::Over)
    }

    fn on_connected(&mut self, server: std::net::SocketAddr) {
        self.update_context(|context| context.server = Some(server));
        if let Phase::Detect { reach, .. } = &mut self.phase {
            *reach = Reach::Connected;
        }
    }

    fn on_received(&mut self, side: Side, bytes: &[u8]) {
        self.totals.bytes[side.sends() as usize] += bytes.len() as u64;
        self.last_byte = self.now;
        if side == Side::Client {
            self.heard = self.now;
        }
        match &mut self.phase {
            Phase::Detect { held, .. } if side == Side::Client => held.extend_from_slice(bytes),
            _ => self.leg_mut(side).decoder.receive(bytes),
        }
    }

    /// Handles all units that the phase lets through, of both sides in turn: one side's frame can
    /// let the other's through.
    pub(super) fn pump(&mut self) {
        loop {
            let mut progress = self.detect() || self.choose_secret();
            for direction in [Direction::Serverbound, Direction::Clientbound] {
                while self.takes_units(direction) {
                    if direction == Direction::Serverbound && self.awaits_version() {
                        break;
                    }
                    let side = Side::from(direction);
                    let Some(unit) = self.leg_mut(side).decoder.poll() else { break };
                    progress = true;
                    self.on_unit(direction, unit);
                }
            }
            if !progress {
                return;
            }
        }
    }

    fn takes_units(&self, direction: Direction) -> bool {
        // A packet that changes how the next is read waits for its turn.
        if self.queue(direction).holds_driving() {
            return false;
        }
        match self.phase {
            Phase::Detect { .. } | Phase::AwaitKey(_) | Phase::ChooseSecret(_) | Phase::Over => {
                false
            }
            Phase::AwaitResponse(_) | Phase::Refused(_) => direction == Direction::Serverbound,
            Phase::AwaitVerified(_) | Phase::AwaitJoined(_) => direction == Direction::Clientbound,
            Phase::AwaitSecret(_) => true,
            Phase::Frames | Phase::LegacyPing(_) | Phase::Relay(_) => true,
        }
    }

    /// Decides what the client speaks, if it is undecided and can be told.
    pub(super) fn detect(&mut self) -> bool {
        let Phase::Detect { held, sent, reach } = &mut self.phase else { return false };
        if *reach == Reach::Unknown {
            return false;
        }
        let urgent = urgent(held);
        let settled = self.settle.is_some_and(|settle| settle <= self.now);
        let ended = self.ends.read[Side::Client as usize] || settled;
        let server_speaks_first = self.server.decoder.buffered() > 0;
        let detected = match server_speaks_first || ended {
            true => detect_last(held),
            false => detect(held),
        };
        if detected == Detected::Unsure {
            let (fresh, first) = (urgent > *sent, *sent == 0);
            let refused = matches!(reach, Reach::Refused(_));
            if fresh && (refused || first && self.rules_want_ping()) {
                self.settle();
            } else if fresh && let Phase::Detect { held, sent, .. } = &mut self.phase {
                self.server.encoder.put(&held[*sent..urgent]);
                *sent = urgent;
            }
            return false;
        }
        let (held, reach) = (std::mem::take(held), reach.clone());
        self.ahead = *sent;
        self.on_detected(detected, reach);
        self.client.decoder.receive(&held);
        true
    }

    fn on_detected(&mut self, detected: Detected, reach: Reach) {
        let mut ping = None;
        match detected {
            Detected::Handshake => {}
            Detected::LegacyPing => ping = Some(self.begin_legacy_ping()),
            Detected::Alpha => self.begin_alpha(),
            Detected::Old(old) => self.relay(old.reason()),
            Detected::Other | Detected::Unsure => self.relay(RawReason::NotMinecraft),
        }
        match (reach, ping) {
            (Reach::Refused(reason), ping) => {
                if ping.is_some() {
                    self.settle();
                }
                self.phase = Phase::Refused(Refusal { reason, ping });
            }
            (_, Some(ping)) => self.phase = Phase::LegacyPing(ping),
            _ if matches!(self.phase, Phase::Relay(_)) => {}
            _ => self.phase = Phase::Frames,
        }
    }

    /// Gives up understanding: from here on bytes go through as they come.
    pub(super) fn relay(&mut self, reason: RawReason) {
        self.client.decoder.set_opaque();
        self.server.decoder.set_opaque();
        self.phase = Phase::Relay(reason);
    }

    fn on_unit(&mut self, direction: Direction, unit: Unit) {
        if direction == Direction::Clientbound {
            self.end_ping();
        }
        match unit {
            Unit::Frame(frame) => self.on_frame(direction, frame),
            Unit::Piece { bytes, frame, left } => {
                self.totals.packets[direction as usize] += u64::from(left == 0);
                self.on_raw(direction, bytes, RawReason::Oversize { frame, left });
            }
            Unit::Opaque { bytes, .. } if direction == Direction::Serverbound && self.pings() => {
                self.on_ping_bytes(bytes);
            }
            Unit::Opaque { bytes, reason: fault } => {
                if let Phase::Refused(Refusal { ping: Some(_), .. }) = self.phase {
                    return self.on_refused_ping(&bytes, false);
                }
                let reason = match (&self.phase, fault) {
                    (Phase::Relay(reason), _) => reason.clone(),
                    (_, Some(fault)) => RawReason::Opaque(fault.to_string()),
                    (_, None) => RawReason::NotMinecraft,
                };
                self.on_raw(direction, bytes, reason);
            }
        }
    }

    pub(super) fn on_raw(&mut self, direction: Direction, bytes: Bytes, reason: RawReason) {
        if !matches!(self.phase, Phase::Refused(_)) {
            self.emit_in_order(direction, Emission::Bytes(bytes.clone()));
        }
        let packet = self.packet(direction, Content::Raw(bytes, reason));
        self.record(Record::passed(packet));
    }

    fn on_frame(&mut self, direction: Direction, frame: Frame) {
        self.totals.packets[direction as usize] += 1;
        let packet = self.packet(direction, Content::Frame(frame));
        if let Phase::Refused(_) = self.phase {
            return self.on_refused_packet(packet);
        }
        match self.role(&packet) {
            Some(role) if role.drives() && !self.queue(direction).is_empty() => {
                self.queue_mut(direction).hold_driving(packet, role);
            }
            Some(role) => self.on_role(packet, role),
            None => self.judge_and_forward(packet),
        }
    }

    /// Records a packet that goes nowhere.
    pub(super) fn swallow(&mut self, packet: Packet, comment: &str) {
        let comment = Some(comment.to_owned());
        self.record(Record { outcome: Outcome::Drop, comment, ..Record::passed(packet) });
    }

    pub(super) fn state(&self, direction: Direction) -> State {
        self.states[direction as usize]
    }

    /// By direction.
    pub(super) fn states(&self) -> [State; 2] {
        self.states
    }

    pub(super) fn set_state(&mut self, direction: Direction, state: State) {
        self.states[direction as usize] = state;
    }

    pub(super) fn set_compression(&mut self, threshold: Option<usize>) {
        self.client.set_compression(threshold);
        self.server.set_compression(threshold);
        self.threshold = [threshold; 2];
        self.state_event();
    }

    pub(super) fn set_cipher(&mut self, side: Side, secret: &[u8; 16]) {
        self.leg_mut(side).set_cipher(secret);
        self.encrypted[side as usize] = true;
    }

    pub(super) fn is_encrypted(&self, side: Side) -> bool {
        self.encrypted[side as usize]
    }

    pub(super) fn update_context(&mut self, update: impl FnOnce(&mut Context)) {
        update(Arc::make_mut(&mut self.context));
    }

    pub(super) fn state_event(&mut self) {
        let [client, server] = [Side::Client, Side::Server].map(|side| side as usize);
        self.event(EventKind::State(LegState {
            state: self.states[Direction::Clientbound as usize],
            client_threshold: self.threshold[client],
            server_threshold: self.threshold[server],
            client_encrypted: self.encrypted[client],
            server_encrypted: self.encrypted[server],
        }));
    }

    pub(super) fn count_packet(&mut self, direction: Direction) {
        self.totals.packets[direction as usize] += 1;
    }

    /// Whether the front of the client's next frame was forwarded already.
    pub(super) fn is_ahead(&self) -> bool {
        self.ahead > 0
    }

    fn pings(&self) -> bool {
        matches!(self.phase, Phase::LegacyPing(_))
    }

    pub(super) fn packet(&mut self, direction: Direction, content: Content) -> Packet {
        self.sequence += 1;
        let state = self.states[direction as usize];
        let context = Arc::clone(&self.context);
        Packet::new(context, self.sequence, self.now, direction, state, content)
    }

    pub(super) fn record(&mut self, record: Record) {
        self.entries.push(Entry::Packet(record));
    }

    pub(super) fn event(&mut self, kind: EventKind) {
        let context = Arc::clone(&self.context);
        self.entries.push(Entry::Event(Event { context, at: self.now, kind }));
    }

    fn queue(&self, direction: Direction) -> &DelayQueue {
        &self.queues[direction as usize]
    }

    pub(super) fn queue_mut(&mut self, direction: Direction) -> &mut DelayQueue {
        &mut self.queues[direction as usize]
    }

    pub(super) fn leg(&self, side: Side) -> &Leg {
        match side {
            Side::Client => &self.client,
            Side::Server => &self.server,
        }
    }

    pub(super) fn leg_mut(&mut self, side: Side) -> &mut Leg {
        match side {
            Side::Client => &mut self.client,
            Side::Server => &mut self.server,
        }
    }
}

/// The handshake and the status are the same in every version: this one's description reads them.
pub(super) const DEFAULT_VERSION: i32 = 47;

/// A side is not read while more than this waits to be written to the other: enough to keep a
/// fast link busy, little enough for many slow clients.
const MAX_PENDING: usize = 256 << 10;

/// What a client can send before the upstream connection is there.
const MAX_HELD: usize = 64 << 10;
