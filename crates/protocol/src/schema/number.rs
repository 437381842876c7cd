use super::Scalar;
use super::scope::FieldValue;
use super::types::Int;
use crate::wire::{Reader, WireError};

/// A decoded integer.
#[derive(Debug, Clone, Copy)]
pub(super) enum Number {
    Int(i64),
    Unsigned(u64),
}

impl Number {
    pub(super) fn from_raw(raw: u64) -> Self {
        i64::try_from(raw).map_or(Self::Unsigned(raw), Self::Int)
    }

    pub(super) fn raw(self) -> u64 {
        match self {
            Self::Int(int) => int.cast_unsigned(),
            Self::Unsigned(int) => int,
        }
    }

    pub(super) fn scalar<'a>(self) -> Scalar<'a> {
        match self {
            Self::Int(int) => Scalar::Int(int),
            Self::Unsigned(int) => Scalar::Unsigned(int),
        }
    }

    pub(super) fn seen<'a>(self) -> FieldValue<'a> {
        match self {
            Self::Int(int) => FieldValue::Int(int),
            Self::Unsigned(_) => FieldValue::Absent,
        }
    }
}

/// Reads an integer of fixed width, keeping only the bits of `first` in its first byte.
pub(super) fn read_int(reader: &mut Reader<'_>, int: Int, first: u8) -> Result<Number, WireError> {
    let bytes = reader.take(usize::from(int.bytes))?;
    let raw = match *bytes {
        _ if int.little || first != u8::MAX => unusual(bytes, int, first),
        [byte] => byte.into(),
        [a, b] => u16::from_be_bytes([a, b]).into(),
        [a, b, c, d] => u32::from_be_bytes([a, b, c, d]).into(),
        [a, b, c, d, e, f, g, h] => u64::from_be_bytes([a, b, c, d, e, f, g, h]),
        _ => unusual(bytes, int, first),
    };
    let unused = 64 - 8 * u32::from(int.bytes);
    if int.signed {
        return Ok(Number::Int((raw << unused).cast_signed() >> unused));
    }
    Ok(Number::from_raw(raw))
}

fn unusual(bytes: &[u8], int: Int, first: u8) -> u64 {
    let masked =
        bytes.iter().enumerate().map(|(at, byte)| byte & if at == 0 { first } else { u8::MAX });
    let fold = |raw: u64, byte: u8| raw << 8 | u64::from(byte);
    if int.little { masked.rev().fold(0, fold) } else { masked.fold(0, fold) }
}

/// Writes the low bits of `raw`, as many as the integer has.
pub(super) fn write_int(out: &mut Vec<u8>, int: Int, raw: u64) {
    let width = usize::from(int.bytes);
    if int.little {
        out.extend_from_slice(&raw.to_le_bytes()[..width]);
    } else {
        out.extend_from_slice(&raw.to_be_bytes()[8 - width..]);
    }
}

/// Parses a decimal or `0x` number.
pub(crate) fn parse_int(text: &str) -> Option<i64> {
    match text.strip_prefix("0x") {
        Some(hex) => i64::from_str_radix(hex, 16).ok(),
        None => text.parse().ok(),
    }
}
