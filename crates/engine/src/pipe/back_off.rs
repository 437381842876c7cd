use std::time::Duration;

/// The pauses before a program that has failed is started again: each is twice as long as the one before,
/// until the program has run for a while.
#[derive(Debug)]
pub(super) struct BackOff {
    next: Duration,
}

impl BackOff {
    /// Returns the pause after a program that ran for this time.
    pub(super) fn after(&mut self, ran: Duration) -> Duration {
        if ran >= STABLE {
            self.next = FIRST;
        }
        let pause = self.next;
        self.next = (pause * 2).min(LONGEST);
        pause
    }
}

impl Default for BackOff {
    fn default() -> Self {
        Self { next: FIRST }
    }
}

/// The first pause.
const FIRST: Duration = Duration::from_millis(500);

/// The longest pause.
const LONGEST: Duration = Duration::from_secs(30);

/// A program that has run for this time works: pauses begin anew.
const STABLE: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_30_seconds_and_begin_anew_after_a_minute() {
        let mut back_off = BackOff::default();
        let pauses: Vec<f64> =
            (0..8).map(|_| back_off.after(Duration::ZERO).as_secs_f64()).collect();
        assert_eq!(pauses, [0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0]);
        assert_eq!(back_off.after(Duration::from_secs(59)), LONGEST);
        assert_eq!(back_off.after(Duration::from_secs(60)), FIRST);
        assert_eq!(back_off.after(Duration::ZERO), FIRST * 2);
    }
}
