use serde_json::{Value as Json, json};
use thiserror::Error;

use super::{Account, Secret};

/// The logged-in accounts, as stored in a file. The one logged in last comes first, and is the default.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Accounts {
    accounts: Vec<Account>,
}

/// The account file is invalid. The message does not quote it, because it contains tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("it is damaged, or was written by a newer mitmcraft: remove it and log in again")]
pub struct StoreError;

impl Accounts {
    /// Parses the text that [`write`](Self::write) returns.
    ///
    /// # Errors
    /// If the text is anything else.
    pub fn read(text: &str) -> Result<Self, StoreError> {
        let json: Json = serde_json::from_str(text).map_err(|_| StoreError)?;
        if json["version"] != VERSION {
            return Err(StoreError);
        }
        let accounts = json["accounts"].as_array().ok_or(StoreError)?;
        let accounts: Option<_> = accounts.iter().map(Account::from_json).collect();
        Ok(Self { accounts: accounts.ok_or(StoreError)? })
    }

    /// Returns the text of the file.
    #[must_use]
    pub fn write(&self) -> Secret {
        let accounts: Vec<Json> = self.accounts.iter().map(Account::to_json).collect();
        Secret::new(format!("{:#}\n", json!({ "version": VERSION, "accounts": accounts })))
    }

    /// Adds or replaces an account, and makes it the first.
    pub fn put(&mut self, account: Account) {
        self.accounts.retain(|it| it.profile.id != account.profile.id);
        self.accounts.insert(0, account);
    }

    /// Replaces the tokens of an account. Returns `false` if it has been logged out.
    pub fn renew(&mut self, account: &Account) -> bool {
        let same = self.accounts.iter_mut().find(|it| it.profile.id == account.profile.id);
        same.map(|place| *place = account.clone()).is_some()
    }

    /// Returns the stored state of an account.
    #[must_use]
    pub fn current(&self, account: &Account) -> Option<&Account> {
        self.accounts.iter().find(|it| it.profile.id == account.profile.id)
    }

    /// Removes the account with this name.
    pub fn remove(&mut self, name: &str) -> Option<Account> {
        let place = self.position(name)?;
        Some(self.accounts.remove(place))
    }

    /// Returns the account with this name, ignoring case; without a name, the first.
    #[must_use]
    pub fn find(&self, name: Option<&str>) -> Option<&Account> {
        match name {
            Some(name) => self.position(name).map(|place| &self.accounts[place]),
            None => self.accounts.first(),
        }
    }

    /// Returns the names of all accounts, in order.
    #[must_use]
    pub fn names(&self) -> Vec<&str> {
        self.accounts.iter().map(|it| it.profile.name.as_str()).collect()
    }

    fn position(&self, name: &str) -> Option<usize> {
        self.accounts.iter().position(|it| it.profile.name.eq_ignore_ascii_case(name))
    }
}

/// Version of the file format.
const VERSION: u32 = 1;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auth::Profile;
    use mitmcraft_protocol::packet::Timestamp;

    fn account(name: &str, id: u128) -> Account {
        Account {
            profile: Profile { name: name.into(), id },
            access: Secret::new(format!("access {name}")),
            expires: Timestamp(1_700_000_000_000_000_000),
            refresh: Secret::new("refresh"),
            client_id: "app".into(),
        }
    }

    #[test]
    fn accounts_are_read_back_as_they_were_written() {
        let mut accounts = Accounts::default();
        accounts.put(account("Steve", 1));
        accounts.put(account("Alex", u128::MAX));
        let text = accounts.write();
        assert_eq!(Accounts::read(text.expose()), Ok(accounts.clone()));
        assert!(!format!("{accounts:?} {text:?}").contains("access S"));
    }

    #[test]
    fn the_one_that_was_logged_in_last_is_meant_when_none_is_named() {
        let mut accounts = Accounts::default();
        assert_eq!(accounts.find(None), None);
        accounts.put(account("Steve", 1));
        accounts.put(account("Alex", 2));
        accounts.put(account("Steve2", 1));
        assert_eq!(accounts.names(), ["Steve2", "Alex"]);
        assert_eq!(accounts.find(Some("alex")).unwrap().profile.id, 2);
        assert_eq!(accounts.find(Some("Steve")), None, "it has another name now");
        assert!(accounts.renew(&account("Alex", 2)));
        assert!(!accounts.renew(&account("Herobrine", 3)));
        assert_eq!(accounts.names(), ["Steve2", "Alex"]);
        assert_eq!(accounts.current(&account("Old", 2)).unwrap().profile.name, "Alex");
        assert_eq!(accounts.remove("ALEX").unwrap().profile.id, 2);
        assert_eq!(accounts.remove("Alex"), None);
    }

    #[test]
    fn what_is_damaged_is_told_without_repeating_it() {
        for text in ["", "{}", r#"{"version":2,"accounts":[]}"#, r#"{"version":1,"accounts":[{}]}"#]
        {
            assert_eq!(Accounts::read(text), Err(StoreError));
        }
    }

    #[test]
    fn a_token_is_stale_some_minutes_before_it_expires() {
        let account = account("Steve", 1);
        let second = 1_000_000_000;
        assert!(!account.is_stale(Timestamp(account.expires.0 - 301 * second)));
        assert!(account.is_stale(Timestamp(account.expires.0 - 300 * second)));
    }
}
