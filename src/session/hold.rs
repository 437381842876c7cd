use std::sync::Arc;
use std::time::Duration;

use super::Session;
use super::control::Control;
use super::phase::Phase;
use crate::filter::Verdict;
use crate::link::{Engine as _, Hold, HoldQueue, Release, Report, Side, Waiting};
use crate::packet::{Content, Packet, Timestamp};
use crate::schema::{Direction, Role, State, Value};

/// Packets that a person holds, and those that wait behind them.
///
/// They wait before any rule sees them, and then take the ordinary path, with the number and the
/// time that they would have if they had just come: captures have packets in the order in which the
/// other peer received them.
impl Session {
    /// Handles a packet of a session that people control.
    pub(super) fn on_controlled(&mut self, mut packet: Packet) {
        let direction = packet.direction();
        let Some(control) = &mut self.control else { return };
        if let Some(state) = control.queues[direction].state() {
            packet.set_state(state);
        }
        let early = !keeps_alive(packet.state());
        if early {
            control.login.get_or_insert_with(|| packet.at());
        }
        let role = self.role_limits.role(&packet);
        if role == Some(Role::KeepAlive) {
            return self.on_keep_alive(packet);
        }
        let control = self.control.as_deref();
        let Some(control) = control else { return };
        let breakpoint = control.breakpoint.as_ref().filter(|it| {
            let late = early && control.login.is_some_and(|at| at.plus(PATIENCE) <= packet.at());
            !late && self.may_be_held(role) && it.condition.matches(&packet)
        });
        let open = control.queues[direction].is_open();
        let Some(breakpoint) = breakpoint else {
            if open {
                self.before_change(role);
                return self.on_packet(packet, role);
            }
            return self.push(Waiting::new(packet, role, None));
        };
        let in_order = self.must_keep_order(&packet, open);
        let aside = breakpoint.overtaken && in_order.is_none();
        let in_order = in_order.filter(|_| breakpoint.overtaken);
        let hold = self.hold(&packet, in_order);
        let waiting = Waiting::new(packet, role, hold);
        if !aside {
            return self.push(waiting);
        }
        self.delivery.recorder.take_number(&waiting.packet);
        if let Some(control) = &mut self.control {
            control.queues[direction].push_aside(waiting);
        }
        self.release_when_full(direction);
    }

    /// Queues a packet that is not a frame if it has to wait; otherwise returns it.
    pub(super) fn unless_it_waits(&mut self, packet: Packet) -> Option<Packet> {
        let control = self.control.as_ref();
        if control.is_none_or(|control| control.queues[packet.direction()].is_open()) {
            return Some(packet);
        }
        self.push(Waiting::new(packet, None, None));
        None
    }

    /// Removes the next packet that waited and may go now.
    pub(super) fn next_waiting(&mut self, direction: Direction) -> Option<Waiting> {
        let now = self.now();
        let queue = &mut self.control.as_mut()?.queues[direction];
        // A packet that changes how the next is read waits for those that rules delay.
        let delayed = !self.delivery.queues[direction].is_empty();
        queue.pop_aside().or_else(|| queue.pop(now, delayed))
    }

    /// Returns whether the next packet cannot be read before a waiting one is out.
    pub(super) fn is_blocked(&self, direction: Direction) -> bool {
        self.control.as_ref().is_some_and(|control| control.queues[direction].blocks())
    }

    /// Returns whether anything of a direction is held, or waits behind what was held.
    pub(super) fn holds(&self, direction: Direction) -> bool {
        self.control.as_ref().is_some_and(|control| !control.queues[direction].is_empty())
    }

    /// Handles a packet that waited, as if it had just come.
    pub(super) fn on_released(&mut self, waiting: Waiting) {
        let Waiting { mut packet, role, hold, .. } = waiting;
        self.before_change(role);
        let now = self.now();
        let recorder = &mut self.delivery.recorder;
        recorder.renumber(&mut packet);
        packet.set_at(now);
        if Arc::ptr_eq(&packet.context().protocol, &recorder.context.protocol) {
            packet.set_context(Arc::clone(&recorder.context));
        }
        if let Some(hold) = hold {
            let (verdict, how) = hold.decision.unwrap_or((Verdict::Pass, Release::Ended));
            self.delivery.decision = Some((verdict, held_for(hold.since, now, how)));
            self.report(Report::Released { held: hold.number, how });
        }
        match packet.content() {
            Content::Frame(_) => self.on_packet(packet, role),
            Content::Raw(..) => self.on_raw_packet(packet),
        }
        self.delivery.decision = None;
    }

