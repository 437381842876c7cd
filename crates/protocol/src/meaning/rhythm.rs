//! What peers send by the clock of their game: the rows of `data/rhythm.toml`.

use std::sync::LazyLock;

use toml::de::DeValue;

use super::rows::{Entry, Table};
use crate::schema::{Family, PacketType, Release};

/// A packet that a peer sends by the clock of its game: a row of `[[rhythm]]`.
#[derive(Debug, Default)]
pub struct Rhythm {
    /// The ticks in which one is sent.
    pub ticks: u32,
    /// `true` if more than one is sent while the player moves.
    pub is_at_least: bool,
}

impl Rhythm {
    /// Returns the row of a packet, and the field with the age of the world in ticks, if the packet has it.
    #[must_use]
    pub fn of(
        release: Release,
        packet: &PacketType,
    ) -> Option<(&'static Self, Option<&'static str>)> {
        let mut rows = rhythms().of(release, packet)?.rows.values().flatten();
        let row = rows.find(|row| row.versions.contains(release))?;
        Some((row.entry, Some(&*row.path).filter(|path| !path.is_empty())))
    }
}

/// Returns whether the other peer answers a packet where it reads it, also while its game stands still.
#[must_use]
pub fn is_answered_aside(release: Release, packet: &PacketType) -> bool {
    asides().of(release, packet).is_some_and(|fields| fields.at("", release).next().is_some())
}

impl Entry for Rhythm {
    fn take(&mut self, key: &str, value: &DeValue<'_>) -> Option<()> {
        match key {
            "ticks" => self.ticks = value.as_integer()?.as_str().parse().ok()?,
            "at-least" => self.is_at_least = value.as_bool()?,
            _ => return None,
        }
        Some(())
    }
}

/// Returns the packets of a game's clock, read from the data file on first use.
pub(crate) fn rhythms() -> &'static Table<Rhythm> {
    static TABLE: LazyLock<Table<Rhythm>> =
        LazyLock::new(|| Table::read(&[(Family::Java, FILE)], "rhythm", str::to_owned));
    &TABLE
}

/// Returns the packets that are answered aside, read from the data file on first use.
pub(crate) fn asides() -> &'static Table<()> {
    static TABLE: LazyLock<Table<()>> =
        LazyLock::new(|| Table::read(&[(Family::Java, FILE)], "aside", str::to_owned));
    &TABLE
}

const FILE: &str = include_str!("data/rhythm.toml");
