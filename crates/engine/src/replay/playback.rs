use std::sync::Arc;
use std::time::Duration;

use super::peer_progress::{Kind, PeerProgress, is_ambient};
use super::recording::Recording;
use super::step::Step;
use super::{Pace, PlayOptions};
use mitmcraft_protocol::packet::Timestamp;
use mitmcraft_protocol::schema::{Direction, Name, Role, State};

/// Decides which packet of a recording is sent next, and when.
///
/// Waiting for the peer is by packet type: before a packet is sent, the peer must have sent as many
/// packets of each type as precede it in the recording. Packets that come at any time (movement,
/// keep-alives, the time of day) are never waited for, nor are types that once took too long.
#[derive(Debug)]
pub(super) struct Playback {
    recording: Arc<Recording>,
    options: PlayOptions,
    /// The direction that is sent.
    ours: Direction,
    /// The next step. `0 <= next <= end <= steps.len()`
    next: usize,
    /// The first step that is timed and waits for the peer.
    begin: usize,
    end: usize,
    /// The moment from which recorded times count.
    base: Option<Base>,
    peer: PeerProgress,
}

/// The next thing to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Turn {
    /// Send the step with this index.
    Send(usize),
    /// Wait until this moment, unless the peer sends something earlier.
    Wait(Timestamp),
    /// Everything was sent, and what the peer owes has come or was given up.
    End,
}

impl Playback {
    pub(super) fn new(recording: Arc<Recording>, options: PlayOptions, ours: Direction) -> Self {
        let begin = options.from.map_or(0, |from| recording.step_at(from));
        // Configuration is needed wherever the game begins.
        let begin = if begin <= recording.game() { 0 } else { begin };
        let length = recording.steps.len();
        let end = options.to.map_or(length, |to| recording.step_at(to)).max(begin);
        let theirs = recording.steps[begin..end].iter();
        let peer = PeerProgress::new(theirs.filter(|step| step.direction != ours && step.came));
        Self { recording, options, ours, next: 0, begin, end, base: None, peer }
    }

    /// Goes back to where the game begins.
    pub(super) fn rewind(&mut self) {
        self.next = self.recording.game();
        self.base = None;
        self.peer.rewind();
    }

    /// Takes note of a packet that the peer sent. Returns whether the recording has it.
    pub(super) fn on_peer(
        &mut self,
        state: State,
        name: Option<&Name>,
        role: Option<Role>,
    ) -> bool {
        self.peer.receive(&Kind { state, name: name.cloned() }, role)
    }

    /// Returns what to do now.
    pub(super) fn poll(&mut self, now: Timestamp) -> Turn {
        while self.next < self.end {
            let index = self.next;
            let step = &self.recording.steps[index];
            if step.direction != self.ours {
                if index >= self.begin && step.came {
                    self.peer.pass(step);
                }
            } else if step.went && self.is_sent(index, step) {
                if index >= self.begin
                    && let Some(until) = self.wait(now, index)
                {
                    return Turn::Wait(until);
                }
                self.next += 1;
                return Turn::Send(index);
            }
            self.next += 1;
        }
        self.wait_for_peer(now).map_or(Turn::End, Turn::Wait)
    }

    /// Returns until when to wait for packets of the peer that come before the end of the recording;
    /// `None` if all of them have come or were given up.
    fn wait_for_peer(&mut self, now: Timestamp) -> Option<Timestamp> {
        if !self.options.pace.ordered {
            return None;
        }
        self.peer.wait(now, self.options.patience)
    }

    /// Returns whether all that is left comes from the peer or is an answer to it.
    pub(super) fn has_sent_all(&self) -> bool {
        self.rest().all(|step| is_ambient(step.role))
    }

    /// The state of the next packet to be sent that does not change the state itself.
    pub(super) fn next_state(&self) -> Option<State> {
        let mut rest = self.rest();
        rest.find(|step| !step.role.is_some_and(Role::drives)).map(|step| step.state)
    }

