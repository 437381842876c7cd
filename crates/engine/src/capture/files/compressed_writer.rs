use std::io::{self, Write};

use flate2::write::GzEncoder;

use super::super::{Compression, drain};

type ZstdEncoder = zstd::stream::write::Encoder<'static, Vec<u8>>;

/// Wraps `writer` so that everything written to it is compressed.
pub(super) fn compress(
    writer: Box<dyn Write + Send>,
    compression: Compression,
) -> Box<dyn Write + Send> {
    match compression {
        Compression::None => writer,
        Compression::Gzip => Box::new(CompressedWriter::<GzEncoder<Vec<u8>>>::new(writer)),
        Compression::Zstd => Box::new(CompressedWriter::<ZstdEncoder>::new(writer)),
    }
}

/// Compresses what is written to it.
///
/// Each flush ends the gzip member or zstd frame, and the next write begins another. What has been
/// flushed is therefore a complete file that any tool decompresses, whatever happens to the rest,
/// and a last flush is all that the end needs.
struct CompressedWriter<M: Encoder> {
    writer: Box<dyn Write + Send>,
    /// `None` between two members.
    member: Option<M>,
    /// Compressed bytes that have not been written yet.
    pending: Vec<u8>,
    /// `true` if any member was begun: a file without one does not decompress.
    begun: bool,
}

/// An encoder of one gzip member or zstd frame.
trait Encoder: Write + Sized + Send {
    fn begin() -> io::Result<Self>;
    /// The compressed bytes so far.
    fn output(&mut self) -> &mut Vec<u8>;
    /// Ends the member and returns the remaining compressed bytes.
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
        drain(&mut self.writer, &mut self.pending)
    }
}

impl<M: Encoder> Write for CompressedWriter<M> {
    /// Accepts all of `bytes`, or none while the writer rejects earlier ones.
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

/// Like `BufWriter`, writes what is buffered, so that dropping an unfinished sink loses no entry.
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

/// The default of the `gzip` program.
const GZIP_LEVEL: u32 = 6;

/// The default of the `zstd` program.
const ZSTD_LEVEL: i32 = 3;

#[cfg(test)]
mod tests {
    use std::io::{ErrorKind, Read as _};
    use std::sync::{Arc, Mutex};

    use super::*;

    /// Accepts at most `room` bytes.
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

    /// Bytes that do not compress.
    fn noise(count: usize) -> Vec<u8> {
        let mut state = 1u32;
        let next = |_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 24) as u8
        };
        (0..count).map(next).collect()
    }

    #[test]
    fn flushed_data_is_a_complete_file_whatever_follows() {
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
    fn a_full_disk_is_an_error_until_there_is_room_and_nothing_is_lost_or_repeated() {
        for compression in [Compression::Gzip, Compression::Zstd] {
            let disk = Disk::with(250_000);
            let mut writer = compress(Box::new(disk.clone()), compression);
            // Zstandard finds repetitions however far back, so no bytes may repeat here.
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
