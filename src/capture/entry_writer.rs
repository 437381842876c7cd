use std::io::{self, ErrorKind, Write};

/// Hands whole entries on to a writer, many at a time.
///
/// What it has handed on ends with an entry, so a file that the program could not finish is cut
/// off within one only if the system has cut it. After an error it holds on to the bytes that
/// were not taken, and takes no further entry before they are.
#[derive(Debug)]
pub(crate) struct EntryWriter<W: Write> {
    writer: W,
    /// Entries not handed on.
    buffer: Vec<u8>,
}

impl<W: Write> EntryWriter<W> {
    pub(crate) fn new(writer: W) -> Self {
        Self { writer, buffer: Vec::new() }
    }

    /// Makes room for an entry, which is then appended to the [`buffer`](Self::buffer).
    ///
    /// # Errors
    /// When an earlier error persists.
    pub(crate) fn begin(&mut self) -> io::Result<()> {
        if self.buffer.len() < CHUNK {
            return Ok(());
        }
        self.drain()
    }

    pub(crate) fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.buffer
    }

    /// The entry in the buffer is complete.
    pub(crate) fn end(&mut self) -> io::Result<()> {
        self.begin()
    }

    fn drain(&mut self) -> io::Result<()> {
        let mut written = 0;
        let result = loop {
            if written == self.buffer.len() {
                break Ok(());
            }
            match self.writer.write(&self.buffer[written..]) {
                Ok(0) => break Err(ErrorKind::WriteZero.into()),
                Ok(count) => written += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => break Err(error),
            }
        };
        self.buffer.drain(..written);
        self.buffer.shrink_to(KEPT);
        result
    }
}

/// Appends to the buffer; only a flush hands on.
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

/// As `BufWriter` does: who drops a sink without finishing it still finds the entries.
impl<W: Write> Drop for EntryWriter<W> {
    fn drop(&mut self) {
        let _ = self.drain();
    }
}

/// So many bytes go to the system at once.
const CHUNK: usize = 64 << 10;

/// A rare large entry does not keep its memory.
const KEPT: usize = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes `room` bytes, a few at a time, and then none.
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
    fn hands_on_whole_entries_only() {
        let mut disk = Disk { taken: Vec::new(), room: usize::MAX };
        let mut writer = EntryWriter::new(&mut disk);
        for _ in 0..100 {
            writer.begin().unwrap();
            writer.buffer().extend_from_slice(&[7; 1000]);
            writer.end().unwrap();
            assert_eq!(writer.writer.taken.len() % 1000, 0);
        }
        assert_eq!(writer.writer.taken.len(), 66_000);
        drop(writer);
        assert_eq!(disk.taken.len(), 100_000);
    }

    #[test]
    fn a_full_disk_is_an_error_until_there_is_room_and_nothing_is_lost_or_twice() {
        let entry = |n: u8| vec![n; 50_000];
        let mut disk = Disk { taken: Vec::new(), room: 70_000 };
        let mut writer = EntryWriter::new(&mut disk);
        writer.buffer().extend(entry(1));
        writer.end().unwrap();
        writer.buffer().extend(entry(2));
        assert_eq!(writer.end().unwrap_err().kind(), ErrorKind::StorageFull);
        writer.writer.room = usize::MAX;
        writer.begin().unwrap();
        writer.buffer().extend(entry(3));
        writer.flush().unwrap();
        drop(writer);
        assert_eq!(disk.taken, [entry(1), entry(2), entry(3)].concat());
    }
}
