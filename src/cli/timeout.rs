use std::str::FromStr;
use std::time::Duration;

use mitmcraft::session::Timeouts;

use super::seconds::Seconds;

/// One timeout as a user sets it: `connect=10`, `idle=none`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Timeout {
    which: Which,
    /// None: as long as it takes.
    time: Option<Duration>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Which {
    Connect,
    Login,
    Idle,
}

impl Timeout {
    /// The defaults, with those that were set.
    pub(crate) fn all(set: &[Self]) -> Timeouts {
        let mut timeouts = Timeouts::default();
        for Self { which, time } in set {
            match which {
                Which::Connect => timeouts.connect = *time,
                Which::Login => timeouts.login = *time,
                Which::Idle => timeouts.idle = *time,
            }
        }
        timeouts
    }
}

impl FromStr for Timeout {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wanted = || format!("`{text}` is no timeout: want `connect=`, `login=` or `idle=`");
        let (name, time) = text.split_once('=').ok_or_else(wanted)?;
        let which = match name.trim() {
            "connect" => Which::Connect,
            "login" => Which::Login,
            "idle" => Which::Idle,
            _ => return Err(wanted()),
        };
        let time = match time.trim() {
            "none" => None,
            time => Some(time.parse::<Seconds>()?.0),
        };
        Ok(Self { which, time })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_what_is_named_and_leaves_the_rest() {
        let set = ["connect=5", "idle=10m"].map(|text| text.parse::<Timeout>().unwrap());
        let timeouts = Timeout::all(&set);
        let seconds = |timeout: Option<Duration>| timeout.map(|it| it.as_secs());
        assert_eq!(seconds(timeouts.connect), Some(5));
        assert_eq!(seconds(timeouts.login), Some(120));
        assert_eq!(seconds(timeouts.idle), Some(600));
        assert_eq!(Timeout::all(&["login=none".parse().unwrap()]).login, None);
        for text in ["connect", "conect=5", "idle=0", "idle=", "login=x"] {
            assert!(text.parse::<Timeout>().is_err(), "{text}");
        }
    }

    #[test]
    fn the_default_that_the_help_tells_is_the_one_that_holds() {
        let told = "connect=30,login=120,idle=none".split(',').map(|text| text.parse().unwrap());
        assert_eq!(Timeout::all(&told.collect::<Vec<_>>()), Timeouts::default());
    }
}
