use std::io::{self, Write as _};

use flate2::Compression;
use flate2::write::ZlibEncoder;

/// A region file (`r.X.Z.mca`), in memory: chunks in sectors of 4 KiB behind a table.
#[derive(Debug)]
pub(super) struct RegionFile {
    bytes: Vec<u8>,
}

/// The outcome of adding a chunk.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Added {
    /// It is in the region.
    Inside,
    /// It is too large for the region, and belongs in a file of its own, whose bytes these are.
    Outside(Vec<u8>),
    /// It is too large, and its version has no files of chunks.
    TooLarge,
}

impl RegionFile {
    pub(super) fn new() -> Self {
        Self { bytes: vec![0; 2 * SECTOR] }
    }

    /// Adds a chunk that was saved at `seconds` since the epoch.
    ///
    /// # Errors
    /// [`io::Error`] if the chunk cannot be compressed.
    pub(super) fn add(
        &mut self,
        (x, z): (i32, i32),
        document: &[u8],
        seconds: u32,
        has_files: bool,
    ) -> io::Result<Added> {
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(document)?;
        let packed = encoder.finish()?;
        let sectors = (packed.len() + HEAD).div_ceil(SECTOR);
        let (kind, body, outcome) = match u8::try_from(sectors) {
            Ok(_) => (ZLIB, &packed[..], Added::Inside),
            Err(_) if !has_files => return Ok(Added::TooLarge),
            Err(_) => (ZLIB | OUTSIDE, &[][..], Added::Outside(packed.clone())),
        };
        let sectors = (body.len() + HEAD).div_ceil(SECTOR);
        let first = self.bytes.len() / SECTOR;
        let length = u32::try_from(body.len() + 1).map_err(io::Error::other)?;
        self.bytes.extend_from_slice(&length.to_be_bytes());
        self.bytes.push(kind);
        self.bytes.extend_from_slice(body);
        self.bytes.resize((first + sectors) * SECTOR, 0);
        let place = u32::try_from(first << 8 | sectors).map_err(io::Error::other)?;
        let index = ((z & 31) << 5 | x & 31) as usize * 4;
        for (at, number) in [(index, place), (SECTOR + index, seconds)] {
            if let Some(entry) = self.bytes.get_mut(at..at + 4) {
                entry.copy_from_slice(&number.to_be_bytes());
            }
        }
        Ok(outcome)
    }

    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}

/// Bytes of a sector.
const SECTOR: usize = 4096;

/// Bytes before a chunk: its length, and its compression.
const HEAD: usize = 5;

/// The compression by zlib.
const ZLIB: u8 = 2;

/// The flag of a chunk in a file of its own.
const OUTSIDE: u8 = 0x80;
