use std::time::Duration;

/// How long a session may wait for something; None: as long as it takes.
///
/// A silence ends a session only where neither the game's client nor its server would go on
/// waiting. What happens in the game is theirs alone, so silence there ends nothing by default.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// For the upstream connection.
    pub connect: Option<Duration>,
    /// For a byte from either side, before the game has begun.
    pub login: Option<Duration>,
    /// For a byte from either side in the game, or in what is not understood.
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
