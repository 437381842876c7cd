use std::time::{Duration, Instant, SystemTime};

use crate::packet::Timestamp;

/// The wall clock as it was at the start, carried on by the monotonic one: times in a capture never
/// run backwards.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    begin: Instant,
    epoch: Timestamp,
}

impl Clock {
    /// A clock that says what the system's says now.
    #[must_use]
    pub fn new() -> Self {
        let epoch = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Self { begin: Instant::now(), epoch: Timestamp::default().plus(epoch) }
    }

    /// The time now.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.epoch.plus(self.begin.elapsed())
    }

    /// The instant of a time, for timers.
    #[must_use]
    pub fn instant(&self, at: Timestamp) -> Instant {
        self.begin + at.since(self.epoch)
    }

    /// How long it is until then; nothing if it is past.
    #[must_use]
    pub fn until(&self, at: Timestamp) -> Duration {
        at.since(self.now())
    }
}

impl Default for Clock {
    fn default() -> Self {
        Self::new()
    }
}
