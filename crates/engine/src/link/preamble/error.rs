use std::fmt;

use thiserror::Error;

/// The reason why the first bytes of a connection are not a PROXY header.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PreambleError {
    /// They begin with something else.
    #[error("it begins with {0}")]
    Other(Excerpt),
    /// Version 1: the line does not end within 107 bytes.
    #[error("a line of version 1 with more than 107 bytes: {0}")]
    TooLong(Excerpt),
    /// Version 1: the line ends without a carriage return.
    #[error("a line of version 1 that ends without a carriage return: {0}")]
    LineEnd(Excerpt),
    /// Version 1: the line is not valid UTF-8.
    #[error("a line of version 1 that is not text: {0}")]
    NotText(Excerpt),
    /// Version 1: unknown address family.
    #[error("unknown address family in version 1: {0}")]
    TextFamily(Excerpt),
    /// Version 1: an address is missing, or not of the address family.
    #[error("invalid address in version 1: {0}")]
    Address(Excerpt),
    /// Version 1: a port is missing or invalid.
    #[error("invalid port in version 1: {0}")]
    Port(Excerpt),
    /// Version 1: there is more than two addresses and two ports.
    #[error("more than two ports in version 1: {0}")]
    Trailing(Excerpt),
    /// Version 2: unknown version or command.
    #[error("unknown version and command {0:#04x}")]
    Command(u8),
    /// Version 2: unknown address family or transport.
    #[error("unknown address family and transport {0:#04x}")]
    Family(u8),
    /// Version 2: more bytes of addresses than any sender needs.
    #[error("{0} bytes of addresses are too many")]
    Length(u16),
    /// Version 2: fewer bytes of addresses than the address family has.
    #[error("{found} bytes of addresses, but the address family needs {needed}")]
    Short {
        /// Bytes that the address family needs.
        needed: usize,
        /// Bytes in the header.
        found: usize,
    },
}

/// The first bytes of what was received instead of a valid header, to be shown to a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Excerpt(Vec<u8>);

impl Excerpt {
    pub(super) fn new(bytes: &[u8]) -> Self {
        Self(bytes[..bytes.len().min(SHOWN)].to_vec())
    }
}

impl fmt::Display for Excerpt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`", self.0.escape_ascii())
    }
}

/// Maximum bytes of an excerpt.
const SHOWN: usize = 48;
