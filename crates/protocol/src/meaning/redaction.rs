use std::sync::LazyLock;

use toml::de::{DeTable, DeValue};

use super::rows::{Entry, Fields, Table, texts};
use crate::schema::{Family, PacketType, Release};

/// The values of a type of packet that belong to the game and not to its players: rows of
/// `data/redaction.toml`.
#[derive(Debug, Clone, Copy)]
pub struct Kept {
    release: Release,
    /// The rows of the packet, and of fields that many packets have.
    rows: [Option<&'static Fields<Parts>>; 2],
}

/// A kind of value that is kept or redacted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// Texts.
    Text,
    /// NBT.
    Nbt,
    /// Bytes.
    Bytes,
}

/// The parts of a packet or field that are kept.
#[derive(Debug, Default)]
pub(crate) struct Parts(Vec<Part>);

impl Kept {
    /// Returns what is kept of packets of a type.
    #[must_use]
    pub fn of(release: Release, packet: &PacketType) -> Self {
        let table = table();
        Self { release, rows: [table.of(release, packet), table.shared(release, packet)] }
    }

    /// Returns whether values of that kind in a field are kept. `name` is the last name of its path.
    #[must_use]
    pub fn has(&self, part: Part, name: &str) -> bool {
        let keys = ["", name];
        let of = |fields: &&'static Fields<Parts>| {
            let mut rows = keys.iter().flat_map(|key| fields.at(key, self.release));
            rows.any(|row| row.entry.0.contains(&part))
        };
        self.rows.iter().flatten().any(of)
    }
}

impl Entry for Parts {
    fn take(&mut self, key: &str, value: &DeValue<'_>) -> Option<()> {
        let part = |name| match name {
            "texts" => Some(Part::Text),
            "nbt" => Some(Part::Nbt),
            "bytes" => Some(Part::Bytes),
            _ => None,
        };
        self.0 = texts(value)
            .filter(|_| key == "parts")?
            .into_iter()
            .map(part)
            .collect::<Option<_>>()?;
        Some(())
    }
}

/// Words that the game itself uses in texts.
#[derive(Debug)]
pub struct GameWords {
    /// Plugin channels whose payloads are harmless: brands and lists of channels.
    pub channels: Box<[String]>,
    /// Values of `action` and `type` in text components.
    pub actions: Box<[String]>,
    /// Names of members in the game's JSON.
    pub members: Box<[String]>,
}

impl GameWords {
    /// Returns the words, read from the data file on first use.
    ///
    /// # Panics
    /// Never: a test reads the data file.
    #[must_use]
    pub fn get() -> &'static Self {
        static WORDS: LazyLock<GameWords> =
            LazyLock::new(|| GameWords::read().expect("a test reads the data file"));
        &WORDS
    }

    fn read() -> Option<Self> {
        let file = DeTable::parse(FILE).ok()?;
        let words = file.get_ref().get("words")?.get_ref().as_table()?;
        let list = |name: &str| {
            let all = texts(words.get(name)?.get_ref())?;
            Some(all.into_iter().map(str::to_owned).collect())
        };
        Some(Self {
            channels: list("channels")?,
            actions: list("actions")?,
            members: list("members")?,
        })
    }
}

/// Returns what is kept of all packets, read from the data file on first use.
pub(crate) fn table() -> &'static Table<Parts> {
    static TABLE: LazyLock<Table<Parts>> = LazyLock::new(|| {
        let last = |path: &str| {
            let name = path.rsplit_once('.').map_or(path, |(_, name)| name);
            name.trim_end_matches("[*]").to_owned()
        };
        Table::read(&[(Family::Java, FILE)], "kept", last)
    });
    &TABLE
}

const FILE: &str = include_str!("data/redaction.toml");
