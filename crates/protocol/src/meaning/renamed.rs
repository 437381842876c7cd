use std::collections::BTreeMap;
use std::sync::LazyLock;

use toml::de::DeValue;

use super::rows::{Entry, Row, Table};
use crate::schema::{Family, Release};

/// The work of packets or fields with several names.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Work(String);

impl Entry for Work {
    fn take(&mut self, key: &str, value: &DeValue<'_>) -> Option<()> {
        self.0 = value.as_str().filter(|_| key == "work")?.to_owned();
        Some(())
    }
}

/// Returns the packets that do the same work as those of the name `packet`, the oldest first.
#[must_use]
pub fn other_packets(packet: &str) -> Vec<&'static str> {
    let others = others(packet, |name, row| row.path.is_empty().then_some(name));
    others.into_iter().map(|(name, _)| name).collect()
}

/// Returns the names that a field has in other versions, with the first of them, the oldest first.
#[must_use]
pub fn other_fields(field: &str) -> Vec<(&'static str, Release)> {
    others(field, |_, row| row.path.rsplit('.').next().filter(|name| !name.is_empty()))
}

/// Returns the other names in the rows of a work that `name` has too; `named` gives the name in a row.
fn others(
    name: &str,
    named: impl Fn(&'static str, &'static Row<Work>) -> Option<&'static str>,
) -> Vec<(&'static str, Release)> {
    let rows = table().iter().flat_map(|(_, packet, fields)| {
        fields
            .rows
            .values()
            .flatten()
            .filter_map(|row| Some((named(packet, row)?, row)))
            .collect::<Vec<_>>()
    });
    let rows: Vec<(&str, &Row<Work>)> = rows.collect();
    let works: Vec<&Work> =
        rows.iter().filter(|(it, _)| *it == name).map(|(_, row)| row.entry).collect();
    let others = rows.iter().filter(|(it, row)| *it != name && works.contains(&row.entry));
    let mut first: BTreeMap<&str, Release> = BTreeMap::new();
    for (name, row) in others {
        let known = first.entry(name).or_insert(row.versions.first);
        *known = (*known).min(row.versions.first);
    }
    let mut others: Vec<_> = first.into_iter().collect();
    others.sort_by_key(|(_, release)| *release);
    others
}

/// Returns what packets and fields do, read from the data file on first use.
pub(crate) fn table() -> &'static Table<Work> {
    static TABLE: LazyLock<Table<Work>> =
        LazyLock::new(|| Table::read(&[(Family::Java, FILE)], "renamed", str::to_owned));
    &TABLE
}

const FILE: &str = include_str!("data/names.toml");
