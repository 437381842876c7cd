use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use serde_json::Value as Json;

use super::partial::object;
use super::{SchemaError, by_name};
use crate::wire::{is_unseen, named};

named! {
    /// A kind of thing that packets refer to by number, with a registry in each version.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum RegistryKind {
        /// Items; before 1.13 with the numbers of blocks among them.
        Item => "item",
        /// Blocks; since 1.13 each state of a block has a number.
        Block => "block",
        /// Entities; before 1.14 only those that are no objects.
        Entity => "entity",
        /// Status effects.
        Effect => "effect",
        /// Particles.
        Particle => "particle",
        /// Sounds.
        Sound => "sound",
        /// Biomes.
        Biome => "biome",
        /// Enchantments, up to 1.20.6; later servers send them.
        Enchantment => "enchantment",
        /// Potions, from 1.9 on.
        Potion => "potion",
        /// Types of block entities, from 1.18 on.
        BlockEntity => "block_entity",
        /// Entities with the keys of their metadata, which count from 0. Its own numbers mean nothing.
        Metadata => "metadata",
    }

    /// All kinds.
    pub const ALL;

    /// Returns `item`, `block`, `entity`, `effect`, `particle`, `sound`, `biome`, `enchantment`, `potion`,
    /// `block_entity` or `metadata`.
    pub fn name;
}

by_name!(RegistryKind);

/// The names that a version gives to the numbers of one kind.
#[derive(Debug, Default)]
pub struct Registry {
    /// Sorted by number.
    entries: Box<[Entry<'static>]>,
}

/// A name and its numbers.
#[derive(Debug)]
struct Entry<'t> {
    first: u32,
    count: u32,
    name: &'t str,
    /// The properties of a block with several states, `facing=north,south;half=top,bottom`, or the keys of
    /// an entity's metadata, `shared_flags,air_supply`.
    properties: &'t str,
}

