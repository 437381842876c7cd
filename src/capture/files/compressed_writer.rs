use std::io::{self, ErrorKind, Write};

use flate2::write::GzEncoder;

use super::super::Compression;

type ZstdEncoder = zstd::stream::write::Encoder<'static, Vec<u8>>;

/// A writer that compresses on the way to `writer`.
pub(crate) fn compress(
    writer: Box<dyn Write + Send>,
    compression: Compression,
) -> Box<dyn Write + Send> {
    match compression {
        Compression::None => writer,
        Compression::Gzip => Box::new(CompressedWriter::<GzEncoder<Vec<u8>>>::new(writer)),
        Compression::Zstd => Box::new(CompressedWriter::<ZstdEncoder>::new(writer)),
    }
}

/// Compresses on the way to a writer.
///
/// Each flush ends the gzip member or zstd frame, and what comes next begins another: what was
/// flushed is a whole file, which any tool unpacks without complaint whatever happens to the rest.
/// So there is nothing to write at the end but a last flush.
struct CompressedWriter<M: Encoder> {
    writer: Box<dyn Write + Send>,
    /// None between two members.
    member: Option<M>,
    /// Compressed bytes that the writer has not taken.
    pending: Vec<u8>,
    /// Whether there was a member: a file without any is not even an empty one.
    begun: bool,
}

/// What compresses: a gzip member or a zstd frame.
trait Encoder: Write + Sized + Send {
    fn begin() -> io::Result<Self>;
    /// What has come out so far.
    fn output(&mut self) -> &mut Vec<u8>;
    /// Ends it; the rest of what comes out.
    fn finish(self) -> io::Result<Vec<u8>>;
}

impl<M: Encoder> CompressedWriter<M> {
    fn new(writer: Box<dyn Write + Send>) -> Self {
        Self { writer, member: None, pending: Vec::new(), begun: false }
    }

    fn member(&mut self) -> io::Result<&mut M> {
        let member = match self.member.take() {
            Some(member) => member,
            None => M::begin()?,
        };
        self.begun = true;
        Ok(self.member.insert(member))
    }

    fn drain(&mut self) -> io::Result<()> {
        let mut written = 0;
        let result = loop {
            if written == self.pending.len() {
                break Ok(());
            }
            match self.writer.write(&self.pending[written..]) {
                Ok(0) => break Err(ErrorKind::WriteZero.into()),
                Ok(count) => written += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => break Err(error),
            }
        };
        self.pending.drain(..written);
        result
    }
}

impl<M: Encoder> Write for CompressedWriter<M> {
    /// Takes all of `bytes`; none while the writer does not take what came before.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.drain()?;
        let member = self.member()?;
        member.write_all(bytes)?;
        self.pending = std::mem::take(member.output());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if !self.begun {
            self.member()?;
        }
        if let Some(member) = self.member.take() {
            self.pending.append(&mut member.finish()?);
        }
        self.drain()?;
        self.writer.flush()
    }
}

/// As `BufWriter` does: who drops a sink without finishing it still finds the entries.
impl<M: Encoder> Drop for CompressedWriter<M> {
    fn drop(&mut self) {
        let _ = self.flush();
    }
}

impl Encoder for GzEncoder<Vec<u8>> {
    fn begin() -> io::Result<Self> {
        Ok(Self::new(Vec::new(), flate2::Compression::new(GZIP_LEVEL)))
    }

    fn output(&mut self) -> &mut Vec<u8> {
        self.get_mut()
    }

    fn finish(self) -> io::Result<Vec<u8>> {
        Self::finish(self)
    }
}

impl Encoder for ZstdEncoder {
    fn begin() -> io::Result<Self> {
        let mut encoder = Self::new(Vec::new(), ZSTD_LEVEL)?;
        encoder.include_checksum(true)?;
        Ok(encoder)
    }

    fn output(&mut self) -> &mut Vec<u8> {
        self.get_mut()
    }

    fn finish(self) -> io::Result<Vec<u8>> {
        Self::finish(self)
    }
}

/// What `gzip` takes, too.
const GZIP_LEVEL: u32 = 6;

/// What `zstd` takes, too.
const ZSTD_LEVEL: i32 = 3;

#[cfg(test)]
mod tests {
    use std::io::Read as _;
    use std::sync::{Arc, Mutex};

    use super::*;

    /// Takes `room` bytes at most.
    #[derive(Clone, Default)]
    struct Disk {
        taken: Arc<Mutex<Vec<u8>>>,
        room: Arc<Mutex<usize>>,
    }

    impl Disk {
        fn with(room: usize) -> Self {
            Self { taken: Arc::default(), room: Arc::new(Mutex::new(room)) }
        }

        fn unpacked(&self, compression: Compression) -> io::Result<Vec<u8>> {
            let taken = self.taken.lock().unwrap().clone();
            let mut bytes = Vec::new();
            match compression {
                Compression::Gzip => {
                    flate2::read::MultiGzDecoder::new(&taken[..]).read_to_end(&mut bytes)
                }
                _ => zstd::stream::read::Decoder::new(&taken[..])?.read_to_end(&mut bytes),
            }?;
            Ok(bytes)
        }
    }

    impl Write for Disk {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let mut taken = self.taken.lock().unwrap();
            let count = bytes.len().min(*self.room.lock().unwrap() - taken.len()).min(1000);
            if count == 0 {
                return Err(ErrorKind::StorageFull.into());
            }
            taken.extend_from_slice(&bytes[..count]);
            Ok(count)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// Bytes that do not deflate away.
    fn noise(count: usize) -> Vec<u8> {
        let mut state = 1u32;
        let next = |_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 24) as u8
        };
        (0..count).map(next).collect()
    }

    #[test]
    fn what_was_flushed_is_a_whole_file_whatever_follows() {
        for compression in [Compression::Gzip, Compression::Zstd] {
            let disk = Disk::with(usize::MAX);
            let mut writer = compress(Box::new(disk.clone()), compression);
            writer.flush().unwrap();
            assert_eq!(disk.unpacked(compression).unwrap(), b"");
            for step in 1..=3 {
                writer.write_all(b"hello\n").unwrap();
                writer.flush().unwrap();
                writer.flush().unwrap();
                assert_eq!(disk.unpacked(compression).unwrap(), b"hello\n".repeat(step));
            }
            writer.write_all(&noise(300_000)).unwrap();
            drop(writer);
            assert_eq!(disk.unpacked(compression).unwrap().len(), 300_018);
        }
    }

    #[test]
    fn a_full_disk_is_an_error_until_there_is_room_and_nothing_is_lost_or_twice() {
        for compression in [Compression::Gzip, Compression::Zstd] {
            let disk = Disk::with(250_000);
            let mut writer = compress(Box::new(disk.clone()), compression);
            // Zstandard finds what it has seen before, however long ago: nothing is said twice.
            let bytes = noise(600_000);
            let parts: Vec<&[u8]> = bytes.chunks(200_000).collect();
            writer.write_all(parts[0]).unwrap();
            writer.write_all(parts[1]).unwrap();
            for _ in 0..2 {
                let error = writer.write(parts[2]).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::StorageFull);
                assert_eq!(writer.flush().unwrap_err().kind(), ErrorKind::StorageFull);
            }
            *disk.room.lock().unwrap() = usize::MAX;
            writer.write_all(parts[2]).unwrap();
            writer.flush().unwrap();
            assert!(disk.unpacked(compression).unwrap() == bytes);
        }
    }
}
