use std::fmt;

use thiserror::Error;

/// Why what a connection begins with is no PROXY header.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(in crate::proxy) enum PreambleError {
    /// It begins with something else.
    #[error("it begins with {0}")]
    Other(Start),
    /// A line of version 1 that does not end in time.
    #[error("a line of version 1 of more than 107 bytes: {0}")]
    Long(Start),
    /// A line of version 1 that says something else.
    #[error("{what} in version 1: {line}")]
    Line {
        /// What is wrong.
        what: &'static str,
        /// What it begins with.
        line: Start,
    },
    /// Version 2 with a command or version that does not exist.
    #[error("version and command {0:#04x} do not exist")]
    Command(u8),
    /// Version 2 with a family that does not exist.
    #[error("family and transport {0:#04x} do not exist")]
    Family(u8),
    /// Version 2 with more bytes than any sender needs.
    #[error("{0} bytes of addresses are too many")]
    Length(u16),
    /// Version 2 with fewer bytes than its addresses have.
    #[error("{found} bytes of addresses where {wanted} are needed")]
    Short {
        /// What the family needs.
        wanted: usize,
        /// What there are.
        found: usize,
    },
}

/// The first bytes of what came, as much as can be shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::proxy) struct Start(Vec<u8>);

impl Start {
    pub(super) fn of(bytes: &[u8]) -> Self {
        Self(bytes[..bytes.len().min(SHOWN)].to_vec())
    }
}

impl fmt::Display for Start {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`", self.0.escape_ascii())
    }
}

/// Bytes of what came that an error shows.
const SHOWN: usize = 48;
