use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use crate::lang::amount::{AmountError, Size};
use mitmcraft_protocol::packet::Timestamp;

/// The size or age at which a series of captures goes on in the next file: `100M`, or `1d`.
///
/// A number with `s`, `min`, `h` or `d` is a time; with `k`, `M`, `G` or nothing a size, as everywhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rotation {
    /// A file of this many bytes, at least 1, is full.
    Size(u64),
    /// A file is full before an entry that is this much later, at least a second, than its first one.
    Age(Duration),
}

impl Rotation {
    /// Returns whether a file of `written` bytes that begins at `first` is full before an entry of
    /// the time `at`.
    pub(super) fn is_due(self, written: u64, first: Option<Timestamp>, at: Timestamp) -> bool {
        match self {
            Self::Size(size) => written >= size,
            Self::Age(age) => first.is_some_and(|first| at >= first.plus(age)),
        }
    }
}

impl FromStr for Rotation {
    type Err = AmountError;

    fn from_str(text: &str) -> Result<Self, AmountError> {
        let trimmed = text.trim();
        let number = trimmed.trim_end_matches(char::is_alphabetic);
        let seconds = match &trimmed[number.len()..] {
            "s" => 1,
            "min" => 60,
            "h" => 3600,
            "d" => 24 * 3600,
            _ => {
                let size = Size::room(text);
                return size.map(|size| Self::Size(size.0)).map_err(|error| match error {
                    AmountError::Size(text) => AmountError::Rotation(text),
                    error => error,
                });
            }
        };
        let number: u64 =
            number.trim_end().parse().map_err(|_| AmountError::Duration(text.to_owned()))?;
        match number.checked_mul(seconds) {
            Some(0) => Err(AmountError::Zero(text.to_owned())),
            Some(seconds) if seconds <= LONGEST => Ok(Self::Age(Duration::from_secs(seconds))),
            _ => Err(AmountError::TooLarge(text.to_owned())),
        }
    }
}

impl fmt::Display for Rotation {
    /// Writes the value as [`FromStr`] reads it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Size(size) => Size(*size).fmt(f),
            Self::Age(age) => {
                let seconds = age.as_secs();
                let units = [(24 * 3600, "d"), (3600, "h"), (60, "min"), (1, "s")];
                let (unit, name) =
                    units.into_iter().find(|(unit, _)| seconds % unit == 0).unwrap_or((1, "s"));
                write!(f, "{}{name}", seconds / unit)
            }
        }
    }
}

/// The longest age, ten years in seconds.
const LONGEST: u64 = 3650 * 24 * 3600;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rotation_is_a_size_or_a_time() {
        for (text, rotation) in [
            ("100M", Rotation::Size(100 << 20)),
            ("10m", Rotation::Size(10 << 20)),
            ("65537", Rotation::Size(65537)),
            ("90s", Rotation::Age(Duration::from_secs(90))),
            ("10min", Rotation::Age(Duration::from_secs(600))),
            ("12h", Rotation::Age(Duration::from_secs(12 * 3600))),
            ("1d", Rotation::Age(Duration::from_secs(24 * 3600))),
        ] {
            assert_eq!(text.parse(), Ok(rotation), "{text}");
            assert_eq!(rotation.to_string().parse(), Ok(rotation), "{text}");
        }
        assert_eq!("1.5d".parse::<Rotation>(), Err(AmountError::Duration("1.5d".into())));
        assert_eq!("0d".parse::<Rotation>(), Err(AmountError::Zero("0d".into())));
        assert_eq!("0".parse::<Rotation>(), Err(AmountError::Zero("0".into())));
        assert_eq!("9999d".parse::<Rotation>(), Err(AmountError::TooLarge("9999d".into())));
        assert_eq!("1w".parse::<Rotation>(), Err(AmountError::Rotation("1w".into())));
    }
}
