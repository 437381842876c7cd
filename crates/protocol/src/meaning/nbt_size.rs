use crate::wire::{Encoding, Tag};

/// Returns the size of a tag as the game counts it while it reads, which is not that on the wire. The count of
/// a list is the least of all versions.
pub(super) fn nbt_size(tag: &Tag) -> usize {
    match tag {
        Tag::Byte(_) => 9,
        Tag::Short(_) => 10,
        Tag::Int(_) | Tag::Float(_) => 12,
        Tag::Long(_) | Tag::Double(_) => 16,
        Tag::ByteArray(bytes) => 24 + bytes.len(),
        Tag::IntArray(ints) => 24 + 4 * ints.len(),
        Tag::LongArray(longs) => 24 + 8 * longs.len(),
        Tag::Text(text) => 36 + 2 * units(text),
        Tag::List(list) => {
            36 + 4 * list.items.len() + list.items.iter().map(nbt_size).sum::<usize>()
        }
        Tag::Compound(compound) => {
            // A name that comes again is not counted as a new key; that is rare enough to be left out.
            let entries = compound.entries.iter();
            48 + entries.map(|(name, tag)| 64 + 2 * units(name) + nbt_size(tag)).sum::<usize>()
        }
    }
}

/// Returns the number of UTF-16 units of a text in modified UTF-8.
fn units(text: &[u8]) -> usize {
    Encoding::ModifiedUtf8.decode_lossy(text).encode_utf16().count()
}
