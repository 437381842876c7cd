use std::collections::BTreeMap;
use std::io::{self, Read, Seek, Write};

use super::block_colors::BlockColors;
use super::path::{Path, Paths, line, player_place};
use super::picture::{Area, draw};
use super::surface::{PATH, PATH_END, Surface};
use crate::capture::{Entry, Sink};
use crate::world::dimension::OVERWORLD;
use crate::world::world_writer::{LeftOut, WorldError, WorldWriter};
use mitmcraft_protocol::schema::Protocol;

/// Makes maps of the chunks in captures, and of where the players went.
///
/// Takes entries as a [`WorldWriter`] does, with the same spool, and keeps 4 bytes of each column of blocks.
#[derive(Debug)]
pub struct MapWriter<S> {
    world: WorldWriter<S>,
    paths: Paths,
    /// The number of steps of players that were not kept.
    lost_steps: u64,
    /// The most chunks that are kept.
    max_chunks: usize,
}

/// The maps of all dimensions.
#[derive(Debug)]
#[non_exhaustive]
pub struct MapReport {
    /// The maps, the first of which is that of the overworld, or of the dimension with the most chunks.
    pub maps: Vec<WorldMap>,
    /// The numbers of packets and blocks in the captures that are not on the maps, by reason.
    pub left_out: LeftOut,
    /// The number of chunks that are not on the maps because of their memory.
    pub lost_chunks: u64,
    /// The number of steps of players that are not on the maps because there are too many.
    pub lost_steps: u64,
}

/// The map of a dimension.
#[derive(Debug)]
pub struct WorldMap {
    name: String,
    /// The surfaces of the chunks, by their coordinates z and x.
    chunks: BTreeMap<(i32, i32), Surface>,
    far: u64,
}

impl<S: Read + Write + Seek> MapWriter<S> {
    /// Creates a writer that keeps packets in `spool`, which is empty, and maps of about `memory` bytes.
    pub fn new(spool: S, memory: usize) -> Self {
        let (world, max_chunks) = (WorldWriter::new(spool), memory / CHUNK_COST);
        Self { world, paths: Paths::default(), lost_steps: 0, max_chunks }
    }

    /// Returns the maps.
    ///
    /// # Errors
    /// [`WorldError`] if there is no chunk, or the spool cannot be read.
    pub fn finish(mut self) -> Result<MapReport, WorldError> {
        let mut colors: Vec<(*const Protocol, BlockColors)> = Vec::new();
        let mut dimensions: BTreeMap<usize, BTreeMap<(i32, i32), Surface>> = BTreeMap::new();
        let (mut unknown, mut kept, mut lost_chunks) = (0, 0, 0);
        while let Some((key, region)) = self.world.next_region()? {
            let ceiling = self.world.dimensions().get(key.0).and_then(|it| it.ceiling);
            for ((x, z), chunk) in region.chunks {
                if kept >= self.max_chunks {
                    lost_chunks += 1;
                    continue;
                }
                kept += 1;
                let protocol = &chunk.context.protocol;
                let known = colors.iter().position(|(it, _)| std::ptr::eq(*it, &**protocol));
                let place = known.unwrap_or_else(|| {
                    colors.push((&raw const **protocol, BlockColors::new(protocol)));
                    colors.len() - 1
                });
                let Some((_, colors)) = colors.get_mut(place) else { continue };
                let (surface, _) = Surface::of(&chunk, colors, ceiling, &mut unknown);
                dimensions.entry(key.0).or_default().insert((z, x), surface);
            }
        }
        let mut left_out = self.world.left_out();
        left_out.unknown_blocks += unknown;
        if dimensions.is_empty() {
            return Err(WorldError::NoChunk { too_old: left_out.too_old });
        }
        let mut maps: Vec<WorldMap> = Vec::new();
        for (place, chunks) in dimensions {
            let Some(dimension) = self.world.dimensions().get(place) else { continue };
            maps.push(WorldMap::new(dimension.name.clone(), chunks, &self.paths.of(place)));
        }
        maps.sort_by_key(|it| (it.name != OVERWORLD, std::cmp::Reverse(it.chunks.len())));
        Ok(MapReport { maps, left_out, lost_chunks, lost_steps: self.lost_steps })
    }
}

