use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// A time as users write it: `5`, `0.5`, `10m`, `1h`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Seconds(pub(crate) Duration);

impl FromStr for Seconds {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = text.trim_end_matches(|char: char| char.is_ascii_alphabetic());
        let unit = match &text[number.len()..] {
            "" | "s" => Some(1.0),
            "m" => Some(60.0),
            "h" => Some(3600.0),
            _ => None,
        };
        let number: Option<f64> = number.parse().ok();
        let seconds = number.zip(unit).map(|(number, unit)| number * unit);
        match seconds.filter(|it| *it > 0.0 && *it <= MOST) {
            Some(seconds) => Ok(Self(Duration::from_secs_f64(seconds))),
            None => {
                Err(format!("`{text}` is no time: want seconds such as `5`, or `5m`, up to a day"))
            }
        }
    }
}

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0.as_secs_f64())
    }
}

/// A day.
const MOST: f64 = 86_400.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_seconds_and_refuses_the_rest() {
        for (text, millis) in
            [("5", 5000), ("0.5", 500), ("2s", 2000), ("1.5m", 90_000), ("1h", 3_600_000)]
        {
            let seconds: Seconds = text.parse().unwrap();
            assert_eq!(seconds.0, Duration::from_millis(millis), "{text}");
        }
        for text in ["", "0", "-1", "x", "NaN", "inf", "1e9", "5x", "m", "25h"] {
            assert!(text.parse::<Seconds>().is_err(), "{text}");
        }
    }
}
