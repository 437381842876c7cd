use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use super::{Release, Ruling, Unruled};
use crate::filter::Verdict;
use mitmcraft_protocol::codec::{MemoryBudget, Reservation};
use mitmcraft_protocol::packet::{Packet, Timestamp};
use mitmcraft_protocol::schema::{Role, State};

/// The packets of one direction that wait because a person holds one of them, or a program decides on one
/// of them, in the order in which they came. None of them has been judged by a rule.
///
/// ```text
///            front                                    back
///   peer <── held (decided: goes) ── waits ── held ── waits <── peer
///                                             │
///             aside: held, overtaken ─────────┘ stops here
/// ```
///
/// Every operation takes a constant or logarithmic time, whatever waits: packets are found by their numbers.
///
/// The queue accepts everything. While it [`is_sated`](Self::is_sated), its owner reads no more packets. If a
/// person holds one and the queue [`is_full`](Self::is_full), its owner releases what is held.
#[derive(Debug, Default)]
pub(crate) struct HoldQueue {
    /// The packets in order; the first has the place `first`.
    waiting: VecDeque<Waiting>,
    first: usize,
    /// Held packets that later ones overtake, by their numbers.
    aside: BTreeMap<u64, Waiting>,
    /// Numbers of those in `aside` that may go.
    ready: BTreeSet<u64>,
    /// The places in `waiting` of held packets, by their numbers.
    held: BTreeMap<u64, usize>,
    /// Numbers of held packets that nobody has decided on.
    undecided: Undecided,
    /// The packets on which a program has not decided, by the numbers of the questions.
    questions: BTreeMap<u64, Place>,
    /// Packets in `waiting` with a question, answered or not.
    asked: usize,
    /// Bytes in `waiting` and `aside`.
    size: usize,
    /// The memory of both.
    reservation: Reservation,
    /// When the next packet may go, while a long backlog is released slowly.
    pace: Option<Timestamp>,
    /// The state in which the next packet is to be read, if waiting packets change it.
    state: Option<State>,
    /// Waiting packets that change how the next is read in another way.
    blocking: usize,
}

/// The held packets that are undecided, by their numbers.
#[derive(Debug, Default)]
struct Undecided {
    waiting: BTreeSet<u64>,
    aside: BTreeSet<u64>,
}

/// A place in a [`HoldQueue`].
#[derive(Debug, Clone, Copy)]
enum Place {
    /// In `waiting`, counted from the first packet that ever waited.
    Waiting(usize),
    /// In `aside`, by the number of the held packet.
    Aside(u64),
}

/// A packet in a [`HoldQueue`].
#[derive(Debug)]
pub(crate) struct Waiting {
    pub(crate) packet: Packet,
    pub(crate) role: Option<Role>,
    /// `None` if the packet only waits behind a held one.
    pub(crate) hold: Option<Hold>,
    /// `None` if no program decides on it.
    pub(crate) asked: Option<Asked>,
    /// Bytes in memory when it came, and those of the program's answer.
    memory: usize,
}

/// What makes a packet a held one.
#[derive(Debug)]
pub(crate) struct Hold {
    pub(crate) number: u64,
    pub(crate) since: Timestamp,
    /// The decision about the held packet, once it is made. [`Verdict::Pass`] leaves it to the rules.
    pub(crate) decision: Option<(Verdict, Release)>,
}

/// The question to a program what becomes of a packet.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) number: u64,
    /// The answer, or why there is none, once that is known.
    pub(crate) ruling: Option<Result<Ruling, Unruled>>,
}

impl Waiting {
    pub(crate) fn new(packet: Packet, role: Option<Role>, hold: Option<Hold>) -> Self {
        let listed = if hold.is_some() { LISTED } else { 0 };
        let memory = packet.memory() + size_of::<Self>() + INDEXED + listed;
        Self { packet, role, hold, asked: None, memory }
    }

    /// Makes it wait for the answer to the question with that number, too.
    pub(crate) fn asked(self, number: u64) -> Self {
        Self { asked: Some(Asked { number, ruling: None }), ..self }
    }

