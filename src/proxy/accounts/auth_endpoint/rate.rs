use std::time::Duration;

use mitmcraft_protocol::packet::Timestamp;

/// Limits the number of requests in a time window.
#[derive(Debug, Default)]
pub(super) struct Rate {
    /// The start of the window; `None` before the first request.
    start: Option<Timestamp>,
    /// Requests in the window.
    requests: u32,
}

impl Rate {
    /// Counts a request, and returns whether there have not been too many.
    pub(super) fn admits(&mut self, now: Timestamp) -> bool {
        if self.start.is_none_or(|start| now.since(start) >= WINDOW) {
            *self = Self { start: Some(now), requests: 0 };
        }
        self.requests = self.requests.saturating_add(1);
        self.requests <= MOST
    }
}

const WINDOW: Duration = Duration::from_secs(10);

/// Requests in a window: a game sends about ten when it starts, and a few for each login.
const MOST: u32 = 300;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_requests_than_allowed_wait_for_the_next_window() {
        let mut rate = Rate::default();
        let at = |seconds: u64| Timestamp(seconds * 1_000_000_000);
        assert!((0..MOST).all(|_| rate.admits(at(100))));
        assert!(!rate.admits(at(100)));
        assert!(!rate.admits(at(109)));
        assert!(rate.admits(at(110)));
    }
}
