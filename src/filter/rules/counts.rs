use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// What a rule has done so far, in all sessions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleCount {
    /// The rule's name.
    pub name: String,
    /// Packets for which `when` held.
    pub matched: u64,
    /// Packets for which the other conditions held too, and all was done.
    pub acted: u64,
    /// Packets for which something could not be done, so that nothing was.
    pub failed: u64,
}

/// What the sessions share of a rule.
#[derive(Debug, Default)]
pub(super) struct Shared {
    matched: AtomicU64,
    acted: AtomicU64,
    failed: AtomicU64,
    /// Whether it has acted in this run.
    ran: AtomicBool,
    /// Players for whom it has acted.
    players: Players,
}

impl Shared {
    pub(super) fn count_match(&self) {
        self.matched.fetch_add(1, Relaxed);
    }

    pub(super) fn count_act(&self) {
        self.acted.fetch_add(1, Relaxed);
    }

    pub(super) fn count_failure(&self) {
        self.failed.fetch_add(1, Relaxed);
    }

    /// Whether this is the first time in the run; it is not, the next time.
    pub(super) fn first_in_run(&self) -> bool {
        !self.ran.swap(true, Relaxed)
    }

    /// Whether this is the first time for that player; it is not, the next time.
    pub(super) fn first_for(&self, player: &str) -> bool {
        self.players.insert(player)
    }

    pub(super) fn count(&self, name: &str) -> RuleCount {
        RuleCount {
            name: name.to_owned(),
            matched: self.matched.load(Relaxed),
            acted: self.acted.load(Relaxed),
            failed: self.failed.load(Relaxed),
        }
    }
}

/// A set that only grows, by one entry a player: a chain of cells that are set once.
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

/// A long chain is taken apart link by link: one inside the other would need a stack as deep.
impl Drop for Players {
    fn drop(&mut self) {
        let mut next = self.0.take();
        while let Some(mut entry) = next {
            next = entry.1.0.take();
        }
    }
}
