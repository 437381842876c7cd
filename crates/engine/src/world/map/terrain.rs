use std::sync::Arc;

use super::block_colors::BlockColors;
use super::surface::Surface;
use crate::world::dimension::Dimension;
use crate::world::known_chunk::is_whole;
use crate::world::region::Region;
use crate::world::world_writer::LeftOut;
use mitmcraft_protocol::contents::{Announced, Changes, Missing};
use mitmcraft_protocol::meaning::{RegistryKind, registry};
use mitmcraft_protocol::packet::Packet;
use mitmcraft_protocol::schema::{Protocol, Release};

/// A chunk whose blocks a packet sets, all or some of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Sight {
    /// The coordinates, in chunks.
    pub x: i32,
    /// See [`x`](Self::x).
    pub z: i32,
    /// The blocks that the packet puts.
    pub extent: Extent,
}

/// The blocks of a chunk that a packet puts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Extent {
    /// All of the chunk: what was known of it before does not matter.
    Whole,
    /// Some sections.
    Sections,
    /// One block, by a number that tells those of a chunk apart.
    Block(u32),
}

/// Returns what a packet says of the blocks of chunks; nothing for other packets.
#[must_use]
pub fn sights(packet: &Packet) -> Vec<Sight> {
    if packet.kind().is_some_and(|kind| &**kind.name() == "update_light") {
        return Vec::new();
    }
    let release = packet.context().protocol.release();
    if let Some(announced) = Announced::read(packet) {
        let announced = announced.unwrap_or_default().into_iter();
        // A chunk that is unloaded stays as it was.
        let kept = announced.filter(|it| it.missing != Missing::Unloaded);
        let sight = |Announced { x, z, missing, .. }| {
            let is_whole = is_whole(missing, release);
            Sight { x, z, extent: if is_whole { Extent::Whole } else { Extent::Sections } }
        };
        return kept.map(sight).collect();
    }
    let changes = Changes::read(packet).and_then(Result::ok);
    let sight = |([x, y, z], _): &([i32; 3], u32)| {
        // No world is higher.
        let y = u32::from(i16::try_from(*y).ok()?.cast_unsigned());
        let block = y << 8 | (z & 15).cast_unsigned() << 4 | (x & 15).cast_unsigned();
        Some(Sight { x: x >> 4, z: z >> 4, extent: Extent::Block(block) })
    };
    changes.iter().flat_map(|it| it.all.iter().filter_map(sight)).collect()
}

/// The dimension into which a packet brings the player.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Entered {
    /// The name that the server sent, which tells dimensions apart.
    pub sent: String,
    /// The name in a world: `minecraft:overworld`.
    pub name: String,
    /// The height at which its ceiling ends, if it has one, as the nether.
    pub ceiling: Option<i32>,
}

impl Entered {
    /// Reads where a packet brings the player; `None` if it does not.
    #[must_use]
    pub fn read(packet: &Packet) -> Option<Self> {
        Dimension::read(packet).map(Self::new)
    }

    /// The dimension of players before anything says where they are.
    #[must_use]
    pub fn overworld() -> Self {
        Self::new(Dimension::overworld())
    }

    fn new(dimension: Dimension) -> Self {
        let Dimension { sent, name, ceiling, .. } = dimension;
        Self { sent, name, ceiling }
    }
}

/// Chunks that are rebuilt from the packets about them.
#[derive(Debug)]
pub struct Terrain {
    /// By their coordinates.
    regions: Vec<((i32, i32), Region)>,
    ceiling: Option<i32>,
    colors: Vec<(Arc<Protocol>, BlockColors)>,
}

/// A chunk seen from above.
#[derive(Debug, Clone)]
pub struct Seen {
    /// The heights and colours of its columns.
    pub surface: Surface,
    /// The states of the blocks that are seen.
    states: Box<[u32; 256]>,
    protocol: Arc<Protocol>,
}

impl Terrain {
    /// Creates a terrain without chunks; of one with a ceiling that ends at a height, what is below it is seen.
    #[must_use]
    pub fn new(ceiling: Option<i32>) -> Self {
        Self { regions: Vec::new(), ceiling, colors: Vec::new() }
    }

    /// Applies the next packet about a chunk. What it says of chunks in other regions of 32 × 32 is ignored.
    pub fn take(&mut self, packet: &Packet, x: i32, z: i32) {
        let place = (x >> 5, z >> 5);
        let known = self.regions.iter().position(|(it, _)| *it == place);
        let index = known.unwrap_or_else(|| {
            self.regions.push((place, Region::new((0, place.0, place.1))));
            self.regions.len() - 1
        });
        if let Some((_, region)) = self.regions.get_mut(index) {
            region.take(packet, &mut LeftOut::default());
        }
    }

    /// Returns a chunk as it is now; `None` if it is not known as a whole.
    pub fn seen(&mut self, x: i32, z: i32) -> Option<Seen> {
        let (_, region) = self.regions.iter().find(|(it, _)| *it == (x >> 5, z >> 5))?;
        let chunk = region.chunks.get(&(x, z))?;
        let protocol = &chunk.context.protocol;
        let known = self.colors.iter().position(|(it, _)| Arc::ptr_eq(it, protocol));
        let index = known.unwrap_or_else(|| {
            self.colors.push((Arc::clone(protocol), BlockColors::new(protocol)));
            self.colors.len() - 1
        });
        let (_, colors) = self.colors.get_mut(index)?;
        let (surface, states) = Surface::of(chunk, colors, self.ceiling, &mut 0);
        Some(Seen { surface, states, protocol: Arc::clone(protocol) })
    }
}

impl Seen {
    /// Returns the height and the name of the block that is seen of a column; `None` if none is. The coordinates are those
    /// in the chunk.
    #[must_use]
    pub fn block(&self, x: usize, z: usize) -> Option<(i16, String)> {
        let height = self.surface.height(x, z)?;
        let state = *self.states.get(z * 16 + x)?;
        let is_numbered = self.protocol.release() < Release::V1_13;
        let number = if is_numbered { state >> 4 } else { state };
        let name = registry(&self.protocol, RegistryKind::Block)?.name(number.into())?;
        Some((height, name.to_owned()))
    }
}