impl Registry {
    /// Reads names in the order of their numbers; `@N` says that the next has the number N, which no name before it
    /// may have.
    pub(crate) fn new<'t>(tokens: impl Iterator<Item = &'t &'static str>) -> Option<Self> {
        Some(Self { entries: Self::entries(tokens.copied())?.into() })
    }

    fn entries<'t>(tokens: impl Iterator<Item = &'t str>) -> Option<Vec<Entry<'t>>> {
        let mut entries = Vec::new();
        let mut first = 0u32;
        for token in tokens {
            if let Some(number) = token.strip_prefix('@') {
                first = number.parse().ok().filter(|number| *number >= first)?;
                continue;
            }
            let (name, properties) = token.split_once('[').unwrap_or((token, ""));
            let properties = properties.trim_end_matches(']');
            let count = self::properties(properties).try_fold(1u32, |count, (_, values)| {
                count.checked_mul(values.split(',').count().try_into().ok()?)
            })?;
            entries.push(Entry { first, count, name, properties });
            first = first.checked_add(count)?;
        }
        Some(entries)
    }

    /// Returns the same entities with other keys of their metadata: what `keys` makes of a name and its keys.
    pub(crate) fn with_keys(&self, keys: impl Fn(&str, &str) -> String) -> Self {
        let changed = |entry: &Entry<'static>| Entry {
            // Names are borrowed for as long as the program runs.
            properties: Box::leak(keys(entry.name, entry.properties).into_boxed_str()),
            ..*entry
        };
        Self { entries: self.entries.iter().map(changed).collect() }
    }

    /// Returns the name of a number, without the state of a block.
    #[must_use]
    pub fn name(&self, number: i64) -> Option<&'static str> {
        Some(self.entry(number)?.name)
    }

    /// Returns the name of a number; a block with several states is `oak_stairs[facing=north,..]`.
    #[must_use]
    pub fn describe(&self, number: i64) -> Option<String> {
        let entry = self.entry(number)?;
        let mut state = number - i64::from(entry.first);
        let mut chosen = Vec::new();
        // The last property counts fastest.
        for (property, values) in properties(entry.properties).rev() {
            let count = values.split(',').count() as i64;
            let value = values.split(',').nth(usize::try_from(state % count).ok()?)?;
            chosen.push(format!("{property}={value}"));
            state /= count;
        }
        chosen.reverse();
        Some(match chosen.is_empty() {
            true => entry.name.to_owned(),
            false => format!("{}[{}]", entry.name, chosen.join(",")),
        })
    }

    /// Returns the name of the kind of block with this number, whatever its state.
    #[must_use]
    pub fn kind(&self, number: i64) -> Option<&'static str> {
        Some(self.entries.get(usize::try_from(number).ok()?)?.name)
    }

    /// Returns the numbers that have a name: one, or the states of a block; most names have one range.
    pub fn numbers(&self, name: &str) -> impl Iterator<Item = std::ops::RangeInclusive<i64>> {
        self.entries.iter().filter(move |entry| entry.name == name).map(|entry| {
            i64::from(entry.first)..=i64::from(entry.first) + i64::from(entry.count) - 1
        })
    }

    /// Returns the number of a kind of block.
    #[must_use]
    pub fn kind_number(&self, name: &str) -> Option<i64> {
        self.entries.iter().position(|entry| entry.name == name).map(|place| place as i64)
    }

    /// Returns the name of a key in the metadata of an entity.
    #[must_use]
    pub fn key(&self, entity: &str, key: i64) -> Option<&'static str> {
        let entry = self.entries.iter().find(|entry| entry.name == entity)?;
        let name = entry.properties.split(',').nth(usize::try_from(key).ok()?)?;
        (!name.is_empty()).then_some(name)
    }

    /// Returns the number of keys of an entity; `None` if they are not known.
    #[must_use]
    pub fn key_count(&self, entity: &str) -> Option<usize> {
        let entry = self.entries.iter().find(|entry| entry.name == entity)?;
        (!entry.properties.is_empty()).then(|| entry.properties.split(',').count())
    }

    /// Returns whether an entity has a key of this name; `None` if its keys are not known.
    #[must_use]
    pub fn has_key(&self, entity: &str, key: &str) -> Option<bool> {
        let entry = self.entries.iter().find(|entry| entry.name == entity)?;
        let has = || entry.properties.split(',').any(|name| name == key);
        (!entry.properties.is_empty()).then(has)
    }

    /// Iterates over all numbers, the first of each name, with their names.
    pub fn names(&self) -> impl Iterator<Item = (i64, &'static str)> {
        self.entries.iter().map(|entry| (entry.first.into(), entry.name))
    }

    /// Returns the names as a description has them: in the order of their numbers, blocks with the properties of
    /// their states, `@N` before a name whose number is N if that does not follow.
    #[must_use]
    pub fn tokens(&self) -> Vec<String> {
        Self::tokens_of(self.entries.iter().map(|entry| {
            let name = match entry.properties {
                "" => entry.name.to_owned(),
                properties => format!("{}[{properties}]", entry.name),
            };
            (u64::from(entry.first), u64::from(entry.count), name)
        }))
    }

    /// Returns names in that notation. Each has its first number and how many it has, below 2^32.
    pub(crate) fn tokens_of(numbered: impl IntoIterator<Item = (u64, u64, String)>) -> Vec<String> {
        let mut next = 0;
        let tokens = numbered.into_iter().flat_map(|(first, count, name)| {
            let skip = (first != next).then(|| format!("@{first}"));
            next = first + count;
            skip.into_iter().chain([name])
        });
        tokens.collect()
    }

    fn entry(&self, number: i64) -> Option<&Entry<'static>> {
        let number = u32::try_from(number).ok()?;
        let after = self.entries.partition_point(|entry| entry.first <= number);
        let entry = self.entries.get(after.checked_sub(1)?)?;
        (number - entry.first < entry.count).then_some(entry)
    }
}

fn properties(text: &str) -> impl DoubleEndedIterator<Item = (&str, &str)> {
    text.split(';').filter_map(|property| property.split_once('='))
}

