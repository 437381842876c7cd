use std::ops::{ControlFlow, Range};

use super::attribute::Subject;
use super::datum::{Datum, Number};
use super::field::{Field, each_in_nbt};
use mitmcraft_protocol::packet::{PathStep, position};
use mitmcraft_protocol::schema::{Flow, Leaf, Name, PacketType, Protocol, Scalar, Visitor};
use mitmcraft_protocol::wire::Encoding;

/// Reads the fields `live` of a body into their slots, and nothing after the last of them.
///
/// Fields after a decoding error are absent.
pub(super) fn collect(
    protocol: &Protocol,
    packet: &PacketType,
    (body, start): (&[u8], usize),
    fields: &[Field],
    live: &[usize],
    slots: &mut [Slot],
) {
    let payload = live.iter().any(|place| fields[*place].payload_steps().is_some());
    let mut collector = Collector::new(fields, live, slots, None);
    walk(protocol, packet, (body, start), payload, &mut collector);
    if !collector.uncounted {
        return;
    }
    let mut counter = Counter::default();
    walk(protocol, packet, (body, start), payload, &mut counter);
    live.iter().for_each(|place| slots[*place] = Slot::default());
    let mut collector = Collector::new(fields, live, slots, Some(&counter.counts));
    walk(protocol, packet, (body, start), payload, &mut collector);
}

/// Walks through a packet up to the first error; what was read before it is kept.
fn walk(
    protocol: &Protocol,
    packet: &PacketType,
    (body, start): (&[u8], usize),
    payload: bool,
    visitor: &mut impl Visitor,
) {
    let _ = match payload {
        true => protocol.walk_with_payload(packet, body, start, visitor),
        false => protocol.walk(packet, body, start, visitor),
    };
}

/// A visitor that extracts fields while a packet is walked, and skips all others.
pub(super) struct Collector<'s> {
    fields: &'s [Field],
    live: &'s [usize],
    slots: &'s mut [Slot],
    /// The number of fields of `live` not extracted yet.
    left: usize,
    /// `true` if the packet's outermost container is open.
    started: bool,
    /// The number of open containers on the path of any field.
    depth: usize,
    /// The number of open containers below them, on no field's path.
    skipped: usize,
    /// Set by the name of the next value: whether the value is on any field's path.
    named: Option<bool>,
    /// The open lists.
    lists: Vec<Open>,
    /// The number of lists without a count seen so far.
    countless: usize,
    /// The lengths of the lists without a count, where known.
    counts: Option<&'s [Option<usize>]>,
    /// `true` if an index from the end was met in a list of unknown length.
    uncounted: bool,
}

#[derive(Debug, Clone, Copy)]
struct Open {
    /// The number of containers on the way to its elements.
    depth: usize,
    next: usize,
    count: Option<usize>,
}

impl<'s> Collector<'s> {
    pub(super) fn new(
        fields: &'s [Field],
        live: &'s [usize],
        slots: &'s mut [Slot],
        counts: Option<&'s [Option<usize>]>,
    ) -> Self {
        Self {
            fields,
            live,
            slots,
            left: live.len(),
            started: false,
            depth: 0,
            skipped: 0,
            named: None,
            lists: Vec::new(),
            countless: 0,
            counts,
            uncounted: false,
        }
    }

    /// Marks the slots on whose path the next value is.
    #[inline]
    fn mark(&mut self, is_next: impl Fn(&PathStep) -> bool) -> bool {
        let mut hit = false;
        for place in self.live {
            let slot = &mut self.slots[*place];
            let step = self.fields[*place].path.steps().get(self.depth);
            slot.next = !slot.done && slot.matched == self.depth && step.is_some_and(&is_next);
            hit |= slot.next;
        }
        hit
    }

    /// Returns whether the next value is on any field's path.
    #[inline]
    fn enter(&mut self) -> bool {
        if let Some(hit) = self.named.take() {
            return hit;
        }
        let Some(list) = self.lists.last_mut() else { return false };
        let (at, count) = (list.next, list.count);
        list.next += 1;
        self.mark(|step| match step {
            PathStep::Name(_) | PathStep::Append => false,
            PathStep::Each => true,
            PathStep::Index(index) if *index < 0 => {
                count.is_some_and(|count| position(*index, count) == Some(at))
            }
            PathStep::Index(index) => usize::try_from(*index) == Ok(at),
        })
    }

