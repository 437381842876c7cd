use std::collections::VecDeque;
use std::time::Duration;

use bytes::Bytes;

use crate::filter::{Effects, Verdict};
use crate::link::{
    Asking, Breakpoint, Decided, Decider, Guard, Hold, HoldQueue, Otherwise, Question, Recorder,
    Release, Report, Ruling, Unruled, Waiting,
};
use mitmcraft_protocol::codec::MemoryBudget;
use mitmcraft_protocol::packet::{Packet, Timestamp};
use mitmcraft_protocol::schema::{Direction, PerDirection, Role, State};

/// The packets that people hold in a session, or on which a program decides, those that wait behind them, and
/// those that people send.
///
/// Packets wait before any rule sees them, and then take the ordinary path, with the number and the
/// time that they would have if they had just come: captures have packets in the order in which the
/// other peer received them.
#[derive(Debug)]
pub(super) struct Control {
    pub(super) engaged: bool,
    pub(super) breakpoint: Option<Breakpoint>,
    pub(super) asking: Option<Asking>,
    queues: PerDirection<HoldQueue>,
    pub(super) repeats: Vec<Repeat>,
    /// Numbers of the server's keep-alives that the proxy has answered. The client's answer to the
    /// proxy's own has the same number.
    answered: VecDeque<i64>,
    /// The time of the first packet of the login.
    login: Option<Timestamp>,
    pub(super) reports: VecDeque<Report>,
    pub(super) questions: VecDeque<Question>,
    /// The number of the packet that was held last.
    held: u64,
    /// The number of the last question.
    asked: u64,
}

/// A packet that is still to be sent a number of times.
#[derive(Debug)]
pub(super) struct Repeat {
    /// The number of the command that asked for it.
    pub(super) command: u64,
    pub(super) direction: Direction,
    /// The state that its id belongs to.
    pub(super) state: State,
    pub(super) body: Bytes,
    pub(super) comment: String,
    pub(super) left: u32,
    pub(super) interval: Duration,
    pub(super) next: Timestamp,
    /// The time of the last report about it.
    pub(super) reported: Timestamp,
}

/// What becomes of a packet that has come.
#[derive(Debug)]
pub(super) enum Admission {
    /// It goes on now.
    Goes(Packet),
    /// It waits.
    Waits,
    /// The proxy answers it: a keep-alive with this number, which cannot overtake what is held.
    Unreachable(Packet, i64),
    /// It goes nowhere: it answers a keep-alive of the proxy's own.
    AnswersProxy(Packet),
}

impl Control {
    pub(super) fn new(budget: &MemoryBudget, asking: Option<Asking>) -> Self {
        Self {
            engaged: asking.is_some(),
            breakpoint: None,
            asking,
            queues: PerDirection::from_fn(|_| HoldQueue::new(budget)),
            repeats: Vec::new(),
            answered: VecDeque::new(),
            login: None,
            reports: VecDeque::new(),
            questions: VecDeque::new(),
            held: 0,
            asked: 0,
        }
    }

    /// Decides whether a packet goes on or waits: held, or behind what is held. It can be held only if it
    /// is `holdable`.
    pub(super) fn admit(
        &mut self,
        guard: &Guard,
        recorder: &Recorder,
        packet: Packet,
        role: Option<Role>,
        holdable: bool,
    ) -> Admission {
        let early = !keeps_alive(packet.state());
        if early {
            self.login.get_or_insert_with(|| packet.at());
        }
        if role == Some(Role::KeepAlive) {
            return self.admit_keep_alive(guard, recorder, packet);
        }
        let late = early && self.login.is_some_and(|at| at.plus(PATIENCE) <= packet.at());
        let exchange = matches!(
            role,
            Some(Role::EncryptionRequest | Role::EncryptionResponse | Role::EncryptionStarted)
        );
        let holdable = holdable && !exchange;
        let asks = holdable && self.asking.as_ref().is_some_and(|it| it.condition.matches(&packet));
        let breakpoint = self
            .breakpoint
            .as_ref()
            .filter(|it| holdable && !late && it.condition.matches(&packet));
        let open = self.queues[packet.direction()].is_open();
        let (aside, hold) = match breakpoint {
            None if !asks && open => return Admission::Goes(packet),
            None => (false, None),
            Some(breakpoint) => {
                let overtaken = breakpoint.overtaken;
                let in_order = if overtaken { must_keep_order(guard, &packet, open) } else { None };
                (overtaken && in_order.is_none(), Some(self.hold(&packet, in_order)))
            }
        };
        let asked = asks.then(|| self.ask(&packet));
        let waiting = Waiting::new(packet, role, hold);
        self.push(asked.into_iter().fold(waiting, Waiting::asked), aside);
        Admission::Waits
    }