    /// Forwards everything that is held in a direction, in order.
    pub(super) fn forward_all(&mut self, direction: Direction, how: Release) {
        let now = self.now();
        let Some(control) = &mut self.control else { return };
        let queue = &mut control.queues[direction];
        queue.decide_all(how);
        pace(queue, direction, now);
    }

    /// Decides on a held packet.
    pub(super) fn decide(&mut self, direction: Direction, held: u64, verdict: Verdict) {
        let how = match verdict {
            Verdict::Pass => Release::Forwarded,
            Verdict::Drop => Release::Dropped,
            Verdict::Replace(_) => Release::Edited,
        };
        let now = self.now();
        let Some(control) = &mut self.control else { return };
        let queue = &mut control.queues[direction];
        queue.decide(held, verdict, how);
        pace(queue, direction, now);
    }

    /// Holds nothing any more: what is held goes on, in order.
    pub(super) fn stop_holding(&mut self) {
        let Some(control) = &mut self.control else { return };
        control.breakpoint = None;
        control.repeats.clear();
        for direction in Direction::ALL {
            if self.ends[Side::from(direction).other()].lost {
                continue;
            }
            self.forward_all(direction, Release::Ended);
            if let Some(control) = &mut self.control {
                control.queues[direction].hurry();
            }
        }
        self.pump();
    }

    /// Holds nothing any more, since the session ends: what is held goes on, or is recorded as
    /// dropped if its receiver is lost.
    pub(super) fn let_go(&mut self) {
        if !Direction::ALL.into_iter().any(|direction| self.holds(direction)) {
            return;
        }
        self.stop_holding();
        // Packets may still wait for those that rules delay.
        if !self.is_over() && Direction::ALL.into_iter().any(|direction| self.holds(direction)) {
            self.release(true);
            self.pump();
        }
        self.discard_held();
    }

    /// Records everything that is held as dropped.
    pub(super) fn discard_held(&mut self) {
        let now = self.now();
        let Some(control) = &mut self.control else { return };
        let all: Vec<_> = Direction::ALL.map(|it| control.queues[it].take_all()).into();
        for Waiting { mut packet, hold, .. } in all.into_iter().flatten() {
            self.delivery.recorder.renumber(&mut packet);
            packet.set_at(now);
            let mut comment = WAITED.to_owned();
            if let Some(hold) = hold {
                comment = held_for(hold.since, now, Release::Lost);
                self.report(Report::Released { held: hold.number, how: Release::Lost });
            }
            self.swallow(packet, &comment);
        }
    }

    /// Returns when something that is held or repeated is due.
    pub(super) fn hold_timer(&self, control: &Control) -> Option<Timestamp> {
        let due = |direction| {
            let next = control.queues[direction].next().filter(|_| self.takes_units(direction));
            next.into_iter().chain(deadline(control, direction)).min()
        };
        Direction::ALL.into_iter().filter_map(due).min()
    }

    /// Releases what the peers would not wait for any longer.
    pub(super) fn end_of_holds(&mut self) {
        for direction in Direction::ALL {
            let due = self.control.as_ref().and_then(|control| deadline(control, direction));
            if due.is_some_and(|due| due <= self.now()) {
                self.forward_all(direction, Release::Impatience);
            }
        }
    }

    pub(super) fn report(&mut self, report: Report) {
        if let Some(control) = &mut self.control {
            control.reports.push_back(report);
        }
    }

    /// Returns whether a packet with that role can be held at all.
    fn may_be_held(&self, role: Option<Role>) -> bool {
        let exchange = matches!(role, Some(Role::EncryptionRequest | Role::EncryptionResponse));
        matches!(self.phase, Phase::Frames) && !exchange
    }

