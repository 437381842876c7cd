use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;

use super::filters::{Act, HiddenEffect, Judged};
use crate::capture::{Entry, Event, EventKind, Outcome, Record};
use crate::filter::{Judgement, Notes, Pipeline, RuleSet, SessionEvent, Verdict};
use crate::link::{
    CUT_OFF, DelayQueue, Delivery, Emission, End, Handshake, PerSide, Recorder, Side, Wire,
    datagram,
};
use mitmcraft_protocol::codec::{Frame, Limits};
use mitmcraft_protocol::packet::{Content, Context, Packet, RawReason, Timestamp};
use mitmcraft_protocol::schema::{Direction, Family, PacketType, PerDirection, Role};

/// One recorded session on its way through the rules, with what a live session knows when it
/// delivers packets: states, thresholds, delays, signed chat, bundles.
#[derive(Debug)]
pub(super) struct Rehearsal {
    sets: Arc<[RuleSet]>,
    /// The results for the entries taken since the last call.
    judged: Judged,
    delivery: Delivery,
    wire: NoPeer,
    /// `true` if a rule has closed the session.
    closed: bool,
    /// A packet whose result needs the entry after it: the one that went in its place, or the
    /// context that it has changed.
    pending: Option<Record>,
    /// A packet that the proxy itself replaced.
    replacement: Option<Replacement>,
    /// Entries that wait until everything delayed in their direction is out.
    waiting: PerDirection<VecDeque<Entry>>,
    /// The direction of the waiting packet that a State event would belong to.
    last_held: Option<Direction>,
}

#[derive(Debug)]
struct Replacement {
    /// The packet's number in the capture, and in the result.
    seq: u64,
    renumbered: u64,
    /// The body that a rule wants in the place of the recorded replacement.
    body: Option<Bytes>,
    /// The way its replacement is logged.
    notes: Notes,
}

/// Two legs without peers. They make the frames of the proxy's own packets.
#[derive(Debug)]
struct NoPeer {
    ends: PerSide<End>,
    datagrams: bool,
}

impl Wire for NoPeer {
    fn write(&mut self, direction: Direction, emission: Emission) -> Option<Frame> {
        match emission {
            Emission::Body(body) if self.datagrams => Some(datagram(direction, &body)),
            emission => self.ends.write(direction, emission),
        }
    }

    fn forward(&mut self, _direction: Direction, _frame: &Frame) {}
}

impl Rehearsal {
    /// Starts a session that is first seen with that context.
    pub(super) fn new(sets: Arc<[RuleSet]>, context: Context) -> Self {
        let mut pipeline = Pipeline::default();
        for set in &*sets {
            pipeline.push(set.session_filter());
        }
        let mut ends = PerSide::from_fn(|_| End::new(Limits::default()));
        for side in Side::ALL {
            ends[side].leg.encoder.set_mute();
        }
        let mut session = Self {
            sets,
            judged: Judged::default(),
            delivery: Delivery::new(Recorder::new(context), pipeline),
            wire: NoPeer { ends, datagrams: false },
            closed: false,
            pending: None,
            replacement: None,
            waiting: PerDirection::default(),
            last_held: None,
        };
        session.describe();
        // Before the first packet nothing can be sent.
        session.delivery.tell(&mut session.wire, SessionEvent::Open, false);
        session
    }

    pub(super) fn handle(&mut self, entry: Entry) -> Judged {
        if self.closed {
            return Judged::default();
        }
        let (at, context) = (entry.at(), Arc::clone(entry.context()));
        let rest = self.resolve_pending(entry, context);
        if let Some(entry) = rest {
            let closes = entry.is_close();
            self.release(if closes { None } else { Some(at) });
            if self.closed {
                return self.judged();
            }
            self.delivery.recorder.now = at;
            self.enqueue(entry);
        }
        if !self.closed
            && let Some(reason) = self.delivery.tell_states(&mut self.wire, true)
        {
            self.close(&reason);
        }
        self.judged.messages.extend(self.delivery.messages.drain(..));
        self.judged()
    }

    pub(super) fn finish(mut self) -> Judged {
        if let Some(record) = self.pending.take() {
            self.resolve(record, None);
        }
        self.release(None);
        self.judged()
    }

    fn judged(&mut self) -> Judged {
        self.delivery.recorder.take_entries(&mut self.judged.entries);
        std::mem::take(&mut self.judged)
    }

