use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;

use super::closing::Closing;
use super::control::{Admission, Control};
use super::identity::Identity;
use super::incoming::Incoming;
use super::keep_alives::KeepAlives;
use super::phase::{Detection, Phase, Reach};
use super::role_limits::RoleLimits;
use super::{Config, Start};
use crate::capture::{Entry, EventKind, Record};
use crate::filter::{Judgement, Pipeline, SessionEvent, is_own};
use crate::link::{
    ANY_VERSION, Delivery, Emission, End, Engine, Input, MAX_BURST, MAX_PENDING, Notice, Output,
    PerSide, Question, Recorder, Report, SHUTTING_DOWN, Side, Upstream,
};
use mitmcraft_protocol::codec::{CodecError, Frame, KeyLogLine, KeyRing, Unit};
use mitmcraft_protocol::packet::{
    Content, Context, Neighbors, Packet, RawReason, SentRegistries, Tally, Timestamp,
};
use mitmcraft_protocol::schema::{Direction, PerDirection, Role, State};

/// One client with its server, from accept to close.
///
/// Drive it as an [`Engine`]. Bytes of a side that the session cannot use yet wait in its decoder;
/// bytes to be written to a side wait in its encoder. [`wants_read`](Engine::wants_read) says when
/// a side must not be read until the other has caught up, so both are bounded.
#[derive(Debug)]
pub struct Session {
    pub(super) config: Arc<Config>,
    pub(super) upstream: Upstream,
    pub(super) phase: Phase,
    pub(super) ends: PerSide<End>,
    /// From packets to the wire and the records: filters, delays, numbers and counts.
    pub(super) delivery: Delivery,
    /// A packet that drives the connection, and waits until everything that rules delay in its direction
    /// is out. Until then the direction yields no further packets.
    pub(super) driving: PerDirection<Option<Box<Incoming>>>,
    /// Directions whose packets wait in the decoder, since what earlier ones have caused is not read.
    pub(super) congested: PerDirection<bool>,
    pub(super) outputs: VecDeque<Output>,
    /// The time at which the last byte of each side came.
    pub(super) heard: PerSide<Timestamp>,
    /// `true` if the client's handshake names no state: its next packet tells.
    pub(super) awaits_state: bool,
    /// Directions that go back to the login with their first packet of it, since Forge has reset the client.
    pub(super) resets: PerDirection<bool>,
    /// The address by which the client found the proxy.
    pub(super) address: Option<Upstream>,
    pub(super) role_limits: RoleLimits,
    /// The versions around that of a client whose version has no description; `None` for others.
    pub(super) neighbors: Option<Box<Neighbors>>,
    pub(super) keep_alives: KeepAlives,
    /// `true` if the server has asked for an account, the proxy has none, and the login is not
    /// over.
    pub(super) wants_account: bool,
    pub(super) identity: Identity,
    pub(super) closing: Closing,
    /// Shared secrets that the server has not confirmed, from 1.3 to 1.6: only what goes to the server is
    /// encrypted.
    pub(super) unconfirmed: PerSide<Option<KeyLogLine>>,
    /// Key log of an observed session; `None` when the proxy terminates it.
    pub(super) keys: Option<Arc<KeyRing>>,
    /// What people hold and send.
    pub(super) control: Control,
}

impl Session {
    /// Starts a session for a newly accepted client. Returns `None` if `config.catalog` has no
    /// protocol 47, whose description reads every version's handshake.
    #[must_use]
    pub fn new(config: Arc<Config>, start: Start, pipeline: Pipeline) -> Option<Self> {
        let known = config.catalog.find(ANY_VERSION)?;
        let context = Context {
            upstream: start.upstream.to_string(),
            ..Context::new(start.session, start.at, start.client, known.protocol)
        };
        Some(Self::begin(config, context, start.upstream, pipeline))
    }

    /// Starts a session of which `context` is known.
    pub(crate) fn begin(
        config: Arc<Config>,
        context: Context,
        upstream: Upstream,
        pipeline: Pipeline,
    ) -> Self {
        let opened = context.opened;
        let mut recorder = Recorder::new(context);
        recorder.event(EventKind::Open);
        let mut ends = PerSide::from_fn(|_| End::new(config.limits));
        let mut delivery = Delivery::new(recorder, pipeline);
        for side in [Side::Client, Side::Server] {
            ends[side].leg.set_budget(&config.memory);
            delivery.queues[side.sends()].set_budget(&config.memory);
        }
        delivery.pipeline.set_budget(&config.memory);
        delivery.tell(&mut ends, SessionEvent::Open, false);
        Self {
            control: Control::new(&config.memory, config.asking.clone()),
            identity: Identity::new(&config.auth),
            ends,
            config,
            upstream,
            phase: Phase::Detect(Detection::default()),
            delivery,
            driving: PerDirection::default(),
            congested: PerDirection::default(),
            outputs: VecDeque::from([Output::Connect]),
            heard: PerSide::from_fn(|_| opened),
            awaits_state: false,
            resets: PerDirection::default(),
            address: None,
            role_limits: RoleLimits::default(),
            neighbors: None,
            keep_alives: KeepAlives::default(),
            wants_account: false,
            closing: Closing::default(),
            unconfirmed: PerSide::default(),
            keys: None,
        }
    }

