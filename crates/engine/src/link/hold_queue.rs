use std::collections::VecDeque;
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
/// The queue accepts everything; its owner releases it once it [`is_full`](Self::is_full).
#[derive(Debug, Default)]
pub(crate) struct HoldQueue {
    waiting: VecDeque<Waiting>,
    /// Held packets that later ones overtake.
    aside: Vec<Waiting>,
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
        let memory = packet.memory() + size_of::<Self>();
        Self { packet, role, hold, asked: None, memory }
    }

    /// Makes it wait for the answer to the question with that number, too.
    pub(crate) fn asked(self, number: u64) -> Self {
        Self { asked: Some(Asked { number, ruling: None }), ..self }
    }

    /// Returns the hold that nobody has decided.
    fn undecided(&mut self) -> Option<&mut Hold> {
        self.hold.as_mut().filter(|hold| hold.decision.is_none())
    }

    /// Returns whether a person holds it, and has not decided.
    fn is_held(&self) -> bool {
        self.hold.as_ref().is_some_and(|hold| hold.decision.is_none())
    }

    /// Returns whether a program has not answered yet.
    fn is_asked(&self) -> bool {
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
        self.role.is_some_and(|role| role.drives() && next_state(role).is_none())
    }
}

impl HoldQueue {
    pub(crate) fn new(budget: &MemoryBudget) -> Self {
        Self { reservation: budget.reservation(), ..Self::default() }
    }

    /// Appends a packet, behind which all later ones wait.
    pub(crate) fn push(&mut self, waiting: Waiting) {
        self.blocking += usize::from(waiting.blocks());
        self.state = waiting.role.and_then(next_state).or(self.state);
        self.resize(self.size + waiting.memory);
        self.waiting.push_back(waiting);
    }

    /// Adds a held packet that later ones overtake.
    pub(crate) fn push_aside(&mut self, waiting: Waiting) {
        self.resize(self.size + waiting.memory);
        self.aside.push(waiting);
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
        self.on_removed(&waiting);
        if self.waiting.is_empty() {
            (self.pace, self.state) = (None, None);
        }
        Some(waiting)
    }

    /// Removes a packet that was overtaken and is decided now.
    pub(crate) fn pop_aside(&mut self) -> Option<Waiting> {
        let place = self.aside.iter().position(|it| !it.is_undecided())?;
        let waiting = self.aside.remove(place);
        self.on_removed(&waiting);
        Some(waiting)
    }

    /// Removes everything, whether it is decided or not.
    pub(crate) fn take_all(&mut self) -> Vec<Waiting> {
        let all = self.aside.drain(..).chain(self.waiting.drain(..)).collect();
        (self.pace, self.state, self.blocking) = (None, None, 0);
        self.resize(0);
        all
    }

    /// Decides every held packet that is undecided. Returns whether there was one.
    pub(crate) fn decide_all(&mut self, how: Release) -> bool {
        let mut any = false;
        for waiting in self.aside.iter_mut().chain(&mut self.waiting) {
            if let Some(hold) = waiting.undecided() {
                hold.decision = Some((Verdict::Pass, how));
                any = true;
            }
        }
        any
    }

    /// Gives every question that is not answered this reason. Returns whether there was one.
    pub(crate) fn answer_all(&mut self, reason: &Unruled) -> bool {
        let mut any = false;
        for waiting in self.aside.iter_mut().chain(&mut self.waiting) {
            if let Some(asked) = waiting.asked.as_mut().filter(|it| it.ruling.is_none()) {
                asked.ruling = Some(Err(reason.clone()));
                any = true;
            }
        }
        any
    }

    /// Answers the question with that number, if its packet waits here and has no answer yet. Returns the
    /// ruling otherwise.
    pub(crate) fn answer(
        &mut self,
        number: u64,
        ruling: Result<Ruling, Unruled>,
    ) -> Option<Result<Ruling, Unruled>> {
        let mut all = self.aside.iter_mut().chain(&mut self.waiting);
        let asks = |asked: &Asked| asked.number == number && asked.ruling.is_none();
        let Some(waiting) = all.find(|it| it.asked.as_ref().is_some_and(asks)) else {
            return Some(ruling);
        };
        let size = ruling.as_ref().map_or(0, |ruling| ruling.size);
        waiting.asked = Some(Asked { number, ruling: Some(ruling) });
        waiting.memory += size;
        self.resize(self.size + size);
        None
    }

    /// Decides the packets that were overtaken.
    pub(crate) fn decide_aside(&mut self, how: Release) {
        for hold in self.aside.iter_mut().filter_map(Waiting::undecided) {
            hold.decision = Some((Verdict::Pass, how));
        }
    }

    /// Returns the held packet with that number, if it has not gone yet.
    pub(crate) fn held(&self, number: u64) -> Option<&Waiting> {
        let mut all = self.aside.iter().chain(&self.waiting);
        all.find(|it| it.hold.as_ref().is_some_and(|hold| hold.number == number))
    }

    /// Decides on the held packet with that number, if it has not gone yet. The last decision counts.
    pub(crate) fn decide(&mut self, number: u64, verdict: Verdict, how: Release) {
        let all = self.aside.iter_mut().chain(&mut self.waiting);
        let mut holds = all.filter_map(|it| it.hold.as_mut());
        if let Some(hold) = holds.find(|hold| hold.number == number) {
            hold.decision = Some((verdict, how));
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
        let held = self.waiting.iter().find(|it| it.is_held())?;
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

    pub(crate) fn is_full(&self) -> bool {
        self.size > MAX_WAITING || self.reservation.is_pressed()
    }

    fn on_removed(&mut self, waiting: &Waiting) {
        self.blocking -= usize::from(waiting.blocks());
        self.resize(self.size - waiting.memory);
    }

    fn resize(&mut self, size: usize) {
        self.size = size;
        self.reservation.resize(size);
    }
}

/// Returns the state of the packets behind one with that role, if that is all that it changes.
fn next_state(role: Role) -> Option<State> {
    match role {
        Role::FinishConfiguration => Some(State::Play),
        Role::StartConfiguration | Role::ConfigurationAcknowledged | Role::LoginAcknowledged => {
            Some(State::Configuration)
        }
        _ => None,
    }
}

/// Packets per second of a long backlog, of which there are more than that: a server ends a session
/// that sends more than about 500.
const RATE: usize = 100;

/// The time from one packet of a long backlog to the next.
const PACE: Duration = Duration::from_millis(1000 / RATE as u64);

/// Ten minutes of a busy server.
const MAX_WAITING: usize = 64 << 20;
