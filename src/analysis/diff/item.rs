use std::hash::{DefaultHasher, Hash, Hasher};

use super::entities::is_entity;
use super::ignore::{Ignore, Step, matches};
use crate::capture::Record;
use crate::packet::{Content, Packet};
use crate::schema::Value;

/// A packet to align: with what makes it the same as another.
#[derive(Debug)]
pub(super) struct DiffItem {
    pub(super) record: Record,
    /// Hash of all that counts, but entity ids.
    pub(super) same: u64,
    /// Hash of the packet's name.
    pub(super) alike: u64,
    /// Whether it has entity ids, so that it must be compared even with one that is the same.
    pub(super) entities: bool,
}

impl DiffItem {
    pub(super) fn new(record: Record, ignore: &Ignore) -> Self {
        let packet = &record.packet;
        let mut name = DefaultHasher::new();
        packet.state.hash(&mut name);
        packet.direction.hash(&mut name);
        packet.kind().map(|packet| packet.name()).hash(&mut name);
        let alike = name.finish();

        let mut state = Hashing { hasher: name, renumbered: ignore.renumbered(), entities: false };
        match packet.value() {
            Ok(mut value) => {
                prune(&mut value, packet, ignore);
                state.value(&value, false);
            }
            Err(_) => bytes(packet).hash(&mut state.hasher),
        }
        let (same, entities) = (state.hasher.finish(), state.entities);
        Self { record, same, alike, entities }
    }

    /// Bytes that it keeps.
    pub(super) fn size(&self) -> usize {
        self.record.packet.size() + size_of::<Self>()
    }
}

/// The bytes of what does not decode.
pub(super) fn bytes(packet: &Packet) -> bytes::Bytes {
    match (&packet.content, packet.body()) {
        (_, Ok(body)) => body,
        (Content::Frame(frame), Err(_)) => frame.wire().clone(),
        (Content::Raw(bytes, _), Err(_)) => bytes.clone(),
    }
}

/// Takes out the fields that do not count.
pub(super) fn prune(value: &mut Value, packet: &Packet, ignore: &Ignore) {
    let rules = ignore.fields(packet);
    if !rules.is_empty() {
        prune_inside(value, &rules, &mut Vec::new());
    }
}

fn prune_inside(value: &mut Value, rules: &[&[Step]], path: &mut Vec<Step>) {
    match value {
        Value::Exact(exact) => prune_inside(&mut exact.value, rules, path),
        Value::Map(fields) => fields.retain_mut(|(name, value)| {
            path.push(Step::Field(name.to_string()));
            let kept = !matches(rules, path);
            if kept {
                prune_inside(value, rules, path);
            }
            path.pop();
            kept
        }),
        Value::List(items) => {
            for (place, item) in items.iter_mut().enumerate() {
                path.push(Step::Index(Some(place)));
                match matches(rules, path) {
                    true => *item = Value::Absent,
                    false => prune_inside(item, rules, path),
                }
                path.pop();
            }
        }
        _ => {}
    }
}

struct Hashing {
    hasher: DefaultHasher,
    renumbered: bool,
    entities: bool,
}

impl Hashing {
    fn value(&mut self, value: &Value, entity: bool) {
        let value = value.plain();
        std::mem::discriminant(value).hash(&mut self.hasher);
        match value {
            Value::Int(_) if entity && self.renumbered => self.entities = true,
            Value::Absent | Value::Exact(_) => {}
            Value::Bool(bool) => bool.hash(&mut self.hasher),
            Value::Int(int) => int.hash(&mut self.hasher),
            Value::Unsigned(int) => int.hash(&mut self.hasher),
            Value::Float32(float) => float.to_bits().hash(&mut self.hasher),
            Value::Float64(float) => float.to_bits().hash(&mut self.hasher),
            Value::Text(text) => text.hash(&mut self.hasher),
            Value::Uuid(uuid) => uuid.hash(&mut self.hasher),
            Value::Bytes(bytes) => bytes.hash(&mut self.hasher),
            Value::Nbt(nbt) => {
                let mut bytes = Vec::new();
                nbt.write(&mut bytes);
                bytes.hash(&mut self.hasher);
            }
            Value::List(items) => {
                items.len().hash(&mut self.hasher);
                items.iter().for_each(|item| self.value(item, entity));
            }
            Value::Map(fields) => {
                fields.len().hash(&mut self.hasher);
                for (name, value) in fields {
                    name.hash(&mut self.hasher);
                    self.value(value, is_entity(name));
                }
            }
        }
    }
}
