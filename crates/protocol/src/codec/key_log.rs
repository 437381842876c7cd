use std::fmt;
use std::str::FromStr;

use crate::wire::{parse_hex, to_hex};

/// A line of a key log: the secret that decrypts one leg of a session.
///
/// The text form is `<challenge> <shared secret>` in lower-case hex: the first 4 bytes of the
/// verify token in the leg's Encryption Request (zero-padded if shorter), and the 16 bytes of its
/// shared secret. MC_Dissector uses the same form.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct KeyLogLine {
    /// The first 4 bytes of the verify token, by which a reader of the stream finds the line.
    pub challenge: [u8; 4],
    /// The key and initialisation vector of AES-128/CFB8, in both directions.
    pub secret: [u8; 16],
}

impl KeyLogLine {
    /// Creates the line of a leg whose Encryption Request had this verify token.
    pub fn new(verify_token: &[u8], secret: [u8; 16]) -> Self {
        Self { challenge: Self::challenge_of(verify_token), secret }
    }

    /// Returns the bytes of a verify token that identify its line.
    pub fn challenge_of(verify_token: &[u8]) -> [u8; 4] {
        let mut challenge = [0; 4];
        for (to, from) in challenge.iter_mut().zip(verify_token) {
            *to = *from;
        }
        challenge
    }
}

impl FromStr for KeyLogLine {
    type Err = KeyLogError;

    fn from_str(line: &str) -> Result<Self, KeyLogError> {
        let (challenge, secret) = line.trim().split_once(' ').ok_or(KeyLogError::Words)?;
        Ok(Self {
            challenge: bytes(challenge).ok_or(KeyLogError::Challenge)?,
            secret: bytes(secret.trim_start()).ok_or(KeyLogError::Secret)?,
        })
    }
}

impl fmt::Display for KeyLogLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", to_hex(&self.challenge, ""), to_hex(&self.secret, ""))
    }
}

/// Omits the secret, so that no message shows it by accident.
impl fmt::Debug for KeyLogLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyLogLine").field("challenge", &self.challenge).finish_non_exhaustive()
    }
}

/// The error of parsing a line of a key log. It does not repeat the text, which may hold a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyLogError {
    /// The line does not have two words.
    #[error("expected two words: 8 hex digits of the verify token and 32 of the shared secret")]
    Words,
    /// The first word is not 8 hex digits.
    #[error("the first word is not the first 4 bytes of a verify token as 8 hex digits")]
    Challenge,
    /// The second word is not 32 hex digits.
    #[error("the second word is not a shared secret of 16 bytes as 32 hex digits")]
    Secret,
}

/// Parses `N` bytes.
fn bytes<const N: usize>(hex: &str) -> Option<[u8; N]> {
    parse_hex(hex)?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_reads_back_to_what_it_was_written_from() {
        let line = KeyLogLine::new(&[0xde, 0xad, 0xbe, 0xef, 9, 9], [7; 16]);
        assert_eq!(line.to_string(), "deadbeef 07070707070707070707070707070707");
        assert_eq!(line.to_string().parse(), Ok(line));
    }

    #[test]
    fn a_short_token_is_padded() {
        assert_eq!(KeyLogLine::challenge_of(&[1, 2]), [1, 2, 0, 0]);
    }

    #[test]
    fn every_invalid_line_has_its_own_error() {
        let parse = |text: &str| text.parse::<KeyLogLine>();
        assert_eq!(parse("deadbeef"), Err(KeyLogError::Words));
        assert_eq!(parse("dead 07"), Err(KeyLogError::Challenge));
        assert_eq!(parse("deadbeef 07"), Err(KeyLogError::Secret));
        assert_eq!(parse("deadbeef +7070707070707070707070707070707"), Err(KeyLogError::Secret));
    }

    #[test]
    fn a_secret_is_not_printed_for_debugging() {
        assert!(!format!("{:?}", KeyLogLine::new(&[1; 4], [7; 16])).contains('7'));
    }
}