    fn open(&mut self, list: Option<Open>) -> Flow {
        if !self.started {
            self.started = true;
            return ControlFlow::Continue(());
        }
        if self.skipped > 0 || !self.enter() {
            self.skipped += 1;
            return ControlFlow::Continue(());
        }
        self.depth += 1;
        let countless = list.is_some_and(|list| list.count.is_none());
        let mut deeper = countless;
        for place in self.live {
            let slot = &mut self.slots[*place];
            if !std::mem::take(&mut slot.next) {
                continue;
            }
            slot.matched = self.depth;
            match self.fields[*place].path.steps().get(self.depth) {
                Some(PathStep::Index(index))
                    if *index < 0 && countless && self.counts.is_none() =>
                {
                    self.uncounted = true;
                    return ControlFlow::Break(());
                }
                Some(_) => deeper = true,
                None if countless => {}
                None => {
                    let count = list.and_then(|list| list.count);
                    self.put(*place, count.map_or(Extracted::Map, Extracted::List));
                }
            }
        }
        match list {
            _ if !deeper => {
                self.leave();
                self.skipped = 1;
            }
            Some(list) => self.lists.push(list),
            None => {}
        }
        self.flow()
    }

    fn leave(&mut self) {
        for place in self.live {
            let slot = &mut self.slots[*place];
            if slot.matched == self.depth {
                slot.matched -= 1;
            }
        }
        self.depth -= 1;
    }

    /// Stores the value at the end of a field's path.
    #[inline]
    fn put(&mut self, place: usize, found: Extracted) {
        let slot = &mut self.slots[place];
        match self.fields[place].first_each() {
            Some(each) if each < self.depth => {
                if !matches!(found, Extracted::Absent) {
                    slot.found.push(found);
                }
            }
            _ => {
                slot.found = found;
                slot.done = true;
                self.left -= 1;
            }
        }
    }

    #[inline]
    fn flow(&self) -> Flow {
        if self.left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

impl Visitor for Collector<'_> {
    #[inline]
    fn leaf(&mut self, leaf: &Leaf<'_>) -> Flow {
        if self.skipped > 0 || !self.enter() {
            return ControlFlow::Continue(());
        }
        self.depth += 1;
        for place in self.live {
            if !std::mem::take(&mut self.slots[*place].next) {
                continue;
            }
            let found = Extracted::leaf(leaf, self.depth);
            let ends = self.fields[*place].path.steps().len() == self.depth;
            self.put(
                *place,
                if ends || matches!(found, Extracted::Nbt(_)) { found } else { Extracted::Absent },
            );
        }
        self.depth -= 1;
        self.flow()
    }

    #[inline]
    fn field(&mut self, name: &Name) -> Flow {
        if self.skipped == 0 {
            let hit =
                self.mark(|step| matches!(step, PathStep::Name(wanted) if **wanted == **name));
            self.named = Some(hit);
        }
        ControlFlow::Continue(())
    }

    fn open_map(&mut self, _at: usize) -> Flow {
        self.open(None)
    }

    fn open_list(&mut self, _at: usize, count: Option<usize>) -> Flow {
        let count = count.or_else(|| {
            self.countless += 1;
            self.counts.and_then(|counts| *counts.get(self.countless - 1)?)
        });
        self.open(Some(Open { depth: self.depth + 1, next: 0, count }))
    }

    fn close(&mut self, _at: usize) -> Flow {
        if self.skipped > 0 {
            self.skipped -= 1;
            return ControlFlow::Continue(());
        }
        if self.depth == 0 {
            return ControlFlow::Continue(());
        }
        let list = self.lists.pop_if(|list| list.depth == self.depth);
        for place in self.live {
            let (slot, field) = (&mut self.slots[*place], &self.fields[*place]);
            if slot.matched != self.depth || slot.done {
                continue;
            }
            if let Some(Open { next, count: None, .. }) = list
                && field.path.steps().len() == self.depth
            {
                self.put(*place, Extracted::List(next));
            } else if field.first_each().is_none_or(|each| each >= self.depth) {
                // No other container can be on the field's path.
                slot.done = true;
                self.left -= 1;
            }
        }
        self.leave();
        self.flow()
    }
}

/// A visitor that counts the elements of lists without a count.
#[derive(Default)]
struct Counter {
    /// The lengths in the order in which the lists begin; `None` for lists that do not end.
    counts: Vec<Option<usize>>,
    /// For each open container, the number of values in it and its index in `counts`.
    open: Vec<(usize, Option<usize>)>,
}

impl Counter {
    fn count(&mut self) {
        if let Some((count, _)) = self.open.last_mut() {
            *count += 1;
        }
    }
}

impl Visitor for Counter {
    fn leaf(&mut self, _leaf: &Leaf<'_>) -> Flow {
        self.count();
        ControlFlow::Continue(())
    }

