use std::io::{self, BufRead, BufReader, ErrorKind, Read};

use flate2::bufread::MultiGzDecoder;

/// Reads a file, unpacked if its first bytes say that it is compressed (gzip, zstd).
///
/// # Errors
/// When it cannot be read, or the head of its compressed data is damaged.
pub fn unpack(reader: impl BufRead + Send + 'static) -> io::Result<Box<dyn BufRead + Send>> {
    let (head, whole) = peek(reader)?;
    Ok(match head[..] {
        [0x1f, 0x8b, ..] => buffered(MultiGzDecoder::new(whole)),
        [0x28, 0xb5, 0x2f, 0xfd] | [0x50..=0x5f, 0x2a, 0x4d, 0x18] => {
            buffered(zstd::stream::read::Decoder::with_buffer(whole)?)
        }
        _ => Box::new(whole),
    })
}

/// The first bytes, and all of them again.
pub(crate) fn peek<R: BufRead>(mut reader: R) -> io::Result<(Vec<u8>, impl BufRead + use<R>)> {
    let mut head = Vec::new();
    (&mut reader).take(MAGIC).read_to_end(&mut head)?;
    let whole = io::Cursor::new(head.clone()).chain(reader);
    Ok((head, whole))
}

fn buffered(reader: impl Read + Send + 'static) -> Box<dyn BufRead + Send> {
    Box::new(BufReader::with_capacity(PIECE, Unpacked(reader)))
}

/// Tells damage of the compressed data from a file that cannot be read.
struct Unpacked<R>(R);

impl<R: Read> Read for Unpacked<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.0.read(bytes).map_err(|error| match error.kind() {
            ErrorKind::UnexpectedEof => error,
            _ if error.raw_os_error().is_some() => error,
            _ => io::Error::new(ErrorKind::InvalidData, format!("it does not unpack: {error}")),
        })
    }
}

/// Bytes that tell the formats apart.
const MAGIC: u64 = 4;

/// Bytes unpacked at once. What was unpacked right before damage is lost with it, so: few.
const PIECE: usize = 4 << 10;
