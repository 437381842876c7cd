use std::fmt;

use super::Secret;

/// An account that a game lends for one login. `Debug` does not print the UUID.
#[derive(Clone, PartialEq, Eq)]
pub struct LentAccount {
    /// The account's UUID.
    pub id: u128,
    /// Its access token.
    pub token: Secret,
}

impl fmt::Debug for LentAccount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LentAccount")
    }
}
