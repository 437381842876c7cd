use super::entities::{EntityIds, is_entity};
use super::ignore::Ignore;
use super::item::prune;
use super::{Change, Difference};
use crate::capture::Record;
use crate::filter::scalar;
use mitmcraft_protocol::meaning::FieldMeanings;
use mitmcraft_protocol::packet::Packet;
use mitmcraft_protocol::schema::Value;
use mitmcraft_protocol::wire::{Encoding, Tag};

/// Returns the fields in which two packets of the same name differ.
pub(super) fn compare(
    a: &Record,
    b: &Record,
    ignore: &Ignore,
    entities: &mut EntityIds,
) -> Vec<Change> {
    let (a, b) = (&a.packet, &b.packet);
    let renumbered = ignore.renumbered.then_some(entities);
    let mut compare = Compare { entities: renumbered, changes: Vec::new(), path: String::new() };
    match (a.value(), b.value()) {
        (Ok(mut first), Ok(mut second)) => {
            prune(&mut first, a, ignore);
            prune(&mut second, b, ignore);
            compare.values(Some(&first), Some(&second), false);
            for change in &mut compare.changes {
                let of = |packet, fields, value: &Option<Value>| {
                    meaning(packet, fields, &change.path, value.as_ref()?)
                };
                change.meanings = [of(a, &first, &change.a), of(b, &second, &change.b)];
            }
        }
        (first, second) => {
            let (first, second) = (first.err(), second.err());
            let text = |error: Option<mitmcraft_protocol::packet::Undecoded>| {
                error.map(|error| Value::from(&*error.to_string()))
            };
            compare.enter(".(error)", |it| it.leaves(text(first), text(second)));
            let (a, b) = (Value::Bytes(a.body_or_bytes()), Value::Bytes(b.body_or_bytes()));
            compare.enter(".(bytes)", |it| it.leaves(Some(a), Some(b)));
        }
    }
    compare.changes
}

/// The numbers of pairs of packets without a difference.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct EqualPairs {
    /// `true` if packets with equal values differ when their bytes do: by a number with more bytes than it
    /// needs, or by the order of keys.
    pub bytes: bool,
    /// The number of equal pairs.
    pub same: u64,
    /// The number of equal pairs whose bytes differ.
    pub recoded: u64,
}

impl EqualPairs {
    /// Returns the difference of a pair with `changes`, and counts a pair without one.
    pub(super) fn judge(
        &mut self,
        a: Record,
        b: Record,
        mut changes: Vec<Change>,
    ) -> Option<Difference> {
        let body = |record: &Record| record.packet.body_or_bytes();
        if changes.is_empty()
            && body(&a) != body(&b)
            && compare(&a, &b, &Ignore::nothing(), &mut EntityIds::default()).is_empty()
        {
            let (path, meanings) = ("(bytes)".to_owned(), [None, None]);
            let [a, b] = [&a, &b].map(|record| Some(Value::Bytes(body(record))));
            match self.bytes {
                true => changes.push(Change { path, a, b, meanings }),
                false => self.recoded += 1,
            }
        }
        if changes.is_empty() {
            self.same += 1;
            return None;
        }
        Some(Difference::Changed(a.into(), b.into(), changes))
    }
}

struct Compare<'e> {
    /// `None` if entity ids are compared as numbers.
    entities: Option<&'e mut EntityIds>,
    changes: Vec<Change>,
    path: String,
}

