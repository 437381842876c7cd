use std::time::Duration;

use super::Response;
use mitmcraft_protocol::packet::Timestamp;

/// Decides when to repeat a request. A service that is down, unreachable or rate-limited is tried up to
/// four times, with pauses that double or that the service sets (`Retry-After`).
#[derive(Debug, Clone)]
pub struct Retry {
    give_up: Timestamp,
    tries: u32,
}

impl Retry {
    /// Starts at `now`; no try begins later than `patience` after it.
    #[must_use]
    pub fn new(now: Timestamp, patience: Duration) -> Self {
        Self { give_up: now.plus(patience), tries: 0 }
    }

    /// Returns how long to wait before the next try; `None` if there is none. `response` is `None` if the
    /// service could not be reached.
    pub fn after(&mut self, now: Timestamp, response: Option<&Response>) -> Option<Duration> {
        let again = response.is_none_or(|it| it.status == 429 || it.status >= 500);
        self.tries += 1;
        if !again || self.tries >= TRIES {
            return None;
        }
        let pause =
            response.and_then(|it| it.retry_after).unwrap_or(FIRST * (1 << (self.tries - 1)));
        (now.plus(pause) < self.give_up).then_some(pause)
    }

    /// Returns how long a try that begins now may take.
    #[must_use]
    pub fn left(&self, now: Timestamp) -> Duration {
        Duration::from_nanos(self.give_up.0.saturating_sub(now.0))
    }
}

const TRIES: u32 = 4;

/// Pause before the second try.
const FIRST: Duration = Duration::from_millis(500);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auth::Secret;

    const SECOND: u64 = 1_000_000_000;

    fn response(status: u16, retry_after: Option<u64>) -> Response {
        let retry_after = retry_after.map(Duration::from_secs);
        Response { status, retry_after, body: Secret::new("") }
    }

    fn retry() -> Retry {
        Retry::new(Timestamp(0), Duration::from_secs(20))
    }

    #[test]
    fn pauses_double_and_the_fourth_try_is_the_last() {
        let (mut retry, down) = (retry(), response(503, None));
        let pauses: Vec<_> = (0..4)
            .map(|_| retry.after(Timestamp(0), Some(&down)).map(|it| it.as_millis()))
            .collect();
        assert_eq!(pauses, [Some(500), Some(1000), Some(2000), None]);
        let mut retry = self::retry();
        assert_eq!(retry.after(Timestamp(0), None), Some(Duration::from_millis(500)));
    }

    #[test]
    fn an_answer_that_is_one_is_not_asked_for_again() {
        for status in [200, 204, 400, 401, 403, 404] {
            assert_eq!(
                retry().after(Timestamp(0), Some(&response(status, Some(1)))),
                None,
                "{status}"
            );
        }
    }

    #[test]
    fn a_service_that_says_when_is_obeyed_as_long_as_there_is_time() {
        let after = |seconds, now: u64| {
            let response = response(429, Some(seconds));
            retry().after(Timestamp(now * SECOND), Some(&response)).map(|it| it.as_secs())
        };
        assert_eq!(after(7, 0), Some(7));
        assert_eq!(after(7, 14), None);
        assert_eq!(after(3600, 0), None);
        assert_eq!(retry().left(Timestamp(15 * SECOND)), Duration::from_secs(5));
        assert_eq!(retry().left(Timestamp(25 * SECOND)), Duration::ZERO);
    }
}
