//! A small landscape, in the chunk form of 1.8.
//!
//! A column of chunks is sent as its sections (16 x 16 x 16 blocks) from the lowest up, those of
//! the bit map: first the blocks of all of them, each 16 bits little-endian (id << 4 | data), then
//! the block light of all of them, then the sky light (4 bits per block, the low half first), and at
//! the end the biomes of the 16 x 16 places. Within a section x runs fastest, then z, then y.
//!
//! Source: Protocol 1.8 document, sections Chunk Data (0x21) and Map Chunk Bulk (0x26).

use serde_json::json;

use super::message::Message;
use super::random::Random;

/// A landscape whose columns are computed on demand.
#[derive(Debug)]
pub(super) struct World {
    seed: u64,
}

/// A column of chunks as it is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Column {
    x: i32,
    z: i32,
    /// The sections that are there, the lowest one in bit 0.
    bit_map: u16,
    data: Vec<u8>,
}

impl World {
    pub(super) fn new(seed: u64) -> Self {
        Self { seed }
    }

    /// The columns around the player, several per packet and the mountain of ores by itself.
    pub(super) fn landscape(&self) -> Vec<Message> {
        let near = (-REACH..=REACH).flat_map(|z| (-REACH..=REACH).map(move |x| (x, z)));
        let columns: Vec<Column> =
            near.filter(|place| *place != ORES).map(|(x, z)| self.column(x, z)).collect();
        let mut messages: Vec<Message> = columns.chunks(COLUMNS_AT_ONCE).map(bulk).collect();
        messages.push(self.column(ORES.0, ORES.1).into());
        messages
    }

    /// A column beyond those around the player.
    pub(super) fn far_column(&self) -> Message {
        self.column(REACH + 1, 0).into()
    }

    /// The column of those chunk coordinates.
    fn column(&self, x: i32, z: i32) -> Column {
        let mut blocks = match (x, z) {
            ORES => self.ores(x, z),
            _ => self.hills(x, z),
        };
        while blocks.len() > SECTION && blocks[blocks.len() - SECTION..].iter().all(|it| *it == AIR)
        {
            blocks.truncate(blocks.len() - SECTION);
        }
        let sections = blocks.len() / SECTION;
        let mut data = Vec::with_capacity(column_size(sections));
        data.extend(blocks.iter().flat_map(|block| block.to_le_bytes()));
        write_light(&mut data, &blocks, |block, _| if block == TORCH { 14 } else { 0 });
        let tops = tops(&blocks);
        write_light(
            &mut data,
            &blocks,
            |_, at| if at / LAYER >= tops[at % LAYER] { 15 } else { 0 },
        );
        data.extend((0..LAYER).map(|at| self.biome(16 * x + at as i32 % 16, 16 * z)));
        let bit_map = ((1u32 << sections) - 1) as u16;
        Column { x, z, bit_map, data }
    }

    /// Ground, plants and water.
    fn hills(&self, chunk_x: i32, chunk_z: i32) -> Vec<u16> {
        let mut blocks = vec![AIR; SECTIONS * SECTION];
        for place in 0..LAYER {
            let (x, z) = (16 * chunk_x + place as i32 % 16, 16 * chunk_z + place as i32 / 16);
            let mut random = Random::at(self.seed, x, z);
            let height = self.height(x, z);
            for y in 0..height.max(WATER_LEVEL) {
                blocks[y * LAYER + place] = ground(y, height, &mut random);
            }
            let plant = match random.below(24) {
                _ if TORCHES.contains(&(x, z)) => TORCH,
                0 => POPPY,
                1 => DANDELION,
                2..8 => TALL_GRASS,
                _ => AIR,
            };
            if height > WATER_LEVEL {
                blocks[height * LAYER + place] = plant;
            }
        }
        self.plant_trees(chunk_x, chunk_z, &mut blocks);
        blocks
    }

    /// A mountain of ores in no order: it hardly compresses.
    fn ores(&self, chunk_x: i32, chunk_z: i32) -> Vec<u16> {
        let mut random = Random::at(self.seed ^ 1, chunk_x, chunk_z);
        (0..ORE_SECTIONS * SECTION)
            .map(|at| if at < LAYER { BEDROCK } else { *random.one_of(&ORE) })
            .collect()
    }

