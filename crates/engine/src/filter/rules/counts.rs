use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use serde::Serialize;

/// The counts of a rule in all sessions so far.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "test-support", derive(ts_rs::TS), ts(rename = "RuleResult"))]
pub struct RuleCount {
    /// The rule's name.
    pub name: String,
    /// Packets for which `when` held.
    pub matched: u64,
    /// Packets on which all actions were done.
    pub acted: u64,
    /// Packets on which an action failed, so that none was done.
    pub failed: u64,
}

/// The state of a rule that all sessions share.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    matched: AtomicU64,
    acted: AtomicU64,
    failed: AtomicU64,
    /// `true` if the rule has acted in this run.
    ran: AtomicBool,
    /// The players for whom the rule has acted.
    players: Players,
}

impl Shared {
    pub(crate) fn count_match(&self) {
        self.matched.fetch_add(1, Relaxed);
    }

    pub(crate) fn count_act(&self) {
        self.acted.fetch_add(1, Relaxed);
    }

    pub(crate) fn count_failure(&self) {
        self.failed.fetch_add(1, Relaxed);
    }

    /// Returns true the first time it is called in a run.
    pub(crate) fn first_in_run(&self) -> bool {
        !self.ran.swap(true, Relaxed)
    }

    /// Returns true the first time it is called for a player.
    pub(crate) fn first_for(&self, player: &str) -> bool {
        self.players.insert(player)
    }

    pub(crate) fn count(&self, name: &str) -> RuleCount {
        RuleCount {
            name: name.to_owned(),
            matched: self.matched.load(Relaxed),
            acted: self.acted.load(Relaxed),
            failed: self.failed.load(Relaxed),
        }
    }
}

/// A set of names that only grows: a chain of cells that are set once.
#[derive(Debug, Default)]
struct Players(OnceLock<Box<(String, Self)>>);

impl Players {
    fn insert(&self, player: &str) -> bool {
        let mut place = self;
        loop {
            let mut new = false;
            let entry = place.0.get_or_init(|| {
                new = true;
                Box::new((player.to_owned(), Self::default()))
            });
            if new {
                return true;
            }
            if entry.0 == player {
                return false;
            }
            place = &entry.1;
        }
    }
}

/// Drops the chain link by link; recursion would overflow the stack.
impl Drop for Players {
    fn drop(&mut self) {
        let mut next = self.0.take();
        while let Some(mut entry) = next {
            next = entry.1.0.take();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn players_are_known_by_name_and_any_number_of_them_is_dropped() {
        let players = Players::default();
        let new = ["Steve", "Alex", "Steve", "Alex"].map(|name| players.insert(name));
        assert_eq!(new, [true, true, false, false]);
        let mut many = Players::default();
        for _ in 0..300_000 {
            many = Players(OnceLock::from(Box::new((String::new(), many))));
        }
        drop(many);
    }
}
