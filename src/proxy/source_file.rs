use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use tempfile::NamedTempFile;

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
    let Ok(path) = path.canonicalize() else {
        return File::create_new(path)?.write_all(text.as_bytes());
    };
    let folder = path.parent().unwrap_or_else(|| Path::new("."));
    let mut new = NamedTempFile::new_in(folder)?;
    new.write_all(text.as_bytes())?;
    new.as_file().set_permissions(File::open(&path)?.metadata()?.permissions())?;
    new.persist(&path).map_err(|error| error.error)?;
    Ok(())
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