    fn plant_trees(&self, chunk_x: i32, chunk_z: i32, blocks: &mut [u16]) {
        let mut random = Random::at(self.seed ^ 2, chunk_x, chunk_z);
        for _ in 0..random.below(3) {
            let (x, z) = (3 + random.below(10) as usize, 3 + random.below(10) as usize);
            let trunk = 4 + random.below(2) as usize;
            let (far_x, far_z) = (16 * chunk_x + x as i32, 16 * chunk_z + z as i32);
            let height = self.height(far_x, far_z);
            if height <= WATER_LEVEL || distance(far_x, far_z) < CLEARING {
                continue;
            }
            for up in 0..=trunk {
                let (wide, leaves) = if up < trunk { (2, up + 2 >= trunk) } else { (1, true) };
                for place in 0..LAYER {
                    let (off_x, off_z) = ((place % 16).abs_diff(x), (place / 16).abs_diff(z));
                    let at = &mut blocks[(height + up) * LAYER + place];
                    match (off_x, off_z) {
                        (0, 0) if up < trunk => *at = LOG,
                        _ if leaves && off_x <= wide && off_z <= wide => *at = LEAVES,
                        _ => {}
                    }
                }
            }
        }
    }

    /// Blocks of ground at a place: hills, and a clearing where the player appears.
    fn height(&self, x: i32, z: i32) -> usize {
        let hills = self.smooth(x, z, 16) * 11.0 + self.smooth(x, z, 5) * 3.0 + 7.0;
        let level = f64::from(GROUND);
        let slope = f64::from((distance(x, z) - CLEARING).clamp(0, SLOPE)) / f64::from(SLOPE);
        (level + (hills - level) * slope).round() as usize
    }

    /// 0 <= number <= 1, smooth between the corners of a grid.
    fn smooth(&self, x: i32, z: i32, grid: i32) -> f64 {
        let corner = |x: i32, z: i32| {
            let mut random = Random::at(self.seed ^ u64::from(grid.cast_unsigned()), x, z);
            f64::from(random.below(1 << 16)) / f64::from((1 << 16) - 1)
        };
        let ease = |part: i32| {
            let part = f64::from(part) / f64::from(grid);
            part * part * (3.0 - 2.0 * part)
        };
        let (left, top) = (x.div_euclid(grid), z.div_euclid(grid));
        let (across, down) = (ease(x.rem_euclid(grid)), ease(z.rem_euclid(grid)));
        let row = |z| corner(left, z) * (1.0 - across) + corner(left + 1, z) * across;
        row(top) * (1.0 - down) + row(top + 1) * down
    }

    fn biome(&self, x: i32, z: i32) -> u8 {
        if self.smooth(x, z, 32) < 0.5 { PLAINS } else { FOREST }
    }
}

impl From<Column> for Message {
    /// A packet of that column alone.
    fn from(column: Column) -> Self {
        let Column { x, z, bit_map, data } = column;
        let fields = json!({ "x": x, "z": z, "groundUp": true, "bitMap": bit_map });
        Self::new("map_chunk", fields).with_bytes("chunkData", data)
    }
}

fn bulk(columns: &[Column]) -> Message {
    let meta: serde_json::Value = columns
        .iter()
        .map(|column| json!({ "x": column.x, "z": column.z, "bitMap": column.bit_map }))
        .collect();
    let data: Vec<u8> = columns.iter().flat_map(|column| &column.data).copied().collect();
    let message = Message::new("map_chunk_bulk", json!({ "skyLightSent": true, "meta": meta }));
    message.with_bytes("data", data)
}

/// The number of bytes of a column with that number of sections.
pub(super) fn column_size(sections: usize) -> usize {
    sections * SECTION * 3 + LAYER
}

fn ground(y: usize, height: usize, random: &mut Random) -> u16 {
    match height.checked_sub(y + 1) {
        _ if y == 0 => BEDROCK,
        None => WATER,
        Some(0 | 1) if height <= WATER_LEVEL => SAND,
        Some(0) => GRASS,
        Some(1..4) => DIRT,
        Some(_) if random.below(30) == 0 => *random.one_of(&ORE),
        Some(_) => STONE,
    }
}

/// Writes four bits per block.
fn write_light(data: &mut Vec<u8>, blocks: &[u16], light: impl Fn(u16, usize) -> u8) {
    data.extend(blocks.chunks_exact(2).enumerate().map(|(pair, two)| {
        let (low, high) = (light(two[0], 2 * pair), light(two[1], 2 * pair + 1));
        high << 4 | low
    }));
}

/// For each place, the lowest y that the sky shines on.
fn tops(blocks: &[u16]) -> Vec<usize> {
    let dark = |at: usize| !matches!(blocks[at], AIR | TALL_GRASS | POPPY | DANDELION | TORCH);
    let layers = blocks.len() / LAYER;
    (0..LAYER)
        .map(|place| {
            (0..layers).rev().find(|y| dark(y * LAYER + place)).map_or(0, |highest| highest + 1)
        })
        .collect()
}

