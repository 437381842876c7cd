use std::fs;
use std::io::{self, Write as _};
use std::path::Path;

use super::keys::random_key;
use crate::proxy::AccountsError;
use crate::proxy::private_file::{lock, private};
use mitmcraft_engine::auth::Secret;

/// Returns the path at which this user's games find their services, from a file in `folder` that only its
/// owner can read. The file is created if there is none, and the path stays the same from then on.
///
/// # Errors
/// If the file cannot be read or written, or was changed.
pub fn endpoint_key(folder: &Path) -> Result<Secret, AccountsError> {
    let path = folder.join("auth-endpoint");
    let io = |cause| AccountsError::Io { path: path.clone(), cause };
    // Another run waits until the file is complete.
    let _lock = lock(&path).map_err(io)?;
    match fs::read_to_string(&path) {
        Ok(text) => {
            let key = text.trim();
            if key.len() != DIGITS || !key.bytes().all(|byte| byte.is_ascii_hexdigit()) {
                let wrong = "expected 32 hex digits; delete it, and use the new JVM arguments";
                return Err(io(io::Error::new(io::ErrorKind::InvalidData, wrong)));
            }
            Ok(Secret::new(key))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let key = random_key();
            let mut file = private(&path, true).map_err(io)?;
            writeln!(file, "{key}").map_err(io)?;
            Ok(Secret::new(key))
        }
        Err(cause) => Err(io(cause)),
    }
}

/// Length of the path: 128 bits in hex.
const DIGITS: usize = 32;

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(name: &str) -> std::path::PathBuf {
        let folder = std::env::temp_dir().join(format!("mitmcraft-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        folder
    }

    #[test]
    fn the_path_is_random_and_stays_and_only_its_owner_can_read_it() {
        let (one, other) = (folder("key-one"), folder("key-other"));
        let key = endpoint_key(&one).unwrap();
        assert_eq!(key.expose().len(), 32);
        assert_eq!(endpoint_key(&one).unwrap(), key);
        assert_ne!(endpoint_key(&other).unwrap(), key);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let mode = fs::metadata(one.join("auth-endpoint")).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
        fs::write(one.join("auth-endpoint"), "k3y").unwrap();
        let error = endpoint_key(&one).unwrap_err().to_string();
        assert!(error.contains("auth-endpoint") && error.contains("32 hex digits"), "{error}");
        for folder in [one, other] {
            fs::remove_dir_all(folder).unwrap();
        }
    }
}
