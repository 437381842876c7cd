use std::collections::{BTreeMap, HashMap};

use super::block_entities::BlockEntity;
use super::known_chunk::{KnownChunk, is_whole};
use super::log::RegionKey;
use super::world_writer::LeftOut;
use mitmcraft_protocol::contents::{Changes, Column, Contents, Section};
use mitmcraft_protocol::packet::Packet;
use mitmcraft_protocol::schema::Release;

/// The chunks of a region, as packets make and change them one after the other.
#[derive(Debug)]
pub(super) struct Region {
    key: RegionKey,
    pub(super) chunks: BTreeMap<(i32, i32), KnownChunk>,
    /// Light of chunks that are not known, which comes before them from 1.14 to 1.17.
    lights: HashMap<(i32, i32), Vec<Section>>,
    /// The approximate size of the chunks in bytes.
    size: usize,
}

impl Region {
    pub(super) fn new(key: RegionKey) -> Self {
        Self { key, chunks: BTreeMap::new(), lights: HashMap::new(), size: 0 }
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
                None => self.block_entity(packet),
            },
        }
    }

    fn column(&mut self, column: Column, packet: &Packet, left_out: &mut LeftOut) {
        let place = (column.x, column.z);
        if (place.0 >> 5, place.1 >> 5) != (self.key.1, self.key.2) {
            return;
        }
        let release = packet.context().protocol.release();
        let is_light = packet.kind().is_some_and(|kind| &**kind.name() == "update_light");
        let known = self.chunks.get_mut(&place).filter(|it| it.at <= packet.at());
        if is_light {
            match known {
                Some(known) if known.release() == release => known.light(column.sections),
                _ => {
                    self.lights.insert(place, column.sections);
                }
            }
            return;
        }
        if !is_whole(&column, release) {
            match known {
                _ if column.sections.is_empty() && column.biomes.is_none() => {}
                Some(known) if known.release() == release => {
                    known.update(column);
                    known.at = packet.at();
                }
                _ => left_out.partial += 1,
            }
            return;
        }
        if self.chunks.get(&place).is_some_and(|it| it.at > packet.at()) {
            return;
        }
        let size = self.size - self.chunks.get(&place).map_or(0, |it| it.size) + packet.size();
        if size > MAX_SIZE {
            left_out.too_many += 1;
            return;
        }
        self.size = size;
        let mut chunk = KnownChunk::new(column, packet);
        chunk.block_entities =
            BlockEntity::of_chunk(packet, place.0, place.1).into_iter().collect();
        let has_separate_light = (Release::V1_14..Release::V1_18).contains(&release);
        let before = self.chunks.remove(&place);
        let light = self.lights.remove(&place);
        if has_separate_light {
            if let Some(light) = light {
                chunk.light(light);
            }
            if let Some(before) = before.filter(|it| it.release() == release) {
                chunk.keep_light(before);
            }
        }
        self.chunks.insert(place, chunk);
    }

    fn change(&mut self, packet: &Packet, changes: &Changes, left_out: &mut LeftOut) {
        let release = packet.context().protocol.release();
        for (at, state) in &changes.all {
            let [x, y, z] = *at;
            if (x >> 9, z >> 9) != (self.key.1, self.key.2) || !HEIGHTS.contains(&y) {
                continue;
            }
            let known = self.chunks.get_mut(&(x >> 4, z >> 4));
            let Some(chunk) = known.filter(|it| it.at <= packet.at()) else { continue };
            if chunk.release() != release {
                left_out.other_version += 1;
                continue;
            }
            chunk.set_block(*at, *state);
            chunk.at = packet.at();
        }
    }

    fn block_entity(&mut self, packet: &Packet) {
        let Some((at, entity)) = BlockEntity::of_packet(packet) else { return };
        let known = self.chunks.get_mut(&(at[0] >> 4, at[2] >> 4));
        let release = packet.context().protocol.release();
        let is_fit = |it: &&mut KnownChunk| it.at <= packet.at() && it.release() == release;
        let Some(chunk) = known.filter(is_fit) else { return };
        chunk.at = packet.at();
        match entity {
            Some(entity) => {
                if chunk.block_entities.len() < MAX_ENTITIES {
                    chunk.block_entities.insert(at, entity);
                }
            }
            None => {
                chunk.block_entities.remove(&at);
            }
        }
    }
}

/// Bytes of the packets of a region's chunks that are kept at most.
const MAX_SIZE: usize = 256 << 20;

/// Block entities of a chunk that are kept at most.
const MAX_ENTITIES: usize = 1 << 16;

/// The heights of blocks in worlds of any dimension type.
const HEIGHTS: std::ops::Range<i32> = -2048..2048;
