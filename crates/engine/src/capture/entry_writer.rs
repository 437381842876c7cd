use std::io::{self, Write};

use super::{BodyPlaces, NotedPlaces, PartLength, drain};
use mitmcraft_protocol::packet::Packet;

/// Buffers entries and writes only whole ones to the underlying writer, many at a time.
///
/// A file whose program was killed therefore ends with a complete entry, unless the operating
/// system split the last write. After an error the unwritten bytes are kept, and no further entry
/// is accepted until they have been written.
#[derive(Debug)]
pub(crate) struct EntryWriter<W: Write> {
    writer: W,
    /// Entries that have not been written yet.
    buffer: Vec<u8>,
    /// Where each of them ends in the buffer.
    ends: Vec<usize>,
    /// Number of bytes that `writer` has taken.
    written: u64,
    /// The places of the last packet's bytes; `None` if nobody asks for them.
    places: Option<NotedPlaces>,
    /// The number of buffered bytes from which they are written.
    chunk: usize,
}

impl<W: Write> EntryWriter<W> {
    pub(crate) fn new(writer: W) -> Self {
        let (buffer, ends) = (Vec::new(), Vec::new());
        Self { writer, buffer, ends, written: 0, places: None, chunk: LARGE_CHUNK }
    }

    /// Writes 64 KiB at a time from now on, so that a file does not exceed its greatest size by more.
    pub(crate) fn limit_writes(&mut self) {
        self.chunk = SMALL_CHUNK;
    }

    /// Makes room for an entry, which the caller then appends to the [`buffer`](Self::buffer).
    ///
    /// # Errors
    /// The writer's, if an earlier error persists.
    pub(crate) fn begin(&mut self) -> io::Result<()> {
        if let Some(places) = &mut self.places {
            places.clear();
        }
        self.drain_full()
    }

    pub(crate) fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.buffer
    }

    /// Marks the entry in the buffer as complete.
    ///
    /// The entry is taken even if it cannot be written: the error comes back with the next one, or from
    /// `flush`.
    pub(crate) fn end(&mut self) {
        let end = self.buffer.len();
        if self.ends.last().map_or(end > 0, |last| end > *last) {
            self.ends.push(end);
        }
        self.end_part();
    }

    /// Marks what is in the buffer as complete, which is no entry.
    pub(crate) fn end_part(&mut self) {
        if let Some(places) = &mut self.places {
            places.share();
        }
        let _ = self.drain_full();
    }

    /// Returns the number of entries that the underlying writer has not taken whole.
    pub(crate) fn unwritten(&self) -> u64 {
        self.ends.len() as u64
    }

    /// Starts reporting the offset of each packet in the bytes of the underlying writer.
    pub(crate) fn body_places(&mut self) -> BodyPlaces {
        self.places.get_or_insert_default().shared().clone()
    }

    /// Notes a part of a packet, whose end is `end` in the buffer.
    pub(crate) fn note_part(&mut self, end: usize, length: PartLength) {
        if let Some(places) = &mut self.places {
            places.note(self.written + end as u64, length);
        }
    }

    /// Notes a packet that is the last text of the JSON in the buffer from `start` to `end`.
    pub(crate) fn note_text(&mut self, start: usize, end: usize, packet: &Packet) {
        if let Some(places) = &mut self.places {
            let size = packet.frame().and_then(|frame| frame.with_body(<[u8]>::len).ok());
            places.note_text(self.written + end as u64, &self.buffer[start..end], size);
        }
    }

    fn drain_full(&mut self) -> io::Result<()> {
        if self.buffer.len() < self.chunk {
            return Ok(());
        }
        self.drain()
    }

    fn drain(&mut self) -> io::Result<()> {
        let before = self.buffer.len();
        let result = drain(&mut self.writer, &mut self.buffer);
        let gone = before - self.buffer.len();
        self.written += gone as u64;
        match self.buffer.is_empty() {
            true => self.ends.clear(),
            false => {
                self.ends.retain(|end| *end > gone);
                self.ends.iter_mut().for_each(|end| *end -= gone);
            }
        }
        self.buffer.shrink_to(KEPT);
        result
    }
}

/// `write` appends to the buffer; only `flush` reaches the underlying writer.
impl<W: Write> Write for EntryWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.buffer.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.drain()?;
        self.writer.flush()
    }
}

/// Like `BufWriter`, writes what is buffered, so that dropping an unfinished sink loses no entry.
impl<W: Write> Drop for EntryWriter<W> {
    fn drop(&mut self) {
        let _ = self.drain();
    }
}

/// Buffered bytes from which entries are written to a file of limited size.
const SMALL_CHUNK: usize = 64 << 10;

/// Buffered bytes from which entries are written to a file of any size. The larger a write is, the larger are
/// the parts in which the kernel keeps the file, and the less a byte costs.
const LARGE_CHUNK: usize = 256 << 10;

/// Buffer capacity kept between entries: one rare large entry must not hold its memory forever.
const KEPT: usize = 1 << 20;

#[cfg(test)]
mod tests {
    use std::io::ErrorKind;

    use super::*;

    /// Accepts `room` bytes, a few at a time, and then fails.
    struct Disk {
        taken: Vec<u8>,
        room: usize,
    }

    impl Write for &mut Disk {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let count = bytes.len().min(self.room - self.taken.len()).min(10_000);
            if count == 0 {
                return Err(ErrorKind::StorageFull.into());
            }
            self.taken.extend_from_slice(&bytes[..count]);
            Ok(count)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn only_whole_entries_reach_the_writer() {
        for (limited, first) in [(true, 66_000), (false, 263_000)] {
            let mut disk = Disk { taken: Vec::new(), room: usize::MAX };
            let mut entries = EntryWriter::new(&mut disk);
            if limited {
                entries.limit_writes();
            }
            while entries.writer.taken.is_empty() {
                entries.begin().unwrap();
                entries.buffer().extend_from_slice(&[7; 1000]);
                entries.end();
            }
            assert_eq!(entries.writer.taken.len(), first);
            entries.buffer().extend_from_slice(&[7; 1000]);
            drop(entries);
            assert_eq!(disk.taken.len(), first + 1000);
        }
    }

    #[test]
    fn a_full_disk_is_an_error_until_there_is_room_and_no_entry_is_lost_or_repeated() {
        let entry = |n: u8| vec![n; 50_000];
        let mut disk = Disk { taken: Vec::new(), room: 70_000 };
        let mut entries = EntryWriter::new(&mut disk);
        entries.limit_writes();
        entries.buffer().extend(entry(1));
        entries.end();
        assert_eq!(entries.unwritten(), 1);
        // It is taken, though only a part of it is written.
        entries.buffer().extend(entry(2));
        entries.end();
        assert_eq!((entries.writer.taken.len(), entries.unwritten()), (70_000, 1));
        entries.begin().unwrap();
        entries.buffer().extend(entry(3));
        entries.end();
        assert_eq!(entries.unwritten(), 2);
        for _ in 0..2 {
            assert_eq!(entries.begin().unwrap_err().kind(), ErrorKind::StorageFull);
            assert_eq!(entries.flush().unwrap_err().kind(), ErrorKind::StorageFull);
        }
        entries.writer.room = 110_000;
        assert_eq!(entries.flush().unwrap_err().kind(), ErrorKind::StorageFull);
        assert_eq!(entries.unwritten(), 1);
        entries.writer.room = usize::MAX;
        entries.flush().unwrap();
        assert_eq!(entries.unwritten(), 0);
        drop(entries);
        assert_eq!(disk.taken, [entry(1), entry(2), entry(3)].concat());
    }
}
