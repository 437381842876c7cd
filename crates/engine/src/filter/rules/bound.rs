use std::fmt;

use thiserror::Error;

use crate::lang::amount::{AmountError, Size};

/// A bound on a number: `>= 1`, `== 2`, `<= 3`, `> 4`, `< 5`, or a number, which must be met exactly.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bound {
    /// The least number allowed.
    pub least: u64,
    /// The greatest number allowed; `None` if there is none.
    pub most: Option<u64>,
    /// The bound as the file has it.
    text: Box<str>,
}

/// A bound on packets or bytes per second.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RateBound {
    /// The bound in each second.
    pub bound: Bound,
    /// The unit of the bound.
    pub unit: RateUnit,
}

/// The unit of a [`RateBound`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RateUnit {
    /// Packets per second.
    Packets,
    /// Bytes of bodies per second.
    Bytes,
}

/// The reason why a text is not a bound.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(super) enum BoundError {
    #[error("invalid number `{0}`: expected a whole number")]
    Number(String),
    #[error(transparent)]
    Amount(#[from] AmountError),
    #[error("invalid rate `{0}`: expected packets or bytes per second, such as `20/s` or `64kB/s`")]
    Rate(String),
    #[error("no number is `{0}`")]
    Impossible(String),
    #[error("every number is `{0}`")]
    Always(String),
}

impl Bound {
    /// Parses a bound on a number of packets.
    pub(super) fn count(text: &str) -> Result<Self, BoundError> {
        Self::parse(text, |text| text.parse().map_err(|_| BoundError::Number(text.to_owned())))
    }

    /// Parses a bound on a number of bytes.
    pub(super) fn bytes(text: &str) -> Result<Self, BoundError> {
        Self::parse(text, |text| Ok(text.parse::<Size>()?.0))
    }

    /// The bound that no number above 0 keeps.
    pub(super) fn none() -> Self {
        Self { least: 0, most: Some(0), text: "== 0".into() }
    }

    /// The bound of an expectation without one.
    pub(super) fn some() -> Self {
        Self { least: 1, most: None, text: ">= 1".into() }
    }

    /// Returns whether `number` is above the bound.
    #[must_use]
    pub fn is_exceeded(&self, number: u64) -> bool {
        self.most.is_some_and(|most| number > most)
    }

    fn parse(
        text: &str,
        read: impl FnOnce(&str) -> Result<u64, BoundError>,
    ) -> Result<Self, BoundError> {
        let text = text.trim();
        let signs = [">=", "<=", "==", ">", "<"];
        let sign = signs.into_iter().find(|sign| text.starts_with(sign)).unwrap_or_default();
        let number = read(text[sign.len()..].trim_start())?;
        let impossible = || BoundError::Impossible(text.to_owned());
        let (least, most) = match sign {
            ">=" => (number, None),
            ">" => (number.checked_add(1).ok_or_else(impossible)?, None),
            "<=" => (0, Some(number)),
            "<" => (0, Some(number.checked_sub(1).ok_or_else(impossible)?)),
            _ => (number, Some(number)),
        };
        if (least, most) == (0, None) {
            return Err(BoundError::Always(text.to_owned()));
        }
        let text = if sign.is_empty() { format!("== {text}").into() } else { text.into() };
        Ok(Self { least, most, text })
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl RateBound {
    /// Parses a bound on packets (`<= 20/s`) or bytes (`<= 64kB/s`) per second.
    pub(super) fn parse(text: &str) -> Result<Self, BoundError> {
        let invalid = || BoundError::Rate(text.to_owned());
        let number = text.trim().strip_suffix("/s").ok_or_else(invalid)?.trim_end();
        let has_unit = number.ends_with(|char: char| !char.is_ascii_digit());
        let unit = if has_unit { RateUnit::Bytes } else { RateUnit::Packets };
        let mut bound = match unit {
            RateUnit::Packets => Bound::count(number),
            RateUnit::Bytes => Bound::bytes(number),
        }
        .map_err(|error| match error {
            BoundError::Number(_) | BoundError::Amount(_) => invalid(),
            other => other,
        })?;
        bound.text = format!("{bound}/s").into();
        Ok(Self { bound, unit })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_read_in_every_form() {
        for (text, least, most, shown) in [
            (">= 1", 1, None, ">= 1"),
            (">=1", 1, None, ">=1"),
            (" > 1 ", 2, None, "> 1"),
            ("== 2", 2, Some(2), "== 2"),
            ("2", 2, Some(2), "== 2"),
            ("0", 0, Some(0), "== 0"),
            ("<= 3", 0, Some(3), "<= 3"),
            ("< 3", 0, Some(2), "< 3"),
        ] {
            let bound = Bound::count(text).unwrap();
            assert_eq!((bound.least, bound.most), (least, most), "{text}");
            assert_eq!(bound.to_string(), shown);
        }
        assert_eq!(Bound::bytes("<= 1.5k").unwrap().most, Some(1536));
        let rate = RateBound::parse("<= 20/s").unwrap();
        assert_eq!((rate.unit, rate.bound.most), (RateUnit::Packets, Some(20)));
        let rate = RateBound::parse(">= 2 kB/s").unwrap();
        assert_eq!((rate.unit, rate.bound.least), (RateUnit::Bytes, 2048));
        assert_eq!(rate.bound.to_string(), ">= 2 kB/s");
    }

    #[test]
    fn what_is_no_bound_is_rejected_with_the_reason() {
        for text in ["", ">=", "=> 1", "!= 1", "1.5", "-1", "= 1", "x", "1 2"] {
            assert!(matches!(Bound::count(text), Err(BoundError::Number(_))), "{text}");
        }
        for text in ["20", "/s", "x/s", "<= 1/m", "1.5/s", "1 parsec/s"] {
            assert!(matches!(RateBound::parse(text), Err(BoundError::Rate(_))), "{text}");
        }
        let always = BoundError::Always(">= 0".to_owned());
        assert_eq!(Bound::count(">= 0"), Err(always));
        assert_eq!(Bound::bytes("< 0"), Err(BoundError::Impossible("< 0".to_owned())));
        assert!(matches!(Bound::bytes("1x"), Err(BoundError::Amount(_))));
    }
}
