use std::time::Duration;

/// The times that a session waits; `None` means forever.
///
/// Silence ends a session only where neither the game's client nor its server would keep waiting.
/// In the game that is up to them, so silence there ends nothing by default.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Timeouts {
    /// The limit for connecting to the upstream.
    pub connect: Option<Duration>,
    /// The longest silence of both sides before the play state.
    pub login: Option<Duration>,
    /// The longest silence of both sides in the play state, or in a relayed stream.
    pub idle: Option<Duration>,
}

impl Default for Timeouts {
    /// The game's client waits 30 s for a connection, and both sides as long for a byte while they
    /// log in; servers that ask a slow service in between do so for less than two minutes.
    fn default() -> Self {
        let seconds = |seconds| Some(Duration::from_secs(seconds));
        Self { connect: seconds(30), login: seconds(120), idle: None }
    }
}