    /// Returns why later packets must not overtake a packet, if they must not.
    fn must_keep_order(&self, packet: &Packet, open: bool) -> Option<&'static str> {
        if !open {
            return Some("it waits behind a packet that is held");
        }
        if !keeps_alive(packet.state()) {
            return Some("later packets wait: a login has an order");
        }
        self.delivery.guard.keeps_order(&self.delivery.recorder, packet)
    }

    /// Begins to hold a packet, and says so.
    fn hold(&mut self, packet: &Packet, in_order: Option<&'static str>) -> Option<Hold> {
        let control = self.control.as_mut()?;
        control.held += 1;
        let (number, since) = (control.held, packet.at());
        let packet = packet.clone();
        control.reports.push_back(Report::Held { held: number, packet, since, in_order });
        Some(Hold { number, since, decision: None })
    }

    fn push(&mut self, waiting: Waiting) {
        let direction = waiting.packet.direction();
        // It gets a number when it goes.
        self.delivery.recorder.take_number(&waiting.packet);
        if let Some(control) = &mut self.control {
            control.queues[direction].push(waiting);
        }
        self.release_when_full(direction);
    }

    fn release_when_full(&mut self, direction: Direction) {
        let full = self.control.as_ref().is_some_and(|it| it.queues[direction].is_full());
        if full {
            self.forward_all(direction, Release::Memory);
        }
    }

    /// Forwards the packets that others have overtaken before the state that they belong to ends.
    fn before_change(&mut self, role: Option<Role>) {
        if !role.is_some_and(Role::changes_state) {
            return;
        }
        for direction in Direction::ALL {
            let Some(control) = &mut self.control else { return };
            control.queues[direction].decide_aside(Release::StateChange);
            while let Some(waiting) =
                self.control.as_mut().and_then(|it| it.queues[direction].pop_aside())
            {
                self.on_released(waiting);
            }
        }
    }

    /// Handles a keep-alive, which overtakes what is held.
    fn on_keep_alive(&mut self, packet: Packet) {
        let direction = packet.direction();
        let number = packet.value().ok().and_then(|it| it.get("keepAliveId")?.as_int());
        let Some(control) = &mut self.control else { return };
        let answered = control.answered.iter().position(|it| Some(*it) == number);
        if let Some(place) = answered.filter(|_| direction == Direction::Serverbound) {
            control.answered.remove(place);
            return self.swallow(packet, "answers the proxy, which has answered the server");
        }
        let bundled = direction == Direction::Clientbound && self.delivery.guard.is_bundled();
        let waits = !control.queues[direction].is_open();
        let state = self.delivery.recorder.states[direction];
        if !waits || packet.state() == state && !bundled {
            return self.on_packet(packet, Some(Role::KeepAlive));
        }
        match number {
            Some(number) => self.answer_keep_alive(packet, number),
            None => self.push(Waiting::new(packet, Some(Role::KeepAlive), None)),
        }
    }

    /// Answers a keep-alive in the place of the peer that it cannot reach, and drops it. A client is
    /// asked by the proxy instead, so that it has something to read.
    fn answer_keep_alive(&mut self, packet: Packet, number: i64) {
        let direction = packet.direction();
        self.swallow(packet, "cannot overtake what is held: the proxy answers it");
        self.send_keep_alive(Direction::Serverbound, number);
        if direction == Direction::Serverbound {
            return;
        }
        self.send_keep_alive(Direction::Clientbound, number);
        if let Some(control) = &mut self.control {
            control.answered.truncate(MAX_ANSWERED - 1);
            control.answered.push_front(number);
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

/// Sets the pace of a backlog: a server ends a session whose client sends too much at once.
fn pace(queue: &mut HoldQueue, direction: Direction, now: Timestamp) {
    if direction == Direction::Serverbound {
        queue.set_pace(now);
    }
}

/// Returns when everything held in a direction is to be forwarded, because no keep-alive can be read
/// behind it.
fn deadline(control: &Control, direction: Direction) -> Option<Timestamp> {
    let queue = &control.queues[direction];
    let (since, state) = queue.held_since()?;
    if keeps_alive(state) {
        return queue.blocks().then(|| since.plus(PATIENCE));
    }
    Some(control.login.unwrap_or(since).plus(PATIENCE))
}

fn keeps_alive(state: State) -> bool {
    matches!(state, State::Play | State::Configuration)
}

fn held_for(since: Timestamp, now: Timestamp, how: Release) -> String {
    format!("held for {:.1} s, {}", now.since(since).as_secs_f64(), how.words())
}

/// Time that a server waits for a login, and each peer for a keep-alive, less a reserve.
const PATIENCE: Duration = Duration::from_secs(25);

/// Keep-alives of the proxy's own that a client may leave unanswered.
const MAX_ANSWERED: usize = 64;

/// The comment on a packet that waited behind a held one in vain.
const WAITED: &str = "waited behind a held packet when the session ended";
