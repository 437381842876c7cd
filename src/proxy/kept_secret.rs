use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

use super::accounts::random_key;
use super::private_file::{lock, replace};
use mitmcraft_engine::auth::Secret;

/// The reason why the secret of a file cannot be used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum KeptSecretError {
    /// The file cannot be read or written.
    #[error("cannot use `{}`: {cause}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        cause: io::Error,
    },
    /// The file contains something else.
    #[error(
        "`{}` does not contain 32 hex digits: delete it, and the next run creates a new secret",
        path.display()
    )]
    Damaged {
        /// The file.
        path: PathBuf,
    },
    /// Users other than the owner can read or write the file.
    #[error(
        "other users of this machine can read or write `{}`: delete it, and the next run creates a new secret",
        path.display()
    )]
    Shared {
        /// The file.
        path: PathBuf,
    },
}

/// Returns the token of `--web` that a file in `folder` keeps: 128 bits in hex, new if there is no file yet. Only its
/// owner can read it.
///
/// # Errors
/// If the file cannot be used, or its secret cannot be trusted.
pub fn kept_token(folder: &Path) -> Result<Secret, KeptSecretError> {
    kept_secret(&folder.join("web-token"))
}

/// Returns the path at which this user's games find their services, which a file in `folder` keeps: 128 bits in hex,
/// new if there is no file yet. Only its owner can read it.
///
/// # Errors
/// If the file cannot be used, or its secret cannot be trusted.
pub fn endpoint_key(folder: &Path) -> Result<Secret, KeptSecretError> {
    kept_secret(&folder.join("auth-endpoint"))
}

/// Returns the secret in a file that only its owner can read: 128 bits in hex. If there is no file, creates it with
/// a new secret, which stays the same from then on.
///
/// # Errors
/// If the file cannot be used, or its secret cannot be trusted.
fn kept_secret(path: &Path) -> Result<Secret, KeptSecretError> {
    let io = |cause| KeptSecretError::Io { path: path.to_owned(), cause };
    // Two runs that start at once have the same secret.
    let _lock = lock(path).map_err(io)?;
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let secret = random_key();
            replace(path, &path.with_extension("new"), secret.as_bytes()).map_err(io)?;
            return Ok(Secret::new(secret));
        }
        Err(error) if error.kind() == io::ErrorKind::InvalidData => {
            return Err(KeptSecretError::Damaged { path: path.to_owned() });
        }
        Err(error) => return Err(io(error)),
    };
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        if fs::metadata(path).map_err(io)?.permissions().mode() & OTHERS != 0 {
            return Err(KeptSecretError::Shared { path: path.to_owned() });
        }
    }
    let secret = text.trim();
    if secret.len() != DIGITS || !secret.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err(KeptSecretError::Damaged { path: path.to_owned() });
    }
    Ok(Secret::new(secret))
}

/// The digits of a secret.
const DIGITS: usize = 32;

/// The permissions of all but the owner.
#[cfg(unix)]
const OTHERS: u32 = 0o077;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kept_token_is_that_of_the_next_run_and_only_its_owner_reads_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state/web-token");
        let token = kept_secret(&path).unwrap();
        assert_eq!(token.expose().len(), DIGITS);
        assert_eq!(kept_secret(&path).unwrap().expose(), token.expose());
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
            assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
        }
        fs::remove_file(&path).unwrap();
        assert_ne!(kept_secret(&path).unwrap().expose(), token.expose());
    }

    #[test]
    fn a_token_that_others_could_know_and_a_file_without_one_are_refused_and_stay() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("web-token");
        kept_secret(&path).unwrap();
        for text in ["", "0123", "0123456789abcdef0123456789abcdeg", "\u{e9}"] {
            fs::write(&path, text).unwrap();
            let error = kept_secret(&path).unwrap_err();
            assert!(matches!(error, KeptSecretError::Damaged { .. }), "{error}");
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
        fs::write(&path, [0xff, 0xfe]).unwrap();
        assert!(matches!(kept_secret(&path), Err(KeptSecretError::Damaged { .. })));
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            fs::write(&path, "0123456789abcdef0123456789abcdef\n").unwrap();
            assert_eq!(kept_secret(&path).unwrap().expose(), "0123456789abcdef0123456789abcdef");
            fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
            assert!(matches!(kept_secret(&path), Err(KeptSecretError::Shared { .. })));
        }
    }

    #[test]
    fn the_path_is_random_and_stays_and_only_its_owner_can_read_it() {
        let [one, other] = [(); 2].map(|()| tempfile::tempdir().unwrap());
        let key = endpoint_key(one.path()).unwrap();
        assert_eq!(endpoint_key(one.path()).unwrap(), key);
        assert_ne!(endpoint_key(other.path()).unwrap(), key);
        assert_ne!(kept_token(one.path()).unwrap(), key);
        let path = one.path().join("auth-endpoint");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        }
        fs::write(&path, "k3y").unwrap();
        let error = endpoint_key(one.path()).unwrap_err().to_string();
        assert!(error.contains("auth-endpoint` does not contain 32 hex digits"), "{error}");
    }
}
