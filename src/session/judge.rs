use super::Session;
use crate::capture::{Outcome, Record};
use crate::codec::Frame;
use crate::filter::{Delay, Effects, Injection, Judgement, Notes, Verdict};
use crate::link::Emission;
use crate::link::Side;
use crate::link::disconnect_body;
use crate::packet::{Content, Origin, Packet, RawReason};
use crate::schema::{Direction, Family, State};

/// What filters say is done here.
impl Session {
    /// Asks the filters, and does what they say.
    pub(super) fn judge_and_forward(&mut self, packet: Packet) {
        if !self.pipeline.wants(&packet) {
            return self.forward(packet);
        }
        let judgement = self.pipeline.apply(&packet);
        self.carry_out(packet, judgement);
    }

    /// The same, with a comment for the capture.
    pub(super) fn judge(&mut self, packet: Packet, comment: Option<&str>) {
        let Some(comment) = comment else { return self.judge_and_forward(packet) };
        let mut judgement = self.pipeline.apply(&packet);
        judgement.effects.notes.comments.push(comment.to_owned());
        self.carry_out(packet, judgement);
    }

    /// Asks the filters of a packet that must go through as it is: they may only log it.
    pub(super) fn judge_and_keep(&mut self, packet: Packet) {
        if !self.pipeline.wants(&packet) {
            return self.forward(packet);
        }
        let mut judgement = self.pipeline.apply(&packet);
        if judgement.verdict != Verdict::Pass {
            let name = packet.kind().map_or("", |packet| packet.name());
            let comment = format!("a rule wanted to change `{name}`, which the connection needs");
            judgement.effects.notes.comments.push(comment);
        }
        judgement.keep();
        self.carry_out(packet, judgement);
    }

    pub(super) fn carry_out(&mut self, packet: Packet, mut judgement: Judgement) {
        self.guard(&packet, &mut judgement);
        let Judgement { verdict, effects } = judgement;
        let Effects { notes, sends, copies, delay, close } = effects;
        let (before, after): (Vec<_>, Vec<_>) = sends.into_iter().partition(|send| send.before);
        self.inject(before);
        let (direction, state) = (packet.direction, packet.state);
        let again = match verdict {
            Verdict::Pass => self.forward_with(packet, delay, notes),
            Verdict::Drop => {
                let dropped = Record { outcome: Outcome::Drop, ..Record::passed(packet) };
                self.record(dropped.noted(notes));
                None
            }
            Verdict::Replace(body) => {
                let of = packet.seq;
                let rewritten = Record { outcome: Outcome::Rewrite, ..Record::passed(packet) };
                self.record(rewritten.noted(notes.clone()));
                let went = self.emit(direction, delay, Emission::Body(body.clone()));
                let sent = Sent { direction, state, of: Some(of) };
                self.record_sent(sent, &body, went, notes);
                Some(Emission::Body(body))
            }
        };
        for _ in 0..copies {
            let (body, emission) = match &again {
                Some(Emission::Body(body)) => (body.clone(), Emission::Body(body.clone())),
                Some(Emission::Frame(frame)) => {
                    let Ok(body) = frame.body() else { break };
                    (body.clone(), Emission::Body(body))
                }
                _ => break,
            };
            let went = self.emit(direction, delay, emission);
            let sent = Sent { direction, state, of: None };
            self.record_sent(sent, &body, went, Notes::default());
        }
        self.inject(after);
        if let Some(reason) = close {
            self.close_with(&reason, format!("closed by a rule: {reason}"));
        }
    }

    /// Sends a packet on as it came.
    pub(super) fn forward(&mut self, packet: Packet) {
        if let Some(frame) = packet.frame() {
            if self.queue_mut(packet.direction).is_empty() && !self.is_ahead() {
                // The usual way: nothing is cloned.
                let side = Side::from(packet.direction).other();
                self.leg_mut(side).encoder.forward(frame);
            } else {
                self.emit(packet.direction, None, Emission::Frame(frame.clone()));
            }
        }
        self.record(Record::passed(packet));
    }

    fn forward_with(
        &mut self,
        packet: Packet,
        delay: Option<Delay>,
        notes: Notes,
    ) -> Option<Emission> {
        let frame = packet.frame()?.clone();
        self.emit(packet.direction, delay, Emission::Frame(frame.clone()));
        self.record(Record::passed(packet).noted(notes));
        Some(Emission::Frame(frame))
    }

    /// Sends another body in the place of a packet.
    pub(super) fn replace(&mut self, packet: Packet, body: &[u8], comment: Option<&str>) {
        let (direction, state, of) = (packet.direction, packet.state, packet.seq);
        let comment = comment.map(str::to_owned);
        self.record(Record { outcome: Outcome::Rewrite, comment, ..Record::passed(packet) });
        self.send(direction, state, body, Some(of));
    }

    /// Sends a packet of our own.
    pub(super) fn send(
        &mut self,
        direction: Direction,
        state: State,
        body: &[u8],
        of: Option<u64>,
    ) {
        let went = self.emit(direction, None, Emission::Body(body.to_vec().into()));
        self.record_sent(Sent { direction, state, of }, body, went, Notes::default());
    }

