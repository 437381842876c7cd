use std::ops::Range;

use super::field::{Field, each_in_nbt};
use super::number::Number;
use super::val::Val;
use crate::schema::{Leaf, Name, Scalar};
use crate::wire::Encoding;

/// Where a field's value is put while a packet is walked, and how far the walk is on its way.
#[derive(Debug, Default)]
pub(super) struct Slot {
    pub(super) found: Found,
    /// How many steps the containers around the walk's place are on the way.
    pub(super) matched: usize,
    /// Whether the value that comes next is on the way too.
    pub(super) next: bool,
    /// Whether nothing more can be found.
    pub(super) done: bool,
}

/// What was found. Text, bytes and NBT are places in the body.
#[derive(Debug, Default)]
pub(super) enum Found {
    #[default]
    Absent,
    Bool(bool),
    Number(Number),
    Name(Name, i64),
    Uuid(u128),
    Text(Range<usize>, Encoding),
    Bytes(Range<usize>),
    Nbt(NbtPlace),
    List(usize),
    Map,
    Many(Vec<Self>),
}

/// NBT in the body.
#[derive(Debug)]
pub(super) struct NbtPlace {
    bytes: Range<usize>,
    /// Whether the root has a name; none for NBT in gzip.
    named: Option<bool>,
    /// How many steps lead to it; the rest go on inside.
    steps: usize,
}

impl Found {
    /// The leaf, to which so many steps lead.
    pub(super) fn leaf(leaf: &Leaf<'_>, steps: usize) -> Self {
        // The bytes are a part of `leaf.wire`, behind a length or before a NUL.
        let place = |bytes: &[u8]| {
            let start = leaf.at + (bytes.as_ptr().addr() - leaf.wire.as_ptr().addr());
            start..start + bytes.len()
        };
        match leaf.value {
            Scalar::Absent => Self::Absent,
            Scalar::Bool(bool) => Self::Bool(bool),
            Scalar::Int(int) => Self::Number(Number::Int(int)),
            Scalar::Unsigned(int) => Self::Number(Number::Unsigned(int)),
            Scalar::Float32(float) => Self::Number(Number::Single(float)),
            Scalar::Float64(float) => Self::Number(Number::Double(float)),
            Scalar::Text(bytes, encoding) => Self::Text(place(bytes), encoding),
            Scalar::Name(name, number) => Self::Name(Name::clone(name), number),
            Scalar::Uuid(uuid) => Self::Uuid(uuid),
            Scalar::Bytes(bytes) => Self::Bytes(place(bytes)),
            Scalar::Nbt { bytes, named } => {
                Self::Nbt(NbtPlace { bytes: place(bytes), named: Some(named), steps })
            }
            Scalar::CompressedNbt(bytes) => {
                Self::Nbt(NbtPlace { bytes: place(bytes), named: None, steps })
            }
        }
    }

    pub(super) fn is_absent(&self) -> bool {
        matches!(self, Self::Absent)
    }

    /// Keeps one of several.
    pub(super) fn push(&mut self, found: Self) {
        match self {
            Self::Many(all) => all.push(found),
            _ => *self = Self::Many(vec![found]),
        }
    }

    /// Shows each value to `see` until it is satisfied, and gives whether it was.
    pub(super) fn each<'a>(
        &'a self,
        field: &Field,
        body: &'a [u8],
        see: &mut dyn FnMut(Val<'a>) -> bool,
    ) -> bool {
        match self {
            Self::Many(all) => all.iter().any(|found| found.each(field, body, see)),
            Self::Nbt(place) => {
                let nbt = place.scalar(body).and_then(|scalar| scalar.nbt());
                nbt.is_some_and(|nbt| each_in_nbt(&nbt, &field.steps[place.steps..], see))
            }
            _ => self.one(field, body).is_some_and(see),
        }
    }

    /// The value, or the first of several.
    #[inline]
    pub(super) fn one<'a>(&'a self, field: &Field, body: &'a [u8]) -> Option<Val<'a>> {
        Some(match self {
            Self::Absent => return None,
            Self::Bool(bool) => Val::Bool(*bool),
            Self::Number(number) => Val::Number(*number),
            Self::Name(name, number) => Val::Name(name, *number),
            Self::Uuid(uuid) => Val::Uuid(*uuid),
            Self::Text(range, Encoding::Utf8) => Val::Text(body.get(range.clone())?.into()),
            Self::Text(range, encoding) => {
                Val::cow(encoding.decode_lossy(body.get(range.clone())?))
            }
            Self::Bytes(range) => Val::bytes(body.get(range.clone())?),
            Self::List(count) => Val::List(*count),
            Self::Map => Val::Map,
            Self::Nbt(_) | Self::Many(_) => {
                let mut first = None;
                self.each(field, body, &mut |val| {
                    first = Some(val);
                    true
                });
                return first;
            }
        })
    }
}

impl NbtPlace {
    fn scalar<'a>(&self, body: &'a [u8]) -> Option<Scalar<'a>> {
        let bytes = body.get(self.bytes.clone())?;
        Some(match self.named {
            Some(named) => Scalar::Nbt { bytes, named },
            None => Scalar::CompressedNbt(bytes),
        })
    }
}
