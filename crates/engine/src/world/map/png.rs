//! Pictures in PNG with a palette.

use std::io::{self, Write};

use flate2::write::ZlibEncoder;
use flate2::{Compression, Crc};

/// Writes a picture row by row.
pub(super) struct PngWriter<W: Write> {
    encoder: ZlibEncoder<Chunks<W>>,
}

impl<W: Write> PngWriter<W> {
    /// Begins a picture. Its pixels are places in `palette`, red, green and blue, of which the first `transparent` cannot
    /// be seen.
    ///
    /// # Errors
    /// [`io::Error`] if `out` cannot be written.
    pub(super) fn new(
        out: W,
        (width, height): (u32, u32),
        palette: &[[u8; 3]],
        transparent: usize,
    ) -> io::Result<Self> {
        let mut chunks = Chunks { out, data: Vec::new() };
        chunks.out.write_all(b"\x89PNG\r\n\x1a\n")?;
        let head = [&width.to_be_bytes()[..], &height.to_be_bytes(), &PALETTE].concat();
        chunks.chunk(*b"IHDR", &head)?;
        chunks.chunk(*b"PLTE", palette.as_flattened())?;
        chunks.chunk(*b"tRNS", &vec![0; transparent])?;
        Ok(Self { encoder: ZlibEncoder::new(chunks, Compression::default()) })
    }

    /// Appends a row, which has a byte for each pixel.
    ///
    /// # Errors
    /// [`io::Error`] if it cannot be written.
    pub(super) fn row(&mut self, pixels: &[u8]) -> io::Result<()> {
        // No filter: the numbers in a palette have no order.
        self.encoder.write_all(&[0])?;
        self.encoder.write_all(pixels)
    }

    /// Ends the picture after its last row.
    ///
    /// # Errors
    /// [`io::Error`] if it cannot be written.
    pub(super) fn finish(self) -> io::Result<()> {
        let mut chunks = self.encoder.finish()?;
        chunks.end_data()?;
        chunks.chunk(*b"IEND", &[])?;
        chunks.out.flush()
    }
}

/// Puts what is written into chunks of data.
struct Chunks<W> {
    out: W,
    data: Vec<u8>,
}

impl<W: Write> Chunks<W> {
    fn chunk(&mut self, name: [u8; 4], bytes: &[u8]) -> io::Result<()> {
        let length = u32::try_from(bytes.len()).map_err(io::Error::other)?;
        let mut crc = Crc::new();
        crc.update(&name);
        crc.update(bytes);
        self.out.write_all(&length.to_be_bytes())?;
        self.out.write_all(&name)?;
        self.out.write_all(bytes)?;
        self.out.write_all(&crc.sum().to_be_bytes())
    }

    fn end_data(&mut self) -> io::Result<()> {
        let data = std::mem::take(&mut self.data);
        if data.is_empty() { Ok(()) } else { self.chunk(*b"IDAT", &data) }
    }
}

impl<W: Write> Write for Chunks<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.data.extend_from_slice(bytes);
        if self.data.len() >= DATA {
            self.end_data()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// 8 bits for each pixel, a palette, and the only compression, filters and order that there are.
const PALETTE: [u8; 5] = [8, 3, 0, 0, 0];

/// Bytes of a chunk of data.
const DATA: usize = 1 << 16;
