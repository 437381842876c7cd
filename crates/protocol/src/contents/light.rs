//! Light that is not among the blocks: `update_light` since 1.14, and `map_chunk` since 1.18.

use bytes::Bytes;

use super::fields::{list, set_bits};
use super::section::origin;
use super::{Column, ContentsError, Section};
use crate::schema::Value;
use crate::wire::Reader;

/// Adds the light of a packet to the sections of a column whose lowest section has the number `lowest`.
/// Sections that the column does not have are added without blocks.
pub(super) fn add(column: &mut Column, fields: &Value, lowest: i32) -> Result<(), ContentsError> {
    let sky = set_bits(fields, "skyLightMask", MAX_WORDS)?;
    let block = set_bits(fields, "blockLightMask", MAX_WORDS)?;
    let (sky_arrays, block_arrays) = match fields.get("data").map(Value::plain) {
        Some(Value::Bytes(data)) => {
            let mut reader = Reader::new(data);
            let sky = listed(&mut reader, data, sky.len())?;
            let block = listed(&mut reader, data, block.len())?;
            match reader.rest().len() {
                0 => (sky, block),
                left => return Err(ContentsError::Rest { left }),
            }
        }
        _ => (arrays(fields, "skyLight")?, arrays(fields, "blockLight")?),
    };
    for (set, arrays, is_sky) in [(sky, sky_arrays, true), (block, block_arrays, false)] {
        if set.len() != arrays.len() {
            return Err(ContentsError::Field(if is_sky { "skyLight" } else { "blockLight" }));
        }
        for (number, array) in set.into_iter().zip(arrays) {
            // There is light in the sections below and above the world too.
            let section = section(column, i64::from(lowest) + i64::from(number) - 1);
            let light = if is_sky { &mut section.sky_light } else { &mut section.block_light };
            *light = Some(array);
        }
    }
    column.sections.sort_by_key(|section| section.origin[1]);
    Ok(())
}

fn section(column: &mut Column, number: i64) -> &mut Section {
    let origin = origin(column.x, number, column.z);
    let known = column.sections.iter().position(|it| it.origin == origin);
    let place = known.unwrap_or_else(|| {
        column.sections.push(Section { origin, ..Section::EMPTY });
        column.sections.len() - 1
    });
    &mut column.sections[place]
}

/// Reads arrays with their lengths, up to 1.16.
fn listed(
    reader: &mut Reader<'_>,
    data: &Bytes,
    count: usize,
) -> Result<Vec<Bytes>, ContentsError> {
    let array = |section: usize| {
        let missing = |error| ContentsError::Data { section, error };
        let length = reader.varint().map_err(missing)?.value;
        let length = usize::try_from(length).map_err(|_| ContentsError::Field("data"))?;
        let start = reader.position();
        reader.take(length).map_err(missing)?;
        Ok(data.slice(start..start + length))
    };
    (0..count).map(array).collect()
}

/// Returns arrays that are fields of their own, since 1.17.
fn arrays(fields: &Value, name: &'static str) -> Result<Vec<Bytes>, ContentsError> {
    let array = |value: &Value| match value.plain() {
        Value::Bytes(bytes) => Ok(bytes.clone()),
        Value::List(items) => {
            let bytes = items.iter().map(|it| u8::try_from(it.as_int()?).ok());
            bytes.collect::<Option<Vec<u8>>>().map(Bytes::from).ok_or(ContentsError::Field(name))
        }
        _ => Err(ContentsError::Field(name)),
    };
    list(fields, name)?.iter().map(array).collect()
}

/// Most longs of a mask, as for the sections themselves.
const MAX_WORDS: usize = 5;
