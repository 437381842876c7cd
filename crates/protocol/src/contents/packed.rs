//! 1.9 and later: sections with palettes, one after the other.

use bytes::Bytes;

use super::container::Form;
use super::fields::{bytes, int, ints, masked, set_bits};
use super::section::origin;
use super::{BiomeMap, Blocks, Column, Container, ContentsError, Missing, Section};
use crate::packet::SentRegistries;
use crate::schema::{Release, Value};
use crate::wire::Reader;

/// Reads a `map_chunk` of `release`, of a world that is one of those that the server has sent.
pub(super) fn read(
    fields: &Value,
    release: Release,
    sent: &SentRegistries,
) -> Result<Vec<Column>, ContentsError> {
    let (x, z) = (int(fields, "x")?, int(fields, "z")?);
    let data = bytes(fields, "chunkData")?;
    let missing = Missing::of(fields, release)?;
    let full = missing != Missing::Kept;
    let (mut sections, rest) = if release >= Release::V1_18 {
        let sections = until_end(&data, release, masked(fields), sent)?;
        let numbers = 0..sections.len() as i32;
        (numbers.zip(sections).collect(), Bytes::new())
    } else {
        by_mask(&data, &set_bits(fields, "bitMap", MAX_SECTIONS / 64)?, release, full)?
    };
    let base = lowest(sections.len(), sent);
    for (number, section) in &mut sections {
        let above = if release >= Release::V1_18 { i64::from(base) } else { 0 };
        section.origin = origin(x, i64::from(*number) + above, z);
    }
    let biomes = biomes(fields, rest, release)?;
    let sections = sections.into_iter().map(|(_, section)| section).collect();
    Ok(vec![Column { x, z, sections, missing, biomes }])
}

/// Sections with their numbers, and the bytes behind the last.
type Numbered = (Vec<(i32, Section)>, Bytes);

/// Reads the sections that a mask announces. Up to 1.13 the light is among them; whether there is sky
/// light, only the size tells.
fn by_mask(
    data: &Bytes,
    mask: &[i32],
    release: Release,
    full: bool,
) -> Result<Numbered, ContentsError> {
    let lit = release < Release::V1_14;
    // The biomes of 1.15 and later are a field of their own.
    let expected = match () {
        () if !full || release >= Release::V1_15 => 0,
        () if release >= Release::V1_13 => 4 * COLUMNS,
        () => COLUMNS,
    };
    let read = |sky: bool| -> Result<Numbered, ContentsError> {
        let mut reader = Reader::new(data);
        let mut sections = Vec::with_capacity(mask.len());
        for (place, number) in mask.iter().enumerate() {
            sections.push((*number, section(&mut reader, data, release, place, lit, sky)?));
        }
        Ok((sections, data.slice(reader.position()..)))
    };
    let with_sky = read(lit);
    if let Ok((_, rest)) = &with_sky
        && rest.len() == expected
    {
        return with_sky;
    }
    let without = if lit { read(false) } else { with_sky };
    match without {
        Ok((_, rest)) if rest.len() != expected => Err(ContentsError::Rest { left: rest.len() }),
        without => without,
    }
}

/// Reads sections up to the end. The game's servers leave zeros behind the last section, which would
/// be sections of air: they are told by the number of sections that are `lit`. Other servers light only the
/// lower sections: zeros that make the world as high as one can be are sections.
fn until_end(
    data: &Bytes,
    release: Release,
    lit: usize,
    sent: &SentRegistries,
) -> Result<Vec<Section>, ContentsError> {
    // Numbers of blocks, and two containers: a width, a number, and a count of longs.
    let air = match () {
        () if release >= Release::V26_1 => 2 + 2 + 2 * 2,
        () if release >= Release::V1_21_5 => 2 + 2 * 2,
        () => 2 + 2 * 3,
    };
    let ends = |known: usize, left: usize| {
        let all = known + left / air;
        is_height(known, sent) || !left.is_multiple_of(air) || !is_height(all, sent)
    };
    let mut reader = Reader::new(data);
    let mut sections = Vec::new();
    while !reader.is_empty() {
        let rest = reader.rest();
        let zeros = lit > 0 && sections.len() >= lit && rest.iter().all(|byte| *byte == 0);
        if zeros && ends(sections.len(), rest.len()) {
            break;
        }
        if sections.len() == MAX_SECTIONS {
            let left = data.len() - reader.position();
            return Err(ContentsError::Rest { left });
        }
        sections.push(section(&mut reader, data, release, sections.len(), false, false)?);
    }
    Ok(sections)
}

