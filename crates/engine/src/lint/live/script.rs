use std::time::Duration;

use super::{Stage, VisitOptions};
use crate::replay::Position;
use mitmcraft_protocol::packet::Timestamp;

/// The actions of the player in the game, and their times.
#[derive(Debug)]
pub(super) struct Script {
    /// The number of actions that were taken.
    taken: usize,
    /// The time of the next action.
    next: Timestamp,
    /// The stage that the player waits for, and the time until which it does.
    pub(super) awaited: Option<(Stage, Timestamp)>,
    /// The time until which the player stays.
    stay: Timestamp,
    pub(super) position: Position,
}

/// An action of the player.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    Walk,
    Look,
    Swing,
    Chat,
    Command,
    /// Asks to be teleported.
    Teleport,
    /// Asks to be killed.
    Die,
    Respawn,
    /// Nothing, until the player has stayed long enough.
    Stay,
    Leave,
}

impl Script {
    pub(super) fn new(options: &VisitOptions, now: Timestamp) -> Self {
        Self {
            taken: 0,
            next: now,
            // Nobody walks before there is a place to stand on.
            awaited: Some((Stage::Spawn, now.plus(options.patience))),
            stay: now.plus(options.stay),
            position: Position::default(),
        }
    }

    /// Takes the next action, if it is due.
    pub(super) fn take(&mut self, now: Timestamp, options: &VisitOptions) -> Option<Action> {
        if now < self.timeout() {
            return None;
        }
        self.awaited = None;
        let action = *ACTIONS.get(self.taken)?;
        self.taken += 1;
        self.next = now.plus(options.pause);
        let awaited = match action {
            Action::Teleport => Some(Stage::Teleport),
            Action::Die => Some(Stage::Death),
            Action::Respawn => Some(Stage::Respawn),
            _ => None,
        };
        self.awaited = awaited.map(|stage| (stage, now.plus(options.patience)));
        if action == Action::Stay {
            self.next = self.next.max(self.stay);
        }
        Some(action)
    }

    /// Takes note that a stage was reached.
    pub(super) fn reached(&mut self, stage: Stage) {
        self.awaited = self.awaited.filter(|(awaited, _)| *awaited != stage);
    }

    /// Returns whether the player has asked to be teleported.
    pub(super) fn awaits(&self, stage: Stage) -> bool {
        self.awaited.is_some_and(|(awaited, _)| awaited == stage)
    }

    /// Returns when the next action is due.
    pub(super) fn timeout(&self) -> Timestamp {
        self.awaited.map_or(self.next, |(_, until)| until.max(self.next))
    }

    /// Returns the time that a visit in the game takes at most.
    pub(super) fn limit(options: &VisitOptions) -> Duration {
        let actions = u32::try_from(ACTIONS.len()).unwrap_or(u32::MAX);
        options.stay + (options.pause + options.patience) * actions
    }
}

/// The actions in their order.
const ACTIONS: [Action; 14] = [
    Action::Walk,
    Action::Walk,
    Action::Look,
    Action::Walk,
    Action::Swing,
    Action::Look,
    Action::Chat,
    Action::Command,
    Action::Teleport,
    Action::Die,
    Action::Respawn,
    Action::Walk,
    Action::Stay,
    Action::Leave,
];
