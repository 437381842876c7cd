use std::collections::VecDeque;

use bytes::Bytes;

use super::{
    DelayQueue, Emission, End, Guard, MAX_BURST, MAX_PENDING, PerSide, Recorder, Side, farewell,
};
use crate::capture::{Outcome, Record};
use crate::filter::{
    Delay, Effects, Injection, Judgement, Message, Moment, Notes, Pipeline, SessionEvent, Verdict,
};
use mitmcraft_protocol::codec::Frame;
use mitmcraft_protocol::packet::{Content, Packet, RawReason, Timestamp};
use mitmcraft_protocol::schema::{
    Direction, Family, PerDirection, Protocol, Role, State, query_magic,
};

/// The destination of delivered packets.
pub(crate) trait Wire {
    /// Writes an emission now. Returns the frame that was made for a body.
    fn write(&mut self, direction: Direction, emission: Emission) -> Option<Frame>;

    /// Writes a frame as it came.
    fn forward(&mut self, direction: Direction, frame: &Frame) {
        self.write(direction, Emission::Frame(frame.clone()));
    }

    /// Counts a packet of the proxy's own as written.
    fn count_own(&mut self, direction: Direction, bytes: usize) {
        let _ = (direction, bytes);
    }

    /// Returns whether more than `most` bytes wait for the receiver of a direction.
    fn is_full(&self, direction: Direction, most: usize) -> bool {
        let _ = (direction, most);
        false
    }

    /// Returns whether packets of the proxy's own are that much of what waits.
    fn is_full_of_own(&self, direction: Direction, most: usize) -> bool {
        let _ = (direction, most);
        false
    }
}

impl Wire for PerSide<End> {
    fn write(&mut self, direction: Direction, emission: Emission) -> Option<Frame> {
        self[Side::from(direction).other()].write(emission)
    }

    #[inline(always)]
    fn forward(&mut self, direction: Direction, frame: &Frame) {
        self[Side::from(direction).other()].forward(frame);
    }

    fn count_own(&mut self, direction: Direction, bytes: usize) {
        self[Side::from(direction).other()].count_own(bytes);
    }

    fn is_full(&self, direction: Direction, most: usize) -> bool {
        self[Side::from(direction).other()].is_full(most)
    }

    fn is_full_of_own(&self, direction: Direction, most: usize) -> bool {
        self[Side::from(direction).other()].is_full_of_own(most)
    }
}

/// The one path from a packet over its judgement to the wire and the records, for everything that
/// applies filters: a session, the Query relay, the offline replay.
#[derive(Debug)]
pub(crate) struct Delivery {
    pub(crate) recorder: Recorder,
    pub(crate) guard: Guard,
    pub(crate) pipeline: Pipeline,
    /// Emissions that rules delay.
    pub(crate) queues: PerDirection<DelayQueue>,
    /// Messages of filters that nobody has taken yet.
    pub(crate) messages: VecDeque<Message>,
    /// Packets of the proxy's own since the driver had its turn.
    pub(crate) sent: usize,
    /// The states that active filters know of.
    told: PerDirection<State>,
}

/// The decision on a packet that was held.
#[derive(Debug)]
pub(crate) struct Decided {
    pub(crate) by: Decider,
    pub(crate) verdict: Verdict,
    pub(crate) effects: Effects,
}

/// Who has decided on a packet that was held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Decider {
    /// A person, who has the last word: only what passes is left to the filters.
    Person,
    /// A program, which comes before the filters: they judge what it has made of the packet.
    Program,
}

impl Delivery {
    pub(crate) fn new(recorder: Recorder, pipeline: Pipeline) -> Self {
        let (queues, told) = (PerDirection::default(), recorder.states);
        let (guard, messages) = (Guard::default(), VecDeque::new());
        Self { recorder, guard, pipeline, queues, messages, sent: 0, told }
    }

    /// Replaces the filters, which take over what the old ones keep, and learn that the session is open.
    /// Returns why they close it, if they do.
    pub(crate) fn set_pipeline(
        &mut self,
        wire: &mut impl Wire,
        mut pipeline: Pipeline,
        may_send: bool,
    ) -> Option<String> {
        pipeline.take_over(std::mem::take(&mut self.pipeline));
        self.pipeline = pipeline;
        self.tell(wire, SessionEvent::Open, may_send)
    }

