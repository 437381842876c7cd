use std::collections::{BTreeMap, HashMap};

use super::block_entities::BlockEntity;
use super::known_chunk::{KnownChunk, has_blocks, is_whole};
use super::log::RegionKey;
use super::memory;
use super::world_writer::LeftOut;
use mitmcraft_protocol::contents::{Changes, Column, Contents, Missing, Section};
use mitmcraft_protocol::packet::Packet;
use mitmcraft_protocol::schema::Release;

/// The chunks of a region, as packets make and change them one after the other.
#[derive(Debug)]
pub(super) struct Region {
    key: RegionKey,
    pub(super) chunks: BTreeMap<(i32, i32), KnownChunk>,
    /// Light of chunks that are not known, which comes before them from 1.14 to 1.17, and its size.
    lights: HashMap<(i32, i32), (Vec<Section>, usize)>,
    /// The approximate memory of the chunks and the lights, in bytes.
    pub(super) size: usize,
    /// The size above which nothing is added.
    pub(super) limit: usize,
}

impl Region {
    pub(super) fn new(key: RegionKey) -> Self {
        let (chunks, lights) = (BTreeMap::new(), HashMap::new());
        Self { key, chunks, lights, size: 0, limit: MAX_SIZE }
    }

    /// Takes a packet about blocks.
    pub(super) fn take(&mut self, packet: &Packet, left_out: &mut LeftOut) {
        match Contents::read(packet) {
            Some(Ok(contents)) => {
                for column in contents.columns {
                    self.column(column, packet, left_out);
                }
            }
            Some(Err(_)) => left_out.invalid += 1,
            None => match Changes::read(packet) {
                Some(Ok(changes)) => self.change(packet, &changes, left_out),
                Some(Err(_)) => left_out.invalid += 1,
                None => self.block_entity(packet, left_out),
            },
        }
    }

    fn column(&mut self, mut column: Column, packet: &Packet, left_out: &mut LeftOut) {
        let place = (column.x, column.z);
        if (place.0 >> 5, place.1 >> 5) != (self.key.1, self.key.2) {
            return;
        }
        column.sections.iter_mut().for_each(memory::detach);
        let release = packet.context().protocol.release();
        let is_light = packet.kind().is_some_and(|kind| &**kind.name() == "update_light");
        // One without blocks is malformed where all sections are sent.
        let has_all = column.missing == Missing::Air || column.sections.iter().any(has_blocks);
        let is_whole = !is_light && has_all && is_whole(column.missing, release);
        let size: usize = column.sections.iter_mut().map(memory::of_section).sum();
        if !is_whole && self.size + size > self.limit {
            left_out.too_many += 1;
            return;
        }
        let known = self.chunks.get_mut(&place).filter(|it| it.at <= packet.at());
        if is_light {
            match known {
                Some(known) if known.release() == release => {
                    self.size -= known.size();
                    known.light(column.sections);
                    self.size += known.size();
                }
                _ => {
                    let before = self.lights.insert(place, (column.sections, size));
                    self.size = self.size + size - before.map_or(0, |(_, size)| size);
                }
            }
            return;
        }
        if !is_whole {
            match known {
                _ if column.sections.is_empty() && column.biomes.is_none() => {}
                Some(known) if known.release() == release => {
                    self.size -= known.size();
                    known.update(column);
                    self.size += known.size();
                    known.at = packet.at();
                }
                _ => left_out.partial += 1,
            }
            return;
        }
        if self.chunks.get(&place).is_some_and(|it| it.at > packet.at()) {
            return;
        }
        let entities = BlockEntity::of_chunk(packet, place.0, place.1);
        left_out.too_many += u64::from(entities.len() > MAX_ENTITIES);
        let entities = entities.into_iter().take(MAX_ENTITIES).collect();
        let mut chunk = KnownChunk::new(column, packet, entities);
        let replaced = self.chunks.get(&place).map_or(0, KnownChunk::size);
        if self.size - replaced + chunk.size() > self.limit {
            left_out.too_many += 1;
            return;
        }
        let has_separate_light = (Release::V1_14..Release::V1_18).contains(&release);
        let before = self.chunks.remove(&place);
        let light = self.lights.remove(&place);
        self.size -= replaced + light.as_ref().map_or(0, |(_, size)| *size);
        if has_separate_light {
            if let Some((light, _)) = light {
                chunk.light(light);
            }
            if let Some(before) = before.filter(|it| it.release() == release) {
                chunk.keep_light(before);
            }
        }
        self.size += chunk.size();
        self.chunks.insert(place, chunk);
    }

    fn change(&mut self, packet: &Packet, changes: &Changes, left_out: &mut LeftOut) {
        let release = packet.context().protocol.release();
        if self.size > self.limit {
            left_out.too_many += 1;
            return;
        }
        for (at, state) in &changes.all {
            let [x, y, z] = *at;
            if (x >> 9, z >> 9) != (self.key.1, self.key.2) {
                continue;
            }
            let known = self.chunks.get_mut(&(x >> 4, z >> 4));
            let Some(chunk) = known.filter(|it| it.at <= packet.at()) else { continue };
            if chunk.release() != release {
                left_out.other_version += 1;
                continue;
            }
            // Explosions reach beyond the world.
            if !chunk.has_height(y) {
                continue;
            }
            let before = chunk.size();
            chunk.set_block(*at, *state);
            self.size = self.size - before + chunk.size();
            chunk.at = packet.at();
        }
    }

    fn block_entity(&mut self, packet: &Packet, left_out: &mut LeftOut) {
        let Some((at, entity)) = BlockEntity::of_packet(packet) else { return };
        let known = self.chunks.get_mut(&(at[0] >> 4, at[2] >> 4));
        let release = packet.context().protocol.release();
        let is_fit = |it: &&mut KnownChunk| {
            it.at <= packet.at() && it.release() == release && it.has_height(at[1])
        };
        let Some(chunk) = known.filter(is_fit) else { return };
        let before = chunk.block_entities.get(&at).map_or(0, |it| it.size);
        let after = entity.as_ref().map_or(0, |it| it.size);
        let is_new = before == 0 && after > 0;
        if after > before && self.size - before + after > self.limit
            || is_new && chunk.block_entities.len() >= MAX_ENTITIES
        {
            left_out.too_many += 1;
            return;
        }
        chunk.at = packet.at();
        chunk.set_entity(at, entity);
        self.size = self.size - before + after;
    }
}

/// The most memory that a region takes, roughly, in bytes.
const MAX_SIZE: usize = 256 << 20;

/// Block entities of a chunk that are kept at most.
const MAX_ENTITIES: usize = 1 << 16;
