use std::collections::HashMap;
use std::fmt;

use super::{KeyLogError, KeyLogLine};

/// The secrets of one or more key logs, indexed by the start of the verify token.
///
/// If a proxy passes its server's verify token on to the client, both of its legs have the same
/// token and different secrets. A decoder must then try each.
#[derive(Clone, Default)]
pub struct KeyRing(HashMap<[u8; 4], Vec<[u8; 16]>>);

impl KeyRing {
    /// Adds all lines of a key log. Empty lines and lines that start with `#` are ignored.
    ///
    /// # Errors
    /// The 1-based number of the first invalid line, and its error.
    pub fn add_log(&mut self, text: &str) -> Result<(), (usize, KeyLogError)> {
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            self.add(line.parse().map_err(|error| (number, error))?);
        }
        Ok(())
    }

    /// Adds the secret of one line.
    pub fn add(&mut self, line: KeyLogLine) {
        let secrets = self.0.entry(line.challenge).or_default();
        if !secrets.contains(&line.secret) {
            secrets.push(line.secret);
        }
    }

    /// Returns the secrets for the first 4 bytes of a verify token, in the order in which they were
    /// added.
    #[must_use]
    pub fn find(&self, challenge: [u8; 4]) -> &[[u8; 16]] {
        self.0.get(&challenge).map_or(&[], |secrets| secrets)
    }
}

/// Omits the secrets, so that no message shows them by accident.
impl fmt::Debug for KeyRing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyRing").field("challenges", &self.0.len()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_every_secret_of_a_token_once() {
        let mut ring = KeyRing::default();
        let text = "# two legs\n\ndeadbeef 01010101010101010101010101010101\n\
                    deadbeef 02020202020202020202020202020202\n\
                    deadbeef 01010101010101010101010101010101\n";
        ring.add_log(text).unwrap();
        assert_eq!(ring.find([0xde, 0xad, 0xbe, 0xef]), [[1; 16], [2; 16]]);
        assert!(ring.find([0; 4]).is_empty());
    }

    #[test]
    fn an_invalid_line_is_an_error_with_its_number() {
        let mut ring = KeyRing::default();
        assert_eq!(ring.add_log("# fine\nnonsense"), Err((2, KeyLogError::Words)));
    }
}
