use mitmcraft_engine::link::{Breakpoint, CommandError, Decision, Transmission};

/// A request of a user interface.
#[derive(Debug, Clone)]
pub enum Request {
    /// Hold matching packets in all sessions; `None` stops holding.
    Break(Option<Breakpoint>),
    /// Return the content of a held packet.
    Content(HeldId),
    /// Forward everything that is held in a session, or in all.
    ForwardAll(Option<u64>),
    /// Decide on a held packet.
    Decide(HeldId, Decision),
    /// Send packets in a session.
    Send(u64, Transmission),
    /// End a session, and show the player a text.
    Kick(u64, String),
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
