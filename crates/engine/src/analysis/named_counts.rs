use std::collections::BTreeMap;

use crate::capture::Record;
use mitmcraft_protocol::meaning::each_value;
use mitmcraft_protocol::schema::Scalar;

/// Counts the entities that appeared, by type, and the changes of blocks, by the new block. A change of
/// many blocks in one packet counts each.
///
/// Memory is bounded by the names that the game has.
#[derive(Debug, Default)]
pub struct NamedCounts {
    entities: BTreeMap<&'static str, u64>,
    blocks: BTreeMap<&'static str, u64>,
}

impl NamedCounts {
    /// Counts what a packet names.
    pub fn count(&mut self, record: &Record) {
        let packet = &record.packet;
        let Some(kind) = packet.kind() else { return };
        let counts = match &**kind.name() {
            name if ENTITIES.contains(&name) => &mut self.entities,
            name if BLOCKS.contains(&name) => &mut self.blocks,
            _ => return,
        };
        each_value(packet, &mut |tracker, leaf| {
            if let Some(meaning) = tracker.leaf(leaf)
                && let Scalar::Int(number) = leaf.value
                && meaning.names_things()
                && let Some(name) = meaning.name(number)
            {
                *counts.entry(name).or_default() += 1;
            }
        });
    }

    /// Adds other counts.
    pub(super) fn add(&mut self, other: &Self) {
        for (name, count) in &other.entities {
            *self.entities.entry(name).or_default() += count;
        }
        for (name, count) in &other.blocks {
            *self.blocks.entry(name).or_default() += count;
        }
    }

    /// Returns the entities that appeared and how many of each, the most frequent first.
    #[must_use]
    pub fn entities(&self) -> Vec<(&'static str, u64)> {
        sorted(&self.entities)
    }

    /// Returns the blocks that were placed by changes and how many of each, the most frequent first.
    #[must_use]
    pub fn blocks(&self) -> Vec<(&'static str, u64)> {
        sorted(&self.blocks)
    }
}

fn sorted(counts: &BTreeMap<&'static str, u64>) -> Vec<(&'static str, u64)> {
    let mut rows: Vec<_> = counts.iter().map(|(name, count)| (*name, *count)).collect();
    rows.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    rows
}

/// The packets by which entities appear, in all versions, except for players.
pub(super) const ENTITIES: [&str; 3] =
    ["spawn_entity", "spawn_entity_living", "spawn_entity_weather"];

/// The packets that change blocks, in all versions.
const BLOCKS: [&str; 2] = ["block_change", "multi_block_change"];