    /// Returns whether a person holds it, and has not decided.
    fn is_held(&self) -> bool {
        look();
        self.hold.as_ref().is_some_and(|hold| hold.decision.is_none())
    }

    /// Returns whether a program has not answered yet.
    fn is_asked(&self) -> bool {
        look();
        self.asked.as_ref().is_some_and(|asked| asked.ruling.is_none())
    }

    fn is_undecided(&self) -> bool {
        self.is_held() || self.is_asked()
    }

    fn is_dropped(&self) -> bool {
        let decision = self.hold.as_ref().and_then(|hold| hold.decision.as_ref());
        matches!(decision, Some((Verdict::Drop, _)))
    }

    /// Returns whether packets behind it can be read only once it is out.
    fn blocks(&self) -> bool {
        self.role.is_some_and(|role| role.drives() && role.next_state().is_none())
    }
}

impl HoldQueue {
    pub(crate) fn new(budget: &MemoryBudget) -> Self {
        Self { reservation: budget.reservation(), ..Self::default() }
    }

    /// Appends a packet, behind which all later ones wait.
    pub(crate) fn push(&mut self, waiting: Waiting) {
        self.blocking += usize::from(waiting.blocks());
        self.state = waiting.role.and_then(Role::next_state).or(self.state);
        let place = self.first + self.waiting.len();
        if let Some(hold) = &waiting.hold {
            self.held.insert(hold.number, place);
            self.undecided.waiting.insert(hold.number);
        }
        self.asked += usize::from(waiting.asked.is_some());
        self.on_added(&waiting, Place::Waiting(place));
        self.waiting.push_back(waiting);
    }

    /// Adds a held packet that later ones overtake.
    pub(crate) fn push_aside(&mut self, waiting: Waiting) {
        let Some(number) = waiting.hold.as_ref().map(|hold| hold.number) else {
            return self.push(waiting);
        };
        self.undecided.aside.insert(number);
        self.on_added(&waiting, Place::Aside(number));
        self.aside.insert(number, waiting);
    }

    /// Removes the first packet if it may go at `now`. While others are `delayed`, none goes that
    /// drives the connection.
    pub(crate) fn pop(&mut self, now: Timestamp, delayed: bool) -> Option<Waiting> {
        let front = self.waiting.front()?;
        if delayed && front.role.is_some_and(Role::drives) {
            return None;
        }
        if front.is_held() {
            self.pace = None;
        }
        if front.is_undecided() {
            return None;
        }
        // What is dropped takes none of the receiver's time.
        if let Some(pace) = &mut self.pace
            && !front.is_dropped()
        {
            if *pace > now {
                return None;
            }
            *pace = pace.plus(PACE);
        }
        let waiting = self.waiting.pop_front()?;
        self.first += 1;
        self.asked -= usize::from(waiting.asked.is_some());
        if let Some(hold) = &waiting.hold {
            self.held.remove(&hold.number);
        }
        self.on_removed(&waiting);
        if self.waiting.is_empty() {
            (self.pace, self.state) = (None, None);
        }
        Some(waiting)
    }

    /// Removes a packet that was overtaken and is decided now.
    pub(crate) fn pop_aside(&mut self) -> Option<Waiting> {
        let number = self.ready.pop_first()?;
        let waiting = self.aside.remove(&number)?;
        self.on_removed(&waiting);
        Some(waiting)
    }

    /// Removes everything, whether it is decided or not.
    pub(crate) fn take_all(&mut self) -> Vec<Waiting> {
        let Self { waiting, aside, reservation, .. } = std::mem::take(self);
        self.reservation = reservation;
        self.resize(0);
        aside.into_values().chain(waiting).collect()
    }

    /// Decides every held packet that is undecided. Returns whether there was one.
    pub(crate) fn decide_all(&mut self, how: Release) -> bool {
        let numbers = std::mem::take(&mut self.undecided.waiting);
        let any = !(numbers.is_empty() && self.undecided.aside.is_empty());
        self.decide_aside(how);
        for number in numbers {
            self.decide(number, Verdict::Pass, how);
        }
        any
    }

