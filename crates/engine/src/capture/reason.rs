use std::fmt;

use mitmcraft_protocol::packet::Undecoded;

/// Displays why a packet does not decode, with the offset in its body if there is one.
pub(crate) struct Reason<'a>(pub(crate) &'a Undecoded);

impl fmt::Display for Reason<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Undecoded::Decode(error) => write!(f, "{error}, at byte {}", error.at),
            Undecoded::Raw(_) | Undecoded::Foreign(_) | Undecoded::Codec(_) => {
                write!(f, "{}", self.0)
            }
        }
    }
}
