use std::collections::VecDeque;
use std::time::Duration;

use mitmcraft_protocol::packet::{Diagnostic, Diagnostics, Packet, Timestamp};
use mitmcraft_protocol::schema::{Direction, Family, Release, Role, State};

/// The keep-alives that a client has not answered yet, and what is wrong with the timing of those that
/// come.
#[derive(Debug, Default)]
pub(super) struct KeepAlives {
    /// The bytes of those without an answer and the times when they came, the oldest first.
    /// At most [`MAX`].
    unanswered: VecDeque<(u128, Timestamp)>,
    /// The time by which the next one of the server has to come: counted from its last one, or from its first
    /// packet of the game.
    due: Option<Timestamp>,
    /// `true` if packets of the server are not understood, so that one of them may ask.
    is_blind: bool,
    /// `true` if a packet is marked as being later than `due`.
    is_marked: bool,
}

impl KeepAlives {
    /// Takes any other packet of the game, and marks the first, in either direction, by whose time a
    /// keep-alive should have come.
    #[inline]
    pub(super) fn see(&mut self, packet: &Packet) -> Diagnostics {
        match self.is_marked || self.due.is_some_and(|due| packet.at() <= due) {
            true => Diagnostics::NONE,
            false => self.miss(packet),
        }
    }

    /// Takes the server's first packet of the game, or the first packet that is too late.
    fn miss(&mut self, packet: &Packet) -> Diagnostics {
        if packet.state() != State::Play || packet.context().protocol.family() != Family::Java {
            return Diagnostics::NONE;
        }
        if self.due.is_some() {
            self.is_marked = true;
            return Diagnostics::from_iter([Diagnostic::KeepAliveOverdue]);
        }
        if packet.direction() == Direction::Clientbound {
            self.due = Some(packet.at().plus(silence(packet)));
        }
        Diagnostics::NONE
    }

    /// Takes note that packets of a direction are no longer understood.
    pub(super) fn lose(&mut self, direction: Direction) {
        self.is_blind |= direction == Direction::Clientbound;
    }

    /// Takes a keep-alive or a Disconnect and returns what is wrong with it.
    pub(super) fn take(&mut self, packet: &Packet) -> Diagnostics {
        let (at, release) = (packet.at(), packet.context().protocol.release());
        // Since then a server expects the answer to its last keep-alive and no other.
        let strict = release >= Release::V1_12_2;
        let patience = if strict { PATIENCE } else { PATIENCE_OLD };
        let clientbound = packet.direction() == Direction::Clientbound;
        let mut found = Diagnostics::NONE;
        let is_keep_alive = packet.role() == Some(Role::KeepAlive);
        let number = number(packet).filter(|_| is_keep_alive);
        // Before 1.7 they have no number and need no answer.
        if is_keep_alive && number.is_none() {
            return found;
        }
        if !clientbound {
            let place = self.unanswered.iter().position(|(it, _)| Some(*it) == number);
            match place.and_then(|place| self.unanswered.remove(place)) {
                Some((_, asked)) if at.since(asked) > patience => {
                    found.insert(Diagnostic::KeepAliveLate);
                }
                Some(_) => {}
                None if strict && !self.is_blind => {
                    found.insert(Diagnostic::KeepAliveUnasked);
                }
                None => {}
            }
            return found;
        }
        let given_up = |(_, asked): &(u128, Timestamp)| at.since(*asked) >= patience;
        if self.unanswered.front().is_some_and(given_up) {
            found.insert(Diagnostic::KeepAliveUnanswered);
        }
        let overdue = self.due.is_some_and(|due| at > due);
        if overdue && (is_keep_alive || !self.is_marked) {
            found.insert(Diagnostic::KeepAliveOverdue);
        }
        let Some(number) = number else { return found };
        let due = at.plus(silence(packet));
        (self.due, self.is_marked) = (Some(due), false);
        if self.unanswered.len() == MAX {
            self.unanswered.pop_front();
        }
        self.unanswered.push_back((number, at));
        found
    }
}

/// Returns the time after which a client gives up a server without keep-alives.
fn silence(packet: &Packet) -> Duration {
    let is_old = packet.context().protocol.release() < Release::V1_9;
    if is_old { SILENCE_OLD } else { SILENCE }
}

/// Returns the bytes of a keep-alive's number, which comes back as it was.
fn number(packet: &Packet) -> Option<u128> {
    let body = packet.body().ok()?;
    let bytes = body.get(packet.fields_at()..)?;
    let fits = (1..=size_of::<u128>()).contains(&bytes.len());
    fits.then(|| bytes.iter().fold(0, |number, byte| number << 8 | u128::from(*byte)))
}

/// The time in which a client must answer.
const PATIENCE: Duration = Duration::from_secs(15);
/// The same up to 1.12.1, as the document of 1.8 states it.
const PATIENCE_OLD: Duration = Duration::from_secs(30);

/// The time after which a client gives up a server that sends nothing.
const SILENCE: Duration = Duration::from_secs(30);
/// The same up to 1.8, as its document states it.
const SILENCE_OLD: Duration = Duration::from_secs(20);

/// Keep-alives that are remembered: servers of 1.8 send one every 2 seconds.
const MAX: usize = 64;