    /// Tells active filters of an event. They send nothing unless they `may_send`. Returns why they close
    /// the session, if they do.
    pub(crate) fn tell(
        &mut self,
        wire: &mut impl Wire,
        event: SessionEvent,
        may_send: bool,
    ) -> Option<String> {
        if !self.pipeline.is_active() {
            return None;
        }
        let Recorder { now, context, states, .. } = &self.recorder;
        let moment = Moment { at: *now, context, states: *states };
        let mut effects = self.pipeline.on_event(event, &moment);
        if !may_send {
            effects.sends.clear();
        }
        self.act_alone(wire, effects)
    }

    /// Tells active filters if a direction has entered another state. Returns why they close the
    /// session, if they do.
    pub(crate) fn tell_states(&mut self, wire: &mut impl Wire, may_send: bool) -> Option<String> {
        if !self.pipeline.is_active() || self.told == self.recorder.states {
            return None;
        }
        self.told = self.recorder.states;
        self.tell(wire, SessionEvent::State, may_send)
    }

    /// Lets the filters act whose timers are due. Returns why they close the session, if they do.
    pub(crate) fn on_filter_timeout(&mut self, wire: &mut impl Wire) -> Option<String> {
        let Recorder { now, context, states, .. } = &self.recorder;
        if self.pipeline.poll_timeout().is_none_or(|due| due > *now) {
            return None;
        }
        let moment = Moment { at: *now, context, states: *states };
        let effects = self.pipeline.on_timeout(&moment);
        self.act_alone(wire, effects)
    }

    /// Does what filters want without a packet: what the guard lets through is sent.
    fn act_alone(&mut self, wire: &mut impl Wire, effects: Effects) -> Option<String> {
        let Effects { sends, messages, close, .. } = effects;
        self.messages.extend(messages);
        for send in sends {
            if wire.is_full_of_own(send.direction, MAX_PENDING) {
                self.refuse(send.direction, send.rule);
                continue;
            }
            match self.guard.refuses(&self.recorder, send.direction, &send.body) {
                None => self.inject(wire, vec![send]),
                Some(text) => {
                    let file = send.rule.unwrap_or_default().into();
                    let session = self.recorder.context.session;
                    self.messages.push_back(Message { session, file, text, is_error: true });
                }
            }
        }
        close
    }

    /// Asks the filters, unless it is `decided`, and delivers the packet as they say. Returns why
    /// they close the session, if they do.
    #[inline]
    pub(crate) fn judge_and_deliver(
        &mut self,
        wire: &mut impl Wire,
        packet: Packet,
        role: Option<Role>,
        decided: Option<Box<Decided>>,
    ) -> Option<String> {
        // The guard has something to say of some packets even if no filter wants them.
        let guarded = matches!(role, Some(Role::ChatSession | Role::Greeting));
        if !guarded && decided.is_none() && !self.pipeline.wants(&packet) {
            self.guard.observe(&packet, role);
            self.forward(wire, packet);
            return None;
        }
        let judgement = self.judge(&packet, role, decided);
        self.deliver(wire, packet, judgement)
    }

    /// Asks the filters of a packet, unless it is `decided`, less what a packet of that role does not bear.
    pub(crate) fn judge(
        &mut self,
        packet: &Packet,
        role: Option<Role>,
        decided: Option<Box<Decided>>,
    ) -> Judgement {
        self.guard.observe(packet, role);
        if let Some(reason) = self.guard.withholds(packet, role, &self.pipeline) {
            let mut judgement = Judgement { verdict: Verdict::Drop, effects: Effects::default() };
            judgement.effects.notes.remark(reason);
            return judgement;
        }
        let mut judgement = match decided {
            Some(decided) => self.judge_decided(packet, *decided),
            None => self.pipeline.apply(packet),
        };
        if let Some(role) = role {
            self.guard.restrain(packet, role, &mut judgement);
        }
        judgement
    }

