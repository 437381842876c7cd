use std::time::Duration;

use mlua::Function;

use mitmcraft_protocol::packet::Timestamp;

/// A function of a script that is called at some time.
#[derive(Debug)]
pub(super) struct Timer {
    /// The number by which the script stops it.
    pub(super) number: u64,
    pub(super) due: Timestamp,
    /// The time between two calls; `None` if there is one call only.
    pub(super) every: Option<Duration>,
    pub(super) function: Function,
    /// The line that started it.
    pub(super) line: usize,
}

/// Most timers of a script in one session.
pub(super) const MAX_TIMERS: usize = 1000;