impl<S: Read + Write + Seek + Send> Sink for MapWriter<S> {
    fn write(&mut self, entry: &Entry) -> io::Result<()> {
        self.world.write(entry)?;
        if entry.is_close() {
            self.paths.end(entry.context().session);
        }
        let record = entry.record().filter(|record| record.outcome.went());
        if let Some(record) = record
            && let Some(place) = player_place(&record.packet)
        {
            let session = record.packet.context().session;
            let dimension = self.world.place_of(session);
            self.lost_steps += u64::from(!self.paths.take(session, dimension, place));
        }
        Ok(())
    }
}

impl WorldMap {
    fn new(name: String, mut chunks: BTreeMap<(i32, i32), Surface>, paths: &[Path]) -> Self {
        let before = chunks.len();
        let (z, x): (Vec<i32>, Vec<i32>) = chunks.keys().copied().unzip();
        let [x, z] = [x, z].map(middle);
        let is_near = |at: i32, middle: i32| (-HALF..HALF).contains(&at.saturating_sub(middle));
        let span = |all: &mut dyn Iterator<Item = i32>| {
            let (least, most) =
                all.fold((i32::MAX, i32::MIN), |(least, most), it| (least.min(it), most.max(it)));
            most.saturating_sub(least)
        };
        if span(&mut chunks.keys().map(|it| it.0)) >= 2 * HALF
            || span(&mut chunks.keys().map(|it| it.1)) >= 2 * HALF
        {
            chunks.retain(|(chunk_z, chunk_x), _| is_near(*chunk_x, x) && is_near(*chunk_z, z));
        }
        let far = (before - chunks.len()) as u64;
        let mut map = Self { name, chunks, far };
        map.mark(paths);
        map
    }

    /// Draws the paths of players, and then their ends, on the chunks that are known.
    fn mark(&mut self, paths: &[Path]) {
        let mut mark = |x: i32, z: i32, color| {
            if let Some(surface) = self.chunks.get_mut(&(z >> 4, x >> 4)) {
                // Four bits each.
                surface.mark((x & 15) as usize, (z & 15) as usize, color);
            }
        };
        for path in paths {
            let begin = path.first().copied().into_iter();
            let steps = path.iter().zip(path.iter().skip(1));
            let steps = steps.flat_map(|(from, to)| line(*from, *to));
            begin.chain(steps).for_each(|(x, z)| mark(x, z, PATH));
        }
        for (x, z) in paths.iter().filter_map(|path| path.last()) {
            let around = (-1..=1).flat_map(|dx| (-1..=1).map(move |dz| (dx, dz)));
            around.for_each(|(dx, dz)| mark(x + dx, z + dz, PATH_END));
        }
    }

    /// The name of the dimension.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The number of chunks on the map.
    #[must_use]
    pub fn chunks(&self) -> usize {
        self.chunks.len()
    }

    /// The number of chunks that are not on the map, because they are more than 8,192 blocks from its middle.
    #[must_use]
    pub fn far(&self) -> u64 {
        self.far
    }

    /// Returns the coordinates of the first pixel, x and z in blocks.
    #[must_use]
    pub fn origin(&self) -> (i32, i32) {
        self.area().origin()
    }

    /// Returns the width and the height in pixels.
    #[must_use]
    pub fn size(&self) -> (u32, u32) {
        self.area().size()
    }

    /// Writes the map as PNG, north up: what is seen from above, with the paths of the players as lines. What was never sent
    /// is transparent.
    ///
    /// # Errors
    /// [`io::Error`] if `out` cannot be written.
    pub fn write_png(&self, out: &mut dyn Write) -> io::Result<()> {
        draw(out, self.area(), |x, z| self.chunks.get(&(z, x)))
    }

    fn area(&self) -> Area {
        let range = |all: &mut dyn Iterator<Item = i32>| {
            let all = all.fold(None, |range: Option<(i32, i32)>, it| {
                Some(range.map_or((it, it), |(least, most)| (least.min(it), most.max(it))))
            });
            all.unwrap_or_default()
        };
        Area {
            x: range(&mut self.chunks.keys().map(|it| it.1)),
            z: range(&mut self.chunks.keys().map(|it| it.0)),
        }
    }
}

/// Returns the median.
fn middle(mut all: Vec<i32>) -> i32 {
    let place = all.len() / 2;
    if all.is_empty() { 0 } else { *all.select_nth_unstable(place).1 }
}

/// Chunks from the middle of a map to its edges at most: a picture has at most 16,384 pixels in each direction.
const HALF: i32 = 512;

/// About how many bytes a chunk on a map keeps in memory.
const CHUNK_COST: usize = 1100;
