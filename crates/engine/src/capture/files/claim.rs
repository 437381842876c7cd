use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::path::Path;

use thiserror::Error;

use super::file_name::fault_on_windows;

/// The reason why an existing file is not written. It is the inner error of an [`io::Error`] of the
/// kind [`ErrorKind::AlreadyExists`], [`ErrorKind::ResourceBusy`] or [`ErrorKind::InvalidFilename`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ClaimError {
    /// The file has content, and replacing it was not asked for.
    #[error("it exists and is not empty")]
    NotEmpty,
    /// Another process holds the lock of the file.
    #[error("another program is writing it")]
    Locked,
    /// Windows takes the name for a device, such as `NUL`.
    #[error("Windows reserves this name for a device: choose another one")]
    Device,
    /// Windows takes the name for a named pipe.
    #[error("named pipes are not supported on Windows: write to stdout (`-`) instead")]
    Pipe,
    /// Windows hides what follows a colon in a stream of the file before it.
    #[error("a file name must not contain `:` on Windows")]
    Colon,
}

impl From<ClaimError> for io::Error {
    fn from(error: ClaimError) -> Self {
        let kind = match error {
            ClaimError::NotEmpty => ErrorKind::AlreadyExists,
            ClaimError::Locked => ErrorKind::ResourceBusy,
            ClaimError::Device | ClaimError::Pipe | ClaimError::Colon => ErrorKind::InvalidFilename,
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
    check_file_name(path)?;
    let file = open(owner_only().create(true).truncate(false), path)?;
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

/// Checks that this system makes a file of the name, and changes nothing.
///
/// # Errors
/// On Windows, [`ClaimError`] for the name of a device, a pipe or a stream.
pub fn check_file_name(path: &Path) -> io::Result<()> {
    let fault = if cfg!(windows) { fault_on_windows(&path.to_string_lossy()) } else { None };
    fault.map_or(Ok(()), |fault| Err(fault.into()))
}

/// Creates and locks a file that must not exist.
pub(super) fn claim_new(path: &Path) -> io::Result<File> {
    check_file_name(path)?;
    let file = open(owner_only().create_new(true), path)?;
    lock(&file)?;
    Ok(file)
}

/// Checks that [`claim_file`] can succeed, and changes nothing.
///
/// # Errors
/// As for [`claim_file`]; the error of its folder if there is no file.
pub fn check_file(path: &Path, overwrite: bool) -> io::Result<()> {
    check_file_name(path)?;
    match fs::metadata(path) {
        Ok(found) if found.is_dir() => Err(ErrorKind::IsADirectory.into()),
        // Only a regular file is opened for the check: opening a FIFO would wait for its reader.
        Ok(found) if found.is_file() => {
            lock(&open(OpenOptions::new().append(true), path)?)?;
            if found.len() > 0 && !overwrite { Err(ClaimError::NotEmpty.into()) } else { Ok(()) }
        }
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
            fs::metadata(folder.unwrap_or_else(|| Path::new("."))).map(drop)
        }
        _ => Ok(()),
    }
}

/// Adds the path to an error.
pub(super) fn named(path: &Path, error: io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("`{}`: {error}", path.display()))
}

/// Options that create files which only their owner can read: captures hold chat and addresses.
fn owner_only() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    #[cfg(windows)]
    std::os::windows::fs::OpenOptionsExt::share_mode(&mut options, SHARED_WITH_READERS);
    options
}

/// Opens a file to write it.
fn open(options: &OpenOptions, path: &Path) -> io::Result<File> {
    let opened = options.open(path);
    #[cfg(windows)]
    if opened.as_ref().is_err_and(|it| it.raw_os_error() == Some(SHARING_VIOLATION)) {
        return Err(ClaimError::Locked.into());
    }
    opened
}

/// Locks a file until it is closed.
#[cfg(not(windows))]
fn lock(file: &File) -> io::Result<()> {
    use std::fs::TryLockError;
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => Err(ClaimError::Locked.into()),
        // Some network file systems have no locks.
        Err(TryLockError::Error(error)) if error.kind() != ErrorKind::Unsupported => Err(error),
        Err(TryLockError::Error(_)) | Ok(()) => Ok(()),
    }
}

/// Returns a file that is open for writing: that it is shared with readers only is its lock. Windows would
/// also keep readers away from a locked file.
#[cfg(windows)]
fn lock(_: &File) -> io::Result<()> {
    Ok(())
}

/// Returns whether a program has claimed the file at `path`; `None` if that cannot be known.
#[cfg(not(windows))]
pub(super) fn is_claimed(path: &Path) -> Option<bool> {
    use std::fs::TryLockError;
    match File::open(path).ok()?.try_lock() {
        Ok(()) => Some(false),
        Err(TryLockError::WouldBlock) => Some(true),
        Err(TryLockError::Error(_)) => None,
    }
}

/// Returns whether a program has claimed the file at `path`; `None` if that cannot be known.
#[cfg(windows)]
pub(super) fn is_claimed(path: &Path) -> Option<bool> {
    match owner_only().open(path) {
        Ok(_) => Some(false),
        Err(error) if error.raw_os_error() == Some(SHARING_VIOLATION) => Some(true),
        Err(_) => None,
    }
}

/// `FILE_SHARE_READ` and `FILE_SHARE_DELETE`: others may read the file, or delete it, but not write it.
#[cfg(windows)]
const SHARED_WITH_READERS: u32 = 0x1 | 0x4;

/// `ERROR_SHARING_VIOLATION`.
#[cfg(windows)]
const SHARING_VIOLATION: i32 = 32;
