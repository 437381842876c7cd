//! Chunks in the form of their version.

use bytes::Bytes;

use super::block_entities::BlockEntity;
use super::known_chunk::{AIR, KnownChunk, VOLUME};
use super::palette::{BlockName, BlockNames, distinct, namespaced, pack, palette};
use super::storage::Storage;
use super::tags::{compound, list, put, tree};
use super::world_writer::LeftOut;
use mitmcraft_protocol::contents::{BiomeMap, Container};
use mitmcraft_protocol::meaning::{RegistryKind, registry};
use mitmcraft_protocol::schema::Release;
use mitmcraft_protocol::wire::{Compound, List, Tag, TagType};

/// Returns the document of a chunk.
pub(super) fn chunk_tag(chunk: &KnownChunk, names: &mut BlockNames, left_out: &mut LeftOut) -> Tag {
    let release = chunk.release();
    let data_version = Storage::get().data_version(release).map(|it| Tag::Int(it.number));
    let mut root = Compound::default();
    if let Some(data_version) = data_version {
        put(&mut root, "DataVersion", data_version);
    }
    let writer = ChunkWriter { chunk, release, names, left_out, entities: Vec::new() };
    match () {
        () if release < Release::V1_13 => put(&mut root, "Level", writer.numbered()),
        () if release < Release::V1_18 => put(&mut root, "Level", writer.flattened()),
        () => writer.later(&mut root),
    }
    Tag::Compound(root)
}

struct ChunkWriter<'a> {
    chunk: &'a KnownChunk,
    release: Release,
    names: &'a mut BlockNames,
    left_out: &'a mut LeftOut,
    /// The block entities of the sections that have been written.
    entities: Vec<([i32; 3], Tag)>,
}