    /// Gives every question that is not answered this reason. Returns whether there was one.
    pub(crate) fn answer_all(&mut self, reason: &Unruled) -> bool {
        let numbers: Vec<_> = self.questions.keys().copied().collect();
        for number in &numbers {
            self.answer(*number, Err(reason.clone()));
        }
        !numbers.is_empty()
    }

    /// Answers the question with that number, if its packet waits here and has no answer yet. Returns the
    /// ruling otherwise.
    pub(crate) fn answer(
        &mut self,
        number: u64,
        ruling: Result<Ruling, Unruled>,
    ) -> Option<Result<Ruling, Unruled>> {
        let place = self.questions.remove(&number);
        let Some((place, waiting)) = place.and_then(|place| Some((place, self.at(place)?))) else {
            return Some(ruling);
        };
        let size = ruling.as_ref().map_or(0, |ruling| ruling.size);
        waiting.asked = Some(Asked { number, ruling: Some(ruling) });
        waiting.memory += size;
        self.resize(self.size + size);
        self.on_settled(place);
        None
    }

    /// Decides the packets that were overtaken.
    pub(crate) fn decide_aside(&mut self, how: Release) {
        for number in std::mem::take(&mut self.undecided.aside) {
            self.decide(number, Verdict::Pass, how);
        }
    }

    /// Returns the held packet with that number, if it has not gone yet.
    pub(crate) fn held(&self, number: u64) -> Option<&Waiting> {
        let waits = || self.waiting.get(self.held.get(&number)? - self.first);
        self.aside.get(&number).or_else(waits)
    }

    /// Decides on the held packet with that number, if it has not gone yet. The last decision counts.
    pub(crate) fn decide(&mut self, number: u64, verdict: Verdict, how: Release) {
        let place = self.held.get(&number).map_or(Place::Aside(number), |it| Place::Waiting(*it));
        if let Some(hold) = self.at(place).and_then(|waiting| waiting.hold.as_mut()) {
            hold.decision = Some((verdict, how));
            self.undecided.waiting.remove(&number);
            self.undecided.aside.remove(&number);
            self.on_settled(place);
        }
    }

    /// Releases no more than [`RATE`] packets per second if a long backlog waits.
    pub(crate) fn set_pace(&mut self, now: Timestamp) {
        if self.waiting.len() > RATE && self.pace.is_none() {
            self.pace = Some(now);
        }
    }

    /// Releases everything that is decided at once. Returns whether it would have been released slowly.
    pub(crate) fn hurry(&mut self) -> bool {
        self.pace.take().is_some()
    }

    /// Returns when the next packet may go, if it waits for its time only.
    pub(crate) fn next(&self) -> Option<Timestamp> {
        self.pace.filter(|_| self.waiting.front().is_some_and(|front| !front.is_undecided()))
    }

    /// Returns the time since which a person holds a packet, and the packet's state.
    pub(crate) fn held_since(&self) -> Option<(Timestamp, State)> {
        let held = self.held(*self.undecided.waiting.first()?)?;
        Some((held.hold.as_ref()?.since, held.packet.state()))
    }

    /// Returns the state in which the next packet is to be read, if waiting packets change it.
    pub(crate) fn state(&self) -> Option<State> {
        self.state
    }

    /// Returns whether no packet can be read before a waiting one is out.
    pub(crate) fn blocks(&self) -> bool {
        self.blocking > 0
    }

    /// Returns whether nothing waits; packets that are overtaken do not count.
    pub(crate) fn is_open(&self) -> bool {
        self.waiting.is_empty()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty() && self.aside.is_empty()
    }

    /// Returns whether nothing more may wait here.
    pub(crate) fn is_full(&self) -> bool {
        self.size > MAX_WAITING || self.reservation.is_pressed()
    }