    fn on_connected(&mut self, server: std::net::SocketAddr) {
        self.delivery.recorder.update_context(|context| context.server = Some(server));
        if let Phase::Detect(detection) = &mut self.phase {
            detection.reach = Reach::Connected;
        }
    }

    fn on_received(&mut self, side: Side, bytes: &[u8]) {
        self.delivery.recorder.count_bytes(side.sends(), bytes.len());
        self.heard[side] = self.now();
        match &mut self.phase {
            Phase::Detect(detection) if side == Side::Client => {
                detection.held.extend_from_slice(bytes);
            }
            _ => {
                let rest = self.pass_received(side, bytes);
                self.ends[side].leg.decoder.receive(rest);
            }
        }
    }

    /// Handles all units that the phase lets through, of both sides in turn: one side's frame can
    /// let the other's through.
    fn pump(&mut self) {
        while !self.closing.has_stopped() {
            let mut progress = self.detect() || self.choose_secret();
            for direction in [Direction::Serverbound, Direction::Clientbound] {
                self.congested[direction] = false;
                while self.takes_units(direction) {
                    if self.has_sent_much(direction) {
                        self.congested[direction] = true;
                        break;
                    }
                    let (now, delayed) = (self.now(), !self.is_drained(direction));
                    if let Some(waiting) = self.control.next(direction, now, delayed) {
                        progress = true;
                        self.on_released(waiting);
                        continue;
                    }
                    if self.control.blocks(direction)
                        || direction == Direction::Serverbound && self.awaits_version()
                    {
                        break;
                    }
                    let side = Side::from(direction);
                    if side == Side::Server && self.answers_ping() {
                        continue;
                    }
                    if self.is_backed_up(direction) {
                        self.congested[direction] = true;
                        break;
                    }
                    progress |= self.pass_buffered(side);
                    let (from, to) = self.ends.pair_mut(side);
                    let Some(unit) = from.leg.decoder.poll() else { break };
                    progress = true;
                    to.leg.encoder.offer(&mut from.leg.decoder, unit.wire());
                    self.on_unit(direction, unit);
                    self.ends[side.other()].leg.encoder.withdraw();
                }
            }
            if !progress {
                return;
            }
        }
    }

    /// Returns whether packets of a direction wait until a peer has read what earlier ones have caused: the
    /// receiver all of it, the sender what it was sent by rules, scripts and programs.
    pub(super) fn is_congested(&self, direction: Direction) -> bool {
        self.ends[Side::from(direction)].is_full_of_own(MAX_BURST) || self.is_backed_up(direction)
    }

    /// Returns whether the receiver of a direction has to read first.
    fn is_backed_up(&self, direction: Direction) -> bool {
        self.ends[Side::from(direction).other()].is_full(MAX_BURST)
            || self.delivery.queues[direction].is_overfull()
    }

    /// Returns whether the driver is to have its turn, or the sender of a direction to read, before even a
    /// packet that was held is handled.
    fn has_sent_much(&self, direction: Direction) -> bool {
        self.delivery.sent > MAX_SENT || self.ends[Side::from(direction)].is_full_of_own(MAX_BURST)
    }

    pub(super) fn takes_units(&self, direction: Direction) -> bool {
        // A packet that changes how the next is read waits for its turn.
        if self.closing.has_stopped() || self.driving[direction].is_some() {
            return false;
        }
        match self.phase {
            Phase::Detect(_)
            | Phase::AwaitKey(_)
            | Phase::AwaitPolicy(_)
            | Phase::ChooseSecret(_) => false,
            _ if direction == Direction::Clientbound && self.phase.holds_server() => false,
            Phase::AwaitResponse(_) | Phase::Refused(_) => direction == Direction::Serverbound,
            Phase::AwaitVerified(..) | Phase::AwaitJoined(..) => {
                direction == Direction::Clientbound
            }
            Phase::AwaitSecret(_) => true,
            Phase::Frames | Phase::LegacyPing(_) | Phase::Relay(_) => true,
        }
    }