    /// Decides whether a packet that is not a frame goes on.
    pub(super) fn admit_raw(&mut self, packet: Packet) -> Admission {
        if self.queues[packet.direction()].is_open() {
            return Admission::Goes(packet);
        }
        self.wait(packet, None)
    }

    /// Removes the next packet that may go now. While rules have `delayed` others, none goes that drives
    /// the connection: how the next is read changes only when they are out.
    #[inline]
    pub(super) fn next(
        &mut self,
        direction: Direction,
        now: Timestamp,
        delayed: bool,
    ) -> Option<Waiting> {
        if !self.engaged {
            return None;
        }
        let queue = &mut self.queues[direction];
        queue.pop_aside().or_else(|| queue.pop(now, delayed))
    }

    /// Removes the packets that others have overtaken, before a packet with that role ends the state that
    /// they belong to.
    pub(super) fn overtaken_before(&mut self, role: Option<Role>) -> Vec<Waiting> {
        if !role.is_some_and(Role::changes_state) {
            return Vec::new();
        }
        let mut overtaken = Vec::new();
        for direction in Direction::ALL {
            let queue = &mut self.queues[direction];
            queue.decide_aside(Release::StateChange);
            overtaken.extend(std::iter::from_fn(|| queue.pop_aside()));
        }
        overtaken
    }

    /// Says that a person does not hold a packet any more. Returns what was decided about it.
    pub(super) fn released(&mut self, hold: Hold, now: Timestamp) -> Decided {
        let (verdict, how) = hold.decision.unwrap_or((Verdict::Pass, Release::Ended));
        self.report(Report::Released { held: hold.number, how });
        let mut effects = Effects::default();
        effects.notes.remark(held_for(hold.since, now, how));
        Decided { by: Decider::Person, verdict, effects }
    }

    /// Takes the answer to a question, or the reason why there is none.
    pub(super) fn answer(&mut self, number: u64, ruling: Result<Ruling, Unruled>) {
        // Its packet waits in one of them, if it still does.
        if let Some(ruling) = self.queues.serverbound.answer(number, ruling) {
            self.queues.clientbound.answer(number, ruling);
        }
    }

    /// Forwards everything that is held in a direction, in order.
    pub(super) fn forward_all(&mut self, direction: Direction, how: Release, now: Timestamp) {
        let queue = &mut self.queues[direction];
        if queue.decide_all(how) {
            pace(queue, direction, now);
        }
    }

    /// Decides on a held packet.
    pub(super) fn decide(
        &mut self,
        direction: Direction,
        held: u64,
        verdict: Verdict,
        now: Timestamp,
    ) {
        let how = match verdict {
            Verdict::Pass => Release::Forwarded,
            Verdict::Drop => Release::Dropped,
            Verdict::Replace(_) => Release::Edited,
        };
        let queue = &mut self.queues[direction];
        queue.decide(held, verdict, how);
        pace(queue, direction, now);
    }

    /// Forwards what the peers would not wait for any longer.
    pub(super) fn forward_overdue(&mut self, now: Timestamp) {
        for direction in Direction::ALL {
            if self.deadline(direction).is_some_and(|due| due <= now) {
                self.forward_all(direction, Release::Impatience, now);
            }
        }
    }

    /// Holds and repeats nothing any more, since the session ends: what is held goes on, in order, unless
    /// its receiver is `lost`. Returns whether anything goes on that would not have.
    pub(super) fn let_go(&mut self, lost: impl Fn(Direction) -> bool) -> bool {
        self.breakpoint = None;
        self.stop_repeats(None);
        let mut any = false;
        for direction in Direction::ALL {
            let queue = &mut self.queues[direction];
            any |= !lost(direction)
                && queue.decide_all(Release::Ended)
                    | queue.answer_all(&Unruled::Ended)
                    | queue.hurry();
        }
        any
    }

