use std::sync::Arc;

use super::Session;
use super::control::Admission;
use super::incoming::Incoming;
use super::phase::Phase;
use crate::link::{Engine as _, Side, Waiting};
use crate::packet::{Content, Packet};
use crate::schema::{Direction, Role, Value};

/// The way of packets through [`Control`](super::control::Control), once people control the session.
impl Session {
    /// Handles a packet of a session that people control.
    pub(super) fn on_controlled(&mut self, mut packet: Packet) {
        if let Some(state) = self.control.state(packet.direction()) {
            packet.set_state(state);
        }
        let role = self.role_limits.role(&packet);
        let (guard, recorder) = (&self.delivery.guard, &self.delivery.recorder);
        let holdable = matches!(self.phase, Phase::Frames);
        match self.control.admit(guard, recorder, packet, role, holdable) {
            Admission::Goes(packet) => self.on_admitted(Incoming::new(packet, role)),
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
        let Waiting { mut packet, role, hold, .. } = waiting;
        let now = self.now();
        packet.set_at(now);
        let context = &self.delivery.recorder.context;
        if Arc::ptr_eq(&packet.context().protocol, &context.protocol) {
            packet.set_context(Arc::clone(context));
        }
        let decided = hold.map(|hold| Box::new(self.control.released(hold, now)));
        self.on_admitted(Incoming { packet, role, decided });
    }

    /// Handles a packet that waits no longer, or did not have to.
    fn on_admitted(&mut self, mut incoming: Incoming) {
        for waiting in self.control.overtaken_before(incoming.role) {
            self.on_released(waiting);
        }
        self.delivery.recorder.number(&mut incoming.packet);
        match incoming.packet.content() {
            Content::Frame(_) => self.on_packet(incoming),
            Content::Raw(..) => self.on_raw_packet(incoming.packet),
        }
    }

    /// Holds nothing any more: what is held goes on, in order.
    pub(super) fn stop_holding(&mut self) {
        let (now, ends) = (self.now(), &self.ends);
        self.control.let_go(|direction| ends[Side::from(direction).other()].lost, now);
        self.pump();
    }

    /// Holds nothing any more, since the session ends: what is held goes on, or is recorded as
    /// dropped if its receiver is lost.
    pub(super) fn let_go(&mut self) {
        if !self.control.holds_any() {
            return;
        }
        self.stop_holding();
        // Packets may still wait for those that rules delay.
        if !self.is_over() && self.control.holds_any() {
            self.release(true);
            self.pump();
        }
        self.discard_held();
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
