use std::fmt;
use std::time::Duration;

/// A moment: nanoseconds since the Unix epoch. The core never asks for the time, it is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Timestamp(pub u64);

impl Timestamp {
    /// Time since an earlier moment; nothing if it is later.
    #[must_use]
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }

    /// The moment that much later.
    #[must_use]
    pub fn plus(self, duration: Duration) -> Self {
        let nanos = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        Self(self.0.saturating_add(nanos))
    }

    /// Reads the form that [`Display`](fmt::Display) writes, with 0 to 9 digits of fraction.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.strip_suffix('Z')?;
        let (date, time) = text.split_once('T')?;
        let mut date = date.splitn(3, '-').map(|part| part.parse::<u64>().ok());
        let (year, month, day) = (date.next()??, date.next()??, date.next()??);
        let (clock, fraction) = time.split_once('.').unwrap_or((time, ""));
        let mut clock = clock.splitn(3, ':').map(|part| part.parse::<u64>().ok());
        let (hour, minute, second) = (clock.next()??, clock.next()??, clock.next()??);
        let digits = fraction.bytes().all(|byte| byte.is_ascii_digit());
        let valid = (1970..=2500).contains(&year)
            && (1..=12).contains(&month)
            && (1..=31).contains(&day)
            && hour < 24
            && minute < 60
            && second < 60
            && digits
            && fraction.len() <= 9;
        if !valid {
            return None;
        }
        let nanos: u64 = format!("{fraction:0<9}").parse().ok()?;
        let seconds = ((days(year, month, day) * 24 + hour) * 60 + minute) * 60 + second;
        Some(Self(seconds * 1_000_000_000 + nanos))
    }
}

impl fmt::Display for Timestamp {
    /// RFC 3339 in UTC with nanoseconds: `2026-11-20T12:31:07.123456789Z`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (seconds, nanos) = (self.0 / 1_000_000_000, self.0 % 1_000_000_000);
        let (year, month, day) = civil(seconds / 86_400);
        // Every line of a capture has one, so the digits are put in place one by one.
        let mut text = *b"0000-00-00T00:00:00.000000000Z";
        for (number, place, digits) in [
            (year, 0, 4),
            (month, 5, 2),
            (day, 8, 2),
            (seconds / 3600 % 24, 11, 2),
            (seconds / 60 % 60, 14, 2),
            (seconds % 60, 17, 2),
            (nanos, 20, 9),
        ] {
            put_digits(&mut text[place..place + digits], number);
        }
        f.write_str(str::from_utf8(&text).expect("digits are ASCII"))
    }
}

/// Writes the last digits of `number`, as many as there is room for.
fn put_digits(out: &mut [u8], mut number: u64) {
    for digit in out.iter_mut().rev() {
        *digit = b'0' + (number % 10) as u8;
        number /= 10;
    }
}

/// Days since 1970 of a date of the Gregorian calendar, counted in eras of 400 years that begin in
/// March, so that the leap day is the last of its year.
fn days(year: u64, month: u64, day: u64) -> u64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, of_era) = (year / 400, year % 400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * DAYS_OF_ERA + of_era * 365 + of_era / 4 - of_era / 100 + of_year - DAYS_TO_1970
}

/// The reverse of [`days`].
fn civil(days: u64) -> (u64, u64, u64) {
    let days = days + DAYS_TO_1970;
    let (era, of_era) = (days / DAYS_OF_ERA, days % DAYS_OF_ERA);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (era * 400 + year + u64::from(month <= 2), month, day)
}

const DAYS_OF_ERA: u64 = 146_097;
const DAYS_TO_1970: u64 = 719_468;

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
        ] {
            assert_eq!(Timestamp(nanos).to_string(), text);
            assert_eq!(Timestamp::parse(text), Some(Timestamp(nanos)));
        }
    }

    #[test]
    fn reads_shorter_fractions_and_refuses_what_is_no_time() {
        assert_eq!(Timestamp::parse("1970-01-01T00:00:01.5Z"), Some(Timestamp(1_500_000_000)));
        assert_eq!(Timestamp::parse("1970-01-01T00:00:01Z"), Some(Timestamp(1_000_000_000)));
        for bad in
            ["", "1970-01-01", "1970-13-01T00:00:00Z", "1970-01-01T24:00:00Z", "1-1-1T1:1:1Z"]
        {
            assert_eq!(Timestamp::parse(bad), None, "{bad}");
        }
    }
}
