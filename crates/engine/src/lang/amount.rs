//! Sizes, durations and rates as users write them in options, settings and filter files.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use thiserror::Error;

/// A duration of at most 24 hours: `5` (seconds), `200ms`, `1.5s`, `10m`, `1h`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Period(pub Duration);

/// A number of bytes: `65536`, `64k`, `1.5M`, `2GiB`. All units are powers of 1024.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Size(pub u64);

/// Bytes per second, at least 1: `64kB/s`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rate(pub u64);

/// A duration and the most that it varies by: `200ms ± 50ms`, `200ms +- 50ms`, `200ms`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Jittered {
    /// The mean.
    pub mean: Duration,
    /// The largest deviation, at most `mean`.
    pub jitter: Duration,
}

/// The reason why a text is not a [`Period`], [`Size`], [`Rate`] or [`Jittered`] duration.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum AmountError {
    /// Not a number, or with an unknown unit.
    #[error("invalid duration `{0}`: expected a number with `ms`, `s`, `m` or `h`")]
    Duration(String),
    /// Longer than a day.
    #[error("invalid duration `{0}`: at most 24h")]
    TooLong(String),
    /// Not a number, or with an unknown unit.
    #[error("invalid size `{0}`: expected a number of bytes, or one with `k`, `M` or `G`")]
    Size(String),
    /// Neither a size nor an age.
    #[error(
        "invalid size or age `{0}`: expected a number with `k`, `M` or `G`, or with `s`, `min`, `h` or `d`"
    )]
    Rotation(String),
    /// Fewer bytes than are of use, without a unit.
    #[error("`{0}` means {0} bytes, which is too small: did you mean `{0}M`?")]
    TooSmall(String),
    /// More than 64 bits, or than allowed.
    #[error("invalid value `{0}`: too large")]
    TooLarge(String),
    /// Not a positive size followed by `/s`.
    #[error("invalid rate `{0}`: expected a size per second, such as `64kB/s`")]
    Rate(String),
    /// Zero, where a positive value is required.
    #[error("invalid value `{0}`: must be greater than 0")]
    Zero(String),
    /// A deviation above the mean.
    #[error("invalid duration `{0}`: the deviation is greater than the mean")]
    Jitter(String),
}

impl Period {
    /// The longest period.
    pub const MAX: Self = Self(Duration::from_secs(24 * 3600));

    /// Parses a period longer than 0.
    ///
    /// # Errors
    /// [`AmountError`] when `text` is not a period, or 0.
    pub fn positive(text: &str) -> Result<Self, AmountError> {
        let period: Self = text.parse()?;
        if period.0.is_zero() { Err(AmountError::Zero(text.into())) } else { Ok(period) }
    }
}

impl FromStr for Period {
    type Err = AmountError;

    fn from_str(text: &str) -> Result<Self, AmountError> {
        let invalid = || AmountError::Duration(text.to_owned());
        let (number, unit) = split(text);
        let factor = match unit {
            "us" | "µs" => 1e-6,
            "ms" => 1e-3,
            "" | "s" => 1.0,
            "m" | "min" => 60.0,
            "h" => 3600.0,
            _ => return Err(invalid()),
        };
        let seconds = number.parse::<f64>().map_err(|_| invalid())? * factor;
        if seconds > Self::MAX.0.as_secs_f64() {
            return Err(AmountError::TooLong(text.to_owned()));
        }
        Duration::try_from_secs_f64(seconds).map(Self).map_err(|_| invalid())
    }
}

impl fmt::Display for Period {
    /// Writes the number of seconds without a unit, as [`FromStr`] reads it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0.as_secs_f64())
    }
}

impl Size {
    /// Parses a size of at least 1 byte.
    ///
    /// # Errors
    /// [`AmountError`] when `text` is not a size, or 0.
    pub fn positive(text: &str) -> Result<Self, AmountError> {
        let size: Self = text.parse()?;
        if size.0 == 0 { Err(AmountError::Zero(text.into())) } else { Ok(size) }
    }

    /// Parses the size of something that holds packets: a number below 1024 without a unit is a mistake.
    ///
    /// # Errors
    /// [`AmountError`] when `text` is not a size, 0, or such a number.
    pub fn room(text: &str) -> Result<Self, AmountError> {
        let size = Self::positive(text)?;
        let is_bare = text.trim().bytes().all(|it| it.is_ascii_digit());
        if size.0 < 1024 && is_bare { Err(AmountError::TooSmall(text.into())) } else { Ok(size) }
    }
}

impl FromStr for Size {
    type Err = AmountError;

    fn from_str(text: &str) -> Result<Self, AmountError> {
        let invalid = || AmountError::Size(text.to_owned());
        let too_large = || AmountError::TooLarge(text.to_owned());
        let (number, unit) = split(text);
        let factor: u64 = match unit.to_ascii_lowercase().as_str() {
            "" | "b" => 1,
            "k" | "kb" | "kib" => 1 << 10,
            "m" | "mb" | "mib" => 1 << 20,
            "g" | "gb" | "gib" => 1 << 30,
            _ => return Err(invalid()),
        };
        if let Ok(number) = number.parse::<u64>() {
            return number.checked_mul(factor).map(Self).ok_or_else(too_large);
        }
        let number: f64 = number.parse().map_err(|_| invalid())?;
        let bytes = number * factor as f64;
        if bytes.is_nan() || bytes < 0.0 {
            return Err(invalid());
        }
        // Up to here a float has every whole number.
        if bytes > (1u64 << 53) as f64 {
            return Err(too_large());
        }
        Ok(Self(bytes as u64))
    }
}