    pub(super) fn on_unit(&mut self, direction: Direction, unit: Unit) {
        match unit {
            Unit::Frame(frame) => self.on_frame(direction, frame),
            Unit::Piece { bytes, frame, left } => {
                if left == 0 {
                    self.delivery.recorder.count_packet(direction);
                }
                self.on_raw(direction, bytes, RawReason::Oversize { frame, left });
            }
            Unit::Opaque { bytes, reason } => self.on_opaque(direction, bytes, reason),
        }
    }

    fn on_opaque(&mut self, direction: Direction, bytes: Bytes, fault: Option<Arc<CodecError>>) {
        self.keep_alives.lose(direction);
        match &self.phase {
            Phase::LegacyPing(_) if direction == Direction::Serverbound => {
                self.on_ping_bytes(bytes);
            }
            Phase::Refused(refusal) if refusal.ping.is_some() => {
                self.on_refused_ping(&bytes, false);
            }
            Phase::Relay(reason) => {
                let reason = reason.clone();
                self.on_raw(direction, bytes, reason);
            }
            _ => {
                self.on_raw(direction, bytes, RawReason::unreadable(fault));
            }
        }
    }

    /// Forwards and records bytes that are not a frame.
    pub(super) fn on_raw(&mut self, direction: Direction, bytes: Bytes, reason: RawReason) {
        let packet = self.delivery.recorder.unnumbered(direction, Content::Raw(bytes, reason));
        if let Admission::Goes(mut packet) = self.control.admit_raw(packet) {
            self.delivery.recorder.number(&mut packet);
            self.on_raw_packet(packet);
        }
    }

    /// Handles a packet that is not a frame, when nothing is held before it.
    pub(super) fn on_raw_packet(&mut self, packet: Packet) {
        if let Phase::Refused(_) = self.phase {
            self.record(Record::passed(packet));
        } else if let Some(incoming) = self.admit(packet, None, None) {
            self.forward(incoming);
        }
    }

    fn on_frame(&mut self, direction: Direction, frame: Frame) {
        self.delivery.recorder.count_packet(direction);
        let content = Content::Frame(frame);
        if self.resets[direction] {
            self.follow_reset(direction, &content);
        }
        if self.neighbors.is_some() {
            self.compare_neighbors(direction, &content);
        }
        if self.control.engaged && !matches!(self.phase, Phase::Refused(_)) {
            let packet = self.delivery.recorder.unnumbered(direction, content);
            self.on_controlled(packet);
            // One that waits gets another number.
            return self.delivery.recorder.forget_unnumbered();
        }
        let packet = self.delivery.recorder.packet(direction, content);
        if let Phase::Refused(_) = self.phase {
            return self.on_refused_packet(packet);
        }
        let role = self.role_limits.role(&packet);
        match self.identity.passes(&packet, role) {
            Some(passage) => {
                self.on_packet(Incoming { packet, role, decided: None, _passage: passage })
            }
            None => self.turn_away_unverified(packet),
        }
    }

    /// Handles a packet when nothing is held before it.
    #[inline(always)]
    pub(super) fn on_packet(&mut self, mut incoming: Incoming) {
        let Incoming { packet, role, .. } = &mut incoming;
        let (role, direction) = (*role, packet.direction());
        if self.awaits_state && direction == Direction::Serverbound {
            return self.on_stateless(incoming);
        }
        if SentRegistries::takes(packet) {
            self.delivery.recorder.update_context(|context| {
                context.registries = Arc::new(context.registries.with(packet));
            });
        }
        if self.times_keep_alives() {
            packet.note(match role {
                Some(Role::KeepAlive | Role::Disconnect) => self.keep_alives.take(packet),
                _ => self.keep_alives.see(packet),
            });
        }
        if self.identity.asks_first(packet, role) {
            return self.verify_late(incoming);
        }
        match role {
            Some(role) if role.drives() && !self.is_drained(direction) => {
                self.driving[direction] = Some(Box::new(incoming));
            }
            Some(role) => self.on_role(incoming, role),
            None => self.judge_and_deliver(incoming),
        }
    }

    /// Returns whether anybody asks what is wrong with the timing of keep-alives: records or rules.
    pub(super) fn times_keep_alives(&mut self) -> bool {
        let Delivery { recorder, pipeline, .. } = &mut self.delivery;
        recorder.tally.is_none() || pipeline.asks_diagnostics()
    }

