use std::fmt;

use bytes::Bytes;

use super::datum::{Datum, SCALARS, Set};
use super::packets::Packets;
use mitmcraft_protocol::meaning::{FieldMeaning, FieldMeanings};
use mitmcraft_protocol::packet::{FieldPath, PathStep, position};
use mitmcraft_protocol::schema::{Kind, Kinds, PacketType, Protocol, Shape, payload_name};
use mitmcraft_protocol::wire::{Nbt, Tag};

/// A field of one packet, of several, or of any.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Field {
    /// The packets that it is a field of; `None` for every packet that has it.
    pub(super) packets: Option<Packets>,
    pub(super) path: FieldPath,
}

impl Field {
    /// Returns whether the path can lead to several values.
    pub(super) fn is_many(&self) -> bool {
        self.first_each().is_some()
    }

    /// Returns the index of the first `[*]` in the path.
    pub(super) fn first_each(&self) -> Option<usize> {
        self.path.steps().iter().position(|step| *step == PathStep::Each)
    }

    pub(super) fn is_of(&self, packet: &PacketType) -> bool {
        self.packets.as_ref().is_none_or(|packets| packets.matches(packet))
    }

    /// Returns the steps within the payload of a plugin channel, if the path may lead into one.
    #[inline]
    pub(super) fn payload_steps(&self) -> Option<&[PathStep]> {
        payload_steps(self.path.steps())
    }

    /// Returns the kinds of the field in a packet; empty if the packet has no such field.
    pub(super) fn kinds(&self, protocol: &Protocol, packet: &PacketType) -> Kinds {
        if !self.is_of(packet) {
            return Kinds::NONE;
        }
        let own = kinds_at(Shape::of(protocol, packet), self.path.steps());
        let Some(steps) = self.payload_steps() else { return own };
        let layouts = protocol.payload_layouts(packet);
        layouts.fold(own, |kinds, it| kinds | kinds_at(Shape::of(protocol, it), steps))
    }

    /// Returns what the values of the field mean in a packet.
    pub(super) fn meaning(&self, protocol: &Protocol, packet: &PacketType) -> Option<FieldMeaning> {
        FieldMeanings::of(protocol, packet)?.at(&meaning_path(self.path.steps()), |_| None)
    }

    /// Returns the values that a name stands for in a packet; `None` if the field cannot have it.
    pub(super) fn named(
        &self,
        protocol: &Protocol,
        packet: &PacketType,
        name: &str,
    ) -> Option<Set> {
        let meaning = self.meaning(protocol, packet);
        let numbers = meaning.map(|meaning| meaning.numbers(name)).unwrap_or_default();
        let texts = || {
            let kinds = self.kinds(protocol, packet);
            let shape = shape_at(Shape::of(protocol, packet), self.path.steps());
            let mapped = shape.into_iter().flat_map(|shape| shape.names());
            kinds.has(Kind::Text) || mapped.into_iter().any(|(_, it)| *it == *name)
        };
        (!numbers.is_empty() || texts()).then(|| Set::named(numbers, name))
    }
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(packets) = &self.packets {
            write!(f, "{packets}.")?;
        }
        self.path.fmt(f)
    }
}

/// Returns a path in the form in which [`FieldMeanings`] has it: `items[*].itemId`.
pub(crate) fn meaning_path(steps: &[PathStep]) -> String {
    let mut path = String::new();
    for step in steps {
        match step {
            PathStep::Name(name) if path.is_empty() => path.push_str(name),
            PathStep::Name(name) => path = path + "." + name,
            PathStep::Index(_) | PathStep::Each | PathStep::Append => path.push_str("[*]"),
        }
    }
    path
}

/// Returns what has a field at `steps`: the packet, or payloads of plugin channels that it may carry; with
/// the steps in it and the shape there, which is that of the NBT for everything within NBT.
pub(crate) fn holders<'p: 's, 's>(
    protocol: &'p Protocol,
    packet: &'p PacketType,
    steps: &'s [PathStep],
) -> impl Iterator<Item = (&'p PacketType, &'s [PathStep], Shape<'p>)> {
    let payloads = payload_steps(steps).into_iter().flat_map(move |steps| {
        let layouts = protocol.payload_layouts(packet);
        layouts.map(move |layout| (layout, steps))
    });
    std::iter::once((packet, steps)).chain(payloads).filter_map(move |(packet, steps)| {
        Some((packet, steps, shape_around(Shape::of(protocol, packet), steps)?))
    })
}

/// Returns the shapes at `steps` in the packet, and in payloads of plugin channels that it may carry; none
/// within NBT.
pub(super) fn shapes_at<'p: 's, 's>(
    protocol: &'p Protocol,
    packet: &'p PacketType,
    steps: &'s [PathStep],
) -> impl Iterator<Item = Shape<'p>> {
    let holders = holders(protocol, packet, steps);
    holders.filter_map(|(packet, steps, _)| shape_at(Shape::of(protocol, packet), steps))
}

/// Returns the steps within the payload of a plugin channel, if the path may lead into one.
pub(crate) fn payload_steps(steps: &[PathStep]) -> Option<&[PathStep]> {
    match steps {
        [PathStep::Name(name), steps @ ..] if *name == *payload_name() => Some(steps),
        _ => None,
    }
}

/// Returns the shape at the end of a path; `None` within NBT.
pub(crate) fn shape_at<'p>(shape: Shape<'p>, steps: &[PathStep]) -> Option<Shape<'p>> {
    steps.iter().try_fold(shape, |shape, step| below(&shape, step))
}

/// Returns the shape at the end of a path; for everything within NBT, that of the NBT.
fn shape_around<'p>(mut shape: Shape<'p>, steps: &[PathStep]) -> Option<Shape<'p>> {
    for step in steps {
        match below(&shape, step) {
            Some(next) => shape = next,
            None => return shape.kinds().has(Kind::Nbt).then_some(shape),
        }
    }
    Some(shape)
}

fn below<'p>(shape: &Shape<'p>, step: &PathStep) -> Option<Shape<'p>> {
    match step {
        PathStep::Name(name) => shape.field(name),
        PathStep::Index(_) | PathStep::Each | PathStep::Append => shape.element(),
    }
}

/// Returns the kinds at the end of a path. Within NBT, any scalar is possible.
pub(super) fn kinds_at(mut shape: Shape<'_>, steps: &[PathStep]) -> Kinds {
    let mut found = Kinds::NONE;
    for step in steps {
        if shape.kinds().has(Kind::Nbt) {
            found = SCALARS;
        }
        match below(&shape, step) {
            Some(next) => shape = next,
            None => return found,
        }
    }
    found | shape.kinds().without(Kind::Absent.into())
}

/// Calls `see` with each value at the end of a path within NBT until it returns true; returns
/// whether it did.
pub(super) fn each_in_nbt<'a>(
    nbt: &Nbt,
    steps: &[PathStep],
    see: &mut dyn FnMut(Datum<'a>) -> bool,
) -> bool {
    if steps.is_empty() {
        return see(match Datum::tag(&nbt.root, nbt.name.as_ref()) {
            // The whole keeps its own name.
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