    /// Repeats nothing any more that a command asked for, or nothing at all.
    pub(super) fn stop_repeats(&mut self, command: Option<u64>) {
        let stops = |it: &mut Repeat| command.is_none_or(|one| one == it.command);
        for it in self.repeats.extract_if(.., stops) {
            let Repeat { command, left, .. } = it;
            self.reports.push_back(Report::Repeating { command, left, over: true });
        }
    }

    /// Removes everything that waits, which goes nowhere, with the comments that say so.
    pub(super) fn discard(&mut self, now: Timestamp) -> Vec<(Packet, String)> {
        let all: Vec<_> = Direction::ALL.map(|it| self.queues[it].take_all()).into();
        let mut discarded = Vec::new();
        for Waiting { packet, hold, asked, .. } in all.into_iter().flatten() {
            let comment = match hold {
                None if asked.is_some() => ASKED.to_owned(),
                Some(hold) => {
                    self.report(Report::Released { held: hold.number, how: Release::Lost });
                    held_for(hold.since, now, Release::Lost)
                }
                None => WAITED.to_owned(),
            };
            discarded.push((packet, comment));
        }
        discarded
    }

    /// Notes that the proxy has sent the client a keep-alive with that number.
    pub(super) fn expect_answer(&mut self, number: i64) {
        self.answered.truncate(MAX_ANSWERED - 1);
        self.answered.push_front(number);
    }

    pub(super) fn report(&mut self, report: Report) {
        self.reports.push_back(report);
    }

    /// Returns what becomes of a packet on which the program does not decide.
    pub(super) fn otherwise(&self) -> Otherwise {
        self.asking.as_ref().map_or(Otherwise::Pass, |asking| asking.otherwise)
    }

    /// Returns whether packets of a direction can be forwarded where they lie: nothing is held or waits, and
    /// nobody but a program may hold any.
    pub(super) fn lets_run(&self, direction: Direction) -> bool {
        self.breakpoint.is_none() && self.answered.is_empty() && !self.holds(direction)
    }

    /// Returns the held packet with that number, if it has not gone yet.
    pub(super) fn held(&self, number: u64) -> Option<&Waiting> {
        self.queues.values().find_map(|queue| queue.held(number))
    }

    /// Returns the state in which the next packet is to be read, if waiting packets change it.
    pub(super) fn state(&self, direction: Direction) -> Option<State> {
        self.queues[direction].state()
    }

    /// Returns whether the next packet is not to be read before a waiting one is out: it cannot be, or enough
    /// waits.
    pub(super) fn blocks(&self, direction: Direction) -> bool {
        let queue = &self.queues[direction];
        queue.blocks() || queue.is_sated()
    }

    /// Returns whether anything of a direction is held, or waits behind what was held.
    pub(super) fn holds(&self, direction: Direction) -> bool {
        !self.queues[direction].is_empty()
    }

    /// Returns whether anything is held, or waits behind what was held.
    pub(super) fn holds_any(&self) -> bool {
        self.queues.values().any(|queue| !queue.is_empty())
    }

    /// Returns when something is to go on or to be sent again; nothing goes in a direction that does not
    /// `flow`.
    pub(super) fn timer(&self, flows: impl Fn(Direction) -> bool) -> Option<Timestamp> {
        let repeats = self.repeats.iter().map(|it| it.next);
        let queues = Direction::ALL.into_iter().flat_map(|direction| {
            let next = self.queues[direction].next().filter(|_| flows(direction));
            next.into_iter().chain(self.deadline(direction))
        });
        repeats.chain(queues).min()
    }

    /// Decides what becomes of a keep-alive, which overtakes what is held.
    fn admit_keep_alive(
        &mut self,
        guard: &Guard,
        recorder: &Recorder,
        packet: Packet,
    ) -> Admission {
        let direction = packet.direction();
        let number = packet.value().ok().and_then(|it| it.get("keepAliveId")?.as_int());
        let answered = self.answered.iter().position(|it| Some(*it) == number);
        if let Some(place) = answered.filter(|_| direction == Direction::Serverbound) {
            self.answered.remove(place);
            return Admission::AnswersProxy(packet);
        }
        let bundled = direction == Direction::Clientbound && guard.bundled;
        let readable = packet.state() == recorder.states[direction] && !bundled;
        if readable || self.queues[direction].is_open() {
            return Admission::Goes(packet);
        }
        match number {
            Some(number) => Admission::Unreachable(packet, number),
            None => self.wait(packet, Some(Role::KeepAlive)),
        }
    }