/// The registries that a description has itself.
#[derive(Debug)]
pub(crate) struct OwnRegistries(BTreeMap<RegistryKind, Registry>);

impl OwnRegistries {
    pub(crate) fn get(&self, kind: RegistryKind) -> Option<&Registry> {
        self.0.get(&kind)
    }

    /// Reads the lists of names of a description. Names are borrowed for as long as the program runs, so equal ones
    /// are read once.
    pub(super) fn read(json: &Json) -> Result<&'static Self, SchemaError> {
        /// The text of registries, and what was read from it.
        static KEPT: Mutex<Vec<(String, &'static OwnRegistries)>> = Mutex::new(Vec::new());
        let text = json.to_string();
        let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, known)) = kept.iter().find(|(known, _)| *known == text) {
            return Ok(known);
        }
        let size: usize = kept.iter().map(|(text, _)| text.len()).sum();
        if size + text.len() > MOST_KEPT {
            return Err(fault("", "too many different lists of names were read"));
        }
        let own = Self::parse(json)?;
        let own = &*Box::leak(Box::new(own));
        kept.push((text, own));
        Ok(own)
    }

    fn parse(json: &Json) -> Result<Self, SchemaError> {
        let mut checked = Vec::new();
        for (name, list) in object(REGISTRIES, json)? {
            let kind = RegistryKind::ALL.into_iter().find(|it| it.name() == name);
            let kind = kind.ok_or_else(|| {
                let known = RegistryKind::ALL.map(RegistryKind::name).join(", ");
                fault("", &format!("unknown key `{name}`, not one of {known}"))
            })?;
            let tokens: Option<Vec<&str>> =
                list.as_array().and_then(|list| list.iter().map(Json::as_str).collect());
            let tokens = tokens.ok_or_else(|| fault(name, "expected a list of names"))?;
            let odd = |it: &&&str| {
                let is_number = |it: &str| it.bytes().all(|it| it.is_ascii_digit());
                it.is_empty()
                    || it.starts_with('[')
                    || it.strip_prefix('@').is_some_and(|it| !is_number(it))
                    || it.contains(|it: char| it.is_whitespace() || is_unseen(it))
            };
            if let Some(odd) = tokens.iter().find(odd) {
                return Err(fault(name, &format!("`{odd}` is not a name")));
            }
            let cause = "numbers must increase and end below 2^32";
            Registry::entries(tokens.iter().copied()).ok_or_else(|| fault(name, cause))?;
            checked.push((kind, tokens));
        }
        // Only names without a fault are kept.
        let kept = checked.into_iter().filter_map(|(kind, tokens)| {
            let text: &'static str = Box::leak(tokens.join(" ").into_boxed_str());
            let tokens: Vec<&'static str> = text.split(' ').filter(|it| !it.is_empty()).collect();
            Some((kind, Registry::new(tokens.iter())?))
        });
        Ok(Self(kept.collect()))
    }
}

fn fault(kind: &str, cause: &str) -> SchemaError {
    let at = if kind.is_empty() { REGISTRIES.to_owned() } else { format!("{REGISTRIES}.{kind}") };
    SchemaError { at, cause: cause.to_owned() }
}

/// The key of a description under which it has names of numbers.
pub(super) const REGISTRIES: &str = "registries";

