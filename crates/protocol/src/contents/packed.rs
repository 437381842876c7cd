//! 1.9 and later: sections with palettes, one after the other.

use bytes::Bytes;

use super::container::Form;
use super::contents::{bytes, int, ints, is_height, lowest, masked, origin, set_bits};
use super::{BiomeMap, Blocks, Column, Container, ContentsError, Missing, Section};
use crate::packet::SentRegistries;
use crate::schema::Value;
use crate::wire::Reader;

/// Reads a `map_chunk` of `version`, of a world that is one of those that the server has sent.
pub(super) fn read(
    fields: &Value,
    version: i32,
    sent: &SentRegistries,
) -> Result<Vec<Column>, ContentsError> {
    let (x, z) = (int(fields, "x")?, int(fields, "z")?);
    let data = bytes(fields, "chunkData")?;
    let full = fields.get("groundUp").is_none_or(|it| *it.plain() == Value::Bool(true));
    let (mut sections, rest) = if version >= V1_18 {
        let sections = until_end(&data, version, masked(fields), sent)?;
        let numbers = 0..sections.len() as i32;
        (numbers.zip(sections).collect(), Bytes::new())
    } else {
        by_mask(&data, &set_bits(fields, "bitMap", MAX_SECTIONS / 64)?, version, full)?
    };
    let base = lowest(sections.len(), sent);
    for (number, section) in &mut sections {
        let above = if version >= V1_18 { i64::from(base) } else { 0 };
        section.origin = origin(x, i64::from(*number) + above, z);
    }
    // Since 1.18 no section is left out.
    let missing = if full && version < V1_18 { Missing::Air } else { Missing::Kept };
    let biomes = biomes(fields, rest, version)?;
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
    version: i32,
    full: bool,
) -> Result<Numbered, ContentsError> {
    let lit = version < V1_14;
    // The biomes of 1.15 and later are a field of their own.
    let expected = match version {
        _ if !full || version >= V1_15 => 0,
        V1_13.. => 4 * COLUMNS,
        _ => COLUMNS,
    };
    let read = |sky: bool| -> Result<Numbered, ContentsError> {
        let mut reader = Reader::new(data);
        let mut sections = Vec::with_capacity(mask.len());
        for (place, number) in mask.iter().enumerate() {
            sections.push((*number, section(&mut reader, data, version, place, lit, sky)?));
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
    version: i32,
    lit: usize,
    sent: &SentRegistries,
) -> Result<Vec<Section>, ContentsError> {
    // Numbers of blocks, and two containers: a width, a number, and a count of longs.
    let air = match version {
        V26_1.. => 2 + 2 + 2 * 2,
        V1_21_5.. => 2 + 2 * 2,
        _ => 2 + 2 * 3,
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
        sections.push(section(&mut reader, data, version, sections.len(), false, false)?);
    }
    Ok(sections)
}

fn section(
    reader: &mut Reader<'_>,
    data: &Bytes,
    version: i32,
    place: usize,
    lit: bool,
    sky: bool,
) -> Result<Section, ContentsError> {
    let missing = |error| ContentsError::Data { section: place, error };
    let mut declared = None;
    if version >= V1_14 {
        declared = Some(reader.u16().map_err(missing)?.cast_signed());
    }
    if version >= V26_1 {
        // The number of blocks with a fluid.
        reader.u16().map_err(missing)?;
    }
    let form = Form {
        entries: 16 * 16 * 16,
        least: 4,
        most: 8,
        singles: version >= V1_18,
        always_palette: version < V1_13,
        straddles: version < V1_16,
        counted: version < V1_21_5,
    };
    let blocks = Container::read(reader, data, form, place)?;
    let mut light = |wanted: bool| -> Result<Option<Bytes>, ContentsError> {
        let start = reader.position();
        reader.take(if wanted { LIGHT } else { 0 }).map_err(missing)?;
        Ok(wanted.then(|| data.slice(start..start + LIGHT)))
    };
    let (block_light, sky_light) = (light(lit)?, light(lit && sky)?);
    let biomes = match version >= V1_18 {
        true => {
            let form = Form { entries: 4 * 4 * 4, least: 1, most: 3, ..form };
            Some(Container::read(reader, data, form, place)?)
        }
        false => None,
    };
    let blocks = Some(Blocks::Packed(blocks));
    Ok(Section { blocks, declared, block_light, sky_light, biomes, ..Section::EMPTY })
}

fn biomes(fields: &Value, rest: Bytes, version: i32) -> Result<Option<BiomeMap>, ContentsError> {
    if fields.get("biomes").and_then(Value::as_list).is_some() {
        let numbers = ints(fields, "biomes")?.into_iter().map(|it| it as u32);
        return Ok(Some(BiomeMap::Cells(numbers.collect())));
    }
    if rest.is_empty() {
        return Ok(None);
    }
    Ok(Some(match version {
        V1_13.. => {
            let (numbers, _) = rest.as_chunks::<4>();
            BiomeMap::Flat(numbers.iter().map(|number| u32::from_be_bytes(*number)).collect())
        }
        _ => BiomeMap::Bytes(rest),
    }))
}

/// Blocks of a chunk seen from above.
const COLUMNS: usize = 256;

/// Bytes of a section's light.
const LIGHT: usize = 2048;

/// Most sections of a chunk: 4,064 blocks, as high as worlds can be, and more.
const MAX_SECTIONS: usize = 256;

const V1_13: i32 = 393;
const V1_14: i32 = 477;
const V1_15: i32 = 550;
const V1_16: i32 = 734;
pub(super) const V1_18: i32 = 757;
const V1_21_5: i32 = 770;
const V26_1: i32 = 775;