    /// Begins to hold a packet, and says so.
    fn hold(&mut self, packet: &Packet, in_order: Option<&'static str>) -> Hold {
        self.held += 1;
        let (number, since) = (self.held, packet.at());
        let packet = packet.clone();
        self.report(Report::Held { held: number, packet, since, in_order });
        Hold { number, since, decision: None }
    }

    /// Asks the program about a packet. Returns the number of the question.
    fn ask(&mut self, packet: &Packet) -> u64 {
        self.asked += 1;
        self.questions.push_back(Question { number: self.asked, packet: packet.clone() });
        self.asked
    }

    fn wait(&mut self, packet: Packet, role: Option<Role>) -> Admission {
        self.push(Waiting::new(packet, role, None), false);
        Admission::Waits
    }

    /// Queues a packet. Everything that people hold is forwarded if the queue is full then. What waits for a
    /// program is not: its client is read no further.
    fn push(&mut self, waiting: Waiting, aside: bool) {
        let (direction, now) = (waiting.packet.direction(), waiting.packet.at());
        let queue = &mut self.queues[direction];
        if aside {
            queue.push_aside(waiting);
        } else {
            queue.push(waiting);
        }
        if queue.is_full() {
            self.forward_all(direction, Release::Memory, now);
        }
    }

    /// Returns when everything held in a direction is to be forwarded, because no keep-alive can be read
    /// behind it.
    fn deadline(&self, direction: Direction) -> Option<Timestamp> {
        let queue = &self.queues[direction];
        let (since, state) = queue.held_since()?;
        if keeps_alive(state) {
            return self.blocks(direction).then(|| since.plus(PATIENCE));
        }
        Some(self.login.unwrap_or(since).plus(PATIENCE))
    }
}

/// Returns why later packets must not overtake a packet, if they must not; the queue is `open` if it would
/// be the first that waits.
fn must_keep_order(guard: &Guard, packet: &Packet, open: bool) -> Option<&'static str> {
    if !open {
        return Some("it waits behind a packet that is held");
    }
    if !keeps_alive(packet.state()) {
        return Some("later packets wait: a login has an order");
    }
    guard.keeps_order(packet)
}

