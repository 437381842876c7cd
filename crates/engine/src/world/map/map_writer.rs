use std::collections::BTreeMap;
use std::io::{self, Read, Seek, Write};

use super::block_colors::BlockColors;
use super::picture::{Area, WAY, WAY_END, draw};
use super::surface::Surface;
use super::way::{Step, Ways, line, player_place};
use crate::capture::{Entry, Sink};
use crate::world::dimension::{NETHER, OVERWORLD};
use crate::world::world_writer::{LeftOut, WorldError, WorldWriter};
use mitmcraft_protocol::schema::Protocol;

/// Makes maps of the chunks in captures, and of where the players went.
///
/// Takes entries as a [`WorldWriter`] does, with the same spool, and keeps 4 bytes of each column of blocks.
#[derive(Debug)]
pub struct MapWriter<S> {
    world: WorldWriter<S>,
    ways: Ways,
    /// Places of players that were not kept.
    lost: u64,
}

/// The maps of all dimensions.
#[derive(Debug)]
#[non_exhaustive]
pub struct MapReport {
    /// The maps, the first of which is that of the overworld, or of the dimension with the most chunks.
    pub maps: Vec<WorldMap>,
    /// The number of chunks, blocks and places that the maps lack, by reason.
    pub left_out: LeftOut,
}

/// The map of a dimension.
#[derive(Debug)]
pub struct WorldMap {
    name: String,
    /// The surfaces of the chunks, by their coordinates z and x.
    chunks: BTreeMap<(i32, i32), Surface>,
    way: Vec<Step>,
    far: u64,
}

impl<S: Read + Write + Seek> MapWriter<S> {
    /// Creates a writer that keeps packets in `spool`, which is empty.
    pub fn new(spool: S) -> Self {
        Self { world: WorldWriter::new(spool), ways: Ways::default(), lost: 0 }
    }

    /// Returns the maps.
    ///
    /// # Errors
    /// [`WorldError`] if there is no chunk, or the spool cannot be read.
    pub fn finish(mut self) -> Result<MapReport, WorldError> {
        let mut colors: Vec<(*const Protocol, BlockColors)> = Vec::new();
        let mut dimensions: BTreeMap<usize, BTreeMap<(i32, i32), Surface>> = BTreeMap::new();
        let mut unknown = 0;
        while let Some((key, region)) = self.world.next_region()? {
            let dimension = self.world.dimensions().get(key.0);
            let has_ceiling = dimension.is_some_and(|it| it.kind() == NETHER);
            for ((x, z), chunk) in region.chunks {
                let protocol = &chunk.context.protocol;
                let known = colors.iter().position(|(it, _)| std::ptr::eq(*it, &**protocol));
                let place = known.unwrap_or_else(|| {
                    colors.push((&raw const **protocol, BlockColors::new(protocol)));
                    colors.len() - 1
                });
                let Some((_, colors)) = colors.get_mut(place) else { continue };
                let (surface, _) = Surface::of(&chunk, colors, has_ceiling, &mut unknown);
                dimensions.entry(key.0).or_default().insert((z, x), surface);
            }
        }
        let mut left_out = self.world.left_out();
        left_out.unknown_blocks += unknown;
        left_out.too_many += self.lost;
        if dimensions.is_empty() {
            return Err(WorldError::NoChunk { too_old: left_out.too_old });
        }
        let mut maps: Vec<WorldMap> = Vec::new();
        for (place, chunks) in dimensions {
            let Some(dimension) = self.world.dimensions().get(place) else { continue };
            let (name, way) = (dimension.name.clone(), self.ways.of(place));
            maps.push(WorldMap::new(name, chunks, way));
        }
        maps.sort_by_key(|it| (it.name != OVERWORLD, std::cmp::Reverse(it.chunks.len())));
        Ok(MapReport { maps, left_out })
    }
}

impl<S: Read + Write + Seek + Send> Sink for MapWriter<S> {
    fn write(&mut self, entry: &Entry) -> io::Result<()> {
        self.world.write(entry)?;
        let record = entry.record().filter(|record| record.outcome.went());
        if let Some(record) = record
            && let Some(place) = player_place(&record.packet)
        {
            let session = record.packet.context().session;
            let dimension = self.world.place_of(session);
            self.lost += u64::from(!self.ways.take(session, dimension, place));
        }
        Ok(())
    }
}

impl WorldMap {
    fn new(name: String, mut chunks: BTreeMap<(i32, i32), Surface>, way: Vec<Step>) -> Self {
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
        Self { name, chunks, way, far }
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

    /// Writes the map as PNG, north up: what is seen from above, with the ways of the players as a line. What was never sent
    /// is transparent.
    ///
    /// # Errors
    /// [`io::Error`] if `out` cannot be written.
    pub fn write_png(&self, out: &mut dyn Write) -> io::Result<()> {
        let area = self.area();
        let way = self.way_pixels(area);
        let mut left = &way[..];
        draw(
            out,
            area,
            |x, z| self.chunks.get(&(z, x)),
            |z, pixels| {
                let count = left.iter().take_while(|(at, _, _)| *at == z).count();
                let (row, rest) = left.split_at(count);
                left = rest;
                for (_, x, color) in row {
                    let place = usize::try_from(x.wrapping_sub(area.origin().0));
                    if let Some(pixel) = place.ok().and_then(|place| pixels.get_mut(place)) {
                        *pixel = *color;
                    }
                }
            },
        )
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

    /// Returns the pixels of the ways on the map, by z and x, with their colours.
    fn way_pixels(&self, area: Area) -> Vec<(i32, i32, u8)> {
        let (left, top) = area.origin();
        let (width, height) = area.size();
        let is_inside = |x: i32, z: i32| {
            let inside = |at: i32, first: i32, size: u32| {
                i64::from(at) >= i64::from(first) && i64::from(at) - i64::from(first) < size.into()
            };
            inside(x, left, width) && inside(z, top, height)
        };
        let mut pixels: Vec<(i32, i32, u8)> = Vec::new();
        let (mut last, mut limit): (Option<(i32, i32)>, _) = (None, MAX_PIXELS);
        for (place, step) in self.way.iter().enumerate() {
            let to = (step.x, step.z);
            let from = last.filter(|_| !step.is_first);
            last = Some(to);
            let between = from.into_iter().flat_map(|from| line(from, to));
            let all = between.chain(from.is_none().then_some(to));
            pixels.extend(all.filter(|(x, z)| is_inside(*x, *z)).map(|(x, z)| (z, x, WAY)));
            if self.way.get(place + 1).is_none_or(|next| next.is_first) {
                let around = (-1..=1).flat_map(|dz| (-1..=1).map(move |dx| (dx, dz)));
                let around = around.map(|(dx, dz)| (to.0 + dx, to.1 + dz));
                let around = around.filter(|(x, z)| is_inside(*x, *z));
                pixels.extend(around.map(|(x, z)| (z, x, WAY_END)));
            }
            if pixels.len() > limit {
                pixels.sort_unstable();
                pixels.dedup();
                limit = limit.max(2 * pixels.len());
            }
        }
        // The end of a way is drawn over it.
        pixels.sort_unstable();
        pixels.dedup();
        pixels
    }
}

/// Returns the median.
fn middle(mut all: Vec<i32>) -> i32 {
    let place = all.len() / 2;
    if all.is_empty() { 0 } else { *all.select_nth_unstable(place).1 }
}

/// Chunks from the middle of a map to its edges at most: a picture has at most 16,384 pixels in each direction.
const HALF: i32 = 512;

/// Pixels of ways from which those that occur twice are left out.
const MAX_PIXELS: usize = 1 << 24;
