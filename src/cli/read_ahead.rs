use std::sync::mpsc::{Receiver, sync_channel};
use std::thread::JoinHandle;
use std::{io, vec};

use mitmcraft_engine::capture::{Entry, ReadError};

/// Reads a capture on another thread: entries are decoded while those before them are looked at.
///
/// At most two batches are ahead, of a few entries each: an entry can be large.
pub(super) struct ReadAhead<T> {
    batches: Receiver<Vec<Read<T>>>,
    batch: vec::IntoIter<Read<T>>,
    /// `None` once the thread has ended.
    thread: Option<JoinHandle<()>>,
}

type Read<T> = Result<T, ReadError>;

/// The entries of a capture, each with what its reader tells about it.
type Reads<T> = Box<dyn Iterator<Item = Read<T>> + Send>;

impl<T: Send + 'static> ReadAhead<T> {
    /// Starts reading; `size` returns the bytes that an entry takes.
    ///
    /// # Errors
    /// If the thread cannot be started.
    pub(super) fn new(mut entries: Reads<T>, size: fn(&T) -> usize) -> io::Result<Self> {
        let (sender, batches) = sync_channel(1);
        let read = move || {
            loop {
                let batch = next_batch(&mut entries, size);
                // Without a receiver, nobody wants to know the rest.
                if batch.is_empty() || sender.send(batch).is_err() {
                    return;
                }
            }
        };
        let thread = std::thread::Builder::new().name("reader".into()).spawn(read)?;
        Ok(Self { batches, batch: Vec::new().into_iter(), thread: Some(thread) })
    }
}

impl<T> Iterator for ReadAhead<T> {
    type Item = Read<T>;

    fn next(&mut self) -> Option<Read<T>> {
        loop {
            if let Some(read) = self.batch.next() {
                return Some(read);
            }
            match self.batches.recv() {
                Ok(batch) => self.batch = batch.into_iter(),
                Err(_) => {
                    let ended = self.thread.take()?.join();
                    ended.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
                    return None;
                }
            }
        }
    }
}

/// Reads up to the next error, or until the batch is large enough; empty at the end.
fn next_batch<T>(entries: &mut Reads<T>, size: fn(&T) -> usize) -> Vec<Read<T>> {
    let (mut batch, mut bytes) = (Vec::new(), 0);
    while batch.len() < MAX_ENTRIES && bytes < MAX_BYTES {
        let Some(read) = entries.next() else { break };
        let failed = read.is_err();
        bytes += read.as_ref().map_or(0, size);
        batch.push(read);
        if failed {
            break;
        }
    }
    batch
}

/// Returns the bytes of an entry's packet, for [`ReadAhead::new`].
pub(super) fn entry_size(entry: &Entry) -> usize {
    entry.record().map_or(0, |record| record.packet.size())
}

/// Entries of a batch at most: enough that waking the other thread costs little.
const MAX_ENTRIES: usize = 500;

/// Bytes of bodies after which a batch is complete.
const MAX_BYTES: usize = 64 << 10;

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use mitmcraft_engine::capture::{Entries, read_capture};
    use mitmcraft_protocol::schema::Catalog;

    use super::*;

    fn capture() -> Vec<u8> {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/captures/session-1.8.jsonl");
        let text = std::fs::read(path).unwrap();
        // A line in the middle that is no entry, and an end within one.
        let lines = text.split_inclusive(|byte| *byte == b'\n');
        let mut lines: Vec<&[u8]> = lines.collect();
        lines.insert(lines.len() / 2, b"{\"v\":2}\n");
        let mut text = lines.concat();
        text.truncate(text.len() - 10);
        text
    }

    fn entries() -> Entries {
        read_capture(Cursor::new(capture()), Catalog::embedded()).unwrap()
    }

    fn described(read: &Read<Entry>) -> String {
        match read {
            Ok(entry) => {
                let seq = entry.record().map(|record| record.packet.seq());
                format!("{} {seq:?}", entry.at())
            }
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn entries_and_errors_are_those_of_the_reader_in_its_order() {
        let direct: Vec<String> = entries().map(|read| described(&read)).collect();
        let mut ahead = ReadAhead::new(entries(), |_| 1).unwrap();
        let read: Vec<String> = ahead.by_ref().map(|read| described(&read)).collect();
        assert!(direct.len() > 2, "{}", direct.len());
        assert_eq!(read, direct);
        assert!(ahead.next().is_none());
    }

    #[test]
    fn a_reader_of_which_only_the_beginning_is_wanted_ends() {
        let mut ahead = ReadAhead::new(entries(), |_| 1).unwrap();
        assert!(ahead.next().is_some());
        let thread = ahead.thread.take().unwrap();
        drop(ahead);
        thread.join().unwrap();
    }

    #[test]
    #[should_panic(expected = "a fault of the program")]
    fn a_panic_of_the_reader_is_not_the_end_of_the_capture() {
        let failing =
            std::iter::from_fn(|| -> Option<Read<Entry>> { panic!("a fault of the program") });
        ReadAhead::new(Box::new(failing), |_| 1).unwrap().for_each(drop);
    }
}
