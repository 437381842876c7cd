use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind};
use std::path::Path;

use thiserror::Error;

/// The reason why an existing file is not written. It is the inner error of an [`io::Error`] of the
/// kind [`ErrorKind::AlreadyExists`] or [`ErrorKind::ResourceBusy`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ClaimError {
    /// The file has content, and replacing it was not asked for.
    #[error("it exists and is not empty")]
    NotEmpty,
    /// Another process holds the lock of the file.
    #[error("another program is writing it")]
    Locked,
}

impl From<ClaimError> for io::Error {
    fn from(error: ClaimError) -> Self {
        let kind = match error {
            ClaimError::NotEmpty => ErrorKind::AlreadyExists,
            ClaimError::Locked => ErrorKind::ResourceBusy,
        };
        Self::new(kind, error)
    }
}

/// Creates the file at `path`, or empties it, and locks it against other processes that use this
/// function. A new file can be read by its owner only.
///
/// A regular file with content is replaced only with `overwrite`. FIFOs and devices are opened as they
/// are; opening a FIFO waits for its reader.
///
/// # Errors
/// [`ClaimError`] within the [`io::Error`]; the error of opening. The file is unchanged then.
pub fn claim_file(path: &Path, overwrite: bool) -> io::Result<File> {
    let file = owner_only().create(true).truncate(false).open(path)?;
    if !file.metadata()?.is_file() {
        return Ok(file);
    }
    lock(&file)?;
    // Another process may have written the file before it released the lock.
    if !overwrite && file.metadata()?.len() > 0 {
        return Err(ClaimError::NotEmpty.into());
    }
    file.set_len(0)?;
    Ok(file)
}

/// Creates and locks a file that must not exist.
pub(super) fn claim_new(path: &Path) -> io::Result<File> {
    let file = owner_only().create_new(true).open(path)?;
    lock(&file)?;
    Ok(file)
}

/// Checks that [`claim_file`] can succeed, and changes nothing.
///
/// # Errors
/// As for [`claim_file`]; the error of its folder if there is no file.
pub fn check_file(path: &Path, overwrite: bool) -> io::Result<()> {
    match fs::metadata(path) {
        Ok(found) if found.is_dir() => Err(ErrorKind::IsADirectory.into()),
        // Only a regular file is opened for the check: opening a FIFO would wait for its reader.
        Ok(found) if found.is_file() => {
            lock(&OpenOptions::new().append(true).open(path)?)?;
            if found.len() > 0 && !overwrite { Err(ClaimError::NotEmpty.into()) } else { Ok(()) }
        }
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
            fs::metadata(folder.unwrap_or_else(|| Path::new("."))).map(drop)
        }
        _ => Ok(()),
    }
}

/// Options that create files which only their owner can read: captures hold chat and addresses.
fn owner_only() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Locks a file until it is closed.
fn lock(file: &File) -> io::Result<()> {
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => Err(ClaimError::Locked.into()),
        // Some network file systems have no locks.
        Err(TryLockError::Error(error)) if error.kind() != ErrorKind::Unsupported => Err(error),
        Err(TryLockError::Error(_)) | Ok(()) => Ok(()),
    }
}