    /// Handles the packet that waited for this entry. Returns the entry, unless it was the packet's
    /// replacement.
    fn resolve_pending(&mut self, entry: Entry, context: Arc<Context>) -> Option<Entry> {
        let Some(record) = self.pending.take() else {
            self.set_context(context);
            return Some(entry);
        };
        self.set_context(context);
        match entry {
            Entry::Packet(sent) if sent.of.is_some() && sent.of == Some(record.packet.seq()) => {
                self.resolve(record, Some(sent));
                None
            }
            entry => {
                self.resolve(record, None);
                (!self.closed).then_some(entry)
            }
        }
    }

    /// Handles an entry now, or lets it wait for what is delayed in its direction.
    fn enqueue(&mut self, entry: Entry) {
        let (direction, drives) = match &entry {
            Entry::Packet(record) => (Some(record.packet.direction()), drives(record)),
            Entry::Event(Event { kind: EventKind::State(_), .. }) => (self.last_held, false),
            Entry::Event(_) => (None, false),
        };
        let Some(direction) = direction else { return self.process(entry) };
        let blocked = drives && !self.delivery.queues[direction].is_empty();
        if blocked || !self.waiting[direction].is_empty() {
            let made = matches!(&entry, Entry::Packet(record) if !record.outcome.came());
            if drives || made {
                self.last_held = Some(direction);
            }
            self.waiting[direction].push_back(entry);
        } else {
            self.last_held = None;
            self.process(entry);
        }
    }

    /// Sends everything that is due until then, in the order of time, and handles the entries that
    /// waited for it; everything if `None`.
    fn release(&mut self, until: Option<Timestamp>) {
        while !self.closed {
            let delayed = self.delivery.queues.values().filter_map(DelayQueue::next).min();
            // A session that has ended has no timers.
            let timer = self.delivery.pipeline.poll_timeout().filter(|_| until.is_some());
            let next = [delayed, timer].into_iter().flatten().min();
            let Some(due) = next.filter(|due| until.is_none_or(|until| *due <= until)) else {
                return;
            };
            self.delivery.recorder.now = self.delivery.recorder.now.max(due);
            if let Some(reason) = self.delivery.on_filter_timeout(&mut self.wire) {
                return self.close(&reason);
            }
            for direction in Direction::ALL {
                self.delivery.release(&mut self.wire, direction, Some(due));
                self.handle_waiting(direction);
            }
        }
    }

    fn handle_waiting(&mut self, direction: Direction) {
        while !self.closed
            && let Some(entry) = self.next_waiting(direction)
        {
            // It may be the replacement of the packet before it.
            let context = Arc::clone(entry.context());
            if let Some(entry) = self.resolve_pending(entry, context) {
                self.process(entry);
            }
        }
        if let Some(record) = self.pending.take() {
            self.resolve(record, None);
        }
    }

    fn next_waiting(&mut self, direction: Direction) -> Option<Entry> {
        let held = !self.delivery.queues[direction].is_empty();
        let entry = self.waiting[direction].front()?;
        if held && matches!(entry, Entry::Packet(record) if drives(record)) {
            return None;
        }
        self.waiting[direction].pop_front()
    }

    /// Sends and records everything that waits: the session ends.
    fn release_all(&mut self) {
        for direction in Direction::ALL {
            self.delivery.release(&mut self.wire, direction, None);
            for entry in std::mem::take(&mut self.waiting[direction]) {
                match entry {
                    Entry::Packet(mut record) => {
                        self.delivery.recorder.number(&mut record.packet);
                        self.delivery.recorder.record(record);
                    }
                    Entry::Event(_) => self.delivery.recorder.push(entry),
                }
            }
        }
    }

    fn process(&mut self, entry: Entry) {
        match entry {
            Entry::Packet(record) if record.outcome.came() => self.on_came(record),
            Entry::Packet(record) => self.on_made(record),
            Entry::Event(event) => self.on_event(event),
        }
    }

    fn on_event(&mut self, event: Event) {
        match &event.kind {
            EventKind::Open => {}
            EventKind::State(legs) => {
                self.wire.ends.client.set_compression(legs.client_threshold);
                self.wire.ends.server.set_compression(legs.server_threshold);
                self.delivery.recorder.states.clientbound = legs.state;
                if self.family() != Family::Java {
                    self.delivery.recorder.enter(legs.state);
                }
            }
            EventKind::Close(_) => {
                self.release_all();
                self.delivery.tell(&mut self.wire, SessionEvent::Close, false);
            }
        }
        self.delivery.recorder.push(Entry::Event(event));
    }