    /// Returns whether no more packets are to be read until some have gone, which they do without a person.
    pub(crate) fn is_sated(&self) -> bool {
        let asks = self.asked >= MAX_ASKED || self.asked > 0 && self.size > MAX_BEHIND;
        asks || self.is_full() && self.undecided.waiting.is_empty() && !self.waiting.is_empty()
    }

    fn at(&mut self, place: Place) -> Option<&mut Waiting> {
        look();
        match place {
            Place::Waiting(place) => self.waiting.get_mut(place - self.first),
            Place::Aside(number) => self.aside.get_mut(&number),
        }
    }

    fn on_added(&mut self, waiting: &Waiting, place: Place) {
        if let Some(asked) = &waiting.asked {
            self.questions.insert(asked.number, place);
        }
        self.resize(self.size + waiting.memory);
    }

    fn on_removed(&mut self, waiting: &Waiting) {
        self.blocking -= usize::from(waiting.blocks());
        self.resize(self.size - waiting.memory);
    }

    /// Notes that a packet may be decided and answered now.
    fn on_settled(&mut self, place: Place) {
        if let Place::Aside(number) = place
            && self.aside.get(&number).is_some_and(|waiting| !waiting.is_undecided())
        {
            self.ready.insert(number);
        }
    }

    fn resize(&mut self, size: usize) {
        self.size = size;
        self.reservation.resize(size);
    }
}

/// Packets per second of a long backlog, of which there are more than that: a server ends a session
/// that sends more than about 500.
const RATE: usize = 100;

/// The time from one packet of a long backlog to the next.
const PACE: Duration = Duration::from_millis(1000 / RATE as u64);

/// Ten minutes of a busy server.
const MAX_WAITING: usize = 64 << 20;

/// Packets of one direction on which a program decides at the same time: enough to keep it busy.
const MAX_ASKED: usize = 64;

/// Bytes that wait in one direction for a program, which has its time limit.
const MAX_BEHIND: usize = 1 << 20;

/// Memory of a waiting packet's places in the queue, about.
const INDEXED: usize = 100;

/// Memory of a held packet in the lists of interfaces, about.
const LISTED: usize = 1 << 10;

