use mitmcraft_engine::link::{Breakpoint, CommandError, Decision, Transmission};

/// A request of a user interface.
#[derive(Debug, Clone)]
pub enum Request {
    /// Hold matching packets in all sessions; `None` stops holding.
    Break(Option<Breakpoint>),
    /// Return the content of a held packet.
    Content(HeldId),
    /// Return held packets in the order in which they came.
    List {
        /// The index of the first one.
        start: usize,
        /// The most packets to return.
        count: usize,
        /// The number of a packet whose index is wanted.
        anchor: Option<u64>,
    },
    /// Return which of some packets, by their numbers in the run, are held and not decided on, and how many in some
    /// spans of numbers are.
    Undecided(Vec<u64>, Vec<Span>),
    /// Forward everything that is held in a session, or in all.
    ForwardAll(Option<u64>),
    /// Decide on held packets of a session.
    Decide(u64, Vec<u64>, Decision),
    /// Decide on the packets of all sessions whose numbers in the run are in these spans, and that are held and not
    /// decided on. The answer is how many were.
    DecideSpans(Vec<Span>, Decision),
    /// Send packets in a session.
    Send(u64, Transmission),
    /// Send no more packets of what is sent repeatedly, by its number; `None` stops everything.
    Stop(Option<u64>),
    /// End a session, and show the player a text.
    Kick(u64, String),
}

/// Numbers in the run of held packets: the first and the last one.
pub type Span = (u64, u64);

/// Returns spans that have the same numbers, in order and without overlaps.
pub(super) fn merged(mut spans: Vec<Span>) -> Vec<Span> {
    spans.retain(|(first, last)| first <= last);
    spans.sort_unstable();
    spans.dedup_by(|(first, last), (_, before)| {
        let overlaps = first <= before;
        if overlaps {
            *before = (*before).max(*last);
        }
        overlaps
    });
    spans
}

/// Names a held packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HeldId {
    /// Its session.
    pub session: u64,
    /// Its number among those held in its session, from 1.
    pub held: u64,
}

/// Why a request is not carried out.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ControlError {
    /// There is no such session.
    #[error("session {0} is not open")]
    NotOpen(u64),
    /// The session ended before it answered.
    #[error("the session has ended")]
    Ended,
    /// The packet is gone.
    #[error("the packet is not held any more")]
    NotHeld,
    /// Very many commands wait for their sessions.
    #[error("too many commands at once: try again")]
    TooMany,
    /// The session takes no more commands.
    #[error("the session is busy: try again")]
    Busy,
    /// The session refused.
    #[error(transparent)]
    Refused(#[from] CommandError),
}