    /// Judges and delivers a packet.
    #[inline(always)]
    pub(super) fn judge_and_deliver(&mut self, incoming: Incoming) {
        let close = self.judge_and_pass(incoming);
        self.close_by_rule(close);
    }

    /// Judges and delivers a packet, before the session changes as it says. Returns why a rule closes the
    /// session, if one does.
    #[inline]
    pub(super) fn judge_and_pass(&mut self, incoming: Incoming) -> Option<String> {
        let (role, decided) = (incoming.role, incoming.decided);
        self.delivery.judge_and_deliver(&mut self.ends, incoming.packet, role, decided)
    }

    /// Forwards a packet that no rule judges.
    #[inline]
    pub(super) fn forward(&mut self, incoming: Incoming) {
        self.delivery.forward(&mut self.ends, incoming.packet);
    }

    /// Returns whether nothing waits for a delay in a direction, or for those that do.
    pub(super) fn is_drained(&self, direction: Direction) -> bool {
        self.delivery.queues[direction].is_empty() && self.driving[direction].is_none()
    }

    /// Removes the packet that waited for those that rules delay, once they are out.
    fn take_driving(&mut self, direction: Direction) -> Option<Incoming> {
        self.driving[direction]
            .take_if(|_| self.delivery.queues[direction].is_empty())
            .map(|it| *it)
    }

    /// Delivers a packet as its judgement says.
    pub(super) fn deliver(&mut self, packet: Packet, judgement: Judgement) {
        let close = self.delivery.deliver(&mut self.ends, packet, judgement);
        self.close_by_rule(close);
    }

    /// Ends the session if a rule gave a reason to.
    #[inline(always)]
    pub(super) fn close_by_rule(&mut self, reason: Option<String>) {
        if let Some(reason) = reason {
            self.close_with(&reason, format!("closed by a rule: {reason}"));
        }
    }

    /// Sends a packet of the proxy's own.
    pub(super) fn send(&mut self, direction: Direction, state: State, body: Vec<u8>) {
        self.delivery.send(&mut self.ends, direction, state, body, None);
    }

    /// Writes an emission after everything already delayed in `direction`.
    pub(super) fn emit_in_order(&mut self, direction: Direction, emission: Emission) {
        self.delivery.emit(&mut self.ends, direction, None, emission);
    }

    /// Sends everything that is due; everything if the session `ends`.
    pub(super) fn release(&mut self, ends: bool) {
        for direction in Direction::ALL {
            let due = if ends { None } else { Some(self.now()) };
            self.delivery.release(&mut self.ends, direction, due);
            if let Some(incoming) = self.take_driving(direction)
                && let Some(role) = incoming.role
            {
                self.on_role(incoming, role);
            }
        }
    }

    pub(super) fn now(&self) -> Timestamp {
        self.delivery.recorder.now
    }

    pub(super) fn context(&self) -> &Arc<Context> {
        &self.delivery.recorder.context
    }

    pub(super) fn state_event(&mut self) {
        self.state_event_at(self.now());
    }

    pub(super) fn state_event_at(&mut self, at: Timestamp) {
        self.delivery.recorder.state_event(at, &self.ends.client, &self.ends.server);
    }

    /// Gives up understanding: bytes are forwarded as they come from now on.
    pub(super) fn relay(&mut self, reason: RawReason) {
        for side in Side::ALL {
            self.ends[side].leg.decoder.set_opaque();
        }
        self.phase = Phase::Relay(reason);
    }

    /// Records a packet that goes nowhere, with a remark of the proxy.
    pub(super) fn swallow(&mut self, packet: Packet, comment: &str) {
        debug_assert!(is_own(comment), "redaction does not know the remark: {comment}");
        self.delivery.swallow(packet, comment);
    }

    pub(super) fn record(&mut self, record: Record) {
        self.delivery.recorder.record(record);
    }
}

