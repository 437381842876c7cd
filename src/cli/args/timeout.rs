use std::str::FromStr;
use std::time::Duration;

use mitmcraft_engine::lang::amount::Period;
use mitmcraft_engine::session::Timeouts;

/// One timeout as the user sets it: `connect=10`, `idle=none`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Timeout {
    of: fn(&mut Timeouts) -> &mut Option<Duration>,
    /// `None` waits forever.
    period: Option<Duration>,
}

impl Timeout {
    /// Applies `set` to the default timeouts; the last value of a name counts.
    pub(crate) fn apply(set: &[Self]) -> Timeouts {
        let mut timeouts = Timeouts::default();
        for Self { of, period } in set {
            *of(&mut timeouts) = *period;
        }
        timeouts
    }
}

impl FromStr for Timeout {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let invalid =
            || format!("invalid timeout `{text}`: expected `connect=`, `login=` or `idle=`");
        let (name, period) = text.split_once('=').ok_or_else(invalid)?;
        let of: fn(&mut Timeouts) -> &mut Option<Duration> = match name.trim() {
            "connect" => |it| &mut it.connect,
            "login" => |it| &mut it.login,
            "idle" => |it| &mut it.idle,
            _ => return Err(invalid()),
        };
        let period = match period.trim() {
            "none" => None,
            period => Some(Period::positive(period).map_err(|error| error.to_string())?.0),
        };
        Ok(Self { of, period })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_the_named_timeouts_and_leaves_the_others() {
        let set = ["connect=5", "idle=10m"].map(|text| text.parse::<Timeout>().unwrap());
        let timeouts = Timeout::apply(&set);
        let seconds = |timeout: Option<Duration>| timeout.map(|it| it.as_secs());
        assert_eq!(seconds(timeouts.connect), Some(5));
        assert_eq!(seconds(timeouts.login), Some(120));
        assert_eq!(seconds(timeouts.idle), Some(600));
        assert_eq!(Timeout::apply(&["login=none".parse().unwrap()]).login, None);
        for text in ["connect", "conect=5", "idle=0", "idle=", "login=x"] {
            assert!(text.parse::<Timeout>().is_err(), "{text}");
        }
    }

    #[test]
    fn the_default_in_the_help_is_the_default() {
        let default = "connect=30,login=120,idle=none".split(',').map(|it| it.parse().unwrap());
        assert_eq!(Timeout::apply(&default.collect::<Vec<_>>()), Timeouts::default());
    }
}
