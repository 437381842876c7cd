use super::host_error::HostError;
use crate::filter::{EditError, EditPath, apply_changes, build};
use mitmcraft_protocol::packet::{Packet, PathStep, position};
use mitmcraft_protocol::schema::{PacketType, Value};
use mitmcraft_protocol::wire::{Encoding, Tag};

/// The packet of a callback: decoded when a field is read, and encoded again when a field is read after
/// others were set, or when the callback has returned.
#[derive(Debug)]
pub(super) struct Draft {
    packet: Packet,
    /// The fields, decoded on demand.
    value: Option<Value>,
    /// Changes that are not encoded yet.
    changes: Vec<(EditPath, Option<Value>)>,
    /// The lines of the script that made them.
    lines: Vec<Option<usize>>,
    /// Bytes of the values in `changes`.
    pending: usize,
    /// Bytes that were decoded and encoded since they were charged.
    pub(super) work: usize,
    pub(super) is_changed: bool,
    pub(super) is_dropped: bool,
}

/// The reason why changes could not be encoded, with the line of the change that it is about.
#[derive(Debug)]
pub(super) struct DraftError {
    pub(super) line: Option<usize>,
    pub(super) cause: HostError,
}

impl From<HostError> for DraftError {
    fn from(cause: HostError) -> Self {
        Self { line: None, cause }
    }
}

/// A part of a packet.
#[derive(Debug, Clone, Copy)]
pub(super) enum Part<'v> {
    Value(&'v Value),
    Tag(&'v Tag),
}

impl Draft {
    pub(super) fn new(packet: Packet) -> Self {
        Self {
            packet,
            value: None,
            changes: Vec::new(),
            lines: Vec::new(),
            pending: 0,
            work: 0,
            is_changed: false,
            is_dropped: false,
        }
    }

    /// Sets a field to a value that takes up `bytes` of the limit of a call, or removes it if `value` is `None`.
    pub(super) fn set(
        &mut self,
        steps: &[PathStep],
        value: Option<Value>,
        bytes: usize,
        line: Option<usize>,
    ) -> Result<(), DraftError> {
        self.changes.push((EditPath::of(steps), value));
        self.lines.push(line);
        self.pending += bytes + CHANGE;
        // Those that wait are bounded.
        if self.pending > MAX_PENDING { self.encode() } else { Ok(()) }
    }

    /// Replaces the packet by another of the same state and direction.
    pub(super) fn replace(&mut self, kind: &PacketType, value: Value) -> Result<(), EditError> {
        let body = build(&self.packet.context().protocol, kind, value)?;
        self.work += body.len();
        self.changes.clear();
        self.lines.clear();
        self.pending = 0;
        self.value = None;
        self.packet.replace_body(body.into());
        self.is_changed = true;
        Ok(())
    }

    /// Returns a part of the packet; `None` if there is none at this path.
    pub(super) fn part(&mut self, steps: &[PathStep]) -> Result<Option<Part<'_>>, DraftError> {
        self.encode()?;
        if self.value.is_none() {
            self.work += CODING + self.packet.size();
            let value = match self.packet.has_payload() {
                true => self.packet.value_with_payload(),
                false => self.packet.value(),
            };
            self.value = Some(value.map_err(HostError::from)?);
        }
        Ok(self.value.as_ref().and_then(|value| part(value, steps)))
    }

    /// Encodes the changes so far.
    pub(super) fn encode(&mut self) -> Result<(), DraftError> {
        if self.changes.is_empty() {
            return Ok(());
        }
        self.work += 2 * (CODING + self.packet.size()) + std::mem::take(&mut self.pending);
        let (changes, lines) = (std::mem::take(&mut self.changes), std::mem::take(&mut self.lines));
        let decoded = self.value.take().filter(|_| !self.packet.has_payload());
        let body = apply_changes(&self.packet, decoded, &changes).map_err(|cause| {
            let about = match &cause {
                EditError::Field { path: about, .. } => {
                    changes.iter().position(|(path, _)| path.to_string() == *about)
                }
                _ => None,
            };
            let line = about.map_or_else(|| lines.last(), |about| lines.get(about));
            DraftError { line: line.copied().flatten(), cause: cause.into() }
        })?;
        if self.packet.body().is_ok_and(|old| old != body) {
            self.packet.replace_body(body);
            self.is_changed = true;
        }
        Ok(())
    }

    pub(super) fn packet(&self) -> &Packet {
        &self.packet
    }

    pub(super) fn into_packet(self) -> Packet {
        self.packet
    }
}

impl<'v> Part<'v> {
    /// Returns the number of elements of a list, or of bytes.
    pub(super) fn len(self) -> usize {
        match self {
            Self::Value(value) => match value.plain() {
                Value::List(items) => items.len(),
                Value::Nbt(nbt) => Part::Tag(&nbt.root).len(),
                _ => 0,
            },
            Self::Tag(Tag::List(list)) => list.items.len(),
            Self::Tag(Tag::IntArray(items)) => items.len(),
            Self::Tag(Tag::LongArray(items)) => items.len(),
            Self::Tag(_) => 0,
        }
    }

    /// Returns the names of the fields of a container or compound.
    pub(super) fn names(self) -> Vec<String> {
        match self {
            Self::Value(value) => match value.plain() {
                Value::Map(fields) => fields.iter().map(|(name, _)| name.to_string()).collect(),
                Value::Nbt(nbt) => Part::Tag(&nbt.root).names(),
                _ => Vec::new(),
            },
            Self::Tag(Tag::Compound(compound)) => {
                compound.entries.iter().map(|(name, _)| text(name)).collect()
            }
            Self::Tag(_) => Vec::new(),
        }
    }
}

/// Returns the part at a path of names and indexes.
fn part<'v>(value: &'v Value, steps: &[PathStep]) -> Option<Part<'v>> {
    let Some((step, rest)) = steps.split_first() else { return Some(Part::Value(value)) };
    match (step, value.plain()) {
        (_, Value::Nbt(nbt)) => tag(&nbt.root, steps).map(Part::Tag),
        (PathStep::Name(name), _) => part(value.get(name)?, rest),
        (PathStep::Index(index), Value::List(items)) => {
            part(&items[position(*index, items.len())?], rest)
        }
        _ => None,
    }
}

fn tag<'v>(tag: &'v Tag, steps: &[PathStep]) -> Option<&'v Tag> {
    let Some((step, rest)) = steps.split_first() else { return Some(tag) };
    match (step, tag) {
        (PathStep::Name(name), Tag::Compound(compound)) => self::tag(compound.get(name)?, rest),
        (PathStep::Index(index), Tag::List(list)) => {
            self::tag(&list.items[position(*index, list.items.len())?], rest)
        }
        _ => None,
    }
}

/// Returns the text of modified UTF-8.
pub(super) fn text(bytes: &[u8]) -> String {
    Encoding::ModifiedUtf8.decode_lossy(bytes).into_owned()
}

/// Work of decoding or encoding a packet, besides that for its bytes.
const CODING: usize = 500;

/// Bytes that a change counts for besides its value.
const CHANGE: usize = 64;

/// Bytes of changes that wait to be encoded.
const MAX_PENDING: usize = 4 << 20;
