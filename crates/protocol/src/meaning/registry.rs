use crate::schema::by_name;
use crate::wire::named;

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
    entries: Box<[Entry]>,
}

/// A name and its numbers.
#[derive(Debug)]
struct Entry {
    first: u32,
    count: u32,
    name: &'static str,
    /// The properties of a block with several states, `facing=north,south;half=top,bottom`, or the keys of
    /// an entity's metadata, `shared_flags,air_supply`.
    properties: &'static str,
}

impl Registry {
    /// Reads names in the order of their numbers; `@N` says that the next has the number N.
    pub(super) fn new<'t>(tokens: impl Iterator<Item = &'t &'static str>) -> Option<Self> {
        let mut entries = Vec::new();
        let mut first = 0;
        for token in tokens {
            if let Some(number) = token.strip_prefix('@') {
                first = number.parse().ok()?;
                continue;
            }
            let (name, properties) = token.split_once('[').unwrap_or((token, ""));
            let properties = properties.trim_end_matches(']');
            let count = self::properties(properties)
                .map(|(_, values)| values.split(',').count() as u32)
                .product();
            entries.push(Entry { first, count, name, properties });
            first += count;
        }
        entries.is_sorted_by_key(|entry| entry.first).then(|| Self { entries: entries.into() })
    }

    /// Returns the same entities with other keys of their metadata: what `keys` makes of a name and its keys.
    pub(super) fn with_keys(&self, keys: impl Fn(&str, &str) -> String) -> Self {
        let changed = |entry: &Entry| Entry {
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

    /// Iterates over all numbers, the first of each name, with their names.
    pub fn names(&self) -> impl Iterator<Item = (i64, &'static str)> {
        self.entries.iter().map(|entry| (entry.first.into(), entry.name))
    }

    fn entry(&self, number: i64) -> Option<&Entry> {
        let number = u32::try_from(number).ok()?;
        let after = self.entries.partition_point(|entry| entry.first <= number);
        let entry = self.entries.get(after.checked_sub(1)?)?;
        (number - entry.first < entry.count).then_some(entry)
    }
}

fn properties(text: &'static str) -> impl DoubleEndedIterator<Item = (&'static str, &'static str)> {
    text.split(';').filter_map(|property| property.split_once('='))
}

#[cfg(test)]
mod tests {
    use super::*;

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
    }
}
