use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use thiserror::Error;

use crate::proxy::private_file::{lock, replace};
use crate::proxy::{Clock, Http};
use mitmcraft_engine::auth::{
    Account, Accounts, AuthError, Chain, DeviceCode, Endpoints, Step, StoreError,
};
use mitmcraft_protocol::packet::Cause;

/// The file that stores accounts. Only its owner can read it, and it is replaced atomically.
#[derive(Debug, Clone)]
pub struct AccountStore {
    path: PathBuf,
}

/// The reason why accounts cannot be read or stored.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum AccountsError {
    /// The file cannot be read or written.
    #[error("cannot use `{}`: {cause}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        cause: io::Error,
    },
    /// The contents of the file are invalid.
    #[error("cannot read `{}`: {cause}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Why.
        cause: StoreError,
    },
}

impl AccountStore {
    /// Returns the store in a folder. Neither has to exist yet.
    #[must_use]
    pub fn new(folder: &Path) -> Self {
        Self { path: folder.join("accounts.json") }
    }

    /// Returns the path of the file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads all accounts; none if there is no file.
    ///
    /// # Errors
    /// If the file cannot be read or is invalid.
    pub fn load(&self) -> Result<Accounts, AccountsError> {
        let text = match fs::read_to_string(&self.path) {
            Ok(text) => mitmcraft_engine::auth::Secret::new(text),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Accounts::default()),
            Err(cause) => return Err(AccountsError::Io { path: self.path.clone(), cause }),
        };
        Accounts::read(text.expose())
            .map_err(|cause| AccountsError::Damaged { path: self.path.clone(), cause })
    }

    /// Reads the accounts, changes them, and replaces the file atomically. A lock file makes concurrent
    /// updates wait for each other.
    ///
    /// # Errors
    /// If the file cannot be read or written; it is then unchanged.
    pub fn update<T>(&self, change: impl FnOnce(&mut Accounts) -> T) -> Result<T, AccountsError> {
        let io = |cause| AccountsError::Io { path: self.path.clone(), cause };
        let _lock = lock(&self.path).map_err(io)?;
        let mut accounts = self.load()?;
        let changed = change(&mut accounts);
        let beside = self.path.with_extension("new");
        replace(&self.path, &beside, accounts.write().expose().as_bytes()).map_err(io)?;
        Ok(changed)
    }
}

/// Sends all requests of a login, and calls `show` with the code that the user has to enter.
///
/// # Errors
/// If a service cannot be reached or refuses the login.
pub async fn walk(
    http: &Http,
    mut chain: Chain,
    show: impl Fn(&DeviceCode),
) -> Result<Account, AuthError> {
    let clock = Clock::new();
    loop {
        let (service, response) = http.ask(&[chain.request()], PATIENCE).await?;
        match chain.handle(clock.now(), &service, &response)? {
            Step::Ask => {}
            Step::Show(code, pause) => {
                show(&code);
                tokio::time::sleep(pause).await;
            }
            Step::Wait(pause) => tokio::time::sleep(pause).await,
            Step::Done(account) => return Ok(account),
        }
    }
}

/// An account whose tokens are renewed before they expire, and stored.
#[derive(Debug)]
pub struct Keeper {
    account: tokio::sync::Mutex<Account>,
    store: AccountStore,
    http: Http,
    endpoints: Endpoints,
    clock: Clock,
}

impl Keeper {
    /// Creates a keeper of an account that is stored in `store`.
    #[must_use]
    pub fn new(account: Account, store: AccountStore, http: Http, endpoints: Endpoints) -> Self {
        let account = tokio::sync::Mutex::new(account);
        Self { account, store, http, endpoints, clock: Clock::new() }
    }

    /// Returns the access token, renewed if needed. Concurrent callers wait for one renewal.
    ///
    /// # Errors
    /// If the token has expired and cannot be renewed.
    pub async fn token(&self) -> Result<mitmcraft_engine::auth::Secret, AuthError> {
        let mut account = self.account.lock().await;
        if account.is_stale(self.clock.now()) {
            // Another run may have renewed it, which invalidated this refresh token.
            let kept = self.store.load().ok();
            if let Some(kept) = kept.as_ref().and_then(|accounts| accounts.current(&account)) {
                *account = kept.clone();
            }
        }
        if account.is_stale(self.clock.now()) {
            let chain = Chain::refresh(self.endpoints.clone(), &account);
            *account = walk(&self.http, chain, |_| {}).await?;
            let kept = self.store.update(|accounts| accounts.renew(&account));
            kept.map_err(|error| AuthError::NotStored { cause: Cause::new(error) })?;
        }
        Ok(account.access.clone())
    }
}

/// Maximum time of one request, with retries.
const PATIENCE: Duration = Duration::from_secs(20);
