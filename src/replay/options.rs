use std::time::Duration;

use super::Point;

/// How a recording is played.
#[derive(Debug, Clone, Copy)]
pub struct PlayOptions {
    /// When packets are sent.
    pub pace: Pace,
    /// How many times faster than recorded.
    pub speed: f64,
    /// Where to begin.
    pub from: Option<Point>,
    /// Where to end: the first packet that is not sent any more.
    pub to: Option<Point>,
    /// How long a packet of the peer that is waited for may take.
    pub patience: Duration,
    /// Whether what is only right for one connection is made anew: keep-alives, answers to
    /// teleports and the like.
    pub refresh: bool,
}

/// When packets are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    /// Not before the recorded time has passed.
    pub timed: bool,
    /// Not before the peer has sent what it had sent before in the recording.
    pub ordered: bool,
}

impl Pace {
    /// At the recorded times, whatever the peer does.
    pub const RECORDED: Self = Self { timed: true, ordered: false };
    /// As soon as the peer has sent what preceded.
    pub const LOCKSTEP: Self = Self { timed: false, ordered: true };
    /// Both.
    pub const FAITHFUL: Self = Self { timed: true, ordered: true };
    /// At once.
    pub const ASAP: Self = Self { timed: false, ordered: false };
}

impl Default for PlayOptions {
    fn default() -> Self {
        Self {
            pace: Pace::RECORDED,
            speed: 1.0,
            from: None,
            to: None,
            patience: Duration::from_secs(5),
            refresh: true,
        }
    }
}
