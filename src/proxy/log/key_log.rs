use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

use mitmcraft_engine::capture::check_file_name;
use mitmcraft_protocol::codec::KeyLogLine;
#[cfg(unix)]
use rustix::fs::OFlags;
use tokio::sync::oneshot;

/// A file with the keys that decrypt the connections of all sessions, one line per connection. Cheap to
/// clone.
///
/// Lines are appended, each in one write, so that several runs can share a file. They are written on a
/// thread of their own: a file system that hangs holds no session for longer than two seconds.
#[derive(Debug, Clone)]
pub struct KeyLog {
    lines: SyncSender<Line>,
    /// Set while a line takes longer than [`PATIENCE`].
    stalls: Arc<AtomicBool>,
}

/// A line, and where to report that it is written.
struct Line {
    text: String,
    written: oneshot::Sender<io::Result<()>>,
}

impl KeyLog {
    /// Opens a file to append to it, or creates one that only its owner can read.
    ///
    /// # Errors
    /// If the file cannot be opened, its name is a device's on Windows, it is a pipe that nobody reads, or the thread cannot be started.
    pub fn open(path: &Path) -> io::Result<Self> {
        check_file_name(path)?;
        let mut options = OpenOptions::new();
        options.append(true).create(true);
        #[cfg(unix)]
        {
            use std::os::unix::fs::OpenOptionsExt as _;
            // Opening a pipe does not wait for its reader, nor writing to it.
            options.mode(OWNER_ONLY).custom_flags(OFlags::NONBLOCK.bits().cast_signed());
        }
        Self::start(options.open(path)?)
    }

    fn start(mut file: impl Write + Send + 'static) -> io::Result<Self> {
        let (lines, queued): (_, Receiver<Line>) = sync_channel(MAX_QUEUED);
        let stalls = Arc::new(AtomicBool::new(false));
        let key_log = Self { lines, stalls: Arc::clone(&stalls) };
        let write = move || {
            for line in queued {
                let written = file.write_all(line.text.as_bytes());
                stalls.store(false, Ordering::Relaxed);
                // A session that no longer waits has reported that.
                let _ = line.written.send(written);
            }
        };
        std::thread::Builder::new().name("key log".into()).spawn(write)?;
        Ok(key_log)
    }

    /// Appends a line, and waits until it is written. If the file system hangs, only the first lines
    /// wait for it, and all are written once it goes on.
    ///
    /// # Errors
    /// If the line cannot be written, or not in time.
    pub(in crate::proxy) async fn put(&self, line: KeyLogLine) -> io::Result<()> {
        let (written, done) = oneshot::channel();
        let line = Line { text: format!("{line}\n"), written };
        let full = |_| io::Error::new(io::ErrorKind::WouldBlock, FULL);
        self.lines.try_send(line).map_err(full)?;
        if !self.stalls.load(Ordering::Relaxed)
            && let Ok(written) = tokio::time::timeout(PATIENCE, done).await
        {
            return written.unwrap_or_else(|gone| Err(io::Error::other(gone)));
        }
        self.stalls.store(true, Ordering::Relaxed);
        Err(io::Error::new(io::ErrorKind::TimedOut, HANGS))
    }
}

const HANGS: &str = "the file system does not answer; the line is written once it does";

const FULL: &str =
    "the file system does not answer, and too many lines wait for it: this one is lost";

/// The time that a session waits for its line to be written.
const PATIENCE: Duration = Duration::from_secs(2);

/// Lines that wait for the file at most, about 50 bytes each.
const MAX_QUEUED: usize = 4096;

/// File mode: read and write for the owner only.
#[cfg(unix)]
const OWNER_ONLY: u32 = 0o600;

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;
    use std::sync::{Mutex, PoisonError};

    use super::*;

    #[cfg(unix)]
    #[test]
    fn a_pipe_that_nobody_reads_is_an_error_and_no_wait() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        KeyLog::open(&pipe).unwrap_err();
        let _reader = OpenOptions::new().read(true).write(true).open(&pipe).unwrap();
        KeyLog::open(&pipe).unwrap();
    }

    /// A file that takes each write only when told.
    struct Hanging {
        go: Receiver<()>,
        text: Arc<Mutex<Vec<u8>>>,
    }

    impl Write for Hanging {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.go.recv().map_err(io::Error::other)?;
            self.text.lock().unwrap_or_else(PoisonError::into_inner).extend(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn line(number: u8) -> KeyLogLine {
        KeyLogLine { challenge: [number; 4], secret: [number; 16] }
    }

    #[tokio::test(start_paused = true)]
    async fn a_file_system_that_hangs_holds_the_first_session_for_two_seconds() {
        let text = Arc::new(Mutex::new(Vec::new()));
        let (going, go) = channel();
        let key_log = KeyLog::start(Hanging { go, text: Arc::clone(&text) }).unwrap();
        let begun = tokio::time::Instant::now();
        let error = key_log.put(line(1)).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert_eq!(begun.elapsed(), PATIENCE);
        for number in 2..10 {
            key_log.put(line(number)).await.unwrap_err();
        }
        assert_eq!(begun.elapsed(), PATIENCE);
        // It goes on: nothing is lost.
        (1..10).for_each(|_| going.send(()).unwrap());
        while key_log.stalls.load(Ordering::Relaxed) {
            std::thread::yield_now();
        }
        going.send(()).unwrap();
        // The writer's thread does not obey the simulated clock.
        tokio::time::resume();
        key_log.put(line(10)).await.unwrap();
        let text = String::from_utf8(text.lock().unwrap().clone()).unwrap();
        let wanted: String = (1..=10).map(|number| format!("{}\n", line(number))).collect();
        assert_eq!(text, wanted);
    }

    #[tokio::test(start_paused = true)]
    async fn keys_that_a_hanging_file_system_does_not_take_are_bounded() {
        let (_going, go) = channel();
        let key_log = KeyLog::start(Hanging { go, text: Arc::default() }).unwrap();
        let mut kinds = Vec::new();
        for number in 0..MAX_QUEUED + 2 {
            kinds.push(key_log.put(line(number as u8)).await.unwrap_err().kind());
        }
        assert_eq!(kinds.last(), Some(&io::ErrorKind::WouldBlock));
        assert!(kinds[..MAX_QUEUED].iter().all(|kind| *kind == io::ErrorKind::TimedOut));
    }
}
