use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use mitmcraft_protocol::contents::{
    BiomeMap, Blocks, Column, Container, Missing, Palette, Section,
};
use mitmcraft_protocol::packet::{Context, Packet, Timestamp};
use mitmcraft_protocol::schema::Release;

use super::block_entities::BlockEntity;
use super::memory;

/// A chunk as it was when it was last seen.
#[derive(Debug)]
pub(super) struct KnownChunk {
    /// The coordinates, in chunks.
    pub(super) x: i32,
    /// See [`x`](Self::x).
    pub(super) z: i32,
    /// The context of the session that saw it.
    pub(super) context: Arc<Context>,
    /// The time of the last packet about it.
    pub(super) at: Timestamp,
    /// The sections by their number, with those that have only light.
    pub(super) sections: BTreeMap<i32, Section>,
    /// The biomes, up to 1.17.
    pub(super) biomes: Option<BiomeMap>,
    /// The states of blocks that changed later, by their section and their index in it.
    pub(super) changes: BTreeMap<i32, HashMap<u16, u32>>,
    /// The block entities, by x, y and z.
    pub(super) block_entities: BTreeMap<[i32; 3], BlockEntity>,
    /// `true` if the server has sent its light.
    pub(super) is_lit: bool,
    /// The approximate memory of the sections, in bytes.
    sections_size: usize,
    /// The approximate memory of everything else, in bytes.
    rest_size: usize,
}

impl KnownChunk {
    /// Makes a chunk of a column that is all of it, and of its block entities.
    pub(super) fn new(
        column: Column,
        packet: &Packet,
        block_entities: BTreeMap<[i32; 3], BlockEntity>,
    ) -> Self {
        let context = Arc::clone(packet.context());
        // Data of block entities is part of the packet's bytes, which stay with it.
        let kept = if block_entities.is_empty() { 0 } else { packet.size() };
        let mut chunk = Self {
            x: column.x,
            z: column.z,
            context,
            at: packet.at(),
            sections: BTreeMap::new(),
            biomes: column.biomes,
            changes: BTreeMap::new(),
            block_entities,
            is_lit: false,
            sections_size: 0,
            rest_size: 0,
        };
        chunk.put(column.sections);
        let (x, z) = (chunk.x, chunk.z);
        let mut entities = std::mem::take(&mut chunk.block_entities);
        entities.retain(|at, _| (at[0] >> 4, at[2] >> 4) == (x, z) && chunk.has_height(at[1]));
        chunk.block_entities = entities;
        chunk.rest_size = kept + chunk.measure_rest();
        chunk
    }

    pub(super) fn release(&self) -> Release {
        self.context.protocol.release()
    }

    /// Returns the approximate memory of the chunk, in bytes.
    pub(super) fn size(&self) -> usize {
        self.sections_size + self.rest_size
    }

    /// Replaces the sections that a packet has, which is not all of the chunk.
    pub(super) fn update(&mut self, column: Column) {
        let kept = self.rest_size - self.measure_rest();
        for section in &column.sections {
            let number = section.origin[1] >> 4;
            self.changes.remove(&number);
            self.block_entities.retain(|[_, y, _], _| y >> 4 != number);
        }
        self.put(column.sections);
        self.biomes = column.biomes.or_else(|| self.biomes.take());
        self.rest_size = kept + self.measure_rest();
    }

    /// Adds the light of sections.
    pub(super) fn light(&mut self, sections: Vec<Section>) {
        for section in sections {
            let number = section.origin[1] >> 4;
            self.is_lit |= section.block_light.is_some() || section.sky_light.is_some();
            match self.sections.get_mut(&number) {
                Some(known) => {
                    known.block_light = section.block_light.or_else(|| known.block_light.take());
                    known.sky_light = section.sky_light.or_else(|| known.sky_light.take());
                }
                None => {
                    self.sections.insert(number, section);
                }
            }
        }
        self.measure_sections();
    }

    /// Keeps the light of `before`, the same chunk as it was sent earlier, where this one has none.
    pub(super) fn keep_light(&mut self, before: Self) {
        for (number, mut section) in before.sections {
            section.blocks = None;
            let Some(known) = self.sections.get_mut(&number) else {
                self.light(vec![section]);
                continue;
            };
            if known.block_light.is_none() && known.sky_light.is_none() {
                self.light(vec![section]);
            }
        }
    }

    /// Puts a block.
    pub(super) fn set_block(&mut self, [x, y, z]: [i32; 3], state: u32) {
        // Four bits each.
        let index = ((y & 15) << 8 | (z & 15) << 4 | x & 15) as u16;
        let before = self.changes.entry(y >> 4).or_default().insert(index, state);
        self.rest_size += if before.is_none() { CHANGE } else { 0 };
    }

