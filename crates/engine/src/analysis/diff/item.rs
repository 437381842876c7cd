use std::hash::{DefaultHasher, Hash, Hasher};

use super::entities::is_entity;
use super::ignore::Ignore;
use crate::capture::Record;
use mitmcraft_protocol::packet::{Packet, PathStep, glob_matches, position};
use mitmcraft_protocol::schema::Value;

/// A packet to align, with hashes to find equal and similar ones.
#[derive(Debug)]
pub(super) struct DiffItem {
    pub(super) record: Record,
    /// Hash of everything that is compared except entity ids.
    pub(super) same: u64,
    /// Hash of the packet's name.
    pub(super) alike: u64,
    /// `true` if it has entity ids, which must be compared even if the hashes are equal.
    pub(super) entities: bool,
}

impl DiffItem {
    pub(super) fn new(record: Record, ignore: &Ignore) -> Self {
        let packet = &record.packet;
        let mut name = DefaultHasher::new();
        packet.state().hash(&mut name);
        packet.direction().hash(&mut name);
        packet.kind().map(|packet| packet.name()).hash(&mut name);
        let alike = name.finish();

        let mut state = Hashing { hasher: name, renumbered: ignore.renumbered, entities: false };
        match packet.value() {
            Ok(mut value) => {
                prune(&mut value, packet, ignore);
                state.value(&value, false);
            }
            Err(_) => packet.body_or_bytes().hash(&mut state.hasher),
        }
        let (same, entities) = (state.hasher.finish(), state.entities);
        Self { record, same, alike, entities }
    }

    /// Memory that the packet takes, in bytes.
    pub(super) fn size(&self) -> usize {
        self.record.packet.size() + size_of::<Self>()
    }
}

/// Returns a hash of everything in a packet that is compared, except entity ids.
pub(crate) fn fingerprint(record: &Record, ignore: &Ignore) -> u64 {
    DiffItem::new(record.clone(), ignore).same
}

/// Removes the fields that are ignored.
pub(super) fn prune(value: &mut Value, packet: &Packet, ignore: &Ignore) {
    prune_inside(value, &ignore.fields(packet));
}

/// Removes what the paths lead to. Their names are globs.
fn prune_inside(value: &mut Value, paths: &[&[PathStep]]) {
    if paths.is_empty() {
        return;
    }
    match value {
        Value::Exact(exact) => prune_inside(&mut exact.value, paths),
        Value::Map(fields) => fields.retain_mut(|(name, value)| {
            let paths = below(
                paths,
                |step| matches!(step, PathStep::Name(pattern) if glob_matches(pattern, name)),
            );
            let kept = !paths.iter().any(|path| path.is_empty());
            if kept {
                prune_inside(value, &paths);
            }
            kept
        }),
        Value::List(items) => {
            let length = items.len();
            for (place, item) in items.iter_mut().enumerate() {
                let paths = below(paths, |step| match step {
                    PathStep::Each => true,
                    PathStep::Index(index) => position(*index, length) == Some(place),
                    PathStep::Name(_) | PathStep::Append => false,
                });
                if paths.iter().any(|path| path.is_empty()) {
                    *item = Value::Absent;
                } else {
                    prune_inside(item, &paths);
                }
            }
        }
        _ => {}
    }
}

/// Returns the rest of each path whose first step fits.
fn below<'p>(paths: &[&'p [PathStep]], fits: impl Fn(&PathStep) -> bool) -> Vec<&'p [PathStep]> {
    let rest = |path: &&'p [PathStep]| match path.split_first() {
        Some((first, rest)) if fits(first) => Some(rest),
        _ => None,
    };
    paths.iter().filter_map(rest).collect()
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

#[cfg(test)]
mod tests {
    use super::*;
    use mitmcraft_protocol::packet::FieldPath;

    #[test]
    fn fields_are_pruned_by_names_with_globs_and_by_indexes_from_either_end() {
        let map = |fields: &[(&str, Value)]| {
            let field = |(name, value): &(&str, Value)| ((*name).into(), value.clone());
            Value::Map(fields.iter().map(field).collect())
        };
        let item = map(&[("slot", Value::Int(1)), ("count", Value::Int(2))]);
        let three = map(&[("items", Value::List(vec![item.clone(), item.clone(), item]))]);
        let pruned = |path: &str| {
            let path = FieldPath::parse(path).unwrap();
            let mut value = three.clone();
            prune_inside(&mut value, &[path.steps()]);
            value.get("items").map(|items| format!("{items:?}"))
        };
        let whole = pruned("other");
        assert_eq!(pruned("it*s"), None);
        assert_eq!(pruned("items[3]"), whole);
        assert_eq!(pruned("items[-1]"), pruned("items[2]"));
        assert_ne!(pruned("items[-1]"), whole);
        assert_eq!(pruned("items[*].s?ot"), pruned("items[*].slot"));
        assert_ne!(pruned("items[*].slot"), pruned("items[0].slot"));
    }
}
