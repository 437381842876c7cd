use std::fmt;

use bytes::Bytes;

use super::datum::{Datum, SCALARS};
use crate::packet::{FieldPath, Glob, PathStep, position};
use crate::schema::{Kind, Kinds, PacketType, Protocol, Shape};
use crate::wire::{Nbt, Tag};

/// A way to a field, and of which packets.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Field {
    /// None: of any that has it.
    pub(super) packets: Option<Glob>,
    pub(super) path: FieldPath,
}

impl Field {
    /// Whether it can lead to several values.
    pub(super) fn is_many(&self) -> bool {
        self.first_each().is_some()
    }

    /// The place of the first step that leads to several values.
    pub(super) fn first_each(&self) -> Option<usize> {
        self.path.steps().iter().position(|step| *step == PathStep::Each)
    }

    pub(super) fn is_of(&self, packet: &PacketType) -> bool {
        self.packets.as_ref().is_none_or(|glob| glob.matches(packet.name()))
    }

    /// What it can be in that packet; the empty set when the packet has no such field.
    pub(super) fn kinds(&self, protocol: &Protocol, packet: &PacketType) -> Kinds {
        match self.is_of(packet) {
            true => kinds_at(Shape::of(protocol, packet), self.path.steps()),
            false => Kinds::NONE,
        }
    }
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(packets) = &self.packets {
            write!(f, "{}.", packets.as_str())?;
        }
        self.path.fmt(f)
    }
}

/// The shape at the end of these steps.
pub(super) fn shape_at<'p>(shape: Shape<'p>, steps: &[PathStep]) -> Option<Shape<'p>> {
    steps.iter().try_fold(shape, |shape, step| match step {
        PathStep::Name(name) => shape.field(name),
        PathStep::Index(_) | PathStep::Each => shape.element(),
        PathStep::Append => None,
    })
}

/// What stands at the end of these steps; in NBT that can be anything.
pub(super) fn kinds_at(mut shape: Shape<'_>, steps: &[PathStep]) -> Kinds {
    let mut found = Kinds::NONE;
    for step in steps {
        if shape.kinds().has(Kind::Nbt) {
            found = SCALARS;
        }
        let next = match step {
            PathStep::Name(name) => shape.field(name),
            PathStep::Index(_) | PathStep::Each => shape.element(),
            PathStep::Append => None,
        };
        match next {
            Some(next) => shape = next,
            None => return found,
        }
    }
    found | shape.kinds().without(Kind::Absent.into())
}

/// Shows what stands at the end of the steps to `see` until it is satisfied, and gives whether it
/// was.
pub(super) fn each_in_nbt<'a>(
    nbt: &Nbt,
    steps: &[PathStep],
    see: &mut dyn FnMut(Datum<'a>) -> bool,
) -> bool {
    if steps.is_empty() {
        return see(match Datum::tag(&nbt.root, nbt.name.as_ref()) {
            // The name of the whole is its own.
            Datum::Nbt(_) => Datum::Nbt(Box::new(nbt.clone())),
            datum => datum,
        });
    }
    let name = nbt.name.as_ref().map(|_| Bytes::new());
    each_in_tag(&nbt.root, steps, &mut |tag| see(Datum::tag(tag, name.as_ref())))
}

fn each_in_tag(tag: &Tag, steps: &[PathStep], see: &mut dyn FnMut(&Tag) -> bool) -> bool {
    let Some((step, steps)) = steps.split_first() else { return see(tag) };
    let count = match tag {
        Tag::List(list) => list.items.len(),
        Tag::ByteArray(bytes) => bytes.len(),
        Tag::IntArray(ints) => ints.len(),
        Tag::LongArray(longs) => longs.len(),
        _ => 0,
    };
    let element = |index: usize| match tag {
        Tag::List(list) => list.items.get(index).cloned(),
        Tag::ByteArray(bytes) => bytes.get(index).map(|byte| Tag::Byte(byte.cast_signed())),
        Tag::IntArray(ints) => ints.get(index).copied().map(Tag::Int),
        Tag::LongArray(longs) => longs.get(index).copied().map(Tag::Long),
        _ => None,
    };
    match step {
        PathStep::Name(name) => match tag {
            Tag::Compound(compound) => {
                compound.get(name).is_some_and(|tag| each_in_tag(tag, steps, see))
            }
            _ => false,
        },
        PathStep::Index(index) => position(*index, count)
            .and_then(element)
            .is_some_and(|tag| each_in_tag(&tag, steps, see)),
        PathStep::Each => {
            (0..count).any(|index| element(index).is_some_and(|tag| each_in_tag(&tag, steps, see)))
        }
        PathStep::Append => false,
    }
}
