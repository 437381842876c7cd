use std::collections::VecDeque;
use std::time::Duration;

use super::LentAccount;
use mitmcraft_protocol::packet::Timestamp;

/// The latest logins of games through the proxy: which account has joined under which server hash.
///
/// A login is kept for 30 s, which is how long servers wait for one, and can be taken once.
#[derive(Debug, Default)]
pub struct JoinMemory {
    /// The oldest first; at most [`MOST`].
    joins: VecDeque<Join>,
}

#[derive(Debug)]
struct Join {
    until: Timestamp,
    server_hash: String,
    account: LentAccount,
}

impl JoinMemory {
    /// Remembers that `account` has joined. If there are too many logins, the oldest is forgotten.
    pub fn remember(&mut self, now: Timestamp, server_hash: String, account: LentAccount) {
        self.forget(now);
        if self.joins.len() >= MOST {
            self.joins.pop_front();
        }
        self.joins.push_back(Join { until: now.plus(KEPT), server_hash, account });
    }

    /// Returns the account that has joined under exactly this hash, and forgets the login.
    pub fn take(&mut self, now: Timestamp, server_hash: &str) -> Option<LentAccount> {
        self.forget(now);
        let found = self.joins.iter().position(|join| join.server_hash == server_hash)?;
        self.joins.remove(found).map(|join| join.account)
    }

    /// Forgets logins that are too old.
    fn forget(&mut self, now: Timestamp) {
        self.joins.retain(|join| now < join.until);
    }
}

/// Time for which a login is kept.
const KEPT: Duration = Duration::from_secs(30);

/// Maximum number of logins: as many players do not log in within half a minute.
const MOST: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auth::Secret;

    fn account(id: u128) -> LentAccount {
        LentAccount { id, token: Secret::new("ey.token") }
    }

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn a_login_is_found_by_its_exact_hash_and_only_once() {
        let mut memory = JoinMemory::default();
        memory.remember(Timestamp(0), "-1f".into(), account(1));
        memory.remember(Timestamp(0), "2e".into(), account(2));
        for other in ["", "1f", "-1F", "-1", "-1f "] {
            assert_eq!(memory.take(Timestamp(0), other), None, "{other}");
        }
        assert_eq!(memory.take(Timestamp(0), "-1f"), Some(account(1)));
        assert_eq!(memory.take(Timestamp(0), "-1f"), None);
        assert_eq!(memory.take(Timestamp(0), "2e"), Some(account(2)));
    }

    #[test]
    fn a_login_is_kept_for_30_seconds() {
        let mut memory = JoinMemory::default();
        memory.remember(Timestamp(SECOND), "a".into(), account(1));
        memory.remember(Timestamp(2 * SECOND), "b".into(), account(2));
        assert_eq!(memory.take(Timestamp(31 * SECOND), "a"), None);
        assert_eq!(memory.take(Timestamp(32 * SECOND - 1), "b"), Some(account(2)));
        assert!(memory.joins.is_empty(), "nothing of a login stays");
    }

    #[test]
    fn of_too_many_logins_the_oldest_is_forgotten() {
        let mut memory = JoinMemory::default();
        for number in 0..=MOST as u64 {
            memory.remember(Timestamp(number), number.to_string(), account(number.into()));
        }
        assert_eq!(memory.joins.len(), MOST);
        assert_eq!(memory.take(Timestamp(0), "0"), None);
        assert_eq!(memory.take(Timestamp(0), "1"), Some(account(1)));
    }

    #[test]
    fn a_lent_account_is_not_printed_for_debugging() {
        let mut memory = JoinMemory::default();
        memory.remember(Timestamp(0), "a".into(), account(0xb50a_d385));
        let printed = format!("{memory:?}");
        assert!(!printed.contains("ey.") && !printed.contains(&0xb50a_d385_u32.to_string()));
    }
}
