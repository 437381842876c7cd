use thiserror::Error;

use crate::capture::ReadError;

/// Error of reading a session to be replayed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RecordingError {
    /// The capture cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// None of the capture's sessions reached the game.
    #[error("{}", no_game(*.0))]
    NoGame(usize),
    /// The requested session is not in the capture.
    #[error("it has no session {wanted}; those that reached the game: {}", list(.played))]
    NoSession {
        /// The requested session.
        wanted: u64,
        /// The sessions that reached the game.
        played: Vec<u64>,
    },
    /// The requested session did not reach the game.
    #[error("session {0} did not reach the game")]
    NotPlayed(u64),
}

fn no_game(sessions: usize) -> String {
    match sessions {
        0 => "it has no session".to_owned(),
        1 => "its only session did not reach the game".to_owned(),
        sessions => format!("none of its {sessions} sessions reached the game"),
    }
}

fn list(numbers: &[u64]) -> String {
    match numbers {
        [] => "none".to_owned(),
        numbers => numbers.iter().map(u64::to_string).collect::<Vec<_>>().join(", "),
    }
}
