//! 1.7 and 1.8: all sections' blocks, then all their light, one array after the other.

use bytes::Bytes;

use super::fields::{bytes, flag, int, list, zlib};
use super::{BiomeMap, Blocks, Column, ContentsError, Missing, Section};
use crate::schema::{Release, Value};

/// A column as its packet announces it.
struct Form {
    x: i32,
    z: i32,
    /// A bit for each section.
    mask: u32,
    /// A bit for each section whose numbers have 12 bits; 1.7.
    add: u32,
    sky: bool,
    missing: Missing,
}

/// Reads a `map_chunk` of 1.7 or 1.8. Whether there is sky light, only the size tells.
pub(super) fn single(
    fields: &Value,
    release: Release,
    compressed: bool,
) -> Result<Vec<Column>, ContentsError> {
    let add = if compressed { mask(fields, "addBitMap")? } else { 0 };
    let mut announced = Form {
        x: int(fields, "x")?,
        z: int(fields, "z")?,
        mask: mask(fields, "bitMap")?,
        add,
        sky: true,
        missing: Missing::of(fields, release)?,
    };
    let expected = announced.size(compressed);
    let data = match compressed {
        true => zlib(fields, "compressedChunkData", expected)?,
        false => bytes(fields, "chunkData")?,
    };
    announced.sky = data.len() >= expected;
    columns(&[announced], &data, compressed)
}

/// Reads a `map_chunk_bulk`.
pub(super) fn bulk(fields: &Value, compressed: bool) -> Result<Vec<Column>, ContentsError> {
    let sky = flag(fields, "skyLightSent")?;
    let announced = list(fields, "meta")?.iter().map(|it| {
        let add = if compressed { mask(it, "addBitMap")? } else { 0 };
        let (x, z) = (int(it, "x")?, int(it, "z")?);
        let mask = mask(it, "bitMap")?;
        Ok(Form { x, z, mask, add, sky, missing: Missing::Air })
    });
    let announced = announced.collect::<Result<Vec<_>, ContentsError>>()?;
    let expected = announced.iter().map(|it| it.size(compressed)).sum();
    let data = match compressed {
        true => zlib(fields, "compressedChunkData", expected)?,
        false => bytes(fields, "data")?,
    };
    columns(&announced, &data, compressed)
}

fn columns(
    announced: &[Form],
    data: &Bytes,
    compressed: bool,
) -> Result<Vec<Column>, ContentsError> {
    let expected: usize = announced.iter().map(|it| it.size(compressed)).sum();
    // Servers may send a chunk without blocks and biomes to unload it.
    let unloads = announced.iter().all(|it| it.mask == 0) && data.is_empty();
    if data.len() != expected && !unloads {
        return Err(ContentsError::Size { found: data.len(), expected });
    }
    let mut start = 0;
    let columns = announced.iter().map(|it| {
        let size = if unloads { 0 } else { it.size(compressed) };
        let column = it.column(&data.slice(start..start + size), compressed);
        start += size;
        column
    });
    Ok(columns.collect())
}

impl Form {
    /// Returns the number of bytes.
    fn size(&self, compressed: bool) -> usize {
        let each = if compressed { VOLUME + HALF } else { 2 * VOLUME };
        let light = if self.sky { 2 * HALF } else { HALF };
        let sections = self.mask.count_ones() as usize;
        let add = (self.add & self.mask).count_ones() as usize;
        sections * (each + light) + add * HALF + if self.is_full() { BIOMES } else { 0 }
    }

    /// Returns whether it is a whole chunk, with biomes.
    fn is_full(&self) -> bool {
        self.missing != Missing::Kept
    }

    /// Reads the column from its bytes.
    fn column(&self, data: &Bytes, compressed: bool) -> Column {
        let sections = self.mask.count_ones() as usize;
        let mut start = 0;
        let mut part = |count: usize, size: usize| -> Vec<Bytes> {
            let parts = (0..count).map(|place| {
                let from = (start + place * size).min(data.len());
                data.slice(from..(from + size).min(data.len()))
            });
            let parts = parts.collect();
            start += count * size;
            parts
        };
        let (ids, metadata) = match compressed {
            true => (part(sections, VOLUME), part(sections, HALF)),
            false => (part(sections, 2 * VOLUME), Vec::new()),
        };
        let block_light = part(sections, HALF);
        let sky_light = part(if self.sky { sections } else { 0 }, HALF);
        let adds = part((self.add & self.mask).count_ones() as usize, HALF);
        let biomes = part(usize::from(self.is_full()), BIOMES).pop();
        let set = (0..u32::BITS).filter(|bit| self.mask >> bit & 1 == 1);
        let sections = set.enumerate().map(|(place, bit)| {
            let before = self.add & self.mask & ((1 << bit) - 1);
            let add = (self.add >> bit & 1 == 1).then(|| adds.get(before.count_ones() as usize));
            let blocks = match metadata.get(place) {
                Some(data) => Blocks::Bytes {
                    ids: ids[place].clone(),
                    data: data.clone(),
                    add: add.flatten().cloned(),
                },
                None => Blocks::Shorts(ids[place].clone()),
            };
            Section {
                origin: super::section::origin(self.x, i64::from(bit), self.z),
                blocks: Some(blocks),
                block_light: block_light.get(place).cloned(),
                sky_light: sky_light.get(place).cloned(),
                ..Section::EMPTY
            }
        });
        let biomes = biomes.filter(|biomes| !biomes.is_empty()).map(BiomeMap::Bytes);
        let Self { x, z, missing, .. } = *self;
        Column { x, z, sections: sections.collect(), missing, biomes }
    }
}

fn mask(fields: &Value, name: &'static str) -> Result<u32, ContentsError> {
    // An unsigned short.
    Ok((int(fields, name)? & 0xffff).cast_unsigned())
}

const VOLUME: usize = 16 * 16 * 16;
const HALF: usize = VOLUME / 2;
const BIOMES: usize = 256;
