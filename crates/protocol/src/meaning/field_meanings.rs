use std::collections::HashMap;
use std::sync::LazyLock;

use super::FieldMeaning;
use super::annotation::Annotation;
use super::reader::read;
use super::version::Version;
use crate::schema::{Direction, Family, PacketType, Protocol, Scalar, State, Value};

/// The meanings of the fields of one type of packet in one version.
#[derive(Debug, Clone, Copy)]
pub struct FieldMeanings {
    version: Version,
    /// The annotations of the packet, and of fields that many packets have.
    own: Option<&'static Fields>,
    shared: Option<&'static Fields>,
}

/// Annotations by the path of their field, in which `[*]` stands for any element. Of several for a
/// path the first that holds is right.
pub(crate) type Fields = HashMap<String, Vec<Use>>;

/// An annotation of a field and the versions in which it holds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Use {
    pub(crate) first: i32,
    pub(crate) last: i32,
    pub(crate) annotation: &'static Annotation,
}

/// A type of packet in a data file; `*` stands for all of a direction.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Place {
    pub(crate) family: Family,
    pub(crate) state: State,
    pub(crate) direction: Direction,
    pub(crate) packet: String,
}

impl FieldMeanings {
    /// Returns the meanings of a packet's fields; `None` if no field has one.
    #[must_use]
    pub fn of(protocol: &Protocol, packet: &PacketType) -> Option<Self> {
        let version = Version::of(protocol);
        let find = |name: &str| {
            let (family, packet) = (version.family, (packet, name.to_owned()));
            let (state, direction) = (packet.0.state(), packet.0.direction());
            tables().get(&Place { family, state, direction, packet: packet.1 })
        };
        let (own, shared) = (find(packet.name()), find(ANY));
        (own.is_some() || shared.is_some()).then_some(Self { version, own, shared })
    }

    /// Returns the meaning of the field at `path`, for example `items[*].itemId`. What depends on
    /// another field has a meaning if `other` returns its value.
    #[must_use]
    pub fn at(&self, path: &str, other: impl Fn(&str) -> Option<i64>) -> Option<FieldMeaning> {
        let own = || self.own?.get(path);
        let shared = || {
            let ends = |key: &str| key.strip_prefix(ANY).is_some_and(|end| path.ends_with(end));
            let fitting = self.shared?.iter().filter(|(key, _)| ends(key));
            fitting.max_by_key(|(key, _)| key.len()).map(|(_, uses)| uses)
        };
        let number = self.version.comparable();
        let holds = |it: &&Use| {
            let when = it.annotation.when.as_ref();
            (it.first..=it.last).contains(&number) && when.is_none_or(|when| when.holds(&other))
        };
        let found = own().and_then(|uses| uses.iter().find(holds));
        let found = found.or_else(|| shared()?.iter().find(holds))?;
        Some(FieldMeaning { annotation: found.annotation, version: self.version })
    }

    /// Returns what `value` means, which is the one at `path` (`items[3].itemId`) in a packet with these
    /// fields.
    #[must_use]
    pub fn text(&self, fields: &Value, path: &str, value: &Value) -> Option<String> {
        let scalar = match value.plain() {
            Value::Int(int) => Scalar::Int(*int),
            Value::Float32(float) => Scalar::Float32(*float),
            Value::Float64(float) => Scalar::Float64(*float),
            _ => return None,
        };
        let other = |field: &str| value_at(fields, &beside(field, path))?.as_int();
        let mut any = String::new();
        for part in path.split('[') {
            match part.split_once(']') {
                Some((_, rest)) => any = any + "[*]" + rest,
                None => any.push_str(part),
            }
        }
        Some(self.at(&any, other)?.text(&scalar)?.into_owned())
    }

    /// Returns the meaning that the field at `path` has under some condition.
    #[must_use]
    pub fn any_at(&self, path: &str) -> Option<FieldMeaning> {
        let number = self.version.comparable();
        let uses = self.own.and_then(|own| own.get(path));
        let found = uses.and_then(|it| it.iter().find(|it| (it.first..=it.last).contains(&number)));
        let meaning =
            found.map(|it| FieldMeaning { annotation: it.annotation, version: self.version });
        meaning.or_else(|| self.at(path, |_| None))
    }

    /// Returns whether the meaning of another field depends on the value at `path`.
    pub(crate) fn decides(&self, path: &str) -> bool {
        let conditions = self.own.into_iter().flat_map(|own| own.values().flatten());
        let mut conditions = conditions.filter_map(|it| it.annotation.when.as_ref());
        conditions.any(|when| when.fields.iter().any(|field| field == path))
    }
}

/// Returns the place of another field of the packet, of a list the element at the same position: for
/// `types[*]` beside `metadata[3]` it is `types[3]`.
pub(crate) fn beside(field: &str, place: &str) -> String {
    let mut positions = place.split('[').skip(1).filter_map(|part| part.split_once(']'));
    let mut parts = field.split("[*]");
    let mut found = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let position = positions.next().map_or("*", |(position, _)| position);
        found = found + "[" + position + "]" + part;
    }
    found
}

/// Returns the value at a place: `items[3].itemId`.
fn value_at<'v>(fields: &'v Value, place: &str) -> Option<&'v Value> {
    place.split(['.', '[']).try_fold(fields, |value, step| match step.strip_suffix(']') {
        Some(position) => match value.plain() {
            Value::List(items) => items.get(position.parse::<usize>().ok()?),
            _ => None,
        },
        None => value.get(step),
    })
}

/// Returns all annotations, read from the data files on first use.
pub(crate) fn tables() -> &'static HashMap<Place, Fields> {
    static TABLES: LazyLock<HashMap<Place, Fields>> = LazyLock::new(|| {
        let mut tables = HashMap::new();
        for (family, text) in FILES {
            read(family, text, &mut tables).expect("a test reads the data files");
        }
        tables
    });
    &TABLES
}

/// Stands for any packet, or for the path of what contains a field.
pub(crate) const ANY: &str = "*";

pub(crate) const FILES: [(Family, &str); 4] = [
    (Family::Java, include_str!("data/java.toml")),
    (Family::Alpha, include_str!("data/alpha.toml")),
    (Family::Legacy, include_str!("data/legacy.toml")),
    (Family::LegacyPing, include_str!("data/legacy-ping.toml")),
];