/// Counts a look at a waiting packet, for the test that bounds their number.
fn look() {
    #[cfg(test)]
    tests::LOOKS.set(tests::LOOKS.get() + 1);
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::sync::Arc;

    use super::*;
    use crate::link::RuledVerdict;
    use mitmcraft_protocol::codec::Frame;
    use mitmcraft_protocol::packet::{Content, Context};
    use mitmcraft_protocol::schema::{Catalog, Direction};

    thread_local! {
        pub(super) static LOOKS: Cell<usize> = const { Cell::new(0) };
    }

    const NOW: Timestamp = Timestamp(1_000_000_000);

    fn pass() -> Result<Ruling, Unruled> {
        Ok(Ruling { verdict: RuledVerdict::Pass, sends: Vec::new(), size: 40 })
    }

    /// Waiting packets with the numbers from 1: held, asked about, or both.
    fn packets(count: u64, held: bool, asked: bool) -> impl Iterator<Item = Waiting> {
        let protocol = Catalog::embedded().find(47).unwrap().protocol;
        let context = Context::new(1, NOW, ([127, 0, 0, 1], 1).into(), protocol);
        let content = Content::Frame(Frame::from_body(vec![1, 1, b'a'].into()));
        let to = Direction::Serverbound;
        let packet = Packet::new(Arc::new(context), 1, NOW, to, State::Play, content);
        (1..=count).map(move |number| {
            let hold = held.then_some(Hold { number, since: NOW, decision: None });
            let waiting = Waiting::new(packet.clone(), None, hold);
            if asked { waiting.asked(number) } else { waiting }
        })
    }

    /// The numbers, last first, as who answers in the worst order does.
    fn answer_each(queue: &mut HoldQueue, count: u64) {
        (1..=count).rev().for_each(|number| assert!(queue.answer(number, pass()).is_none()));
    }

    fn decide_each(queue: &mut HoldQueue, count: u64) {
        for number in (1..=count).rev() {
            assert!(queue.held(number).is_some());
            assert!(queue.held_since().is_some() || !queue.aside.is_empty());
            queue.decide(number, Verdict::Drop, Release::Dropped);
        }
    }

    fn take_each(queue: &mut HoldQueue) -> usize {
        let next = |queue: &mut HoldQueue| queue.pop_aside().or_else(|| queue.pop(NOW, false));
        std::iter::from_fn(|| next(queue)).count()
    }

    /// Counts the looks at packets for each one that waits, of everything that is done with them.
    fn looks(count: u64, aside: bool, held: bool, asked: bool) -> Vec<usize> {
        let act: [fn(&mut HoldQueue, u64); 3] = [
            |queue, count| {
                answer_each(queue, count * u64::from(!queue.questions.is_empty()));
                decide_each(queue, count * u64::from(queue.held(1).is_some()));
            },
            |queue, _| {
                queue.answer_all(&Unruled::Ended);
                queue.decide_all(Release::Ended);
            },
            |queue, _| {
                queue.decide_all(Release::Ended);
                queue.answer_all(&Unruled::Ended);
            },
        ];
        let each = act.into_iter().map(|act| {
            LOOKS.set(0);
            let mut queue = HoldQueue::new(&MemoryBudget::default());
            for waiting in packets(count, held, asked) {
                if aside {
                    queue.push_aside(waiting)
                } else {
                    queue.push(waiting)
                }
                // What is asked after every packet.
                assert!(queue.pop_aside().is_none() && queue.pop(NOW, false).is_none());
                assert!(queue.next().is_none());
                queue.is_sated();
            }
            act(&mut queue, count);
            assert_eq!(take_each(&mut queue), usize::try_from(count).unwrap());
            assert!(queue.is_empty() && queue.size == 0 && queue.asked == 0);
            LOOKS.get() / usize::try_from(count).unwrap()
        });
        each.collect()
    }

    #[test]
    fn no_packet_costs_more_because_others_wait() {
        for (aside, held, asked) in [
            (false, false, true),
            (false, true, false),
            (false, true, true),
            (true, true, false),
            (true, true, true),
        ] {
            for count in [1000, 10_000, 100_000] {
                let looks = looks(count, aside, held, asked);
                let few = looks.iter().all(|looks| *looks <= 12);
                assert!(few, "{looks:?} with {count}, {aside} {held} {asked}");
            }
        }
    }

    #[test]
    fn what_is_full_is_released_once_and_not_with_every_further_packet() {
        let mut queue = HoldQueue::new(&MemoryBudget::new(1));
        packets(10_000, true, false).for_each(|it| queue.push(it));
        assert!(queue.is_full() && !queue.is_sated(), "a person has to be asked first");
        LOOKS.set(0);
        for waiting in packets(10_000, false, false) {
            queue.push(waiting);
            queue.decide_all(Release::Memory);
        }
        assert!(LOOKS.get() <= 20_000, "{}", LOOKS.get());
        assert!(queue.is_sated());
    }

    #[test]
    fn what_waits_for_a_program_is_bounded_in_packets_and_bytes() {
        let mut queue = HoldQueue::new(&MemoryBudget::default());
        for waiting in packets(64, false, true) {
            assert!(!queue.is_sated());
            queue.push(waiting);
        }
        assert!(queue.is_sated());
        answer_each(&mut queue, 64);
        assert!(queue.is_sated(), "answers take memory, too");
        assert!(queue.pop(NOW, false).is_some() && !queue.is_sated());
        assert_eq!((take_each(&mut queue), queue.is_sated()), (63, false));
        // A long answer, and what came behind it.
        packets(1, false, true).for_each(|it| queue.push(it));
        assert!(!queue.is_sated());
        let long = Ruling { verdict: RuledVerdict::Drop, sends: Vec::new(), size: 1 << 20 };
        assert!(queue.answer(1, Ok(long)).is_none() && queue.is_sated());
    }
}
