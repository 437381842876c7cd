use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use thiserror::Error;

use super::{Clock, Http};
use crate::auth::{Account, Accounts, AuthError, Chain, DeviceCode, Endpoints, Step, StoreError};

/// The file that keeps accounts. Only its owner can read it, and a reader never sees half of it.
#[derive(Debug, Clone)]
pub struct AccountStore {
    path: PathBuf,
}

/// Why accounts cannot be kept or found.
#[derive(Debug, Error)]
pub enum AccountsError {
    /// The system does not let us.
    #[error("cannot use `{}`: {cause}", path.display())]
    Io {
        /// Which file.
        path: PathBuf,
        /// What it says.
        cause: io::Error,
    },
    /// What is in it is no accounts.
    #[error("cannot read `{}`: {cause}", path.display())]
    Damaged {
        /// Which file.
        path: PathBuf,
        /// Why.
        cause: StoreError,
    },
}

impl AccountStore {
    /// The file of that folder, which may not be there yet.
    #[must_use]
    pub fn new(folder: &Path) -> Self {
        Self { path: folder.join("accounts.json") }
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// All accounts; none when there is no file.
    ///
    /// # Errors
    /// [`AccountsError`] when it cannot be read.
    pub fn load(&self) -> Result<Accounts, AccountsError> {
        let text = match fs::read_to_string(&self.path) {
            Ok(text) => crate::auth::Secret::new(text),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Accounts::default()),
            Err(cause) => return Err(AccountsError::Io { path: self.path.clone(), cause }),
        };
        Accounts::read(text.expose())
            .map_err(|cause| AccountsError::Damaged { path: self.path.clone(), cause })
    }

    /// Changes what is kept: reads it, and writes what has become of it beside the file, which then
    /// takes its place at once. Two runs that do so wait for each other.
    ///
    /// # Errors
    /// [`AccountsError`] when it cannot be read or written; then nothing has changed.
    pub fn update<T>(&self, change: impl FnOnce(&mut Accounts) -> T) -> Result<T, AccountsError> {
        let io = |cause| AccountsError::Io { path: self.path.clone(), cause };
        let folder = self.path.parent().unwrap_or_else(|| Path::new("."));
        make_folder(folder).map_err(io)?;
        let lock = private(&self.path.with_extension("lock"), false).map_err(io)?;
        lock.lock().map_err(io)?;
        let mut accounts = self.load()?;
        let changed = change(&mut accounts);
        let beside = self.path.with_extension("new");
        let write = || {
            let mut file = private(&beside, true)?;
            file.write_all(accounts.write().expose().as_bytes())?;
            file.sync_all()?;
            fs::rename(&beside, &self.path)?;
            sync_folder(folder)
        };
        write().map_err(io)?;
        Ok(changed)
    }
}

/// A folder for its owner alone.
fn make_folder(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// A file for its owner alone.
fn private(path: &Path, empty: bool) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(empty);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Makes sure that a new name is there after a power cut too.
fn sync_folder(folder: &Path) -> io::Result<()> {
    #[cfg(unix)]
    File::open(folder)?.sync_all()?;
    #[cfg(not(unix))]
    let _ = folder;
    Ok(())
}

/// Goes all the way to an account's tokens; `show` tells the user what to do.
///
/// # Errors
/// [`AuthError`] at the station where it ends.
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

/// An account whose tokens are renewed when they are about to expire, and kept.
#[derive(Debug)]
pub struct Keeper {
    account: tokio::sync::Mutex<Account>,
    store: AccountStore,
    http: Http,
    endpoints: Endpoints,
    clock: Clock,
}

impl Keeper {
    /// Keeps that account fresh.
    #[must_use]
    pub fn new(account: Account, store: AccountStore, http: Http, endpoints: Endpoints) -> Self {
        let account = tokio::sync::Mutex::new(account);
        Self { account, store, http, endpoints, clock: Clock::new() }
    }

    /// The access token, renewed if need be. Sessions that ask at the same time wait for one renewal.
    ///
    /// # Errors
    /// [`AuthError`] when it has expired and no other can be had.
    pub async fn token(&self) -> Result<crate::auth::Secret, AuthError> {
        let mut account = self.account.lock().await;
        if account.is_stale(self.clock.now()) {
            // Another run may have renewed it, which has spent our refresh token.
            let kept = self.store.load().ok();
            if let Some(kept) = kept.as_ref().and_then(|accounts| accounts.current(&account)) {
                *account = kept.clone();
            }
        }
        if account.is_stale(self.clock.now()) {
            let chain = Chain::refresh(self.endpoints.clone(), &account);
            *account = walk(&self.http, chain, |_| {}).await?;
            let kept = self.store.update(|accounts| accounts.renew(&account));
            kept.map_err(|error| AuthError::NotStored { cause: error.to_string() })?;
        }
        Ok(account.access.clone())
    }
}

/// How long a service may take in all.
const PATIENCE: Duration = Duration::from_secs(20);
