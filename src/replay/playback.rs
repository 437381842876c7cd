use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use super::recording::{Recording, Step};
use super::{Pace, PlayOptions};
use crate::packet::Timestamp;
use crate::schema::{Direction, Name, Role, State};

/// One way through a recording: says which packet is sent next, and when.
///
/// Waiting for the peer is by kind of packet: before a packet is sent, as many of each kind must
/// have come as had before it in the recording. What comes at its own time anyway (movement,
/// keep-alives, the time of day) is never waited for, nor is a kind that once kept us waiting for
/// too long.
#[derive(Debug)]
pub(super) struct Playback {
    recording: Arc<Recording>,
    options: PlayOptions,
    /// What we send.
    ours: Direction,
    /// The step that is next. 0 <= next <= end <= steps.len()
    next: usize,
    begin: usize,
    end: usize,
    /// A moment of the recording, and when it is here.
    base: Option<(Timestamp, Timestamp)>,
    /// What the peer sends.
    kinds: HashMap<Kind, Progress>,
    /// Kinds of which fewer have come than had in the recording.
    behind: usize,
    /// Since when the next step waits for them.
    stalled: Option<Timestamp>,
    /// Kinds that were given up, in order.
    pub(super) missed: Vec<Name>,
}

type Kind = (State, Option<Name>);

/// How far one kind of packet is.
#[derive(Debug, Default)]
struct Progress {
    /// All there are between `begin` and `end`.
    recorded: u64,
    /// Those that the recording has before the next step.
    passed: u64,
    received: u64,
    /// Whether it is not waited for any more.
    given_up: bool,
}

impl Progress {
    fn is_behind(&self) -> bool {
        !self.given_up && self.received < self.passed
    }
}

/// What is to be done next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Turn {
    /// Send this step.
    Send(usize),
    /// Nothing before that moment, unless the peer sends something.
    Wait(Timestamp),
    /// Nothing more.
    End,
}

impl Playback {
    pub(super) fn new(recording: Arc<Recording>, options: PlayOptions, ours: Direction) -> Self {
        let steps = &recording.steps;
        // Configuration is needed wherever the game begins.
        let game = steps.iter().position(|step| step.state == State::Play);
        let game = game.unwrap_or(steps.len());
        let begin = options.from.map_or(0, |from| recording.place(from));
        let begin = if begin <= game { 0 } else { begin };
        let end = options.to.map_or(steps.len(), |to| recording.place(to)).max(begin);
        let mut playback = Self {
            recording,
            options,
            ours,
            next: 0,
            begin,
            end,
            base: None,
            kinds: HashMap::new(),
            behind: 0,
            stalled: None,
            missed: Vec::new(),
        };
        playback.count();
        playback
    }

    /// Goes back to where the game begins.
    pub(super) fn rewind(&mut self) {
        let steps = &self.recording.steps;
        let game = steps.iter().position(|step| step.state == State::Play);
        self.next = game.unwrap_or(steps.len());
        self.base = None;
        self.stalled = None;
        self.behind = 0;
        for progress in self.kinds.values_mut() {
            *progress = Progress {
                recorded: progress.recorded,
                given_up: progress.given_up,
                ..Progress::default()
            };
        }
    }

    /// Takes note of a packet of the peer; whether the recording has it.
    pub(super) fn on_peer(
        &mut self,
        state: State,
        name: Option<&Name>,
        role: Option<Role>,
    ) -> bool {
        let Some(progress) = self.kinds.get_mut(&(state, name.cloned())) else {
            return is_ambient(role);
        };
        let was_behind = progress.is_behind();
        progress.received += 1;
        if was_behind && !progress.is_behind() {
            self.behind -= 1;
            if self.behind == 0 {
                self.stalled = None;
            }
        }
        progress.received <= progress.recorded || is_ambient(role)
    }

    /// What is to be done now.
    pub(super) fn poll(&mut self, now: Timestamp) -> Turn {
        loop {
            if self.next >= self.end {
                return Turn::End;
            }
            let place = self.next;
            let step = &self.recording.steps[place];
            if step.direction != self.ours {
                self.next += 1;
                if place >= self.begin && step.came && !is_ambient(step.role) {
                    self.pass(place);
                }
                continue;
            }
            if !step.went || !self.is_sent(place, step) {
                self.next += 1;
                continue;
            }
            if place < self.begin {
                self.next += 1;
                return Turn::Send(place);
            }
            if let Some(turn) = self.wait(now, place) {
                return turn;
            }
            self.next += 1;
            return Turn::Send(place);
        }
    }

