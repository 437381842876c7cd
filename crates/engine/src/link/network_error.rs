use std::fmt::{self, Display as _};
use std::io;
use std::sync::Arc;

use thiserror::Error;

/// An error of the operating system on a connection, in words for a player. Cheap to clone.
#[derive(Debug, Clone, Error)]
pub struct NetworkError(pub Arc<io::Error>);

impl NetworkError {
    /// Writes `error` in words for a player: those of its kind, without the system's error number.
    pub fn explain(error: &io::Error, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match error.kind() {
            io::ErrorKind::ConnectionRefused => "connection refused",
            io::ErrorKind::ConnectionReset => "connection reset",
            io::ErrorKind::BrokenPipe => "connection closed",
            io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkUnreachable => {
                "no route to host"
            }
            _ => return error.fmt(f),
        })
    }
}

impl fmt::Display for NetworkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Self::explain(&self.0, f)
    }
}

impl From<io::Error> for NetworkError {
    fn from(error: io::Error) -> Self {
        Self(Arc::new(error))
    }
}

impl From<io::ErrorKind> for NetworkError {
    fn from(kind: io::ErrorKind) -> Self {
        io::Error::from(kind).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_for_a_player_are_those_of_the_kind_of_error() {
        for (kind, expected) in [
            (io::ErrorKind::ConnectionRefused, "connection refused"),
            (io::ErrorKind::ConnectionReset, "connection reset"),
            (io::ErrorKind::BrokenPipe, "connection closed"),
            (io::ErrorKind::NetworkUnreachable, "no route to host"),
        ] {
            let error = io::Error::new(kind, "os error 1");
            assert_eq!(NetworkError::from(error).to_string(), expected);
        }
    }
}
