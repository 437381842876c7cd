//! Gzip-compressed NBT, in which items were sent up to 1.7.

use std::io::{Read, Write};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;

use crate::wire::{Nbt, Reader};

/// Reads gzip-compressed NBT with a root name; `None` if the bytes are anything else.
pub(super) fn read_nbt(bytes: &[u8]) -> Option<Nbt> {
    let mut inflated = Vec::new();
    GzDecoder::new(bytes).take(MAX_INFLATED).read_to_end(&mut inflated).ok()?;
    Nbt::read(&mut Reader::new(&inflated), true).ok()?
}

pub(super) fn write_nbt(nbt: &Nbt) -> Vec<u8> {
    let mut plain = Vec::new();
    nbt.write(&mut plain);
    deflate(&plain)
}

/// Compresses bytes with gzip.
pub(super) fn deflate(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    // Writing to memory does not fail.
    let _ = encoder.write_all(bytes);
    encoder.finish().unwrap_or_default()
}

/// The game has the same limit of 2 MiB.
const MAX_INFLATED: u64 = 2 << 20;
