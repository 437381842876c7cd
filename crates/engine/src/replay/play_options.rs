use std::time::Duration;

use super::{Pace, Point};

/// Options for playing a recording.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct PlayOptions {
    /// The pace at which packets are sent.
    pub pace: Pace,
    /// Factor by which recorded times are shortened.
    pub speed: f64,
    /// The place at which to begin.
    pub from: Option<Point>,
    /// The first packet that is not sent; `None` plays to the end.
    pub to: Option<Point>,
    /// The time to wait for a packet of the peer.
    pub patience: Duration,
    /// `true` if packets that only suit the recorded connection are made for this one: keep-alives,
    /// answers to teleports and the like.
    pub refresh: bool,
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