/// Bytes of JSON with names that are kept at most. One version has 200,000.
const MOST_KEPT: usize = 8 << 20;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::meaning::{FieldMeanings, registry};
    use crate::schema::{Catalog, Direction, State, Value};

    #[test]
    fn numbers_skip_and_blocks_have_states() {
        let tokens = ["air", "@5", "stone", "door[half=top,bottom;open=true,false]", "dirt"];
        let registry = Registry::new(tokens.iter()).unwrap();
        let described = |number| registry.describe(number);
        assert_eq!(described(0).unwrap(), "air");
        assert_eq!(described(1), None);
        assert_eq!(described(-1), None);
        assert_eq!(described(5).unwrap(), "stone");
        assert_eq!(described(7).unwrap(), "door[half=top,open=false]");
        assert_eq!(described(8).unwrap(), "door[half=bottom,open=true]");
        assert_eq!(described(10).unwrap(), "dirt");
        assert_eq!(described(11), None);
        assert_eq!(registry.name(9), Some("door"));
        assert_eq!(registry.kind(2), Some("door"));
        assert_eq!(registry.kind_number("door"), Some(2));
        assert_eq!(registry.numbers("door").collect::<Vec<_>>(), [6..=9]);
        assert_eq!(registry.numbers("none").count(), 0);
        assert_eq!(registry.tokens(), tokens);
        let endless = ["a[b=1,2;c=1,2]", "@4294967295", "d"];
        assert!(Registry::new(endless.iter()).is_none());
    }

    #[test]
    fn a_description_has_names_of_its_own() {
        let mut catalog = Catalog::embedded().clone();
        let names = json!({ "item": ["air", "pike"], "block": ["air", "gate[open=true,false]", "@9", "end"] });
        let mine = json!({ "extends": 776, "number": 900, "registries": names });
        catalog.add(None, "mine", mine.clone()).unwrap();
        catalog.add(None, "again", mine).unwrap();
        // A later change keeps what it does not name.
        let more = json!({ "extends": 900, "registries": { "item": ["@1", "spear"] } });
        catalog.add(Some(901), "more", more).unwrap();
        for (number, item) in [(900, "pike"), (901, "spear")] {
            let protocol = catalog.find(number).unwrap().protocol;
            let named = |kind, number| registry(&protocol, kind).and_then(|it| it.describe(number));
            assert_eq!(named(RegistryKind::Item, 1).as_deref(), Some(item));
            assert_eq!(named(RegistryKind::Block, 2).as_deref(), Some("gate[open=false]"));
            assert_eq!(named(RegistryKind::Entity, 1), None);
            let window =
                protocol.named(State::Play, Direction::Clientbound, "set_cursor_item").unwrap();
            let fields = Value::Map(vec![]);
            let meaning = FieldMeanings::of(&protocol, window).unwrap();
            let text = meaning.text(&fields, "contents.itemId", &Value::Int(1));
            assert_eq!(text.as_deref(), Some(item));
        }
        for (names, fault) in [
            (json!([]), "registries: expected an object"),
            (json!({ "pet": [] }), "registries: unknown key `pet`, not one of item, block"),
            (json!({ "item": {} }), "registries.item: expected a list of names"),
            (json!({ "item": ["a b"] }), "registries.item: `a b` is not a name"),
            (json!({ "item": ["[a=1,2]"] }), "registries.item: `[a=1,2]` is not a name"),
            (json!({ "item": ["@+5", "a"] }), "registries.item: `@+5` is not a name"),
            (json!({ "item": ["\u{1b}[2J"] }), "registries.item: `\u{1b}[2J` is not a name"),
            (json!({ "item": ["a\u{202e}b"] }), "registries.item: `a\u{202e}b` is not a name"),
            (json!({ "item": ["@5", "a", "@2", "b"] }), "registries.item: numbers must increase"),
            (json!({ "item": ["@5", "a", "@5", "b"] }), "registries.item: numbers must increase"),
            (json!({ "block": ["a[b=1,2]", "@1", "c"] }), "registries.block: numbers must"),
        ] {
            let description = json!({ "extends": 776, "registries": names });
            let error = catalog.clone().add(Some(902), "it", description).unwrap_err().to_string();
            assert!(error.starts_with(fault), "{error}");
        }
    }

    /// They took room from the names of later captures.
    #[test]
    fn faulty_names_take_no_room() {
        for number in 0..3 {
            let long = format!("{number}{}", "a".repeat(MOST_KEPT / 2));
            let error = OwnRegistries::read(&json!({ "item": [long, "@0", "b"] })).unwrap_err();
            assert!(error.to_string().contains("numbers must increase"), "{error}");
        }
    }
}