    /// Judges a packet as was decided while it was held.
    fn judge_decided(&mut self, packet: &Packet, decided: Decided) -> Judgement {
        let Decided { by, verdict, effects } = decided;
        let mut judgement = match verdict {
            Verdict::Pass => self.pipeline.apply(packet),
            Verdict::Replace(body) if by == Decider::Program => {
                let mut changed = packet.clone();
                changed.replace_body(body.clone());
                let mut judgement = self.pipeline.apply(&changed);
                if judgement.verdict == Verdict::Pass {
                    judgement.verdict = Verdict::Replace(body);
                }
                judgement
            }
            verdict => Judgement { verdict, effects: Effects::default() },
        };
        let Effects { notes, sends, .. } = &mut judgement.effects;
        notes.rules.splice(..0, effects.notes.rules);
        notes.comments.extend(effects.notes.comments);
        sends.splice(..0, effects.sends);
        judgement
    }

    /// Returns why a verdict of a person on a packet would not be carried out, if it would not.
    pub(crate) fn refusal(
        &self,
        packet: &Packet,
        role: Option<Role>,
        verdict: &Verdict,
    ) -> Option<String> {
        let effects = Effects::default();
        let mut judgement = Judgement { verdict: verdict.clone(), effects };
        if let Some(role) = role {
            self.guard.clone().restrain(packet, role, &mut judgement);
        }
        self.guard.check(&self.recorder, packet, &mut judgement);
        if judgement.verdict == *verdict {
            return None;
        }
        let comment = judgement.effects.notes.comments.pop();
        Some(comment.unwrap_or_else(|| "the connection needs this packet".into()))
    }

    /// Sends a packet at a person's wish, in the present state.
    pub(crate) fn send_at_will(
        &mut self,
        wire: &mut impl Wire,
        direction: Direction,
        body: Bytes,
        comment: String,
    ) {
        let state = self.recorder.states[direction];
        let sent = Sent { direction, state, of: None, delay: None };
        let mut notes = Notes::default();
        notes.remark(comment);
        self.send_body(wire, sent, body, notes);
    }

    /// Does what a judgement says: writes, delays and records the packet and what goes with it.
    /// Returns why the session is to be closed, if a rule says so.
    pub(crate) fn deliver(
        &mut self,
        wire: &mut impl Wire,
        packet: Packet,
        mut judgement: Judgement,
    ) -> Option<String> {
        self.guard.check(&self.recorder, &packet, &mut judgement);
        let Judgement { verdict, effects } = judgement;
        let Effects { notes, sends, copies, copied_by, delay, close, messages } = effects;
        self.messages.extend(messages);
        let (before, after): (Vec<_>, Vec<_>) = sends.into_iter().partition(|send| send.before);
        self.inject(wire, before);
        let (direction, state) = (packet.direction(), packet.state());
        let again = match verdict {
            Verdict::Pass => {
                let again = if copies > 0 { Emission::again(&packet) } else { None };
                self.emit(wire, direction, delay, Emission::of(packet.content()));
                self.recorder.record(Record::passed(packet).noted(notes));
                again
            }
            Verdict::Drop => {
                let dropped = Record { outcome: Outcome::Drop, ..Record::passed(packet) };
                self.recorder.record(dropped.noted(notes));
                None
            }
            Verdict::Replace(body) => {
                let of = packet.seq();
                let rewritten = Record { outcome: Outcome::Rewrite, ..Record::passed(packet) };
                self.recorder.record(rewritten.noted(notes.clone()));
                let sent = Sent { direction, state, of: Some(of), delay };
                self.send_body(wire, sent, body.clone(), notes);
                Some(Emission::Body(body))
            }
        };
        for _ in 0..copies.min(max_copies(self.recorder.context.protocol.family())) {
            if self.overflows(wire, direction) {
                self.refuse(direction, copied_by.first().cloned());
                break;
            }
            let sent = Sent { direction, state, of: None, delay };
            let notes = Notes::made_by(copied_by.clone());
            match &again {
                Some(Emission::Body(body)) => self.send_body(wire, sent, body.clone(), notes),
                Some(Emission::Bytes(bytes)) => self.send_bytes(wire, sent, bytes.clone(), notes),
                Some(Emission::Frame(_)) | None => break,
            }
        }
        self.inject(wire, after);
        close
    }

    /// Enters the state that a packet of that role leads to.
    pub(crate) fn on_transition(&mut self, direction: Direction, role: Role) {
        self.guard.bundled = false;
        let protocol = &self.recorder.context.protocol;
        protocol.follow(role, direction, &mut self.recorder.states);
    }

