use std::collections::HashMap;
use std::sync::LazyLock;

use toml::de::{DeTable, DeValue};

use super::rows::{Versions, texts};
use crate::schema::{Family, Release};

/// The types of values in the metadata of entities: `data/metadata.toml`.
#[derive(Debug, Default)]
pub(crate) struct MetadataTypes {
    /// The names of types by their numbers, from 0.
    numbers: Vec<(Versions, Vec<String>)>,
    /// The types of keys. If several hold, the first one is right.
    keys: HashMap<String, Vec<KeyType>>,
}

/// The type of a key in some versions.
#[derive(Debug)]
pub(crate) struct KeyType {
    pub(crate) versions: Versions,
    /// The entities that have the key with this type; empty for all that have it.
    pub(crate) entities: Vec<String>,
    name: String,
}

/// Returns the name of a type by its number in a version; `None` if it is not known.
#[must_use]
pub fn metadata_type_name(release: Release, number: i64) -> Option<&'static str> {
    let (_, names) =
        MetadataTypes::get().numbers.iter().find(|(versions, _)| versions.contains(release))?;
    names.get(usize::try_from(number).ok()?).map(String::as_str)
}

/// Returns the type of the value with that key; `None` if it is not known, or depends on the type of the
/// entity and that is not.
#[must_use]
pub fn metadata_type(release: Release, key: &str, entity: Option<&str>) -> Option<&'static str> {
    let types = MetadataTypes::get().keys.get(key)?.iter();
    let is = |it: &&KeyType| {
        let of_entity = || it.entities.iter().any(|name| Some(&**name) == entity);
        it.versions.contains(release) && (it.entities.is_empty() || of_entity())
    };
    types.filter(is).map(|it| &*it.name).next()
}

impl MetadataTypes {
    /// Returns the types, read from the data file on first use.
    pub(crate) fn get() -> &'static Self {
        static TYPES: LazyLock<MetadataTypes> =
            LazyLock::new(|| MetadataTypes::read().expect("a test reads the data file"));
        &TYPES
    }

    /// Iterates over all keys with their types.
    #[cfg(test)]
    pub(crate) fn keys(&self) -> impl Iterator<Item = (&str, &KeyType)> {
        self.keys.iter().flat_map(|(key, types)| types.iter().map(move |it| (&**key, it)))
    }

    fn read() -> Option<Self> {
        let mut types = Self::default();
        let file = DeTable::parse(include_str!("data/metadata.toml")).ok()?;
        for entry in file.get_ref().get("metadata")?.get_ref().as_array()?.iter() {
            let entry = entry.get_ref().as_table()?;
            for (versions, names) in rows(entry.get("numbers").map(|it| it.get_ref()))? {
                types.numbers.push((versions, names.into_iter().map(str::to_owned).collect()));
            }
            for (versions, keys) in rows(entry.get("keys").map(|it| it.get_ref()))? {
                let name = entry.get("type")?.get_ref().as_str()?;
                let entities =
                    entry.get("entities").map_or(Some(Vec::new()), |it| texts(it.get_ref()))?;
                for key in keys {
                    let entities = entities.iter().map(|it| (*it).to_owned()).collect();
                    let it = KeyType { versions, entities, name: name.to_owned() };
                    types.keys.entry(key.to_owned()).or_default().push(it);
                }
            }
        }
        Some(types)
    }
}

/// Reads texts of the form `4-47: name name`.
fn rows<'t>(list: Option<&'t DeValue<'_>>) -> Option<Vec<(Versions, Vec<&'t str>)>> {
    let texts = list.map_or(Some(Vec::new()), texts)?.into_iter();
    let row = |text: &'t str| {
        let (versions, names) = text.split_once(": ")?;
        Some((Versions::parse(Family::Java, versions)?, names.split(' ').collect()))
    };
    texts.map(row).collect()
}
