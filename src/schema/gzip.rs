//! NBT inside gzip, as items carried it up to 1.7.

use std::io::{Read, Write};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;

use crate::wire::{Nbt, Reader};

/// The tree, when the bytes are gzip around NBT with a root name and nothing else.
pub(super) fn read_nbt(bytes: &[u8]) -> Option<Nbt> {
    let mut inflated = Vec::new();
    GzDecoder::new(bytes).take(MAX_INFLATED).read_to_end(&mut inflated).ok()?;
    Nbt::read(&mut Reader::new(&inflated), true).ok()?
}

pub(super) fn write_nbt(nbt: &Nbt) -> Vec<u8> {
    let mut plain = Vec::new();
    nbt.write(&mut plain);
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    // Writing to memory does not fail.
    let _ = encoder.write_all(&plain);
    encoder.finish().unwrap_or_default()
}

/// The game gives up at 2 MiB too.
const MAX_INFLATED: u64 = 2 << 20;
