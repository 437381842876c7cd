use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Numbers the sessions of a run, of all protocols, from 1. Clones share one counter.
#[derive(Debug, Clone, Default)]
pub struct SessionNumbers {
    last: Arc<AtomicU64>,
}

impl SessionNumbers {
    /// Returns the number of a new session.
    #[must_use]
    pub fn next(&self) -> u64 {
        self.last.fetch_add(1, Ordering::Relaxed) + 1
    }
}
