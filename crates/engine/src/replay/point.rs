use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// A point in a recorded session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Point {
    /// The time since the session was opened.
    Time(Duration),
    /// The packet with this number.
    Packet(u64),
}

impl FromStr for Point {
    type Err = PointError;

    fn from_str(text: &str) -> Result<Self, PointError> {
        let fault = || PointError(text.to_owned());
        if let Some(number) = text.strip_prefix('@') {
            return number.parse().map(Self::Packet).map_err(|_| fault());
        }
        let seconds: f64 = text.strip_suffix('s').unwrap_or(text).parse().map_err(|_| fault())?;
        Duration::try_from_secs_f64(seconds).map(Self::Time).map_err(|_| fault())
    }
}

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Time(time) => write!(f, "{}s", time.as_secs_f64()),
            Self::Packet(number) => write!(f, "@{number}"),
        }
    }
}

/// Error of parsing a [`Point`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "invalid point `{0}`: expected seconds since the session began (`12.5`) or a packet number \
     (`@120`)"
)]
pub struct PointError(String);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_times_and_packets_and_rejects_everything_else() {
        assert_eq!("1.5".parse(), Ok(Point::Time(Duration::from_millis(1500))));
        assert_eq!("2s".parse(), Ok(Point::Time(Duration::from_secs(2))));
        assert_eq!("@120".parse(), Ok(Point::Packet(120)));
        for text in ["", "x", "-1", "NaN", "inf", "@", "@-1", "#4"] {
            assert!(text.parse::<Point>().is_err(), "{text}");
        }
        assert_eq!(Point::Packet(7).to_string().parse(), Ok(Point::Packet(7)));
    }
}
