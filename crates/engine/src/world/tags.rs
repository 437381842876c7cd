//! Trees of NBT, as files of worlds have them.

use std::io::{self, Write as _};

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;

use mitmcraft_protocol::wire::{Compound, List, Nbt, Tag, TagType};

/// Returns a compound of named tags.
pub(super) fn compound<const N: usize>(entries: [(&str, Tag); N]) -> Compound {
    let mut all = Compound::default();
    entries.into_iter().for_each(|(name, tag)| put(&mut all, name, tag));
    all
}

/// Appends a named tag.
pub(super) fn put(compound: &mut Compound, name: &str, tag: Tag) {
    // The names of files are ASCII, of which modified UTF-8 is the same.
    compound.entries.push((Bytes::copy_from_slice(name.as_bytes()), tag));
}

/// Returns a tag of named tags.
pub(super) fn tree<const N: usize>(entries: [(&str, Tag); N]) -> Tag {
    Tag::Compound(compound(entries))
}

/// Returns a list of compounds.
pub(super) fn list(items: Vec<Tag>) -> Tag {
    Tag::List(List::new(TagType::Compound, items))
}

/// Returns the bytes of a document.
pub(super) fn document(root: Tag) -> Vec<u8> {
    let mut bytes = Vec::new();
    Nbt { name: Some(Bytes::new()), root }.write(&mut bytes);
    bytes
}

/// Returns the bytes of a `.dat` file.
pub(super) fn gzipped(root: Tag) -> io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(&document(root))?;
    encoder.finish()
}
