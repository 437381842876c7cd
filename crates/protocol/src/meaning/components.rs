use std::sync::LazyLock;

use super::rows::{Table, names};
use crate::schema::{Family, PacketType, Release};

/// Returns whether the field at `path` (names separated by dots, without indexes) holds a text component, in
/// JSON if it is a text. The descriptions do not tell it from other texts.
#[must_use]
pub fn is_component(release: Release, packet: &PacketType, path: &str) -> bool {
    let fields = table().of(release, packet);
    fields.is_some_and(|fields| fields.at(path, release).next().is_some())
}

/// Returns the fields of all packets that hold components, read from the data file on first use.
pub(crate) fn table() -> &'static Table<()> {
    static TABLE: LazyLock<Table<()>> =
        LazyLock::new(|| Table::read(&[(Family::Java, FILE)], "component", names));
    &TABLE
}

const FILE: &str = include_str!("data/components.toml");
