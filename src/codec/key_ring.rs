use std::collections::HashMap;
use std::fmt;

use super::{KeyLogError, KeyLogLine};

/// The secrets of key logs, by the first bytes of the verify token.
///
/// Where a proxy shows its server's token to the client, both of its legs have the same one and two
/// secrets: what a secret is for is only known by trying.
#[derive(Clone, Default)]
pub struct KeyRing(HashMap<[u8; 4], Vec<[u8; 16]>>);

impl KeyRing {
    /// Adds the lines of a key log. Empty lines, and those that begin with `#`, are passed over.
    ///
    /// # Errors
    /// The number of the first line that is none, from 1, and what is wrong with it.
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

    /// Adds a line.
    pub fn add(&mut self, line: KeyLogLine) {
        let secrets = self.0.entry(line.challenge).or_default();
        if !secrets.contains(&line.secret) {
            secrets.push(line.secret);
        }
    }

    /// The secrets of sessions whose verify token begins so, in the order in which they were added.
    #[must_use]
    pub fn find(&self, challenge: [u8; 4]) -> &[[u8; 16]] {
        self.0.get(&challenge).map_or(&[], |secrets| secrets)
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// The secrets are left out, so that no message shows them by accident.
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
    fn a_line_that_is_none_is_named_by_its_number() {
        let mut ring = KeyRing::default();
        assert_eq!(ring.add_log("# fine\nnonsense"), Err((2, KeyLogError::Words)));
    }
}
