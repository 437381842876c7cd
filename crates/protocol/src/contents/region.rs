//! Alpha: a box of blocks in zlib.

use bytes::Bytes;

use super::fields::{int, zlib};
use super::{Blocks, Column, ContentsError, Missing, Section};
use crate::schema::Value;

/// Reads the box of a `map_chunk` of Alpha.
pub(super) fn read(fields: &Value) -> Result<Vec<Column>, ContentsError> {
    let origin = [int(fields, "x")?, int(fields, "y")?, int(fields, "z")?];
    let mut size = [0; 3];
    for (axis, name) in ["sizeX", "sizeY", "sizeZ"].into_iter().enumerate() {
        // A byte, one less than the size.
        size[axis] = usize::from((int(fields, name)? & 0xff) as u8) + 1;
    }
    let volume: usize = size.iter().product();
    let half = volume.div_ceil(2);
    let expected = volume + 3 * half;
    let data = zlib(fields, "compressedChunkData", expected)?;
    // With an odd volume, the half of a byte can be rounded off.
    let halves = data.len().saturating_sub(volume) / 3;
    if data.len() < volume || halves < volume / 2 {
        return Err(ContentsError::Size { found: data.len(), expected });
    }
    let part = |place: usize| -> Bytes {
        let start = volume + place * halves;
        data.slice(start..start + halves)
    };
    let blocks = Blocks::Bytes { ids: data.slice(..volume), data: part(0), add: None };
    let section = Section {
        origin,
        size,
        blocks: Some(blocks),
        block_light: Some(part(1)),
        sky_light: Some(part(2)),
        upright: true,
        ..Section::EMPTY
    };
    let (x, z) = (origin[0] >> 4, origin[2] >> 4);
    Ok(vec![Column { x, z, sections: vec![section], missing: Missing::Kept, biomes: None }])
}