    /// Forwards a packet as it came, after everything already delayed in its direction.
    #[inline(always)]
    pub(crate) fn forward(&mut self, wire: &mut impl Wire, packet: Packet) {
        match packet.frame() {
            // The usual case: nothing is cloned.
            Some(frame) if self.queues[packet.direction()].is_empty() => {
                wire.forward(packet.direction(), frame);
            }
            _ => {
                self.emit(wire, packet.direction(), None, Emission::of(packet.content()));
            }
        }
        self.recorder.record(Record::passed(packet));
    }

    /// Records a packet that goes nowhere, and why.
    pub(crate) fn swallow(&mut self, packet: Packet, comment: &str) {
        let (notes, comment) = (self.notes(&packet), Some(comment.to_owned()));
        let dropped = Record { outcome: Outcome::Drop, comment, ..Record::passed(packet) };
        self.recorder.record(dropped.noted(notes));
    }

    /// Sends a body in the place of a packet.
    pub(crate) fn replace(
        &mut self,
        wire: &mut impl Wire,
        packet: Packet,
        body: Vec<u8>,
        comment: &str,
    ) {
        let sent = Sent {
            direction: packet.direction(),
            state: packet.state(),
            of: Some(packet.seq()),
            delay: None,
        };
        let notes = self.notes(&packet);
        let rewritten = Record { outcome: Outcome::Rewrite, ..Record::remarked(packet, comment) };
        self.recorder.record(rewritten.noted(notes.clone()));
        self.send_body(wire, sent, body.into(), notes);
    }

    /// Sends a packet of the proxy's own; `of` is the `seq` of the packet in whose place it goes.
    pub(crate) fn send(
        &mut self,
        wire: &mut impl Wire,
        direction: Direction,
        state: State,
        body: impl Into<Bytes>,
        of: Option<u64>,
    ) {
        let sent = Sent { direction, state, of, delay: None };
        self.send_body(wire, sent, body.into(), Notes::default());
    }

    /// Shows the player why the session ends: closes an open bundle, and sends a Disconnect or what
    /// the state has instead. A player whom the server has told why gets nothing more.
    pub(crate) fn say_goodbye(&mut self, wire: &mut impl Wire, text: &str) {
        if self.guard.dismissed {
            return;
        }
        let context = self.recorder.context.clone();
        if let Some(delimiter) = self.guard.close_bundle(&context.protocol) {
            self.send(wire, Direction::Clientbound, State::Play, delimiter, None);
        }
        let state = self.recorder.states[Direction::Clientbound];
        if let Some(body) = farewell(&context, state, text, self.guard.ping) {
            self.send(wire, Direction::Clientbound, state, body, None);
        }
    }

    /// Sends the packets of rules.
    pub(crate) fn inject(&mut self, wire: &mut impl Wire, sends: Vec<Injection>) {
        for Injection { direction, body, framed, rule, .. } in sends {
            if self.overflows(wire, direction) {
                self.refuse(direction, rule);
                continue;
            }
            let state = self.recorder.states[direction];
            let sent = Sent { direction, state, of: None, delay: None };
            let notes = Notes::made_by(rule.into_iter().collect());
            if framed {
                self.send_body(wire, sent, body, notes);
            } else {
                self.send_bytes(wire, sent, body, notes);
            }
        }
    }

    /// Writes an emission, or queues it: for its delay, or after everything already delayed in
    /// `direction`. Returns the frame that was made for a body.
    pub(crate) fn emit(
        &mut self,
        wire: &mut impl Wire,
        direction: Direction,
        delay: Option<Delay>,
        emission: Emission,
    ) -> Option<Frame> {
        let emission = self.queues[direction].push(self.recorder.now, delay, emission)?;
        wire.write(direction, emission)
    }

    /// Writes everything whose delay is over at `due`, unless its receiver has to catch up; everything if
    /// `None`.
    pub(crate) fn release(
        &mut self,
        wire: &mut impl Wire,
        direction: Direction,
        due: Option<Timestamp>,
    ) {
        while !(due.is_some() && wire.is_full(direction, MAX_PENDING))
            && let Some(emission) = self.queues[direction].pop(due)
        {
            wire.write(direction, emission);
        }
    }

    /// Asks the filters how a packet of the key exchange is logged, which the proxy answers or
    /// replaces itself. Other packets have been judged.
    fn notes(&mut self, packet: &Packet) -> Notes {
        match packet.role() {
            Some(role @ (Role::EncryptionRequest | Role::EncryptionResponse))
                if self.pipeline.wants(packet) =>
            {
                self.judge(packet, Some(role), None).effects.notes
            }
            _ => Notes::default(),
        }
    }

