use std::io::{self, BufRead, BufReader, ErrorKind, Read};

use flate2::bufread::MultiGzDecoder;

use super::super::{Compression, MEMBER};

/// Decompresses a file if its first bytes are those of gzip or zstd; otherwise reads it unchanged.
///
/// # Errors
/// [`io::Error`] if the file cannot be read or its compressed data has an invalid header.
pub fn unpack(reader: impl BufRead + Send + 'static) -> io::Result<Box<dyn BufRead + Send>> {
    unpack_boxed(Box::new(reader))
}

/// Does what [`unpack`] promises. It is compiled once for all readers.
fn unpack_boxed(reader: Box<dyn BufRead + Send>) -> io::Result<Box<dyn BufRead + Send>> {
    let (head, whole) = peek(reader)?;
    Ok(match compression(&head) {
        Compression::None => Box::new(whole),
        Compression::Gzip => buffered(MultiGzDecoder::new(whole)),
        Compression::Zstd => buffered(zstd::stream::read::Decoder::with_buffer(whole)?),
    })
}

/// Returns whether a file that begins with `head` is compressed or a zip archive.
#[must_use]
pub fn is_packed(head: &[u8]) -> bool {
    compression(head) != Compression::None || head.starts_with(&MEMBER)
}

/// Returns the compression of a file that begins with `head`.
pub(super) fn compression(head: &[u8]) -> Compression {
    match head {
        [0x1f, 0x8b, ..] => Compression::Gzip,
        [0x28, 0xb5, 0x2f, 0xfd] | [0x50..=0x5f, 0x2a, 0x4d, 0x18] => Compression::Zstd,
        _ => Compression::None,
    }
}

/// Returns the first bytes, and a reader of the whole including them.
pub(super) fn peek<R: BufRead>(mut reader: R) -> io::Result<(Vec<u8>, impl BufRead + use<R>)> {
    let mut head = Vec::new();
    (&mut reader).take(MAGIC).read_to_end(&mut head)?;
    let whole = io::Cursor::new(head.clone()).chain(reader);
    Ok((head, whole))
}

fn buffered(reader: impl Read + Send + 'static) -> Box<dyn BufRead + Send> {
    Box::new(BufReader::with_capacity(PIECE, Unpacked(reader)))
}

/// Distinguishes damaged compressed data from errors of the underlying file.
struct Unpacked<R>(R);

impl<R: Read> Read for Unpacked<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.0.read(bytes).map_err(|error| match error.kind() {
            ErrorKind::UnexpectedEof => error,
            _ if error.raw_os_error().is_some() => error,
            _ => io::Error::new(ErrorKind::InvalidData, format!("cannot decompress: {error}")),
        })
    }
}

/// Bytes needed to detect a format.
const MAGIC: u64 = 4;

/// Bytes decompressed at a time. The piece in which damage occurs is lost, so it is small.
const PIECE: usize = 4 << 10;
