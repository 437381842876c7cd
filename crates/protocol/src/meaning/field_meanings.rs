use std::sync::LazyLock;

use super::FieldMeaning;
use super::annotation::{Annotation, Known, POSITION, bare};
use super::registries::Named;
use super::rows::{ANY, Fields, Row, Table};
use crate::packet::any_position;
use crate::schema::{Family, PacketType, Protocol, Scalar, Value};

/// The meanings of the fields of one type of packet in one version.
#[derive(Debug, Clone, Copy)]
pub struct FieldMeanings {
    named: Named,
    /// The annotations of the packet, and of fields that many packets have.
    own: Option<&'static Fields<Annotation>>,
    shared: Option<&'static Fields<Annotation>>,
}

impl FieldMeanings {
    /// Returns the meanings of a packet's fields; `None` if no field has one.
    #[must_use]
    pub fn of(protocol: &Protocol, packet: &PacketType) -> Option<Self> {
        let named = Named::of(protocol);
        let release = named.release;
        let (own, shared) = (table().of(release, packet), table().shared(release, packet));
        (own.is_some() || shared.is_some()).then_some(Self { named, own, shared })
    }

    /// Returns the meaning of the field at `path`, for example `items[*].itemId`. What depends on
    /// another field has a meaning if `other` returns its value.
    #[must_use]
    pub fn at<'k>(
        &self,
        path: &str,
        other: impl Fn(&str) -> Option<Known<'k>>,
    ) -> Option<FieldMeaning> {
        let own = || self.own?.rows.get(path);
        let shared = || {
            let ends = |key: &str| key.strip_prefix(ANY).is_some_and(|end| path.ends_with(end));
            let fitting = self.shared?.rows.iter().filter(|(key, _)| ends(key));
            fitting.max_by_key(|(key, _)| key.len()).map(|(_, rows)| rows)
        };
        let holds = |it: &&Row<Annotation>| {
            it.versions.contains(self.named.release)
                && it.when.iter().all(|when| when.holds(&other))
        };
        let found = own().and_then(|rows| rows.iter().find(holds));
        let found = found.or_else(|| shared()?.iter().find(holds))?;
        Some(FieldMeaning { annotation: found.entry, named: self.named })
    }

    /// Returns what `value` means, which is the one at `path` (`items[3].itemId`) in a packet with these
    /// fields.
    #[must_use]
    pub fn text(&self, fields: &Value, path: &str, value: &Value) -> Option<String> {
        let scalar = match value.plain() {
            Value::Int(int) => Scalar::Int(*int),
            Value::Float32(float) => Scalar::Float32(*float),
            Value::Float64(float) => Scalar::Float64(*float),
            Value::Bool(bool) => Scalar::Bool(*bool),
            _ => return None,
        };
        let other = |field: &str| {
            if field == POSITION {
                return Some(position(path)?.into());
            }
            let place = beside(field, path);
            Some(match value_at(fields, &place)?.plain() {
                Value::Bool(bool) => i64::from(*bool).into(),
                Value::Text(text) => Known { number: None, name: Some(bare(text)) },
                value => {
                    let number = value.as_int()?;
                    let name = self.any_at(&any_position(&place)).and_then(|it| it.name(number));
                    Known { number: Some(number), name }
                }
            })
        };
        Some(self.at(&any_position(path), other)?.text(&scalar)?.into_owned())
    }

    /// Returns the meaning that the field at `path` has under some condition.
    #[must_use]
    pub fn any_at(&self, path: &str) -> Option<FieldMeaning> {
        let found = self.own.and_then(|own| own.at(path, self.named.release).next());
        let meaning = found.map(|it| FieldMeaning { annotation: it.entry, named: self.named });
        meaning.or_else(|| self.at(path, |_| None))
    }

    /// Returns whether the meaning of another field depends on the value at `path`.
    pub(crate) fn decides(&self, path: &str) -> bool {
        let sibling = path.rsplit_once('.').map(|(_, name)| name);
        [self.own, self.shared].into_iter().flatten().any(|fields| {
            let relative = |field: &String| field.strip_prefix("*.") == sibling;
            fields.deciding.contains(path)
                || sibling.is_some() && fields.deciding.iter().any(relative)
        })
    }

    /// Returns whether the meaning of a field depends on a value behind it.
    pub(crate) fn looks_ahead(&self) -> bool {
        self.own.is_some_and(|own| !own.later.is_empty())
    }
}

/// Returns the position in the innermost list of a place: 3 for `items[3].itemId`.
pub(super) fn position(place: &str) -> Option<i64> {
    place.rsplit_once('[')?.1.split_once(']')?.0.parse().ok()
}

/// Returns the place of another field of the packet, of a list the element at the same position: for
/// `types[*]` beside `metadata[3]` it is `types[3]`. `*.blockId` is in the same container.
pub(crate) fn beside(field: &str, place: &str) -> String {
    if let Some(name) = field.strip_prefix("*.") {
        return place
            .rsplit_once('.')
            .map_or_else(|| name.to_owned(), |(outer, _)| format!("{outer}.{name}"));
    }
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
pub(crate) fn table() -> &'static Table<Annotation> {
    static TABLE: LazyLock<Table<Annotation>> =
        LazyLock::new(|| Table::read(&FILES, "meaning", str::to_owned));
    &TABLE
}

pub(crate) const FILES: [(Family, &str); 4] = [
    (Family::Java, include_str!("data/java.toml")),
    (Family::Alpha, include_str!("data/alpha.toml")),
    (Family::Legacy, include_str!("data/legacy.toml")),
    (Family::LegacyPing, include_str!("data/legacy-ping.toml")),
];