    /// Passes on a packet that the proxy had made, unless it went in the place of one that is
    /// judged again.
    fn on_made(&mut self, mut record: Record) {
        if let Some(of) = record.of {
            let Some(replacement) = self.replacement.take_if(|replacement| replacement.seq == of)
            else {
                return;
            };
            if let Some(body) = replacement.body {
                let (direction, state) = (record.packet.direction(), record.packet.state());
                let of = Some(replacement.renumbered);
                return self.delivery.send(&mut self.wire, direction, state, body, of);
            }
            record.of = Some(replacement.renumbered);
            record = record.noted(replacement.notes);
        }
        self.delivery.recorder.number(&mut record.packet);
        self.delivery.recorder.record(record);
    }

    fn on_came(&mut self, mut record: Record) {
        let role = role(&record);
        let seq = record.packet.seq();
        let direction = record.packet.direction();
        self.delivery.recorder.states[direction] = record.packet.state();
        let stays = self.stays(&record);
        let exchange = matches!(
            role,
            Some(Role::EncryptionRequest | Role::EncryptionResponse | Role::EncryptionStarted)
        );
        if stays || exchange {
            self.count(&record);
            self.delivery.recorder.number(&mut record.packet);
            let mut notes = Notes::default();
            if !stays {
                // Rules say how it is logged.
                notes = self.judge(&record.packet, role).effects.notes;
            }
            if record.outcome == Outcome::Rewrite {
                let (renumbered, notes) = (record.packet.seq(), notes.clone());
                self.replacement = Some(Replacement { seq, renumbered, body: None, notes });
            }
            return self.delivery.recorder.record(record.noted(notes));
        }
        let own = matches!(role, Some(Role::Handshake | Role::LoginStart | Role::Transfer));
        let learns = direction == Direction::Serverbound
            && matches!(
                role,
                Some(Role::Handshake | Role::LoginStart | Role::Greeting | Role::UnframedLogin)
            );
        if learns || own && record.outcome == Outcome::Rewrite {
            self.pending = Some(record);
        } else {
            self.resolve(record, None);
        }
    }

    /// Judges and delivers a packet; `sent` is what the proxy itself had put in its place.
    fn resolve(&mut self, record: Record, sent: Option<Record>) {
        self.count(&record);
        let role = role(&record);
        let Record { mut packet, outcome, comment, .. } = record;
        let seq = packet.seq();
        self.delivery.recorder.now = packet.at();
        self.delivery.recorder.number(&mut packet);
        let renumbered = packet.seq();
        if role == Some(Role::Handshake)
            && let Some(next) = packet.value().ok().as_ref().and_then(Handshake::of)
            && let Some(next) = next.next
        {
            self.delivery.recorder.enter(next);
        }
        let threshold = match role {
            Some(Role::SetCompression) => {
                packet.value().ok().and_then(|it| it.get("threshold")?.as_int())
            }
            _ => None,
        };
        let mut judgement = self.judge(&packet, role);
        let own = matches!(role, Some(Role::Handshake | Role::LoginStart | Role::Transfer));
        let direction = packet.direction();
        let close = match sent {
            Some(sent) if own => {
                if role == Some(Role::LoginStart) {
                    // The replacement may lack the player's key.
                    self.delivery.guard.observe(&sent.packet, role);
                }
                let replaces = judgement.verdict == Verdict::Pass || role == Some(Role::Transfer);
                if let (true, Ok(body)) = (replaces, sent.packet.body())
                    && judgement.verdict != Verdict::Drop
                {
                    judgement.verdict = Verdict::Replace(body);
                    judgement.effects.notes.comments.extend(comment);
                }
                self.delivery.deliver(&mut self.wire, packet, judgement)
            }
            None if own && outcome == Outcome::Rewrite && judgement.verdict != Verdict::Drop => {
                // The replacement comes later: the player is verified first.
                let body = match judgement.verdict {
                    Verdict::Replace(body) => Some(body),
                    Verdict::Pass | Verdict::Drop => None,
                };
                self.replacement =
                    Some(Replacement { seq, renumbered, body, notes: Notes::default() });
                judgement.effects.notes.comments.extend(comment);
                let came = Record { outcome: Outcome::Rewrite, ..Record::passed(packet) };
                self.delivery.recorder.record(came.noted(judgement.effects.notes));
                self.delivery.inject(&mut self.wire, judgement.effects.sends);
                judgement.effects.close
            }
            _ => self.delivery.deliver(&mut self.wire, packet, judgement),
        };
        match role {
            Some(role) if role.changes_state() => self.delivery.on_transition(direction, role),
            Some(Role::SetCompression) => self.set_compression(threshold),
            _ => {}
        }
        if let Some(reason) = close {
            self.close(&reason);
        }
    }

