use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

use super::accounts::random_key;
use super::private_file::{lock, replace};
use mitmcraft_engine::auth::Secret;

/// The reason why the token of a file cannot be used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TokenFileError {
    /// The file cannot be read or written.
    #[error("cannot use `{}`: {cause}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        cause: io::Error,
    },
    /// The file has something else.
    #[error("`{}` has no token: delete it, and a new one is kept there", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
    },
    /// Others than the owner can read or write the file.
    #[error(
        "other users of this machine can read or write `{}`: delete it, and a new token is kept there",
        path.display()
    )]
    Shared {
        /// The file.
        path: PathBuf,
    },
}

/// Returns the token that a file keeps, which only its owner can read. If there is no file, a new token is kept there.
///
/// # Errors
/// If the file cannot be used, or its token is not to be trusted.
pub fn kept_token(path: &Path) -> Result<Secret, TokenFileError> {
    let io = |cause| TokenFileError::Io { path: path.to_owned(), cause };
    // Two runs that start at once have the same token.
    let _lock = lock(path).map_err(io)?;
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let token = random_key();
            replace(path, &path.with_extension("new"), token.as_bytes()).map_err(io)?;
            return Ok(Secret::new(token));
        }
        Err(error) if error.kind() == io::ErrorKind::InvalidData => {
            return Err(TokenFileError::Damaged { path: path.to_owned() });
        }
        Err(error) => return Err(io(error)),
    };
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        if fs::metadata(path).map_err(io)?.permissions().mode() & OTHERS != 0 {
            return Err(TokenFileError::Shared { path: path.to_owned() });
        }
    }
    let token = text.trim();
    if token.len() != DIGITS || !token.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err(TokenFileError::Damaged { path: path.to_owned() });
    }
    Ok(Secret::new(token))
}

/// The digits of a token.
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
        let token = kept_token(&path).unwrap();
        assert_eq!(token.expose().len(), DIGITS);
        assert_eq!(kept_token(&path).unwrap().expose(), token.expose());
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
            assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
        }
        fs::remove_file(&path).unwrap();
        assert_ne!(kept_token(&path).unwrap().expose(), token.expose());
    }

    #[test]
    fn a_token_that_others_could_know_and_a_file_without_one_are_refused_and_stay() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("web-token");
        kept_token(&path).unwrap();
        for text in ["", "0123", "0123456789abcdef0123456789abcdeg", "\u{e9}"] {
            fs::write(&path, text).unwrap();
            let error = kept_token(&path).unwrap_err();
            assert!(matches!(error, TokenFileError::Damaged { .. }), "{error}");
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
        fs::write(&path, [0xff, 0xfe]).unwrap();
        assert!(matches!(kept_token(&path), Err(TokenFileError::Damaged { .. })));
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            fs::write(&path, "0123456789abcdef0123456789abcdef\n").unwrap();
            assert_eq!(kept_token(&path).unwrap().expose(), "0123456789abcdef0123456789abcdef");
            fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
            assert!(matches!(kept_token(&path), Err(TokenFileError::Shared { .. })));
        }
    }
}
