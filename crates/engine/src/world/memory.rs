//! Estimates of the memory that the parts of a chunk take.

use bytes::Bytes;

use mitmcraft_protocol::contents::{BiomeMap, Blocks, Container, Palette, Section};
use mitmcraft_protocol::wire::{Compound, Tag};

/// Copies the arrays of a section out of its packet, so that the section does not keep the other bytes of it.
pub(super) fn detach(section: &mut Section) {
    for array in arrays(section) {
        *array = Bytes::copy_from_slice(array);
    }
}

/// Returns the size of a section that is detached.
pub(super) fn of_section(section: &mut Section) -> usize {
    let palette = |container: &Container| match &container.palette {
        Palette::Indirect(numbers) => size_of_val(&**numbers),
        Palette::Single(_) | Palette::Direct => 0,
    };
    let blocks = match &section.blocks {
        Some(Blocks::Packed(container)) => palette(container),
        _ => 0,
    };
    let biomes = section.biomes.as_ref().map_or(0, palette);
    let arrays: usize = arrays(section).map(|array| array.len()).sum();
    size_of::<Section>() + blocks + biomes + arrays
}

/// Returns the size of the biomes of a chunk.
pub(super) fn of_biomes(biomes: &BiomeMap) -> usize {
    match biomes {
        BiomeMap::Bytes(bytes) => bytes.len(),
        BiomeMap::Flat(numbers) | BiomeMap::Cells(numbers) => size_of_val(&**numbers),
    }
}

/// Returns the size of named tags.
pub(super) fn of_compound(compound: &Compound) -> usize {
    let entry = |(name, tag): &(Bytes, Tag)| size_of::<Bytes>() + name.len() + of_tag(tag);
    compound.entries.iter().map(entry).sum()
}

fn of_tag(tag: &Tag) -> usize {
    let content = match tag {
        Tag::ByteArray(bytes) | Tag::Text(bytes) => bytes.len(),
        Tag::List(list) => list.items.iter().map(of_tag).sum(),
        Tag::Compound(compound) => of_compound(compound),
        Tag::IntArray(numbers) => size_of_val(&**numbers),
        Tag::LongArray(numbers) => size_of_val(&**numbers),
        _ => 0,
    };
    size_of::<Tag>() + content
}

/// Iterates over the arrays that a section shares with its packet.
fn arrays(section: &mut Section) -> impl Iterator<Item = &mut Bytes> {
    let Section { blocks, block_light, sky_light, biomes, .. } = section;
    let blocks = match blocks {
        Some(Blocks::Bytes { ids, data, add }) => [Some(ids), Some(data), add.as_mut()],
        Some(Blocks::Shorts(bytes)) => [Some(bytes), None, None],
        Some(Blocks::Packed(container)) => [Some(&mut container.data), None, None],
        None => [None, None, None],
    };
    let biomes = biomes.as_mut().map(|container| &mut container.data);
    blocks.into_iter().chain([block_light.as_mut(), sky_light.as_mut(), biomes]).flatten()
}
