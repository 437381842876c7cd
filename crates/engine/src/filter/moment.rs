use std::sync::Arc;
use std::time::Duration;

use mitmcraft_protocol::packet::{Context, Timestamp};
use mitmcraft_protocol::schema::{PerDirection, State};

/// A moment of a session in which a filter acts without a packet.
#[derive(Debug, Clone)]
pub struct Moment<'a> {
    /// The time.
    pub at: Timestamp,
    /// The session.
    pub context: &'a Arc<Context>,
    /// The present states.
    pub states: PerDirection<State>,
}

/// An event of a session that filters handle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionEvent {
    /// The session has been opened, or the filter has come into force in an open session.
    Open,
    /// A direction has entered another state.
    State,
    /// The session ends.
    Close,
}

/// The shortest interval of a timer of a filter: one that fires more often costs more than it can do in a
/// game of 20 ticks per second.
pub(crate) const SHORTEST_TIMER: Duration = Duration::from_millis(10);