    /// Whether the peer still owes something that came before the end of the recording; if so,
    /// until when it may.
    pub(super) fn owed(&mut self, now: Timestamp) -> Option<Timestamp> {
        if !self.options.pace.ordered || self.behind == 0 {
            return None;
        }
        let until = self.stalled.get_or_insert(now).plus(self.options.patience);
        if now < until {
            return Some(until);
        }
        self.give_up();
        None
    }

    /// Whether all that is left is the peer's, or answers to it.
    pub(super) fn has_said_all(&self) -> bool {
        let rest = &self.recording.steps[self.next.min(self.end)..self.end];
        let mut ours = rest.iter().filter(|step| step.direction == self.ours && step.went);
        ours.all(|step| is_ambient(step.role))
    }

    /// The state of what is sent next, beside what changes the state itself.
    pub(super) fn next_state(&self) -> Option<State> {
        let rest = &self.recording.steps[self.next.min(self.end)..self.end];
        let ours = |step: &&Step| step.direction == self.ours && step.went;
        let next = rest.iter().find(|step| ours(step) && !step.role.is_some_and(Role::drives));
        next.map(|step| step.state)
    }

    pub(super) fn step(&self, place: usize) -> &Step {
        &self.recording.steps[place]
    }

    /// Steps that are behind us, and all of them.
    pub(super) fn position(&self) -> (usize, usize) {
        (self.next.saturating_sub(self.begin), self.end - self.begin)
    }

    /// When the recorded session was where we are, since it was opened.
    pub(super) fn moment(&self) -> Duration {
        let place = self.next.min(self.end).checked_sub(1);
        let step = place.and_then(|place| self.recording.steps.get(place));
        step.map_or(Duration::ZERO, |step| step.at.since(self.recording.context.opened))
    }

    fn count(&mut self) {
        let steps = &self.recording.steps[self.begin..self.end];
        for step in steps.iter().filter(|step| step.direction != self.ours && step.came) {
            let kind = (step.state, step.name.clone());
            self.kinds.entry(kind).or_default().recorded += 1;
        }
    }

    /// A packet of the peer lies before the next step.
    fn pass(&mut self, place: usize) {
        let step = &self.recording.steps[place];
        let progress = self.kinds.entry((step.state, step.name.clone())).or_default();
        let was_behind = progress.is_behind();
        progress.passed += 1;
        self.behind += usize::from(progress.is_behind() && !was_behind);
    }

    /// Whether a step of ours before `begin` is sent: what the peer's state at `begin` needs.
    fn is_sent(&self, place: usize, step: &Step) -> bool {
        if place >= self.begin || step.state == State::Configuration {
            return true;
        }
        let passing = matches!(
            step.role,
            Some(
                Role::Chat
                    | Role::PlayerChat
                    | Role::KeepAlive
                    | Role::Disconnect
                    | Role::Momentary
            )
        );
        self.ours == Direction::Clientbound && !passing
    }

    /// None: the step is due.
    fn wait(&mut self, now: Timestamp, place: usize) -> Option<Turn> {
        let Pace { timed, ordered } = self.options.pace;
        let at = self.recording.steps[place].at;
        if timed {
            let (then, here) = *self.base.get_or_insert((at, now));
            let due = here.plus(at.since(then).div_f64(self.options.speed.max(SLOWEST)));
            if now < due {
                return Some(Turn::Wait(due));
            }
        }
        if ordered && self.behind > 0 {
            let until = self.stalled.get_or_insert(now).plus(self.options.patience);
            if now < until {
                return Some(Turn::Wait(until));
            }
            self.give_up();
            self.base = Some((at, now));
        } else if ordered {
            // What waited for the peer has shifted all that follows.
            self.base = Some((at, now));
        }
        None
    }

    fn give_up(&mut self) {
        let late = self.kinds.iter_mut().filter(|(_, progress)| progress.is_behind());
        for ((_, name), progress) in late {
            progress.given_up = true;
            self.missed.extend(name.clone());
        }
        self.missed.sort();
        self.behind = 0;
        self.stalled = None;
    }
}

/// Whether packets of that role come at their own time, in whatever number.
fn is_ambient(role: Option<Role>) -> bool {
    matches!(
        role,
        Some(
            Role::KeepAlive
                | Role::Movement
                | Role::Time
                | Role::Momentary
                | Role::Transaction
                | Role::Echo
                | Role::TeleportConfirm
        )
    )
}