    fn open_map(&mut self, _at: usize) -> Flow {
        self.count();
        self.open.push((0, None));
        ControlFlow::Continue(())
    }

    fn open_list(&mut self, _at: usize, count: Option<usize>) -> Flow {
        self.count();
        if count.is_none() {
            self.counts.push(None);
        }
        self.open.push((0, count.is_none().then(|| self.counts.len() - 1)));
        ControlFlow::Continue(())
    }

    fn close(&mut self, _at: usize) -> Flow {
        if let Some((count, Some(place))) = self.open.pop() {
            self.counts[place] = Some(count);
        }
        ControlFlow::Continue(())
    }
}

/// The extraction state of one field during a walk.
#[derive(Debug, Default)]
pub(super) struct Slot {
    pub(super) found: Extracted,
    /// The number of steps that the open containers match.
    pub(super) matched: usize,
    /// `true` if the next value matches the following step.
    pub(super) next: bool,
    /// `true` if no further value can match.
    pub(super) done: bool,
}

/// An extracted value. Text, bytes and NBT are ranges of the body.
#[derive(Debug, Default)]
pub(super) enum Extracted {
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

/// A range of the body that holds NBT.
#[derive(Debug)]
pub(super) struct NbtPlace {
    bytes: Range<usize>,
    /// `true` if the root has a name; `None` for NBT compressed with gzip.
    named: Option<bool>,
    /// The number of steps up to the NBT; the others lead into it.
    steps: usize,
}

impl Extracted {
    /// Extracts a leaf that is `steps` steps deep.
    pub(super) fn leaf(leaf: &Leaf<'_>, steps: usize) -> Self {
        // The bytes are a part of `leaf.wire`, after a length or before a NUL.
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

    /// Adds a value to those extracted by `[*]`.
    pub(super) fn push(&mut self, found: Self) {
        match self {
            Self::Many(all) => all.push(found),
            _ => *self = Self::Many(vec![found]),
        }
    }

    /// Calls `see` with each value until it returns true; returns whether it did.
    pub(super) fn each<'a>(
        &'a self,
        field: &Field,
        body: &'a [u8],
        see: &mut dyn FnMut(Datum<'a>) -> bool,
    ) -> bool {
        match self {
            Self::Many(all) => all.iter().any(|found| found.each(field, body, see)),
            Self::Nbt(place) => {
                let nbt = place.scalar(body).and_then(|scalar| scalar.nbt());
                nbt.is_some_and(|nbt| each_in_nbt(&nbt, &field.path.steps()[place.steps..], see))
            }
            _ => self.one(field, body).is_some_and(see),
        }
    }

    /// Returns the value, or the first of several.
    #[inline]
    pub(super) fn one<'a>(&'a self, field: &Field, body: &'a [u8]) -> Option<Datum<'a>> {
        Some(match self {
            Self::Absent => return None,
            Self::Bool(bool) => Datum::Bool(*bool),
            Self::Number(number) => Datum::Number(*number),
            Self::Name(name, number) => Datum::Name(name, *number),
            Self::Uuid(uuid) => Datum::Uuid(*uuid),
            Self::Text(range, Encoding::Utf8) => Datum::Text(body.get(range.clone())?.into()),
            Self::Text(range, encoding) => {
                Datum::cow(encoding.decode_lossy(body.get(range.clone())?))
            }
            Self::Bytes(range) => Datum::bytes(body.get(range.clone())?),
            Self::List(count) => Datum::List(*count),
            Self::Map => Datum::Map,
            Self::Nbt(_) | Self::Many(_) => {
                let mut first = None;
                self.each(field, body, &mut |datum| {
                    first = Some(datum);
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

/// The data that an evaluation reads: the packet and the fields extracted from it.
#[derive(Clone, Copy)]
pub(super) struct Evaluation<'a> {
    pub(super) subject: Subject<'a>,
    pub(super) fields: &'a [Field],
    /// One per field.
    pub(super) slots: &'a [Slot],
    /// `None` when it is not needed, or cannot be inflated.
    pub(super) body: Option<&'a [u8]>,
}

impl<'a> Evaluation<'a> {
    /// Creates an evaluation in which every field is absent.
    pub(super) fn without_fields(subject: Subject<'a>) -> Self {
        Self { subject, fields: &[], slots: &[], body: None }
    }
}