impl Engine for Session {
    fn handle(&mut self, at: Timestamp, input: Input<'_>) {
        self.delivery.recorder.now = at;
        self.delivery.sent = 0;
        if self.is_over() {
            return;
        }
        match input {
            Input::Connected(server) => self.on_connected(server),
            Input::Refused(why) => {
                let reason = format!("cannot reach {}: {why}", self.upstream);
                // Players never see where the server is.
                let host = &self.upstream.host;
                let why = why.to_string().replace(&**host, "its host");
                self.on_refused(reason, format!("cannot reach the server: {why}"));
            }
            Input::TurnedAway(why) => self.on_refused(why.to_string(), why.to_string()),
            Input::Received(side, bytes) => self.on_received(side, bytes),
            Input::Closed(side) => self.closing.on_closed(side),
            Input::Lost(side, why) => self.on_lost(side, &why),
            Input::Key(material) => self.on_key(*material),
            Input::AccountJoined(joined) => self.on_account_joined(joined),
            Input::Policy(enforces) => self.on_policy(enforces),
            Input::Verified(verified) => self.on_verified(verified),
            Input::Timeout => self.on_timeout(),
            Input::Command(command) => self.on_command(command),
            Input::Ruled(number, ruling) => self.control.answer(number, ruling),
            Input::Missing(side, bytes) => self.on_missing(side, bytes),
            Input::StartMissed => self.on_start_missed(),
            Input::Stop(why) => {
                self.stop(SHUTTING_DOWN.to_owned(), why.to_string());
            }
        }
        loop {
            self.pump();
            let may_send = self.filters_may_act();
            let close = self.delivery.tell_states(&mut self.ends, may_send);
            let closes = close.is_some();
            self.close_by_rule(close);
            if !self.advance_closing() && !closes {
                return;
            }
        }
    }

    fn set_pipeline(&mut self, mut pipeline: Pipeline) {
        pipeline.set_budget(&self.config.memory);
        let may_send = self.filters_may_act();
        let close = self.delivery.set_pipeline(&mut self.ends, pipeline, may_send);
        self.close_by_rule(close);
        while self.advance_closing() {}
    }

    fn is_slow(&self, at: Timestamp) -> bool {
        self.delivery.pipeline.is_slow(at)
    }

    fn poll_output(&mut self) -> Option<Output> {
        let said = |message| Output::Notice(Notice::Filter(message));
        self.outputs.pop_front().or_else(|| self.delivery.messages.pop_front().map(said))
    }

    fn poll_report(&mut self) -> Option<Report> {
        self.control.reports.pop_front()
    }

    fn poll_question(&mut self) -> Option<Question> {
        self.control.questions.pop_front()
    }

    fn take_entries(&mut self, into: &mut Vec<Entry>) {
        self.delivery.recorder.take_entries(into);
    }

    fn start_tally(&mut self) {
        self.delivery.recorder.tally.get_or_insert_default();
    }

    fn tally(&mut self) -> Option<&mut Tally> {
        self.delivery.recorder.tally.as_mut()
    }

    fn is_expendable(&self) -> bool {
        match &self.phase {
            // One that was turned away is to be told why.
            Phase::Detect(it) => it.held.is_empty() && it.reach.linger().is_none(),
            Phase::LegacyPing(_) => true,
            _ => self.delivery.recorder.states[Direction::Serverbound] == State::Status,
        }
    }

    fn advance(&mut self, side: Side, count: usize) {
        self.ends[side].advance(count);
    }

    fn pending(&self, side: Side) -> &[u8] {
        self.ends[side].leg.encoder.pending()
    }

    /// Returns `false` while the session waits for the other side, or while bytes that `side` sent
    /// before have not been written.
    fn wants_read(&self, side: Side) -> bool {
        if self.is_over()
            || self.closing.is_closed(side)
            || self.ends[side.other()].is_full(MAX_PENDING)
            || self.ends[side].is_full_of_own(MAX_PENDING)
            || self.congested[side.sends()]
            || self.delivery.queues[side.sends()].is_full()
        {
            return false;
        }
        if self.control.blocks(side.sends()) && self.ends[side].leg.decoder.buffered() > MAX_HELD {
            return false;
        }
        match &self.phase {
            Phase::Detect(detection) => match side {
                Side::Client => detection.held.len() < MAX_HELD,
                Side::Server => !matches!(detection.reach, Reach::Refused(..)),
            },
            Phase::AwaitKey(_) | Phase::AwaitPolicy(_) | Phase::ChooseSecret(_) => false,
            phase if side == Side::Server && phase.holds_server() => false,
            Phase::AwaitResponse(_) | Phase::Refused(_) => side == Side::Client,
            Phase::AwaitVerified(..) | Phase::AwaitJoined(..) => {
                side == Side::Server || self.ends.client.leg.decoder.buffered() < MAX_HELD
            }
            Phase::AwaitSecret(_) => true,
            Phase::Frames | Phase::LegacyPing(_) | Phase::Relay(_) => true,
        }
    }

    fn poll_timeout(&self) -> Option<Timestamp> {
        self.next_timer()
    }

    fn is_over(&self) -> bool {
        self.closing.is_over()
    }
}

/// Packets of the proxy's own after which the driver writes and records what there is.
const MAX_SENT: usize = 4096;

/// Bytes that a client can send before the upstream connection is there.
const MAX_HELD: usize = 64 << 10;
