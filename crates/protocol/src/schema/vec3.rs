//! `lpVec3`: three numbers quantised to 15 bits of a common scale, since 1.21.9.
//!
//! The zero vector is a single byte 0. Otherwise there are 48 bits: 2 bits of the scale, 1 bit that
//! says whether the rest of the scale follows as a VarInt, and 15 bits for each of x, y and z. The
//! low 16 bits come first as two bytes in little-endian order, then 32 bits in big-endian order.

use std::sync::LazyLock;

use super::Name;
use crate::wire::{Reader, WireError, write_varint};

pub(crate) fn read(reader: &mut Reader<'_>) -> Result<[f64; 3], WireError> {
    let low = reader.u8()?;
    if low == 0 {
        return Ok([0.0; 3]);
    }
    let middle = reader.u8()?;
    let high = u32::from_be_bytes(reader.array()?);
    let packed = u64::from(high) << 16 | u64::from(middle) << 8 | u64::from(low);
    let mut scale = f64::from(low & 3);
    if low & 4 != 0 {
        scale += f64::from(reader.varint()?.value.cast_unsigned()) * 4.0;
    }
    Ok([3, 18, 33].map(|shift| {
        let quantised = ((packed >> shift) & 0x7fff).min(STEPS as u64) as f64;
        (quantised * 2.0 / STEPS - 1.0) * scale
    }))
}

pub(crate) fn write(vector: [f64; 3], out: &mut Vec<u8>) {
    let vector = vector.map(|part| if part.is_nan() { 0.0 } else { part.clamp(-LARGEST, LARGEST) });
    let largest = vector.iter().fold(0.0f64, |largest, part| largest.max(part.abs()));
    if largest < SMALLEST {
        out.push(0);
        return;
    }
    let scale = largest.ceil();
    let whole = scale as u64;
    let markers = if whole > 3 { whole & 3 | 4 } else { whole };
    let packed = vector.iter().zip([3, 18, 33]).fold(markers, |packed, (part, shift)| {
        packed | ((((part / scale * 0.5 + 0.5) * STEPS).round() as u64) << shift)
    });
    out.push(packed as u8);
    out.push((packed >> 8) as u8);
    out.extend_from_slice(&((packed >> 16) as u32).to_be_bytes());
    if whole > 3 {
        write_varint(out, (whole >> 2) as i32);
    }
}

pub(crate) fn is_canonical(vector: [f64; 3], wire: &[u8]) -> bool {
    let mut out = Vec::with_capacity(wire.len());
    write(vector, &mut out);
    out == wire
}

/// Returns the field names `x`, `y` and `z`.
pub(crate) fn names() -> &'static [Name; 3] {
    static NAMES: LazyLock<[Name; 3]> = LazyLock::new(|| ["x", "y", "z"].map(Name::from));
    &NAMES
}

const STEPS: f64 = 32766.0;
const SMALLEST: f64 = 3.051_944_088_384_301e-5;
const LARGEST: f64 = 1.717_986_918_3e10;
