use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

/// Reads a text file that a user has named, such as a filter file, a protocol description or a key log.
///
/// A pipe that nobody writes to, or a file system that does not answer, costs this call ten seconds and
/// the program a thread that waits on, and nothing else.
///
/// # Errors
/// If the file cannot be read, is longer than 64 MiB, is not UTF-8, or takes longer than ten seconds.
pub fn read_source(path: &Path) -> io::Result<String> {
    read_within(path, PATIENCE)
}

/// Replaces a text file that a user has named, or creates it. Behind a link, the file is replaced, not the
/// link.
///
/// # Errors
/// If the file cannot be written. It is as before then: it is replaced at once, so that a reader sees the
/// old text or the new one.
pub fn write_source(path: &Path, text: &str) -> io::Result<()> {
    let (target, exists) = match path.canonicalize() {
        Ok(target) => (target, true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => (path.to_owned(), false),
        Err(error) => return Err(error),
    };
    let folder = target.parent().filter(|it| !it.as_os_str().is_empty());
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let mut new = builder.tempfile_in(folder.unwrap_or_else(|| Path::new(".")))?;
    new.write_all(text.as_bytes())?;
    if exists {
        new.as_file().set_permissions(target.metadata()?.permissions())?;
    }
    // A link that leads nowhere gives way to the file, but not a file that has appeared meanwhile.
    let persisted = match exists || path.is_symlink() {
        true => new.persist(&target),
        false => new.persist_noclobber(&target),
    };
    persisted.map(drop).map_err(|error| error.error)
}

fn read_within(path: &Path, patience: Duration) -> io::Result<String> {
    let (sender, receiver) = channel();
    let path = path.to_owned();
    thread::Builder::new().name("read".to_owned()).spawn(move || {
        // Nobody may wait any more.
        let _ = sender.send(read(&path));
    })?;
    receiver.recv_timeout(patience).unwrap_or_else(|error| {
        Err(match error {
            RecvTimeoutError::Timeout => io::Error::new(
                io::ErrorKind::TimedOut,
                format!(
                    "it could not be read within {} s: a pipe that nobody writes to, or a file \
                     system that does not answer",
                    patience.as_secs()
                ),
            ),
            RecvTimeoutError::Disconnected => io::Error::other("internal error: reading panicked"),
        })
    })
}

fn read(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    File::open(path)?.take(MAX_LENGTH + 1).read_to_string(&mut text)?;
    if text.len() as u64 > MAX_LENGTH {
        let message = format!("it is longer than {} MiB", MAX_LENGTH >> 20);
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
    }
    Ok(text)
}

/// How long a file may take. A person or a program that writes a pipe answers sooner.
const PATIENCE: Duration = Duration::from_secs(10);

/// Greatest length of a file in bytes.
const MAX_LENGTH: u64 = 64 << 20;

#[cfg(test)]
mod tests {
    /// As `config --write` and the page write them.
    #[cfg(unix)]
    #[test]
    fn a_written_file_keeps_its_link_and_its_permissions() {
        use std::os::unix::fs::{PermissionsExt as _, symlink};

        let folder = tempfile::tempdir().unwrap();
        let [file, link, lost] = ["a.toml", "link", "lost"].map(|name| folder.path().join(name));
        std::fs::write(&file, "old").unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o640)).unwrap();
        symlink(&file, &link).unwrap();
        symlink(folder.path().join("nowhere"), &lost).unwrap();
        for (path, text) in [(&link, "new"), (&lost, "first")] {
            write_source(path, text).unwrap();
            assert_eq!(std::fs::read_to_string(path).unwrap(), text);
        }
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "new");
        assert!(link.is_symlink() && !lost.is_symlink());
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o640);
        // As of any new file, which others may read unless the user's mask forbids it.
        let plain = folder.path().join("plain");
        std::fs::write(&plain, "").unwrap();
        assert_eq!(lost.metadata().unwrap().permissions(), plain.metadata().unwrap().permissions());
        assert_eq!(
            std::fs::read_dir(folder.path()).unwrap().count(),
            4,
            "nothing is left beside them"
        );
    }

    use super::*;

    #[cfg(unix)]
    #[test]
    fn a_pipe_that_nobody_writes_to_costs_a_message() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let error = read_within(&pipe, Duration::ZERO).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert!(error.to_string().contains("a pipe that nobody writes to"), "{error}");
        // The thread that reads goes on as soon as there is a writer.
        std::fs::write(&pipe, "").unwrap();
    }

    #[test]
    fn a_file_is_read_up_to_the_longest() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rules.toml");
        let file = File::create(&path).unwrap();
        for (length, fits) in [(0, true), (MAX_LENGTH, true), (MAX_LENGTH + 1, false)] {
            file.set_len(length).unwrap();
            match read_source(&path) {
                Ok(text) => assert!(fits && text.len() as u64 == length),
                Err(error) => assert!(!fits && error.to_string().contains("64 MiB"), "{error}"),
            }
        }
    }
}