/// From the middle of the clearing, along the longer axis.
fn distance(x: i32, z: i32) -> i32 {
    (x - MIDDLE).abs().max((z - MIDDLE).abs())
}

/// Where the player appears: x and z, in the chunk (0, 0).
pub(super) const MIDDLE: i32 = 8;

/// Blocks of ground in the clearing; whoever stands there has their feet at this y.
pub(super) const GROUND: i32 = 16;

/// Columns in each direction from the player's own.
const REACH: i32 = 2;

/// Columns per packet, as the game's server sends them.
const COLUMNS_AT_ONCE: usize = 10;

/// The column that is nothing but ores.
const ORES: (i32, i32) = (2, -1);

/// The corners of a square around the middle.
const TORCHES: [(i32, i32); 4] = [(3, 3), (3, 13), (13, 3), (13, 13)];

/// Half the side of the clearing, and how many blocks further the hills have their full height.
const CLEARING: i32 = 12;
const SLOPE: i32 = 8;

const WATER_LEVEL: usize = 12;

/// Blocks of a layer and of a section.
const LAYER: usize = 256;
const SECTION: usize = 16 * LAYER;

/// As high as hills with trees on them go.
const SECTIONS: usize = 2;
const ORE_SECTIONS: usize = 4;

const PLAINS: u8 = 1;
const FOREST: u8 = 4;

const AIR: u16 = 0;
const STONE: u16 = 1 << 4;
const GRASS: u16 = 2 << 4;
const DIRT: u16 = 3 << 4;
const BEDROCK: u16 = 7 << 4;
const WATER: u16 = 9 << 4;
const SAND: u16 = 12 << 4;
const LOG: u16 = 17 << 4;
const LEAVES: u16 = 18 << 4;
const TALL_GRASS: u16 = 31 << 4 | 1;
const DANDELION: u16 = 37 << 4;
const POPPY: u16 = 38 << 4;
const TORCH: u16 = 50 << 4 | 5;

/// Stone; gold, iron, coal, lapis, diamond, redstone, emerald ore; three sorts of rock.
const ORE: [u16; 11] = [
    STONE,
    14 << 4,
    15 << 4,
    16 << 4,
    21 << 4,
    56 << 4,
    73 << 4,
    129 << 4,
    1 << 4 | 1,
    1 << 4 | 3,
    1 << 4 | 5,
];

#[cfg(test)]
mod tests {
    use super::*;

    fn block(column: &Column, x: usize, y: usize, z: usize) -> u16 {
        let at = 2 * (y * LAYER + z * 16 + x);
        u16::from_le_bytes([column.data[at], column.data[at + 1]])
    }

    fn sky_light(column: &Column, x: usize, y: usize, z: usize) -> u8 {
        let sections = column.bit_map.count_ones() as usize;
        let at = y * LAYER + z * 16 + x;
        column.data[sections * SECTION * 5 / 2 + at / 2] >> (4 * (at % 2)) & 15
    }

    #[test]
    fn every_column_has_the_size_that_its_bit_map_says() {
        for seed in 0..3 {
            let world = World::new(seed);
            for x in -3..4 {
                for z in -3..4 {
                    let column = world.column(x, z);
                    let sections = column.bit_map.count_ones() as usize;
                    assert_eq!(column.data.len(), column_size(sections));
                    assert_eq!(column.bit_map.trailing_ones() as usize, sections);
                    assert_eq!(column, World::new(seed).column(x, z));
                }
            }
        }
    }

    #[test]
    fn whoever_appears_stands_on_grass_in_the_light() {
        let column = World::new(7).column(0, 0);
        let (middle, ground) = (MIDDLE as usize, GROUND as usize);
        assert_eq!(block(&column, middle, ground - 1, middle), GRASS);
        assert!(matches!(
            block(&column, middle, ground, middle),
            AIR | TALL_GRASS | POPPY | DANDELION
        ));
        assert_eq!(block(&column, middle, ground + 1, middle), AIR);
        assert_eq!(sky_light(&column, middle, ground, middle), 15);
        assert_eq!(sky_light(&column, middle, ground - 1, middle), 0);
        assert_eq!(block(&column, 0, 0, 0), BEDROCK);
        assert_eq!(block(&column, 3, ground, 3), TORCH);
    }

    #[test]
    fn the_mountain_of_ores_has_all_of_them() {
        let column = World::new(7).column(ORES.0, ORES.1);
        assert_eq!(column.bit_map, 0b1111);
        for ore in ORE {
            assert!((0..16).any(|x| (1..60).any(|y| block(&column, x, y, x) == ore)));
        }
    }
}