fn section(
    reader: &mut Reader<'_>,
    data: &Bytes,
    release: Release,
    place: usize,
    lit: bool,
    sky: bool,
) -> Result<Section, ContentsError> {
    let missing = |error| ContentsError::Data { section: place, error };
    let mut declared = None;
    if release >= Release::V1_14 {
        declared = Some(reader.u16().map_err(missing)?.cast_signed());
    }
    if release >= Release::V26_1 {
        // The number of blocks with a fluid.
        reader.u16().map_err(missing)?;
    }
    let form = Form {
        entries: 16 * 16 * 16,
        least: 4,
        most: 8,
        singles: release >= Release::V1_18,
        always_palette: release < Release::V1_13,
        straddles: release < Release::V1_16_RC1,
        counted: release < Release::V1_21_5,
    };
    let blocks = Container::read(reader, data, form, place)?;
    let mut light = |wanted: bool| -> Result<Option<Bytes>, ContentsError> {
        let start = reader.position();
        reader.take(if wanted { LIGHT } else { 0 }).map_err(missing)?;
        Ok(wanted.then(|| data.slice(start..start + LIGHT)))
    };
    let (block_light, sky_light) = (light(lit)?, light(lit && sky)?);
    let biomes = match release >= Release::V1_18 {
        true => {
            let form = Form { entries: 4 * 4 * 4, least: 1, most: 3, ..form };
            Some(Container::read(reader, data, form, place)?)
        }
        false => None,
    };
    let blocks = Some(Blocks::Packed(blocks));
    Ok(Section { blocks, declared, block_light, sky_light, biomes, ..Section::EMPTY })
}

fn biomes(
    fields: &Value,
    rest: Bytes,
    release: Release,
) -> Result<Option<BiomeMap>, ContentsError> {
    if fields.get("biomes").and_then(Value::as_list).is_some() {
        let numbers = ints(fields, "biomes")?.into_iter().map(|it| it as u32);
        return Ok(Some(BiomeMap::Cells(numbers.collect())));
    }
    if rest.is_empty() {
        return Ok(None);
    }
    if release < Release::V1_13 {
        return Ok(Some(BiomeMap::Bytes(rest)));
    }
    let (numbers, _) = rest.as_chunks::<4>();
    Ok(Some(BiomeMap::Flat(numbers.iter().map(|it| u32::from_be_bytes(*it)).collect())))
}

/// Returns the number of the lowest section of a column with that many. If the server's dimension types do not tell it, a
/// world that is as high as the overworld of 1.18 and later begins at -64 as well.
pub(super) fn lowest(sections: usize, sent: &SentRegistries) -> i32 {
    let bottom = bottom(sections, sent);
    let assumed = if sections == OVERWORLD { -4 } else { 0 };
    bottom.map_or(assumed, |bottom| bottom >> 4)
}

/// Returns whether worlds have so many sections: those of the game, or of a dimension type that the server
/// has sent.
pub(super) fn is_height(sections: usize, sent: &SentRegistries) -> bool {
    matches!(sections, NETHER | OVERWORLD) || bottom(sections, sent).is_some()
}

fn bottom(sections: usize, sent: &SentRegistries) -> Option<i32> {
    sent.bottom(i32::try_from(sections.checked_mul(16)?).ok()?)
}

/// Blocks of a chunk seen from above.
const COLUMNS: usize = 256;

/// Bytes of a section's light.
const LIGHT: usize = 2048;

/// Most sections of a chunk: 4,064 blocks, as high as worlds can be, and more.
const MAX_SECTIONS: usize = 256;

/// Sections of the nether and the end.
const NETHER: usize = 16;

/// Sections of the overworld since 1.18.
const OVERWORLD: usize = 24;