    /// Sends and records bytes of the proxy's own that get no frame.
    fn send_bytes(&mut self, wire: &mut impl Wire, sent: Sent, bytes: Bytes, notes: Notes) {
        let Sent { direction, delay, .. } = sent;
        self.sent += 1;
        if delay.is_none() && self.queues[direction].is_empty() {
            wire.count_own(direction, bytes.len());
        }
        self.emit(wire, direction, delay, Emission::Bytes(bytes.clone()));
        let content = self.unframed(direction, bytes);
        let packet = self.recorder.own_packet(direction, content);
        let record = Record { outcome: Outcome::Send, ..Record::passed(packet) };
        self.recorder.record(record.noted(notes));
    }

    /// Sends and records a body of the proxy's own: as the frame that went, if it has gone already.
    fn send_body(&mut self, wire: &mut impl Wire, sent: Sent, body: Bytes, notes: Notes) {
        let Sent { direction, state, of, delay } = sent;
        let went = self.emit(wire, direction, delay, Emission::Body(body.clone()));
        // What goes in the place of a packet takes its room.
        if of.is_none() {
            self.sent += 1;
            wire.count_own(direction, went.as_ref().map_or(0, |frame| frame.wire().len()));
        }
        let frame =
            went.unwrap_or_else(|| framed(&self.recorder.context.protocol, direction, body));
        let mut packet = self.recorder.own_packet(direction, Content::Frame(frame));
        packet.set_state(state);
        let record = Record { outcome: Outcome::Send, of, ..Record::passed(packet) };
        self.recorder.record(record.noted(notes));
    }

    /// Returns whether what waits in a direction leaves no room for one more packet of the proxy's own. A
    /// packet that is handled finds room for [`MAX_BURST`].
    fn overflows(&self, wire: &impl Wire, direction: Direction) -> bool {
        wire.is_full_of_own(direction, 2 * MAX_BURST) || self.queues[direction].has_no_room()
    }

    /// Reports that packets of the proxy's own are not sent, once as long as nobody takes the message.
    fn refuse(&mut self, direction: Direction, by: Option<String>) {
        let to = Side::from(direction).other().name();
        let text = format!("not sent to the {to}, which has not read what it was sent before");
        let (session, file) = (self.recorder.context.session, by.unwrap_or_default().into());
        let message = Message { session, file, text, is_error: true };
        if !self.messages.contains(&message) {
            self.messages.push_back(message);
        }
    }

    /// Bytes that a rule sends as they are. A datagram of Query may be one all the same.
    fn unframed(&self, direction: Direction, bytes: Bytes) -> Content {
        let magic = query_magic(direction);
        let query = self.recorder.context.protocol.family() == Family::Query;
        if query && bytes.starts_with(magic) {
            return Content::Frame(Frame::datagram(bytes, magic.len()));
        }
        Content::Raw(bytes, RawReason::Injected)
    }
}

/// A body as that protocol puts it on the wire, uncompressed.
pub(crate) fn framed(protocol: &Protocol, direction: Direction, body: Bytes) -> Frame {
    match protocol.family() {
        Family::Java => Frame::from_body(body),
        Family::Alpha | Family::Legacy | Family::LegacyPing => Frame::bare(body),
        Family::Query => datagram(direction, &body),
    }
}

/// A datagram of Query with that body.
pub(crate) fn datagram(direction: Direction, body: &[u8]) -> Frame {
    let magic = query_magic(direction);
    Frame::datagram(Bytes::from([magic, body].concat()), magic.len())
}

/// How a body of the proxy's own is sent.
#[derive(Debug, Clone, Copy)]
struct Sent {
    direction: Direction,
    state: State,
    /// The `seq` of the packet in whose place it goes.
    of: Option<u64>,
    delay: Option<Delay>,
}

/// Copies of one packet at most. Datagrams have fewer: their sender's address may be forged, and no
/// rule makes the relay a weapon.
fn max_copies(family: Family) -> u32 {
    match family {
        Family::Java | Family::Alpha | Family::Legacy | Family::LegacyPing => 1000,
        Family::Query => 100,
    }
}