/// Sets the pace of a backlog: a server ends a session whose client sends too much at once.
fn pace(queue: &mut HoldQueue, direction: Direction, now: Timestamp) {
    if direction == Direction::Serverbound {
        queue.set_pace(now);
    }
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

/// The comment on a packet for whose receiver the session ended before a program had decided.
const ASKED: &str = "not decided by `pipe`: the session ended";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lang::Expr;
    use mitmcraft_protocol::codec::Frame;
    use mitmcraft_protocol::packet::{Content, Context};
    use mitmcraft_protocol::schema::{Catalog, Value};

    use Direction::{Clientbound, Serverbound};

    /// A controlled session in the game, without the session.
    struct Table {
        control: Control,
        guard: Guard,
        recorder: Recorder,
    }

    impl Table {
        fn holding(condition: &str, overtaken: bool) -> Self {
            let protocol = Catalog::embedded().find(47).unwrap().protocol;
            let context = Context::new(1, Timestamp(0), ([127, 0, 0, 1], 1).into(), protocol);
            let mut recorder = Recorder::new(context);
            recorder.enter(State::Play);
            let mut control = Control::new(&MemoryBudget::default(), None);
            control.engaged = true;
            let (condition, _) = Expr::parse(condition, Catalog::embedded()).unwrap();
            control.breakpoint = Some(Breakpoint { condition, overtaken });
            Self { control, guard: Guard::default(), recorder }
        }

        fn now(&self) -> Timestamp {
            self.recorder.now
        }

        fn admit(&mut self, direction: Direction, name: &str, value: &Value) -> Admission {
            let protocol = &self.recorder.context.protocol;
            let kind = protocol.named(self.recorder.states[direction], direction, name).unwrap();
            let (role, body) = (kind.role(), protocol.encode(kind, value).unwrap());
            let content = Content::Frame(Frame::from_body(body.into()));
            let packet = self.recorder.unnumbered(direction, content);
            self.control.admit(&self.guard, &self.recorder, packet, role, true)
        }

        fn says(&mut self, text: &str) -> Admission {
            self.admit(Serverbound, "chat", &Value::map([("message", text.into())]))
        }

        /// What goes on now.
        fn next(&mut self) -> Option<String> {
            let waiting = self.control.next(Serverbound, self.recorder.now, false)?;
            let value = waiting.packet.value().unwrap();
            Some(value.get("message").unwrap().as_text().unwrap().to_owned())
        }
    }

    #[test]
    fn a_packet_goes_on_unless_one_before_it_is_held() {
        let mut table = Table::holding("chat and message == \"a\"", false);
        assert!(matches!(table.says("b"), Admission::Goes(_)));
        assert!(matches!(table.says("a"), Admission::Waits));
        assert!(matches!(table.says("b"), Admission::Waits));
        assert!(table.control.holds(Serverbound) && !table.control.holds(Clientbound));
        assert_eq!(table.next(), None);
        table.control.decide(Serverbound, 1, Verdict::Pass, table.now());
        assert_eq!((table.next(), table.next()), (Some("a".into()), Some("b".into())));
        assert!(!table.control.holds_any());
    }

    #[test]
    fn what_is_overtaken_goes_before_the_state_changes() {
        let mut table = Table::holding("chat and message == \"a\"", true);
        assert!(matches!(table.says("a"), Admission::Waits));
        assert!(matches!(table.says("b"), Admission::Goes(_)));
        assert!(table.control.overtaken_before(Some(Role::Chat)).is_empty());
        let mut gone = table.control.overtaken_before(Some(Role::StartConfiguration));
        let decided = table.control.released(gone.remove(0).hold.unwrap(), table.now());
        assert_eq!(decided.verdict, Verdict::Pass);
        let comments = decided.effects.notes.comments;
        assert_eq!(comments, ["held for 0.0 s, then forwarded: the state changed"]);
    }

    #[test]
    fn keep_alives_overtake_what_is_held_and_nothing_is_held_in_vain() {
        let mut table = Table::holding("chat", false);
        assert!(matches!(table.says("a"), Admission::Waits));
        let number = Value::map([("keepAliveId", Value::Int(7))]);
        let keep_alive = table.admit(Serverbound, "keep_alive", &number);
        assert!(matches!(keep_alive, Admission::Goes(_)));
        table.control.expect_answer(7);
        let answer = table.admit(Serverbound, "keep_alive", &number);
        assert!(matches!(answer, Admission::AnswersProxy(_)));
        let again = table.admit(Serverbound, "keep_alive", &number);
        assert!(matches!(again, Admission::Goes(_)));
        // Nobody waits for a peer that cannot get it.
        let now = table.now();
        assert!(!table.control.let_go(|direction| direction == Serverbound));
        assert_eq!(table.next(), None);
        let discarded = table.control.discard(now);
        assert_eq!(discarded[0].1, "held for 0.0 s, then dropped: the session ended");
    }

    #[test]
    fn a_login_is_held_for_25_seconds_from_its_first_packet() {
        let mut table = Table::holding("login_start", false);
        table.recorder.enter(State::Login);
        let name = Value::map([("username", "Steve".into())]);
        assert!(matches!(table.admit(Serverbound, "login_start", &name), Admission::Waits));
        let due = table.control.timer(|_| true).unwrap();
        assert_eq!(due, table.now().plus(PATIENCE));
        table.control.forward_overdue(Timestamp(due.0 - 1));
        assert!(table.control.next(Serverbound, due, false).is_none());
        table.control.forward_overdue(due);
        assert!(table.control.next(Serverbound, due, false).is_some());
        table.recorder.now = due;
        assert!(matches!(table.admit(Serverbound, "login_start", &name), Admission::Goes(_)));
    }

    #[test]
    fn everything_goes_on_when_memory_is_full() {
        let mut table = Table::holding("chat and message == \"a\"", false);
        table.control.queues = PerDirection::from_fn(|_| HoldQueue::new(&MemoryBudget::new(1)));
        assert!(matches!(table.says("a"), Admission::Waits));
        for _ in 0..1000 {
            let large = "b".repeat(100);
            assert!(matches!(table.says(&large), Admission::Waits));
        }
        assert_eq!(table.next(), Some("a".into()));
        let released = std::iter::from_fn(|| table.control.reports.pop_front()).count();
        assert_eq!(released, 1, "only that it is held: nobody has sent it on");
    }
}