impl fmt::Display for Size {
    /// Writes the number with `M` or `k` where it is a multiple of either, as [`FromStr`] reads it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            bytes if bytes >= 1 << 20 && bytes % (1 << 20) == 0 => write!(f, "{}M", bytes >> 20),
            bytes if bytes >= 1 << 10 && bytes % (1 << 10) == 0 => write!(f, "{}k", bytes >> 10),
            bytes => write!(f, "{bytes}"),
        }
    }
}

impl FromStr for Rate {
    type Err = AmountError;

    fn from_str(text: &str) -> Result<Self, AmountError> {
        let size = text.trim().strip_suffix("/s").and_then(|size| Size::positive(size).ok());
        size.map(|size| Self(size.0)).ok_or_else(|| AmountError::Rate(text.to_owned()))
    }
}

impl FromStr for Jittered {
    type Err = AmountError;

    fn from_str(text: &str) -> Result<Self, AmountError> {
        let parts = ["±", "+-", "+/-"].into_iter().find_map(|sign| text.split_once(sign));
        let (mean, jitter) = parts.unwrap_or((text, "0"));
        let (Period(mean), Period(jitter)) = (mean.parse()?, jitter.parse()?);
        if jitter > mean {
            return Err(AmountError::Jitter(text.to_owned()));
        }
        Ok(Self { mean, jitter })
    }
}

/// Splits a number from the letters after it.
fn split(text: &str) -> (&str, &str) {
    let text = text.trim();
    let number = text.trim_end_matches(char::is_alphabetic);
    (number.trim_end(), &text[number.len()..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_durations_and_rejects_everything_else() {
        for (text, micros) in [
            ("5", 5_000_000),
            ("0", 0),
            ("0.5", 500_000),
            (".5", 500_000),
            ("200ms", 200_000),
            ("200µs", 200),
            (" 1.5 s", 1_500_000),
            ("2m", 120_000_000),
            ("2min", 120_000_000),
            ("24h", 86_400_000_000),
            ("1e3", 1_000_000_000),
        ] {
            assert_eq!(text.parse(), Ok(Period(Duration::from_micros(micros))), "{text}");
        }
        for text in ["", "m", "5x", "x", "-1s", "-1", "1 year", "nans", "NaN", "inf", "1..2s"] {
            assert_eq!(text.parse::<Period>(), Err(AmountError::Duration(text.into())), "{text}");
        }
        for text in ["1e99s", "25h", "1e9"] {
            assert_eq!(text.parse::<Period>(), Err(AmountError::TooLong(text.into())), "{text}");
        }
        assert_eq!(Period::positive("0s"), Err(AmountError::Zero("0s".into())));
        assert_eq!(
            "5x".parse::<Period>().unwrap_err().to_string(),
            "invalid duration `5x`: expected a number with `ms`, `s`, `m` or `h`"
        );
    }

    #[test]
    fn reads_sizes_and_prints_them() {
        for (text, bytes, printed) in [
            ("0", 0, "0"),
            ("100", 100, "100"),
            ("64k", 65536, "64k"),
            ("64 kB", 65536, "64k"),
            ("1.5M", 3 << 19, "1536k"),
            ("2MiB", 2 << 20, "2M"),
            ("1g", 1 << 30, "1024M"),
            ("18446744073709551615", u64::MAX, "18446744073709551615"),
        ] {
            let size: Size = text.parse().unwrap();
            assert_eq!((size.0, size.to_string().as_str()), (bytes, printed));
        }
        for text in ["", "k", "2x", "-1", "nan", "1..2k"] {
            assert_eq!(text.parse::<Size>(), Err(AmountError::Size(text.into())), "{text}");
        }
        for text in ["99999999999999999999", "18446744073709551615k", "1e300", "inf"] {
            assert!(text.parse::<Size>().is_err(), "{text}");
        }
        assert_eq!(Size::positive("0"), Err(AmountError::Zero("0".into())));
    }

    #[test]
    fn reads_rates_and_jittered_durations() {
        assert_eq!("64kB/s".parse(), Ok(Rate(64 << 10)));
        for text in ["64kB", "0/s", "/s", ""] {
            assert_eq!(text.parse::<Rate>(), Err(AmountError::Rate(text.into())), "{text}");
        }
        let millis = |mean, jitter| {
            let (mean, jitter) = (Duration::from_millis(mean), Duration::from_millis(jitter));
            Jittered { mean, jitter }
        };
        for text in ["200ms ± 50ms", "200ms +- 50ms", "0.2s+/-50ms"] {
            assert_eq!(text.parse(), Ok(millis(200, 50)), "{text}");
        }
        assert_eq!("1s".parse(), Ok(millis(1000, 0)));
        assert_eq!("1s ± 2s".parse::<Jittered>(), Err(AmountError::Jitter("1s ± 2s".into())));
    }
}
