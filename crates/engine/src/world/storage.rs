use std::sync::LazyLock;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use mitmcraft_protocol::schema::{Family, Release};

/// What `data/storage.toml` says of the versions of the game.
#[derive(Debug)]
pub(super) struct Storage {
    versions: Vec<(Release, DataVersion)>,
    block_entities: Vec<(String, String)>,
    gone: Vec<(String, Release)>,
}

/// The number that the game gives to the form of its worlds, and the version that it belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DataVersion {
    pub(super) number: i32,
    pub(super) name: String,
}

impl Storage {
    pub(super) fn get() -> &'static Self {
        static STORAGE: LazyLock<Storage> =
            LazyLock::new(|| Storage::parse(include_str!("data/storage.toml")).expect(WRITTEN));
        &STORAGE
    }

    fn parse(text: &str) -> Option<Self> {
        let file = DeTable::parse(text).ok()?.into_inner();
        let rows = |key: &str| -> Option<Vec<String>> {
            let DeValue::Array(rows) = file.get(key)?.get_ref() else { return None };
            let row = |row: &Spanned<DeValue<'_>>| match row.get_ref() {
                DeValue::String(text) => Some(text.clone().into_owned()),
                _ => None,
            };
            rows.iter().map(row).collect()
        };
        let release = |number: &str| Some(Release::new(Family::Java, number.parse().ok()?));
        let version = |row: &String| {
            let mut words = row.split(' ');
            let release = release(words.next()?)?;
            let number = words.next()?.parse().ok()?;
            Some((release, DataVersion { number, name: words.next()?.to_owned() }))
        };
        let pair = |row: &String| {
            let (one, other) = row.split_once(' ')?;
            Some((one.to_owned(), other.to_owned()))
        };
        let gone = |row: &String| {
            let (kind, last) = row.split_once(' ')?;
            Some((kind.to_owned(), release(last)?))
        };
        Some(Self {
            versions: rows("versions")?.iter().map(version).collect::<Option<_>>()?,
            block_entities: rows("block_entities")?.iter().map(pair).collect::<Option<_>>()?,
            gone: rows("gone")?.iter().map(gone).collect::<Option<_>>()?,
        })
    }

    /// Returns the data version of a release, or of the last one before it; `None` before 1.9.
    pub(super) fn data_version(&self, release: Release) -> Option<&DataVersion> {
        let older = self.versions.iter().filter(|(it, _)| *it <= release);
        older.max_by_key(|(it, _)| *it).map(|(_, found)| found)
    }

    /// Returns the type of the block entity that a block has, from 1.13 on.
    pub(super) fn block_entity(&self, block: &str, release: Release) -> Option<&str> {
        let (_, kind) = self.block_entities.iter().find(|(pattern, _)| fits(block, pattern))?;
        let is_gone = self.gone.iter().any(|(gone, last)| gone == kind && release > *last);
        (!kind.is_empty() && !is_gone).then_some(kind)
    }
}

/// Returns whether a name fits a pattern, which may begin with `*`.
fn fits(name: &str, pattern: &str) -> bool {
    match pattern.strip_prefix('*') {
        Some(end) => name.ends_with(end),
        None => name == pattern,
    }
}

const WRITTEN: &str = "`data/storage.toml` is read by a test";
