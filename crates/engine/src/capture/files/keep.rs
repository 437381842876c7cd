use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use super::rotation::Rotation;
use crate::lang::amount::{AmountError, Size};

/// Which of the files of a capture with several are kept: `10` (the newest ten), `20G` (as many of the
/// newest as have that size together), `14d` (those written in that time).
///
/// A number with `s`, `min`, `h` or `d` is a time; with `k`, `M` or `G` a size; with nothing a count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// This many files, at least 1.
    Files(usize),
    /// Files of this many bytes together, at least 1.
    Bytes(u64),
    /// Files of this age at most, at least a second.
    Age(Duration),
}

impl FromStr for Keep {
    type Err = AmountError;

    fn from_str(text: &str) -> Result<Self, AmountError> {
        let trimmed = text.trim();
        if !trimmed.is_empty() && trimmed.bytes().all(|byte| byte.is_ascii_digit()) {
            return match trimmed.parse() {
                Ok(0) => Err(AmountError::Zero(text.to_owned())),
                Ok(files) => Ok(Self::Files(files)),
                Err(_) => Err(AmountError::TooLarge(text.to_owned())),
            };
        }
        Ok(match trimmed.parse()? {
            Rotation::Size(bytes) => Self::Bytes(bytes),
            Rotation::Age(age) => Self::Age(age),
        })
    }
}

impl fmt::Display for Keep {
    /// Writes the value as [`FromStr`] reads it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Files(files) => write!(f, "{files}"),
            // A number alone is a count.
            Self::Bytes(bytes) if Size(*bytes).to_string().parse::<u64>().is_ok() => {
                write!(f, "{bytes}B")
            }
            Self::Bytes(bytes) => Size(*bytes).fmt(f),
            Self::Age(age) => Rotation::Age(*age).fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_a_count_a_size_or_a_time() {
        for (text, keep) in [
            ("10", Keep::Files(10)),
            ("20G", Keep::Bytes(20 << 30)),
            ("1500B", Keep::Bytes(1500)),
            ("14d", Keep::Age(Duration::from_secs(14 * 24 * 3600))),
            ("90min", Keep::Age(Duration::from_secs(90 * 60))),
        ] {
            assert_eq!(text.parse(), Ok(keep), "{text}");
            assert_eq!(keep.to_string().parse(), Ok(keep), "{text}");
        }
        for text in ["", "0", "0G", "2w", "-1", "99999999999999999999"] {
            text.parse::<Keep>().unwrap_err();
        }
    }
}
