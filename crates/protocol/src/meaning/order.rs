use std::sync::LazyLock;
use std::time::Duration;

use toml::de::DeValue;

use super::rows::{Entry, Table, texts};
use crate::packet::Packet;
use crate::schema::{Family, PacketType, Release, Value};

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

/// Something for which the game waits after Join Game before it shows the world.
#[derive(Debug, Clone)]
pub struct Awaited {
    /// What the packet brings, in words.
    pub what: &'static str,
    /// `true` if only what is at the player's place counts.
    pub is_at_player: bool,
    /// The time after which the game goes on without; `None` if it never does.
    pub patience: Option<Duration>,
    /// The names of the packets that bring it.
    packets: Vec<&'static str>,
    /// The value of the packet's field `reason`, if only one counts.
    reason: Option<&'static str>,
}

impl Awaited {
    /// Returns what a version waits for; what has to be at the player's place is last.
    #[must_use]
    pub fn of(release: Release) -> Vec<Self> {
        let mut found: Vec<Self> = Vec::new();
        let mut rows: Vec<_> = awaited()
            .iter()
            .filter(|((family, ..), ..)| *family == release.family())
            .flat_map(|(_, name, fields)| fields.at("", release).map(move |row| (row.entry, name)))
            .collect();
        rows.sort_by_key(|(entry, name)| (entry.is_at_player, &entry.what, *name));
        for (AwaitedRow { what, reason, seconds, is_at_player }, name) in rows {
            match found.iter_mut().find(|known| known.what == what) {
                Some(known) => known.packets.push(name),
                None => found.push(Self {
                    what,
                    is_at_player: *is_at_player,
                    patience: seconds.map(Duration::from_secs),
                    packets: vec![name],
                    reason: reason.as_deref(),
                }),
            }
        }
        found
    }

    /// Returns whether a packet of the server brings it.
    #[must_use]
    pub fn is_in(&self, packet: &Packet) -> bool {
        let is_named = packet.kind().is_some_and(|kind| self.packets.contains(&&**kind.name()));
        let is_reason = |wanted| {
            let fields = packet.value().ok();
            fields.is_some_and(|it| it.get("reason").and_then(Value::as_text) == Some(wanted))
        };
        is_named && self.reason.is_none_or(is_reason)
    }
}

/// A row of `[[awaited]]`.
#[derive(Debug, Default)]
pub(crate) struct AwaitedRow {
    what: String,
    reason: Option<String>,
    seconds: Option<u64>,
    is_at_player: bool,
}

impl Entry for AwaitedRow {
    fn take(&mut self, key: &str, value: &DeValue<'_>) -> Option<()> {
        match key {
            "what" => self.what = value.as_str()?.to_owned(),
            "reason" => self.reason = Some(value.as_str()?.to_owned()),
            "seconds" => self.seconds = Some(value.as_integer()?.as_str().parse().ok()?),
            "at" => self.is_at_player = value.as_str()? == "player",
            _ => return None,
        }
        Some(())
    }
}

/// Returns whether a client sends a packet by itself, also while it loads the world.
#[must_use]
pub fn is_automatic(release: Release, packet: &PacketType) -> bool {
    automatic().of(release, packet).is_some_and(|fields| fields.at("", release).next().is_some())
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

/// Returns the packets for which the game waits, read from the data file on first use.
pub(crate) fn awaited() -> &'static Table<AwaitedRow> {
    static TABLE: LazyLock<Table<AwaitedRow>> =
        LazyLock::new(|| Table::read(&[(Family::Java, FILE)], "awaited", str::to_owned));
    &TABLE
}

/// Returns the packets that need no player, read from the data file on first use.
pub(crate) fn automatic() -> &'static Table<()> {
    static TABLE: LazyLock<Table<()>> =
        LazyLock::new(|| Table::read(&[(Family::Java, FILE)], "automatic", str::to_owned));
    &TABLE
}

const FILE: &str = include_str!("data/order.toml");
