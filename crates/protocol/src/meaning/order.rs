use std::sync::LazyLock;

use toml::de::DeValue;

use super::rows::{Entry, Table, texts};
use crate::schema::{Family, PacketType, Release};

/// Returns whether a packet changes the world or the player, which exist from Join Game on.
#[must_use]
pub fn needs_world(release: Release, packet: &PacketType) -> bool {
    world().of(release, packet).is_some_and(|fields| fields.at("", release).next().is_some())
}

/// Registries without whose entries the game cannot go on: a row of `data/order.toml`.
#[derive(Debug)]
pub struct NeededRegistries {
    /// The names of the registries.
    pub names: Box<[String]>,
    /// `false` if the game may go on nevertheless.
    pub certain: bool,
}

impl NeededRegistries {
    /// Iterates over those that a packet needs, each with the field of the packet that has them; it is empty
    /// for those that were sent before.
    pub fn of(
        release: Release,
        packet: &PacketType,
    ) -> impl Iterator<Item = (&'static str, &'static Self)> {
        let fields = registries().of(release, packet);
        let rows = fields.into_iter().flat_map(|fields| fields.rows.values().flatten());
        let rows = rows.filter(move |row| row.versions.contains(release));
        rows.map(|row| (&*row.path, row.entry))
    }
}

impl Default for NeededRegistries {
    fn default() -> Self {
        Self { names: Box::default(), certain: true }
    }
}

impl Entry for NeededRegistries {
    fn take(&mut self, key: &str, value: &DeValue<'_>) -> Option<()> {
        match key {
            "names" => self.names = texts(value)?.into_iter().map(str::to_owned).collect(),
            "certain" => self.certain = value.as_bool()?,
            _ => return None,
        }
        Some(())
    }
}

/// Returns the packets that need a world, read from the data file on first use.
pub(crate) fn world() -> &'static Table<()> {
    static TABLE: LazyLock<Table<()>> =
        LazyLock::new(|| Table::read(&[(Family::Java, FILE)], "world", str::to_owned));
    &TABLE
}

/// Returns the registries that packets need, read from the data file on first use.
pub(crate) fn registries() -> &'static Table<NeededRegistries> {
    static TABLE: LazyLock<Table<NeededRegistries>> =
        LazyLock::new(|| Table::read(&[(Family::Java, FILE)], "registries", str::to_owned));
    &TABLE
}

const FILE: &str = include_str!("data/order.toml");