impl Compare<'_> {
    fn values(&mut self, a: Option<&Value>, b: Option<&Value>, entity: bool) {
        let (a, b) = (a.map(Value::plain), b.map(Value::plain));
        match (a, b) {
            (Some(Value::Int(a)), Some(Value::Int(b))) if entity && self.entities.is_some() => {
                let same = self.entities.as_mut().is_some_and(|entities| entities.same(*a, *b));
                if !same {
                    self.differ(Some(Value::Int(*a)), Some(Value::Int(*b)));
                }
            }
            (Some(Value::Map(a)), Some(Value::Map(b))) => {
                for (name, a, b) in paired(a, b) {
                    self.enter(&format!(".{name}"), |it| it.values(a, b, is_entity(name)));
                }
            }
            (Some(Value::List(a)), Some(Value::List(b))) => {
                for place in 0..a.len().max(b.len()) {
                    let (a, b) = (a.get(place), b.get(place));
                    self.enter(&format!("[{place}]"), |it| it.values(a, b, entity));
                }
            }
            (Some(Value::Nbt(a)), Some(Value::Nbt(b))) => {
                if a.name != b.name {
                    let name = |name: &Option<bytes::Bytes>| name.as_ref().map(|name| text(name));
                    self.enter(".(name)", |it| it.leaves(name(&a.name), name(&b.name)));
                }
                self.tags(Some(&a.root), Some(&b.root));
            }
            (a, b) => self.leaves(a.cloned(), b.cloned()),
        }
    }

    fn tags(&mut self, a: Option<&Tag>, b: Option<&Tag>) {
        match (a, b) {
            (Some(Tag::Compound(a)), Some(Tag::Compound(b))) => {
                for (name, a, b) in paired(&a.entries, &b.entries) {
                    self.enter(&key(name), |it| it.tags(a, b));
                }
            }
            (Some(Tag::List(a)), Some(Tag::List(b))) => {
                for place in 0..a.items.len().max(b.items.len()) {
                    let (a, b) = (a.items.get(place), b.items.get(place));
                    self.enter(&format!("[{place}]"), |it| it.tags(a, b));
                }
            }
            (a, b) => self.leaves(a.map(tag_value), b.map(tag_value)),
        }
    }

    fn leaves(&mut self, a: Option<Value>, b: Option<Value>) {
        let absent = |value: &Option<Value>| matches!(value, None | Some(Value::Absent));
        if !(same(a.as_ref(), b.as_ref()) || absent(&a) && absent(&b)) {
            self.differ(a, b);
        }
    }

    fn differ(&mut self, a: Option<Value>, b: Option<Value>) {
        let path = self.path.trim_start_matches('.').to_owned();
        self.changes.push(Change { path, a, b, meanings: [None, None] });
    }

    fn enter(&mut self, step: &str, inside: impl FnOnce(&mut Self)) {
        let length = self.path.len();
        self.path.push_str(step);
        inside(self);
        self.path.truncate(length);
    }
}

/// Returns what a value of a packet with these fields means.
fn meaning(packet: &Packet, fields: &Value, path: &str, value: &Value) -> Option<String> {
    let meanings = FieldMeanings::of(&packet.context().protocol, packet.kind()?)?;
    meanings.text(fields, path, value)
}

/// Returns `true` if two values are equal; floats are compared by their bits.
fn same(a: Option<&Value>, b: Option<&Value>) -> bool {
    match (a, b) {
        (Some(Value::Float32(a)), Some(Value::Float32(b))) => a.to_bits() == b.to_bits(),
        (Some(Value::Float64(a)), Some(Value::Float64(b))) => a.to_bits() == b.to_bits(),
        (a, b) => a == b,
    }
}

/// Iterates over the entries of two maps, paired by their keys: those of `a`, and then those that only `b` has.
fn paired<'m, K: PartialEq, V>(
    a: &'m [(K, V)],
    b: &'m [(K, V)],
) -> impl Iterator<Item = (&'m K, Option<&'m V>, Option<&'m V>)> {
    let of = |map: &'m [(K, V)], key: &K| map.iter().find(|(it, _)| it == key).map(|(_, it)| it);
    let both = a.iter().map(move |(key, value)| (key, Some(value), of(b, key)));
    let only_b = b.iter().filter(move |(key, _)| of(a, key).is_none());
    both.chain(only_b.map(|(key, value)| (key, None, Some(value))))
}

fn key(name: &[u8]) -> String {
    format!(".{}", Encoding::ModifiedUtf8.decode_lossy(name))
}

fn text(bytes: &[u8]) -> Value {
    Value::from(&*Encoding::ModifiedUtf8.decode_lossy(bytes))
}

/// Converts a tag to the most similar value.
fn tag_value(tag: &Tag) -> Value {
    match tag {
        Tag::IntArray(ints) => {
            Value::List(ints.iter().map(|int| Value::Int((*int).into())).collect())
        }
        Tag::LongArray(ints) => Value::List(ints.iter().map(|int| Value::Int(*int)).collect()),
        Tag::List(list) => Value::List(list.items.iter().map(tag_value).collect()),
        Tag::Compound(compound) => {
            let entries = compound.entries.iter();
            let name = |name: &[u8]| Encoding::ModifiedUtf8.decode_lossy(name).as_ref().into();
            Value::Map(entries.map(|(key, tag)| (name(key), tag_value(tag))).collect())
        }
        tag => scalar(tag).unwrap_or(Value::Absent),
    }
}
