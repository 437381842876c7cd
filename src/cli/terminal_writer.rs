use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Writes lines to a terminal from a thread of its own, so that nobody waits for a terminal that is
/// stopped (Ctrl-S, the copy mode of tmux): lines that do not fit in 1 MiB are left out and counted.
///
/// Each call of `write` is whole lines, which are taken or left out together. `flush` does not wait.
/// On drop, waits up to `patience` for the terminal. After one such wait times out, later writers do
/// not wait.
struct TerminalWriter {
    shared: Arc<Shared>,
    /// Maximum time for which dropping the writer waits for the terminal.
    patience: Duration,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// Lines that have not been passed to the terminal.
    lines: Vec<u8>,
    /// Number of lines left out after `lines`.
    left_out: u64,
    /// The thread is writing.
    busy: bool,
    /// The writer was dropped.
    closed: bool,
    /// The error of the terminal, until it was returned.
    error: Option<io::Error>,
}

/// Returns a writer to a standard stream: a [`TerminalWriter`] if it is a terminal.
pub(crate) fn stream<S>(open: fn() -> S) -> Box<dyn Write + Send>
where
    S: Write + IsTerminal + Send + 'static,
{
    if open().is_terminal()
        && let Ok(writer) = TerminalWriter::new(open(), PATIENCE)
    {
        return Box::new(writer);
    }
    Box::new(open())
}

impl TerminalWriter {
    /// Starts the thread, which ends when the writer is dropped.
    ///
    /// # Errors
    /// If the thread cannot be started.
    fn new(terminal: impl Write + Send + 'static, patience: Duration) -> io::Result<Self> {
        let shared: Arc<Shared> = Arc::default();
        let thread = Arc::clone(&shared);
        std::thread::Builder::new()
            .name("terminal".into())
            .spawn(move || thread.write_to(terminal))?;
        Ok(Self { shared, patience })
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write_to(&self, mut terminal: impl Write) {
        let mut lines = Vec::new();
        let mut state = self.lock();
        loop {
            state.busy = false;
            self.changed.notify_all();
            if state.lines.is_empty() && state.left_out == 0 {
                if state.closed {
                    return;
                }
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            lines.clear();
            std::mem::swap(&mut lines, &mut state.lines);
            match std::mem::take(&mut state.left_out) {
                0 => {}
                1 => lines.extend_from_slice(b"(1 line left out: the terminal was stopped)\n"),
                count => {
                    let text = format!("({count} lines left out: the terminal was stopped)\n");
                    lines.extend_from_slice(text.as_bytes());
                }
            }
            state.busy = true;
            drop(state);
            let written = terminal.write_all(&lines).and_then(|()| terminal.flush());
            state = self.lock();
            state.error = written.err().or_else(|| state.error.take());
        }
    }
}

impl Write for TerminalWriter {
    fn write(&mut self, lines: &[u8]) -> io::Result<usize> {
        let mut state = self.shared.lock();
        if let Some(error) = state.error.take() {
            return Err(error);
        }
        // Lines after a gap would be printed before its notice.
        if state.left_out == 0 && state.lines.len() + lines.len() <= ROOM {
            state.lines.extend_from_slice(lines);
        } else {
            state.left_out += lines.iter().filter(|byte| **byte == b'\n').count() as u64;
        }
        self.shared.changed.notify_all();
        Ok(lines.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for TerminalWriter {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state.closed = true;
        self.shared.changed.notify_all();
        let waits = |state: &mut State| state.busy || !state.lines.is_empty() || state.left_out > 0;
        let patience = if STOPPED.load(Relaxed) { Duration::ZERO } else { self.patience };
        let waited = self.shared.changed.wait_timeout_while(state, patience, waits);
        let (_state, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
        STOPPED.store(timeout.timed_out(), Relaxed);
    }
}

/// The terminal took nothing when a writer last waited for it.
static STOPPED: AtomicBool = AtomicBool::new(false);

/// Bytes that wait for the terminal.
const ROOM: usize = 1 << 20;

/// Maximum time for which dropping the writer of a standard stream waits for the terminal.
const PATIENCE: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, Sender, channel};

    use super::*;

    /// Passes on what is written; before each call it waits until it is let go on.
    struct Stopped {
        go: Receiver<()>,
        written: Sender<Vec<u8>>,
    }

    impl Write for Stopped {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.go.recv().map_err(io::Error::other)?;
            self.written.send(bytes.to_vec()).map_err(io::Error::other)?;
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn stopped() -> (TerminalWriter, Sender<()>, Receiver<Vec<u8>>) {
        let ((go, wait), (written, read)) = (channel(), channel());
        let terminal = Stopped { go: wait, written };
        (TerminalWriter::new(terminal, Duration::from_secs(300)).unwrap(), go, read)
    }

    #[test]
    fn a_stopped_terminal_leaves_out_lines_and_says_how_many() {
        let (mut writer, go, read) = stopped();
        writer.write_all(b"first\n").unwrap();
        go.send(()).unwrap();
        assert_eq!(read.recv().unwrap(), b"first\n");

        writer.write_all(b"second\n").unwrap();
        // The thread takes the second line alone or with some of the next.
        let line = [&[b'x'; 1023][..], b"\n"].concat();
        for _ in 0..3000 {
            writer.write_all(&line).unwrap();
        }
        for _ in 0..4 {
            go.send(()).unwrap();
        }
        drop(writer);
        let text: Vec<u8> = read.try_iter().flatten().collect();
        let text = String::from_utf8(text).unwrap();
        let rest = text.strip_prefix("second\n").unwrap();
        let (shown, notes): (Vec<&str>, Vec<&str>) =
            rest.lines().partition(|line| line.starts_with('x'));
        assert!((1023..=2048).contains(&shown.len()), "{}", shown.len());
        let left_out: usize = notes
            .iter()
            .map(|note| {
                let note = note.strip_suffix(" lines left out: the terminal was stopped)").unwrap();
                note.strip_prefix('(').unwrap().parse::<usize>().unwrap()
            })
            .sum();
        assert_eq!(shown.len() + left_out, 3000);
    }

    #[test]
    fn an_error_of_the_terminal_is_returned_by_a_later_write() {
        let (mut writer, go, _read) = stopped();
        writer.write_all(b"first\n").unwrap();
        drop(go);
        let error = loop {
            if let Err(error) = writer.write_all(b"second\n") {
                break error;
            }
            std::thread::yield_now();
        };
        assert_eq!(error.kind(), io::ErrorKind::Other);
    }
}