    /// Ends the session, and tells the player why in the words of the state.
    pub(super) fn close_with(&mut self, text: &str, reason: String) {
        self.close_bundle();
        if let Some((state, body)) = self.farewell(text) {
            self.send(Direction::Clientbound, state, &body, None);
        }
        self.reason = Some(reason);
        self.end();
    }

    /// A Disconnect, or in the status state an answer, with that text.
    fn farewell(&self, reason: &str) -> Option<(State, Vec<u8>)> {
        let state = self.state(Direction::Clientbound);
        let protocol = &self.context.protocol;
        match protocol.family() {
            Family::Java | Family::Query => {}
            Family::Alpha => return Some((state, self.kick_body(reason)?)),
            Family::LegacyPing => return Some((state, self.ping_answer(reason)?)),
        }
        if state == State::Status {
            return Some((state, self.status_body(reason)?));
        }
        Some((state, disconnect_body(protocol, state, reason)?))
    }

    pub(super) fn inject(&mut self, sends: Vec<Injection>) {
        for send in sends {
            let Injection { direction, body, framed, .. } = send;
            if framed {
                let state = self.state(direction);
                let went = self.emit(direction, None, Emission::Body(body.clone()));
                let sent = Sent { direction, state, of: None };
                self.record_sent(sent, &body, went, Notes::default());
            } else {
                self.emit(direction, None, Emission::Bytes(body.clone()));
                let mut packet = self.packet(direction, Content::Raw(body, RawReason::Injected));
                packet.origin = Origin::Proxy;
                self.record(Record { outcome: Outcome::Send, ..Record::passed(packet) });
            }
        }
    }

    /// Records a packet of our own: as the frame that went, if it has gone already.
    fn record_sent(&mut self, sent: Sent, body: &[u8], went: Option<Frame>, notes: Notes) {
        let frame = went.unwrap_or_else(|| {
            let body = body.to_vec().into();
            match self.context.protocol.family() {
                Family::Java => Frame::from_body(body),
                Family::Alpha | Family::LegacyPing | Family::Query => Frame::bare(body),
            }
        });
        let mut packet = self.packet(sent.direction, Content::Frame(frame));
        packet.state = sent.state;
        packet.origin = Origin::Proxy;
        let of = sent.of;
        self.record(Record { outcome: Outcome::Send, of, ..Record::passed(packet) }.noted(notes));
    }

    /// Behind what waits already.
    pub(super) fn emit_in_order(&mut self, direction: Direction, emission: Emission) {
        self.emit(direction, None, emission);
    }

    /// Writes something, or lets it wait; gives the frame that was made for a body.
    fn emit(
        &mut self,
        direction: Direction,
        delay: Option<Delay>,
        emission: Emission,
    ) -> Option<Frame> {
        let now = self.now;
        let emission = self.queue_mut(direction).push(now, delay, emission)?;
        self.write(direction, emission)
    }

    fn write(&mut self, direction: Direction, emission: Emission) -> Option<Frame> {
        let ahead = match direction {
            Direction::Serverbound => std::mem::take(&mut self.ahead),
            Direction::Clientbound => 0,
        };
        let encoder = &mut self.leg_mut(Side::from(direction).other()).encoder;
        if ahead > 0 {
            let bytes = match &emission {
                Emission::Frame(frame) => frame.wire(),
                Emission::Body(bytes) | Emission::Bytes(bytes) => bytes,
            };
            let written = ahead.min(bytes.len());
            encoder.put(&bytes[written..]);
            self.ahead = ahead - written;
            return None;
        }
        match emission {
            Emission::Frame(frame) => encoder.forward(&frame),
            Emission::Body(body) => return Some(encoder.send(&body)),
            Emission::Bytes(bytes) => encoder.put(&bytes),
        }
        None
    }

    /// Lets out what has waited long enough.
    pub(super) fn release_due(&mut self) {
        for direction in Direction::ALL {
            let now = self.now;
            while let Some(emission) = self.queue_mut(direction).pop_due(now) {
                self.write(direction, emission);
            }
            self.after_release(direction);
        }
    }

    /// Lets out everything: the session ends.
    pub(super) fn release_all(&mut self) {
        for direction in Direction::ALL {
            while let Some(emission) = self.queue_mut(direction).pop() {
                self.write(direction, emission);
            }
            if let Some((packet, _)) = self.queue_mut(direction).take_driving() {
                self.forward(packet);
            }
        }
    }

    fn after_release(&mut self, direction: Direction) {
        if let Some((packet, role)) = self.queue_mut(direction).take_driving() {
            self.on_role(packet, role);
        }
        let queue = self.queue_mut(direction);
        if queue.ends && queue.is_empty() {
            queue.ends = false;
            self.shutdown(Side::from(direction).other());
            self.end_when_closed();
        }
    }

    /// Tells a side that no more comes, once all that rules hold back for it is out.
    pub(super) fn shutdown_when_released(&mut self, side: Side) {
        let direction = side.other().sends();
        match self.queue_mut(direction).is_empty() {
            true => self.shutdown(side),
            false => self.queue_mut(direction).ends = true,
        }
    }
}

/// What a packet of our own is sent as.
struct Sent {
    direction: Direction,
    state: State,
    /// The `seq` of the packet in whose place it goes.
    of: Option<u64>,
}
