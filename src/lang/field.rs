use super::fit::SCALARS;
use super::val::Val;
use crate::packet::Glob;
use crate::schema::{Kind, Kinds, PacketType, Protocol, Shape};
use crate::wire::{Nbt, Tag};

/// A way to a field, and of which packets.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Field {
    /// None: of any that has it.
    pub(super) packets: Option<Glob>,
    /// At least one.
    pub(super) steps: Box<[Step]>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Step {
    Name(Box<str>),
    /// From the end when negative.
    Index(i64),
    /// Every element.
    Each,
}

impl Field {
    /// Whether it can lead to several values.
    pub(super) fn is_many(&self) -> bool {
        self.first_each().is_some()
    }

    /// The place of the first step that leads to several values.
    pub(super) fn first_each(&self) -> Option<usize> {
        self.steps.iter().position(|step| *step == Step::Each)
    }

    pub(super) fn is_of(&self, packet: &PacketType) -> bool {
        self.packets.as_ref().is_none_or(|glob| glob.matches(packet.name()))
    }

    /// What it can be in that packet; the empty set when the packet has no such field.
    pub(super) fn kinds(&self, protocol: &Protocol, packet: &PacketType) -> Kinds {
        match self.is_of(packet) {
            true => kinds_at(Shape::of(protocol, packet), &self.steps),
            false => Kinds::NONE,
        }
    }
}

/// The shape at the end of these steps.
pub(super) fn shape_at<'p>(shape: Shape<'p>, steps: &[Step]) -> Option<Shape<'p>> {
    steps.iter().try_fold(shape, |shape, step| match step {
        Step::Name(name) => shape.field(name),
        Step::Index(_) | Step::Each => shape.element(),
    })
}

/// What stands at the end of these steps; in NBT that can be anything.
pub(super) fn kinds_at(mut shape: Shape<'_>, steps: &[Step]) -> Kinds {
    let mut found = Kinds::NONE;
    for step in steps {
        if shape.kinds().has(Kind::Nbt) {
            found = SCALARS;
        }
        let next = match step {
            Step::Name(name) => shape.field(name),
            Step::Index(_) | Step::Each => shape.element(),
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
    steps: &[Step],
    see: &mut dyn FnMut(Val<'a>) -> bool,
) -> bool {
    if steps.is_empty() {
        return see(match Val::tag(&nbt.root, nbt.name.as_ref()) {
            // The name of the whole is its own.
            Val::Nbt(_) => Val::Nbt(Box::new(nbt.clone())),
            val => val,
        });
    }
    let name = nbt.name.as_ref().map(|_| bytes::Bytes::new());
    each_in_tag(&nbt.root, steps, &mut |tag| see(Val::tag(tag, name.as_ref())))
}

fn each_in_tag(tag: &Tag, steps: &[Step], see: &mut dyn FnMut(&Tag) -> bool) -> bool {
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
        Step::Name(name) => match tag {
            Tag::Compound(compound) => {
                compound.get(name).is_some_and(|tag| each_in_tag(tag, steps, see))
            }
            _ => false,
        },
        Step::Index(index) => position(*index, count)
            .and_then(element)
            .is_some_and(|tag| each_in_tag(&tag, steps, see)),
        Step::Each => {
            (0..count).any(|index| element(index).is_some_and(|tag| each_in_tag(&tag, steps, see)))
        }
    }
}

/// The place that an index means in a list of `count`.
pub(super) fn position(index: i64, count: usize) -> Option<usize> {
    let count_signed = i64::try_from(count).ok()?;
    let place = if index < 0 { count_signed + index } else { index };
    usize::try_from(place).ok().filter(|place| *place < count)
}