    /// Sets or removes a block entity.
    pub(super) fn set_entity(&mut self, at: [i32; 3], entity: Option<BlockEntity>) {
        self.rest_size += entity.as_ref().map_or(0, |it| it.size);
        let before = match entity {
            Some(entity) => self.block_entities.insert(at, entity),
            None => self.block_entities.remove(&at),
        };
        self.rest_size -= before.map_or(0, |it| it.size);
    }

    /// Returns whether the world has blocks at this height.
    pub(super) fn has_height(&self, y: i32) -> bool {
        let number = y >> 4;
        match self.release() < Release::V1_18 {
            true => OLD_HEIGHT.contains(&number),
            // No section of the world is left out of a packet.
            false => self.sections.get(&number).is_some_and(has_blocks),
        }
    }

    /// Returns whether a block has changed since the chunk came.
    pub(super) fn has_changed(&self, [x, y, z]: [i32; 3]) -> bool {
        let index = ((y & 15) << 8 | (z & 15) << 4 | x & 15) as u16;
        self.changes.get(&(y >> 4)).is_some_and(|section| section.contains_key(&index))
    }

    /// Returns the states of the blocks of a section, x fastest, then z; `None` if it has no blocks. A number that its
    /// palette does not have is that of air, and is counted in `unknown`.
    pub(super) fn states(&self, number: i32, unknown: &mut u64) -> Option<Vec<u32>> {
        let changes = self.changes.get(&number);
        let blocks = self.sections.get(&number).filter(|it| it.blocks.is_some());
        let mut states: Vec<u32> = match blocks {
            Some(section) => section
                .states()
                .map(|state| {
                    state.unwrap_or_else(|| {
                        *unknown += 1;
                        AIR
                    })
                })
                .collect(),
            None if changes.is_some() => vec![AIR; VOLUME],
            None => return None,
        };
        for (index, state) in changes.into_iter().flatten() {
            if let Some(place) = states.get_mut(usize::from(*index)) {
                *place = *state;
            }
        }
        Some(states)
    }

    /// Returns the state that all blocks of a section have, if the packet says so and none has changed.
    pub(super) fn single(&self, number: i32) -> Option<u32> {
        match self.sections.get(&number)?.blocks.as_ref()? {
            Blocks::Packed(Container { palette: Palette::Single(state), .. })
                if !self.changes.contains_key(&number) =>
            {
                Some(*state)
            }
            _ => None,
        }
    }

    /// Returns the numbers of sections that have blocks or light.
    pub(super) fn numbers(&self) -> Vec<i32> {
        let mut numbers: Vec<i32> =
            self.sections.keys().chain(self.changes.keys()).copied().collect();
        numbers.sort_unstable();
        numbers.dedup();
        numbers
    }

    fn put(&mut self, sections: Vec<Section>) {
        let is_old = self.release() < Release::V1_17;
        for section in sections {
            let number = section.origin[1] >> 4;
            if is_old && has_blocks(&section) && !OLD_HEIGHT.contains(&number) {
                continue;
            }
            self.is_lit |= section.block_light.is_some() || section.sky_light.is_some();
            self.sections.insert(number, section);
        }
        self.measure_sections();
    }

    fn measure_sections(&mut self) {
        self.sections_size = self.sections.values_mut().map(memory::of_section).sum();
    }

    fn measure_rest(&self) -> usize {
        let entities: usize = self.block_entities.values().map(|it| it.size).sum();
        let changes: usize = self.changes.values().map(HashMap::len).sum();
        entities + changes * CHANGE + self.biomes.as_ref().map_or(0, memory::of_biomes)
    }
}

/// Returns whether a packet has all of a chunk, by the fate of the sections that it does not have.
pub(super) fn is_whole(missing: Missing, release: Release) -> bool {
    match missing {
        Missing::Air => true,
        Missing::Kept => release >= Release::V1_18,
        Missing::Unloaded => false,
    }
}

/// Returns whether a section has blocks, not only light.
pub(super) fn has_blocks(section: &Section) -> bool {
    section.blocks.is_some()
}

/// The sections of a world up to 1.17: the game cannot load others up to 1.13.
const OLD_HEIGHT: std::ops::Range<i32> = 0..16;

/// The approximate memory of a changed block, in bytes.
const CHANGE: usize = 32;

/// Blocks of a section.
pub(super) const VOLUME: usize = 16 * 16 * 16;

/// The state of air in every version.
pub(super) const AIR: u32 = 0;
