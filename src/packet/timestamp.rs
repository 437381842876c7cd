use std::fmt;
use std::time::Duration;

use jiff::fmt::StdFmtWrite;
use jiff::fmt::temporal::DateTimePrinter;

/// A moment, in nanoseconds since the Unix epoch. The core never reads the clock: callers pass the
/// time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Timestamp(pub u64);

impl Timestamp {
    /// Returns the time since an earlier moment, or zero if it is later.
    #[must_use]
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }

    /// Returns the moment later by `duration`.
    #[must_use]
    pub fn plus(self, duration: Duration) -> Self {
        let nanos = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        Self(self.0.saturating_add(nanos))
    }

    /// Parses a date and time of RFC 3339, from 1970 to 2554, with up to 9 digits of fraction.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let moment: jiff::Timestamp = text.parse().ok()?;
        u64::try_from(moment.as_nanosecond()).ok().map(Self)
    }
}

impl fmt::Display for Timestamp {
    /// Writes the moment as of RFC 3339 in UTC with nanoseconds: `2026-11-20T12:31:07.123456789Z`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (seconds, nanos) = (self.0 / NANOS, self.0 % NANOS);
        let moment = jiff::Timestamp::new(seconds.cast_signed(), nanos as i32)
            .expect("64 bits of nanoseconds end in 2554");
        PRINTER.print_timestamp(&moment, StdFmtWrite(f)).map_err(|_| fmt::Error)
    }
}

const PRINTER: DateTimePrinter = DateTimePrinter::new().precision(Some(9));

/// Nanoseconds per second.
const NANOS: u64 = 1_000_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prints_and_reads_known_moments() {
        for (nanos, text) in [
            (0, "1970-01-01T00:00:00.000000000Z"),
            (951_782_399_999_999_999, "2000-02-28T23:59:59.999999999Z"),
            (951_782_400_000_000_000, "2000-02-29T00:00:00.000000000Z"),
            (1_795_177_867_123_456_789, "2026-11-20T12:31:07.123456789Z"),
            (4_107_542_400_000_000_001, "2100-03-01T00:00:00.000000001Z"),
            (u64::MAX, "2554-07-21T23:34:33.709551615Z"),
        ] {
            assert_eq!(Timestamp(nanos).to_string(), text);
            assert_eq!(Timestamp::parse(text), Some(Timestamp(nanos)));
        }
    }

    #[test]
    fn reads_shorter_fractions_and_rejects_everything_else() {
        assert_eq!(Timestamp::parse("1970-01-01T00:00:01.5Z"), Some(Timestamp(1_500_000_000)));
        assert_eq!(Timestamp::parse("1970-01-01T00:00:01Z"), Some(Timestamp(1_000_000_000)));
        for bad in [
            "",
            "1970-01-01",
            "1970-13-01T00:00:00Z",
            "1970-01-01T24:00:00Z",
            "1-1-1T1:1:1Z",
            "1969-12-31T23:59:59Z",
            "2554-07-21T23:34:33.709551616Z",
        ] {
            assert_eq!(Timestamp::parse(bad), None, "{bad}");
        }
    }

    /// The hand-written parser took every month to have 31 days and every number to have a sign:
    /// `2026-02-31` was read as 3 March.
    #[test]
    fn dates_that_do_not_exist_and_signs_within_a_date_are_rejected() {
        for bad in [
            "2026-02-31T00:00:00Z",
            "2025-02-29T00:00:00Z",
            "2026-04-31T00:00:00Z",
            "2026-+1-+2T+0:+1:+2Z",
            "2026-+1-02T00:00:00Z",
            "+2026-01-02T00:00:00Z",
        ] {
            assert_eq!(Timestamp::parse(bad), None, "{bad}");
        }
    }
}
