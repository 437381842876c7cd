use std::collections::HashMap;

use super::block_entities::BlockEntity;
use super::tags::{compound, put};
use mitmcraft_protocol::meaning::{Registry, RegistryKind, registry};
use mitmcraft_protocol::schema::Protocol;
use mitmcraft_protocol::wire::{Compound, List, Tag, TagType};

/// The names of the block states of a version, as worlds have them from 1.13 on.
#[derive(Debug)]
pub(super) struct BlockNames {
    registry: Option<&'static Registry>,
    known: HashMap<u32, BlockName>,
}

/// A block with its state.
#[derive(Debug, Clone)]
pub(super) struct BlockName {
    /// The name with its namespace.
    name: String,
    properties: Vec<(String, String)>,
    /// The type of its block entity.
    pub(super) entity: Option<&'static str>,
}

impl BlockNames {
    pub(super) fn new(protocol: &Protocol) -> Self {
        Self { registry: registry(protocol, RegistryKind::Block), known: HashMap::new() }
    }

    /// Returns the name of a state; `None` if the version has no such state.
    pub(super) fn get(&mut self, state: u32, protocol: &Protocol) -> Option<&BlockName> {
        if !self.known.contains_key(&state) {
            let text = self.registry?.describe(state.into())?;
            let (name, properties) = text.split_once('[').unwrap_or((&text, ""));
            let properties = properties.trim_end_matches(']').split(',');
            let properties = properties.filter_map(|it| it.split_once('='));
            let named = BlockName {
                name: namespaced(name),
                properties: properties.map(|(key, it)| (key.to_owned(), it.to_owned())).collect(),
                entity: BlockEntity::kind_of(name, protocol),
            };
            self.known.insert(state, named);
        }
        self.known.get(&state)
    }
}

/// Returns the list of a palette's blocks: compounds with `Name`, since 26.3 names, or `id` where one has properties.
pub(super) fn palette(blocks: &[BlockName], has_ids: bool) -> Tag {
    let properties = |block: &BlockName| {
        let mut properties = Compound::default();
        for (key, value) in &block.properties {
            put(&mut properties, key, Tag::text(value));
        }
        Tag::Compound(properties)
    };
    let [name, states] = if has_ids { ["id", "properties"] } else { ["Name", "Properties"] };
    if has_ids && blocks.iter().all(|it| it.properties.is_empty()) {
        let names = blocks.iter().map(|it| Tag::text(&it.name)).collect();
        return Tag::List(List::new(TagType::Text, names));
    }
    let entry = |block: &BlockName| {
        // A list has one type: the game wraps those of another in a compound with an empty name.
        let plain = block.properties.is_empty();
        let name = if plain && has_ids { "" } else { name };
        let mut entry = compound([(name, Tag::text(&block.name))]);
        if !plain {
            put(&mut entry, states, properties(block));
        }
        Tag::Compound(entry)
    };
    Tag::List(List::new(TagType::Compound, blocks.iter().map(entry).collect()))
}

/// Packs the places of entries in a palette of `count` into longs, with `least` bits or more for each. Up to 1.15 an
/// entry can begin in one long and end in the next.
pub(super) fn pack(places: &[u16], count: usize, least: u32, straddles: bool) -> Vec<i64> {
    let bits = least.max(usize::BITS - count.saturating_sub(1).leading_zeros());
    let per_long = (u64::BITS / bits) as usize;
    if !straddles {
        let long = |places: &[u16]| {
            let bits = places.iter().rev().fold(0u64, |long, it| long << bits | u64::from(*it));
            bits.cast_signed()
        };
        return places.chunks(per_long).map(long).collect();
    }
    let mut longs = Vec::with_capacity((places.len() * bits as usize).div_ceil(64));
    let (mut pending, mut used) = (0u128, 0);
    for place in places {
        pending |= u128::from(*place) << used;
        used += bits;
        if used >= u64::BITS {
            // The low half.
            longs.push((pending as u64).cast_signed());
            pending >>= u64::BITS;
            used -= u64::BITS;
        }
    }
    if used > 0 {
        longs.push((pending as u64).cast_signed());
    }
    longs
}

/// Returns the different numbers of a list, in the order in which they occur, and the place of each number among them.
pub(super) fn distinct(numbers: &[u32]) -> (Vec<u32>, Vec<u16>) {
    let (mut all, mut places) = (Vec::new(), Vec::with_capacity(numbers.len()));
    let mut known: HashMap<u32, u16> = HashMap::new();
    let mut last: Option<(u32, u16)> = None;
    for number in numbers {
        let place = match last {
            Some((same, place)) if same == *number => place,
            _ => *known.entry(*number).or_insert_with(|| {
                all.push(*number);
                // There are at most 4,096.
                (all.len() - 1) as u16
            }),
        };
        last = Some((*number, place));
        places.push(place);
    }
    (all, places)
}

/// Returns a name with its namespace.
pub(super) fn namespaced(name: &str) -> String {
    if name.contains(':') { name.to_owned() } else { format!("minecraft:{name}") }
}