/// A slower speed is none.
const SLOWEST: f64 = 1e-6;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replay::Point;
    use crate::replay::tests::recording;

    fn playback(options: PlayOptions, ours: Direction) -> Playback {
        Playback::new(recording("session-1.8.jsonl"), options, ours)
    }

    /// Numbers and milliseconds of what is sent, if the peer sends nothing.
    fn alone(mut playback: Playback) -> Vec<(u64, u64)> {
        let mut now = Timestamp(0);
        let mut sent = Vec::new();
        loop {
            match playback.poll(now) {
                Turn::Send(place) => sent.push((playback.step(place).number, now.0 / 1_000_000)),
                Turn::Wait(until) => {
                    assert!(until > now);
                    now = until;
                }
                Turn::End => return sent,
            }
        }
    }

    #[test]
    fn the_recorded_pace_keeps_the_recorded_times_at_any_speed() {
        let options = PlayOptions::default();
        let sent = alone(playback(options, Direction::Clientbound));
        assert_eq!(sent.len(), 427);
        assert_eq!((sent[0], sent.last().copied().unwrap()), ((6, 0), (464, 152)));
        let slow = PlayOptions { speed: 0.5, ..options };
        assert_eq!(alone(playback(slow, Direction::Clientbound)).last(), Some(&(464, 305)));
    }

    #[test]
    fn what_does_not_come_is_waited_for_once_and_with_patience() {
        let options = PlayOptions { pace: Pace::LOCKSTEP, ..PlayOptions::default() };
        let mut playing = playback(options, Direction::Clientbound);
        let first: Vec<Turn> = (0..5).map(|_| playing.poll(Timestamp(0))).collect();
        // Login to abilities; then the client's brand and settings are due.
        assert!(matches!(first[3], Turn::Send(_)));
        assert_eq!(first[4], Turn::Wait(Timestamp(5_000_000_000)));
        let sent = alone(playback(options, Direction::Clientbound));
        assert_eq!(sent.len(), 427, "all the same");
        assert!(sent.last().unwrap().1 <= 5000 * 16, "once a kind: {:?}", sent.last());
    }

    #[test]
    fn a_packet_is_sent_as_soon_as_what_preceded_has_come() {
        let options = PlayOptions { pace: Pace::LOCKSTEP, ..PlayOptions::default() };
        let mut playing = playback(options, Direction::Clientbound);
        while let Turn::Send(_) = playing.poll(Timestamp(0)) {}
        let (brand, settings) = (Name::from("custom_payload"), Name::from("settings"));
        assert!(playing.on_peer(State::Play, Some(&settings), None));
        assert!(matches!(playing.poll(Timestamp(1)), Turn::Wait(_)));
        assert!(playing.on_peer(State::Play, Some(&brand), None));
        assert!(matches!(playing.poll(Timestamp(2)), Turn::Send(_)));
        assert!(playing.missed.is_empty());
        let unknown = Name::from("spectate");
        assert!(!playing.on_peer(State::Play, Some(&unknown), None), "not in the recording");
        assert!(!playing.on_peer(State::Play, Some(&settings), None), "once too often");
    }

    #[test]
    fn from_a_place_on_a_client_is_given_at_once_what_it_needs_from_before() {
        let from = Some(Point::Packet(456));
        let options = PlayOptions { from, ..PlayOptions::default() };
        let sent = alone(playback(options, Direction::Clientbound));
        assert!(sent.iter().any(|(number, at)| (*number, *at) == (13, 0)), "the chunk");
        assert!(!sent.iter().any(|(number, _)| [453, 454].contains(number)), "no particles");
        assert_eq!(sent.iter().find(|(number, _)| *number >= 456), Some(&(456, 0)));
        let server = alone(playback(options, Direction::Serverbound));
        assert_eq!(server.first().unwrap().0, 459, "a server needs nothing from before");
        let to = Some(Point::Packet(460));
        let options = PlayOptions { to, ..options };
        assert_eq!(alone(playback(options, Direction::Clientbound)).last().unwrap().0, 458);
    }

    #[test]
    fn once_more_from_the_beginning() {
        let mut playing = playback(PlayOptions::default(), Direction::Clientbound);
        let mut now = Timestamp(0);
        let mut rounds = Vec::new();
        for _ in 0..2 {
            let mut sent = 0;
            loop {
                match playing.poll(now) {
                    Turn::Send(_) => sent += 1,
                    Turn::Wait(until) => now = until,
                    Turn::End => break,
                }
            }
            rounds.push(sent);
            playing.rewind();
        }
        assert_eq!(rounds, [427, 427]);
    }
}