    /// Asks the rules, and notes which of them acted.
    fn judge(&mut self, packet: &Packet, role: Option<Role>) -> Judgement {
        // No rule wants most packets: those cost no counting.
        if !self.delivery.pipeline.wants(packet) {
            return self.delivery.judge(packet, role, None);
        }
        let counts = || self.sets.iter().flat_map(RuleSet::counts);
        let before: Vec<_> = counts().collect();
        let judgement = self.delivery.judge(packet, role, None);
        let mut act = Act { seq: packet.seq(), rules: Vec::new(), effects: Vec::new() };
        for (before, after) in before.iter().zip(counts()) {
            if (before.acted, before.failed) != (after.acted, after.failed) {
                act.rules.push(after.name);
            }
        }
        if let Some(delay) = judgement.effects.delay {
            act.effects.push(HiddenEffect::Delayed(delay.by));
        }
        if judgement.effects.notes.hidden || judgement.effects.notes.unrecorded {
            act.effects.push(HiddenEffect::Hidden);
        }
        if !act.rules.is_empty() {
            self.judged.acts.push(act);
        }
        judgement
    }

    fn close(&mut self, reason: &str) {
        if self.family() != Family::Query {
            self.delivery.say_goodbye(&mut self.wire, reason);
        }
        self.release_all();
        self.delivery.recorder.close_event(format!("closed by a rule: {reason}"));
        self.closed = true;
        if let Some(act) = self.judged.acts.last_mut() {
            act.effects.push(HiddenEffect::Closed);
        }
    }

    /// Returns whether a packet stays as it was recorded, whatever rules say.
    fn stays(&self, record: &Record) -> bool {
        let packet = &record.packet;
        let raw = matches!(packet.content(), Content::Raw(..)) && self.family() != Family::Query;
        let cut_off = record.comment.as_deref() == Some(CUT_OFF);
        // A client whose server could not be reached was answered by the proxy itself.
        let unreached = record.outcome == Outcome::Drop && packet.context().server.is_none();
        raw || cut_off || unreached
    }

    fn set_compression(&mut self, threshold: Option<i64>) {
        let Some(threshold) = threshold else { return };
        for side in Side::ALL {
            self.wire.ends[side].set_compression(usize::try_from(threshold).ok());
        }
    }

    fn count(&mut self, record: &Record) {
        let packet = &record.packet;
        let recorder = &mut self.delivery.recorder;
        recorder.count_bytes(packet.direction(), packet.wire_size());
        let whole = match packet.content() {
            Content::Frame(_) => record.comment.as_deref() != Some(CUT_OFF),
            Content::Raw(_, RawReason::Oversize { left, .. }) => *left == 0,
            Content::Raw(..) => recorder.context.protocol.family() == Family::Query,
        };
        if whole {
            recorder.count_packet(packet.direction());
        }
    }

    fn set_context(&mut self, context: Arc<Context>) {
        let known = Arc::ptr_eq(&self.delivery.recorder.context.protocol, &context.protocol);
        self.delivery.recorder.context = context;
        if !known {
            self.describe();
        }
    }

    /// Learns what the session's protocol needs.
    fn describe(&mut self) {
        let protocol = Arc::clone(&self.delivery.recorder.context.protocol);
        match protocol.family() {
            Family::Java => {}
            Family::Alpha | Family::Legacy | Family::LegacyPing => {
                for side in Side::ALL {
                    self.wire.ends[side].leg.encoder.set_bare();
                }
            }
            Family::Query => {
                self.wire.datagrams = true;
                self.delivery.recorder.enter(mitmcraft_protocol::schema::State::Status);
            }
        }
    }

    fn family(&self) -> Family {
        self.delivery.recorder.context.protocol.family()
    }
}

fn role(record: &Record) -> Option<Role> {
    record.packet.kind().and_then(PacketType::role)
}

fn drives(record: &Record) -> bool {
    record.outcome.came() && role(record).is_some_and(Role::drives)
}
