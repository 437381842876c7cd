use std::time::{Instant, SystemTime};

use mitmcraft_protocol::packet::Timestamp;

/// A clock that starts at the system's time and never runs backwards, so that times in a capture are in
/// order.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    begin: Instant,
    epoch: Timestamp,
}

impl Clock {
    /// Creates a clock that starts at the system's time.
    #[must_use]
    pub fn new() -> Self {
        let epoch = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Self { begin: Instant::now(), epoch: Timestamp::default().plus(epoch) }
    }

    /// Returns the current time.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.epoch.plus(self.begin.elapsed())
    }

    /// Returns the instant of a time, for timers.
    #[must_use]
    pub fn instant(&self, at: Timestamp) -> Instant {
        self.begin + at.since(self.epoch)
    }
}

impl Default for Clock {
    fn default() -> Self {
        Self::new()
    }
}
