use std::io;
use std::sync::{Mutex, PoisonError};

use mitmcraft_engine::capture::{Entry, ReadError};

use super::InOrder;

/// Reads a capture on another thread: entries are decoded while those before them are looked at. `size`
/// returns the bytes that an entry takes.
///
/// # Errors
/// If the thread cannot be started.
pub(crate) fn read_ahead<T: Send + 'static>(
    entries: Box<dyn Iterator<Item = Read<T>> + Send>,
    size: fn(&T) -> usize,
) -> io::Result<InOrder<Read<T>>> {
    let entries = Mutex::new(Some(entries));
    InOrder::new(1, move |_, outlet| {
        let entries = entries.lock().unwrap_or_else(PoisonError::into_inner).take();
        for read in entries.into_iter().flatten() {
            let (bytes, failed) = (read.as_ref().map_or(0, size), read.is_err());
            if !outlet.put(read, bytes) || (failed && !outlet.flush()) {
                return;
            }
        }
    })
}

/// An entry, with what its reader tells about it.
type Read<T> = Result<T, ReadError>;

/// Returns the bytes of an entry's packet, for [`read_ahead`].
pub(crate) fn entry_size(entry: &Entry) -> usize {
    entry.record().map_or(0, |record| record.packet.size())
}

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
        let mut ahead = read_ahead(entries(), |_| 1).unwrap();
        let read: Vec<String> = ahead.by_ref().map(|read| described(&read)).collect();
        assert!(direct.len() > 2, "{}", direct.len());
        assert_eq!(read, direct);
        assert!(ahead.next().is_none());
    }

    #[test]
    #[should_panic(expected = "a fault of the program")]
    fn a_panic_of_the_reader_is_not_the_end_of_the_capture() {
        let failing =
            std::iter::from_fn(|| -> Option<Read<Entry>> { panic!("a fault of the program") });
        read_ahead(Box::new(failing), |_| 1).unwrap().for_each(drop);
    }
}