impl ChunkWriter<'_> {
    /// Up to 1.12: blocks have numbers.
    fn numbered(mut self) -> Tag {
        let mut heights = vec![0; COLUMNS];
        let mut sections = Vec::new();
        for number in self.chunk.numbers() {
            let Some(states) = self.chunk.states(number, &mut self.left_out.unknown_blocks) else {
                continue;
            };
            for (index, _) in states.iter().enumerate().filter(|(_, state)| **state >> 4 != AIR) {
                // There are at most 256 blocks above each other.
                heights[index % COLUMNS] = number * 16 + (index / COLUMNS) as i32 + 1;
            }
            let mut section = self.numbered_section(&states);
            let Ok(y) = i8::try_from(number) else { continue };
            put(&mut section, "Y", Tag::Byte(y));
            self.all_light(&mut section, number);
            sections.push(Tag::Compound(section));
        }
        let mut level = self.level();
        if self.release < Release::V1_9 {
            put(&mut level, "V", Tag::Byte(1));
        }
        put(&mut level, "TerrainPopulated", Tag::Byte(1));
        put(&mut level, "LightPopulated", Tag::Byte(self.chunk.is_lit.into()));
        if let Some(BiomeMap::Bytes(biomes)) = &self.chunk.biomes {
            put(&mut level, "Biomes", Tag::ByteArray(biomes.clone()));
        }
        put(&mut level, "HeightMap", Tag::IntArray(heights));
        put(&mut level, "Sections", list(sections));
        put(&mut level, "Entities", list(Vec::new()));
        let entities = self.rest_of_entities();
        put(&mut level, "TileEntities", entities);
        Tag::Compound(level)
    }

    fn numbered_section(&self, states: &[u32]) -> Compound {
        let number = |state: &u32| state >> 4;
        // A byte each, and half a byte each.
        let low: Bytes = states.iter().map(|state| number(state) as u8).collect();
        let nibbles = |part: fn(u32) -> u8| -> Bytes {
            states.chunks(2).map(|two| part(two[0]) | part(two[1]) << 4).collect()
        };
        let mut section = compound([("Blocks", Tag::ByteArray(low))]);
        if states.iter().any(|state| number(state) > 0xff) {
            let high = nibbles(|state| (state >> 12 & 15) as u8);
            put(&mut section, "Add", Tag::ByteArray(high));
        }
        let data = nibbles(|state| (state & 15) as u8);
        put(&mut section, "Data", Tag::ByteArray(data));
        section
    }

    /// 1.13 to 1.17: palettes below `Level`.
    fn flattened(mut self) -> Tag {
        let mut sections = Vec::new();
        for number in self.chunk.numbers() {
            let Ok(y) = i8::try_from(number) else { continue };
            let mut section = compound([("Y", Tag::Byte(y))]);
            if let Some((palette, data)) = self.blocks(number) {
                put(&mut section, "Palette", palette);
                put(&mut section, "BlockStates", Tag::LongArray(data));
            }
            if self.release < Release::V1_14 {
                self.all_light(&mut section, number);
            } else {
                self.light(&mut section, number);
            }
            sections.push(Tag::Compound(section));
        }
        let mut level = self.level();
        let status = if self.release < Release::V1_14 { "postprocessed" } else { "full" };
        put(&mut level, "Status", Tag::text(status));
        if self.release >= Release::V1_14 {
            put(&mut level, "isLightOn", Tag::Byte(self.chunk.is_lit.into()));
        }
        if let Some(biomes) = &self.chunk.biomes {
            put(&mut level, "Biomes", Tag::IntArray(self.biome_numbers(biomes)));
        }
        put(&mut level, "Heightmaps", tree([]));
        put(&mut level, "Structures", tree([("References", tree([])), ("Starts", tree([]))]));
        put(&mut level, "Sections", list(sections));
        if self.release < Release::V1_17 {
            put(&mut level, "Entities", list(Vec::new()));
        }
        let entities = self.rest_of_entities();
        put(&mut level, "TileEntities", entities);
        for name in ["TileTicks", "LiquidTicks"] {
            put(&mut level, name, list(Vec::new()));
        }
        Tag::Compound(level)
    }

    /// 1.18 and later: no `Level`.
    fn later(mut self, root: &mut Compound) {
        let (mut sections, mut lowest) = (Vec::new(), None);
        for number in self.chunk.numbers() {
            let Ok(y) = i8::try_from(number) else { continue };
            let mut section = compound([("Y", Tag::Byte(y))]);
            let known = self.chunk.sections.get(&number);
            // No section of the world is left out of a packet.
            let Some(known) = known else { continue };
            if let Some((palette, data)) =
                known.blocks.is_some().then(|| self.blocks(number)).flatten()
            {
                lowest.get_or_insert(y);
                put(&mut section, "block_states", with_data(palette, data));
                if let Some(biomes) = &known.biomes {
                    let biomes = self.biomes(biomes);
                    put(&mut section, "biomes", biomes);
                }
            }
            self.light(&mut section, number);
            sections.push(Tag::Compound(section));
        }
        let status = if self.release > Release::V1_19_4 { "minecraft:full" } else { "full" };
        for (name, tag) in [
            ("xPos", Tag::Int(self.chunk.x)),
            ("yPos", Tag::Int(lowest.unwrap_or_default().into())),
            ("zPos", Tag::Int(self.chunk.z)),
            ("Status", Tag::text(status)),
            ("LastUpdate", Tag::Long(0)),
            ("InhabitedTime", Tag::Long(0)),
            ("isLightOn", Tag::Byte(self.chunk.is_lit.into())),
            ("Heightmaps", tree([])),
            ("structures", tree([("References", tree([])), ("starts", tree([]))])),
            ("sections", list(sections)),
            ("block_ticks", list(Vec::new())),
            ("fluid_ticks", list(Vec::new())),
            ("PostProcessing", Tag::List(List::new(TagType::List, Vec::new()))),
        ] {
            put(root, name, tag);
        }
        let entities = self.rest_of_entities();
        put(root, "block_entities", entities);
    }

    /// Returns the tags with which the `Level` of a chunk begins, up to 1.17.
    fn level(&self) -> Compound {
        compound([
            ("xPos", Tag::Int(self.chunk.x)),
            ("zPos", Tag::Int(self.chunk.z)),
            ("LastUpdate", Tag::Long(0)),
            ("InhabitedTime", Tag::Long(0)),
        ])
    }

    /// Returns the palette and the blocks of a section; `None` if it has no blocks.
    fn blocks(&mut self, number: i32) -> Option<(Tag, Vec<i64>)> {
        // Most sections are of air alone.
        let (states, places) = match self.chunk.single(number) {
            Some(state) => (vec![state], vec![0; VOLUME]),
            None => distinct(&self.chunk.states(number, &mut self.left_out.unknown_blocks)?),
        };
        let protocol = &self.chunk.context.protocol;
        let air = self.names.get(AIR, protocol).cloned()?;
        let mut blocks: Vec<BlockName> = Vec::with_capacity(states.len());
        for (index, state) in states.iter().enumerate() {
            let name = self.names.get(*state, protocol).cloned();
            if name.is_none() {
                let count = places.iter().filter(|place| usize::from(**place) == index).count();
                self.left_out.unknown_blocks += count as u64;
            }
            blocks.push(name.unwrap_or_else(|| air.clone()));
        }
        self.add_entities(number, &blocks, &places);
        let straddles = self.release < Release::V1_16_RC1;
        let data = match blocks.len() {
            1 if self.release >= Release::V1_18 => Vec::new(),
            count => pack(&places, count, 4, straddles),
        };
        Some((palette(&blocks, self.release >= Release::V26_3), data))
    }

    /// Adds the block entities of a section, and one without data for each block that must have one.
    fn add_entities(&mut self, number: i32, blocks: &[BlockName], places: &[u16]) {
        if blocks.iter().all(|block| block.entity.is_none()) {
            return;
        }
        for (index, place) in places.iter().enumerate() {
            let Some(kind) = blocks.get(usize::from(*place)).and_then(|it| it.entity) else {
                continue;
            };
            let part = |shift: usize| (index >> shift & 15) as i32;
            let at = [
                self.chunk.x.wrapping_mul(16).wrapping_add(part(0)),
                number * 16 + part(8),
                self.chunk.z.wrapping_mul(16).wrapping_add(part(4)),
            ];
            let stub = BlockEntity::stub(kind);
            let known = self.chunk.block_entities.get(&at).filter(|it| it.kind == stub.kind);
            // What a piston moves is not known.
            if known.is_some() || kind != "piston" {
                let tag = known.unwrap_or(&stub).tag(at, self.release);
                self.entities.push((at, tag));
            }
        }
    }

    /// Returns all block entities: those added for blocks, and others that were sent, unless their block has changed.
    fn rest_of_entities(&mut self) -> Tag {
        self.entities.sort_by_key(|(at, _)| *at);
        let mut rest = Vec::new();
        for (at, entity) in &self.chunk.block_entities {
            let is_written = self.entities.binary_search_by_key(at, |(at, _)| *at).is_ok();
            if !is_written && !self.chunk.has_changed(*at) && !self.has_other_entity(*at) {
                rest.push((*at, entity.tag(*at, self.release)));
            }
        }
        self.entities.append(&mut rest);
        self.entities.sort_by_key(|(at, _)| *at);
        list(std::mem::take(&mut self.entities).into_iter().map(|(_, tag)| tag).collect())
    }

    /// Returns whether the block at a position is known to have a block entity of a certain type.
    fn has_other_entity(&mut self, [x, y, z]: [i32; 3]) -> bool {
        if self.release < Release::V1_13 {
            return false;
        }
        let section = self.chunk.sections.get(&(y >> 4));
        let state = section.and_then(|section| section.state(x, y, z));
        let name = state.and_then(|it| self.names.get(it, &self.chunk.context.protocol));
        name.is_some_and(|name| name.entity.is_some())
    }

    fn light(&self, section: &mut Compound, number: i32) {
        let Some(known) = self.chunk.sections.get(&number) else { return };
        let arrays = [("BlockLight", &known.block_light), ("SkyLight", &known.sky_light)];
        for (name, light) in arrays {
            if let Some(light) = light.as_ref().filter(|light| light.len() == VOLUME / 2) {
                put(section, name, Tag::ByteArray(light.clone()));
            }
        }
    }

    /// Adds the light of a section up to 1.13, where the arrays must be there: those that were not sent are dark.
    fn all_light(&self, section: &mut Compound, number: i32) {
        self.light(section, number);
        for name in ["BlockLight", "SkyLight"] {
            if section.get(name).is_none() {
                put(section, name, Tag::ByteArray(Bytes::from_static(&[0; VOLUME / 2])));
            }
        }
    }

    /// Returns the biomes as the game numbers them: those of the server's own are plains.
    fn biome_numbers(&mut self, biomes: &BiomeMap) -> Vec<i32> {
        let known = registry(&self.chunk.context.protocol, RegistryKind::Biome);
        let numbers = biomes.numbers().map(|number| {
            let is_known = known.is_none_or(|known| known.name(number.into()).is_some());
            self.left_out.unknown_biomes += u64::from(!is_known);
            if is_known { number.cast_signed() } else { PLAINS }
        });
        numbers.collect()
    }

    /// Returns the biomes of a section since 1.18.
    fn biomes(&mut self, biomes: &Container) -> Tag {
        let numbers: Vec<u32> =
            (0..CELLS).map(|index| biomes.get(index).unwrap_or_default()).collect();
        let (numbers, places) = distinct(&numbers);
        let context = &self.chunk.context;
        let known = registry(&context.protocol, RegistryKind::Biome);
        let name = |number: &u32| {
            let sent = context.registries.name("minecraft:worldgen/biome", (*number).into());
            let name = sent.or_else(|| known?.name((*number).into()));
            self.left_out.unknown_biomes += u64::from(name.is_none());
            Tag::text(&namespaced(name.unwrap_or("plains")))
        };
        let names: Vec<Tag> = numbers.iter().map(name).collect();
        let data = match names.len() {
            1 => Vec::new(),
            count => pack(&places, count, 1, false),
        };
        with_data(Tag::List(List::new(TagType::Text, names)), data)
    }
}

/// Returns a palette with the places in it, unless all are the same.
fn with_data(palette: Tag, data: Vec<i64>) -> Tag {
    let mut all = compound([("palette", palette)]);
    if !data.is_empty() {
        put(&mut all, "data", Tag::LongArray(data));
    }
    Tag::Compound(all)
}

/// Blocks of a chunk seen from above.
const COLUMNS: usize = 256;

/// Cells with a biome in a section since 1.18.
const CELLS: usize = 64;

/// The number of the biome plains up to 1.17.
const PLAINS: i32 = 1;
