use std::collections::HashMap;
use std::time::Duration;

use super::step::Step;
use mitmcraft_protocol::packet::Timestamp;
use mitmcraft_protocol::schema::{Name, Role, State};

/// The peer's progress in a recording, by packet type.
///
/// The peer is behind while it has sent fewer packets of some type than precede the next step.
/// [Ambient](is_ambient) packets do not count, nor do types that were given up.
#[derive(Debug, Default)]
pub(super) struct PeerProgress {
    kinds: HashMap<Kind, Counts>,
    /// Types of which fewer packets were received than passed.
    behind: usize,
    /// Since when the next step waits for them.
    stalled: Option<Timestamp>,
    /// The number of known types that were given up.
    pub(super) given_up: usize,
}

impl PeerProgress {
    /// Counts the steps that the peer is going to send.
    pub(super) fn new<'s>(steps: impl Iterator<Item = &'s Step>) -> Self {
        let mut progress = Self::default();
        for step in steps {
            progress.kinds.entry(Kind::of_step(step)).or_default().recorded += 1;
        }
        progress
    }

    /// Goes back to the beginning. Types that were given up stay so.
    pub(super) fn rewind(&mut self) {
        (self.behind, self.stalled) = (0, None);
        for counts in self.kinds.values_mut() {
            (counts.passed, counts.received) = (0, 0);
        }
    }

    /// Counts a packet that the peer sent. Returns whether the recording has it.
    pub(super) fn receive(&mut self, kind: &Kind, role: Option<Role>) -> bool {
        let ambient = is_ambient(role);
        let Some(counts) = self.kinds.get_mut(kind) else { return ambient };
        let was_behind = counts.is_behind();
        counts.received += 1;
        if was_behind && !counts.is_behind() {
            self.behind -= 1;
            if self.behind == 0 {
                self.stalled = None;
            }
        }
        counts.received <= counts.recorded || ambient
    }

    /// Counts a step of the peer as one that precedes the next step.
    pub(super) fn pass(&mut self, step: &Step) {
        if is_ambient(step.role) {
            return;
        }
        let counts = self.kinds.entry(Kind::of_step(step)).or_default();
        let was_behind = counts.is_behind();
        counts.passed += 1;
        self.behind += usize::from(counts.is_behind() && !was_behind);
    }

    /// Returns until when to wait for the peer; `None` if it is not behind. Gives up what has kept
    /// the next step waiting for longer than `patience`.
    pub(super) fn wait(&mut self, now: Timestamp, patience: Duration) -> Option<Timestamp> {
        if self.behind == 0 {
            return None;
        }
        let until = self.stalled.get_or_insert(now).plus(patience);
        if now < until {
            return Some(until);
        }
        for (kind, counts) in self.kinds.iter_mut().filter(|(_, counts)| counts.is_behind()) {
            counts.given_up = true;
            self.given_up += usize::from(kind.name.is_some());
        }
        (self.behind, self.stalled) = (0, None);
        None
    }
}

/// A packet type of the peer.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct Kind {
    pub(super) state: State,
    /// `None` if the packet id is unknown.
    pub(super) name: Option<Name>,
}

impl Kind {
    fn of_step(step: &Step) -> Self {
        Self { state: step.state, name: step.name.clone() }
    }
}

/// Numbers of packets of one type.
#[derive(Debug, Default)]
struct Counts {
    /// In the part of the recording that is played.
    recorded: u64,
    /// Before the next step.
    passed: u64,
    received: u64,
    given_up: bool,
}

impl Counts {
    fn is_behind(&self) -> bool {
        !self.given_up && self.received < self.passed
    }
}

/// Returns whether packets of that role are sent at any time and in any number, so that nothing
/// waits for them.
pub(super) fn is_ambient(role: Option<Role>) -> bool {
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
