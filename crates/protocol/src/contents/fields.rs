//! The fields of packets with chunks, as the tables of all versions have them.

use bytes::Bytes;

use super::ContentsError;
use crate::codec::Inflater;
use crate::meaning::other_fields;
use crate::schema::Value;

pub(super) fn int(fields: &Value, name: &'static str) -> Result<i32, ContentsError> {
    let int = get(fields, name).and_then(Value::as_int);
    int.and_then(|int| int.try_into().ok()).ok_or(ContentsError::Field(name))
}

pub(super) fn list<'f>(
    fields: &'f Value,
    name: &'static str,
) -> Result<&'f [Value], ContentsError> {
    get(fields, name).and_then(Value::as_list).ok_or(ContentsError::Field(name))
}

pub(super) fn ints(fields: &Value, name: &'static str) -> Result<Vec<i64>, ContentsError> {
    let items = list(fields, name)?.iter();
    items.map(Value::as_int).collect::<Option<_>>().ok_or(ContentsError::Field(name))
}

/// Returns the words of a bit set, the lowest first: an integer, since 1.17 a list of longs, and since 26.3
/// bytes.
fn words(fields: &Value, name: &'static str) -> Result<Vec<i64>, ContentsError> {
    Ok(match get(fields, name).map(Value::plain) {
        Some(Value::Int(mask)) => vec![*mask],
        Some(Value::Bytes(bytes)) => {
            let word =
                |bytes: &[u8]| bytes.iter().rev().fold(0, |word, it| word << 8 | i64::from(*it));
            bytes.chunks(8).map(word).collect()
        }
        _ => ints(fields, name)?,
    })
}

/// Returns the numbers of the bits that are set in a field, of whose words the first `most` count.
pub(super) fn set_bits(
    fields: &Value,
    name: &'static str,
    most: usize,
) -> Result<Vec<i32>, ContentsError> {
    let words = (0..).zip(words(fields, name)?).take(most);
    let set = words.flat_map(|(place, word)| {
        (0..64).filter(move |bit| word >> bit & 1 == 1).map(move |bit| place * 64 + bit)
    });
    Ok(set.collect())
}

pub(super) fn flag(fields: &Value, name: &'static str) -> Result<bool, ContentsError> {
    match get(fields, name).map(Value::plain) {
        Some(Value::Bool(flag)) => Ok(*flag),
        _ => Err(ContentsError::Field(name)),
    }
}

pub(super) fn bytes(fields: &Value, name: &'static str) -> Result<Bytes, ContentsError> {
    get(fields, name).and_then(Value::as_bytes).cloned().ok_or(ContentsError::Field(name))
}

/// Inflates a field whose content takes `expected` bytes.
pub(super) fn zlib(
    fields: &Value,
    name: &'static str,
    expected: usize,
) -> Result<Bytes, ContentsError> {
    let bytes = bytes(fields, name)?;
    // A byte more than wanted shows that there is more.
    let limit = (expected + 1).min(MAX_INFLATED);
    Ok(Inflater::with(|inflater| inflater.whole(&bytes, limit))?)
}

/// Returns how many sections the masks of light cover, less the two outside of the world: servers say of
/// each section whether it has light.
pub(super) fn masked(fields: &Value) -> usize {
    let top = |name: &'static str| {
        let words = words(fields, name).unwrap_or_default();
        let (place, word) = words.iter().enumerate().rfind(|(_, word)| **word != 0)?;
        Some(place * 64 + (63 - word.leading_zeros() as usize))
    };
    let names = ["skyLightMask", "blockLightMask", "emptySkyLightMask", "emptyBlockLightMask"];
    names.into_iter().filter_map(top).max().map_or(0, |top| top.saturating_sub(1))
}

/// Returns the field of that name, or of one that it has in other versions.
fn get<'f>(fields: &'f Value, name: &str) -> Option<&'f Value> {
    let other = || other_fields(name).into_iter().find_map(|(other, _)| fields.get(other));
    fields.get(name).or_else(other)
}

/// The greatest size of inflated chunks. A bulk packet of 1.7 has at most 5 chunks of 200 KiB.
const MAX_INFLATED: usize = 16 << 20;