    pub(super) fn step(&self, index: usize) -> &Step {
        &self.recording.steps[index]
    }

    /// Steps that are done.
    pub(super) fn position(&self) -> usize {
        self.next.saturating_sub(self.begin)
    }

    /// The recorded time of the present position, since the recorded session was opened.
    pub(super) fn moment(&self) -> Duration {
        let last = self.next.min(self.end).checked_sub(1);
        let step = last.and_then(|last| self.recording.steps.get(last));
        step.map_or(Duration::ZERO, |step| step.at.since(self.recording.context.opened))
    }

    /// Returns the number of known packet types that the peer did not send in time.
    pub(super) fn missed(&self) -> usize {
        self.peer.given_up
    }

    /// The steps that are still to be sent, if [`is_sent`](Self::is_sent) lets them.
    fn rest(&self) -> impl Iterator<Item = &Step> {
        let rest = &self.recording.steps[self.next.min(self.end)..self.end];
        rest.iter().filter(|step| step.direction == self.ours && step.went)
    }

    /// Returns whether a step of ours is sent: before `begin` only what the peer needs from there.
    fn is_sent(&self, index: usize, step: &Step) -> bool {
        if index >= self.begin || step.state == State::Configuration {
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

    /// Returns until when a step has to wait; `None` if it is due.
    fn wait(&mut self, now: Timestamp, index: usize) -> Option<Timestamp> {
        let Pace { timed, ordered } = self.options.pace;
        let recorded = self.recording.steps[index].at;
        if timed {
            let base = self.base.get_or_insert(Base { recorded, here: now });
            let elapsed = recorded.since(base.recorded).div_f64(self.options.speed.max(SLOWEST));
            let due = base.here.plus(elapsed);
            if now < due {
                return Some(due);
            }
        }
        if let Some(until) = self.wait_for_peer(now) {
            return Some(until);
        }
        if ordered {
            // A step that waited for the peer shifts all that follow.
            self.base = Some(Base { recorded, here: now });
        }
        None
    }
}

/// A moment of the recording, and when it is in this session.
#[derive(Debug, Clone, Copy)]
struct Base {
    recorded: Timestamp,
    here: Timestamp,
}

/// Slower speeds count as this one: a time divided by 0 overflows.
const SLOWEST: f64 = 1e-6;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replay::Point;
    use crate::replay::tests::recording;

    fn playback(options: PlayOptions, ours: Direction) -> Playback {
        Playback::new(recording("session-1.8.jsonl"), options, ours)
    }

    /// Returns the numbers of the steps sent and when, in milliseconds, if the peer sends nothing.
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
    fn a_missing_packet_is_waited_for_once_until_the_timeout() {
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
    fn a_packet_is_sent_as_soon_as_its_predecessors_have_arrived() {
        let options = PlayOptions { pace: Pace::LOCKSTEP, ..PlayOptions::default() };
        let mut playing = playback(options, Direction::Clientbound);
        while let Turn::Send(_) = playing.poll(Timestamp(0)) {}
        let (brand, settings) = (Name::from("custom_payload"), Name::from("settings"));
        assert!(playing.on_peer(State::Play, Some(&settings), None));
        assert!(matches!(playing.poll(Timestamp(1)), Turn::Wait(_)));
        assert!(playing.on_peer(State::Play, Some(&brand), None));
        assert!(matches!(playing.poll(Timestamp(2)), Turn::Send(_)));
        assert_eq!(playing.missed(), 0);
        let unknown = Name::from("spectate");
        assert!(!playing.on_peer(State::Play, Some(&unknown), None), "not in the recording");
        assert!(!playing.on_peer(State::Play, Some(&settings), None), "once too often");
    }

    #[test]
    fn starting_in_the_middle_sends_the_needed_packets_at_once() {
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
    fn a_playback_can_restart() {
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
