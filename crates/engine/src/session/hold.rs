use std::sync::Arc;

use super::Session;
use super::closing::Half;
use super::control::Admission;
use super::ends::BEHIND_THE_END;
use super::phase::Phase;
use crate::filter::Verdict;
use crate::link::{Decided, Waiting};
use mitmcraft_protocol::packet::{Content, Packet};
use mitmcraft_protocol::schema::{Direction, Role, Value};

/// The way of packets through [`Control`](super::control::Control), once people control the session or a
/// program decides on its packets.
impl Session {
    /// Handles a packet of a session that people or a program control.
    pub(super) fn on_controlled(&mut self, mut packet: Packet) {
        if let Some(state) = self.control.state(packet.direction()) {
            packet.set_state(state);
        }
        let role = self.role_limits.role(&packet);
        let (guard, recorder) = (&self.delivery.guard, &self.delivery.recorder);
        let holdable = matches!(self.phase, Phase::Frames);
        match self.control.admit(guard, recorder, packet, role, holdable) {
            Admission::Goes(packet) => self.on_admitted(packet, role, None),
            Admission::Waits => {}
            Admission::Unreachable(packet, number) => self.answer_keep_alive(packet, number),
            Admission::AnswersProxy(mut packet) => {
                self.delivery.recorder.number(&mut packet);
                self.swallow(packet, "answers the proxy, which has answered the server");
            }
        }
    }

    /// Handles a packet that waited, as if it had just come.
    pub(super) fn on_released(&mut self, waiting: Waiting) {
        let Waiting { mut packet, role, hold, asked, .. } = waiting;
        let now = self.now();
        packet.set_at(now);
        let context = &self.delivery.recorder.context;
        if Arc::ptr_eq(&packet.context().protocol, &context.protocol) {
            packet.set_context(Arc::clone(context));
        }
        let decided = hold.map(|hold| self.control.released(hold, now));
        match asked {
            // A person who drops or edits a packet has the last word.
            Some(asked) if decided.as_ref().is_none_or(|it| it.verdict == Verdict::Pass) => {
                self.on_answered(packet, role, asked, decided);
            }
            _ => self.on_admitted(packet, role, decided.map(Box::new)),
        }
    }

    /// Handles a packet that waits no longer, or did not have to.
    pub(super) fn on_admitted(
        &mut self,
        mut packet: Packet,
        role: Option<Role>,
        decided: Option<Box<Decided>>,
    ) {
        for waiting in self.control.overtaken_before(role) {
            self.on_released(waiting);
        }
        self.delivery.recorder.number(&mut packet);
        // A rule may have closed the session at one of them.
        if self.closing.has_stopped() {
            return self.swallow(packet, BEHIND_THE_END);
        }
        if let Content::Raw(..) = packet.content() {
            self.on_raw_packet(packet);
        } else if let Some(incoming) = self.admit(packet, role, decided) {
            self.on_packet(incoming);
        }
    }

    /// Holds nothing any more: what is held goes on, in order, unless its receiver is lost. Returns whether
    /// anything goes on.
    pub(super) fn let_go(&mut self) -> bool {
        let closing = &self.closing;
        self.control.let_go(|direction| closing.half(direction) == Half::Lost)
    }

    /// Lets go what is held when the session ends, and records as dropped what cannot go. Returns whether
    /// anything was held.
    pub(super) fn release_held(&mut self) -> bool {
        let held = self.control.holds_any();
        if held && !self.let_go() {
            // Packets may still wait for those that rules delay.
            if Direction::ALL.into_iter().all(|direction| self.is_drained(direction)) {
                self.discard_held();
            } else {
                self.release(true);
            }
        }
        held
    }

    /// Records everything that is held as dropped.
    pub(super) fn discard_held(&mut self) {
        let now = self.now();
        for (mut packet, comment) in self.control.discard(now) {
            self.delivery.recorder.number(&mut packet);
            packet.set_at(now);
            self.swallow(packet, &comment);
        }
    }

    /// Answers a keep-alive in the place of the peer that it cannot reach, and drops it. A client is
    /// asked by the proxy instead, so that it has something to read.
    fn answer_keep_alive(&mut self, mut packet: Packet, number: i64) {
        let direction = packet.direction();
        self.delivery.recorder.number(&mut packet);
        self.swallow(packet, "cannot overtake what is held: the proxy answers it");
        self.send_keep_alive(Direction::Serverbound, number);
        if direction == Direction::Clientbound {
            self.send_keep_alive(Direction::Clientbound, number);
            self.control.expect_answer(number);
        }
    }

    fn send_keep_alive(&mut self, direction: Direction, number: i64) {
        let state = self.delivery.recorder.states[direction];
        let protocol = &self.context().protocol;
        let value = Value::map([("keepAliveId", Value::Int(number))]);
        let packet = protocol.role(state, direction, Role::KeepAlive);
        let body = packet.and_then(|packet| protocol.encode(packet, &value).ok());
        if let Some(body) = body {
            self.send(direction, state, body);
        }
    }
}
