use std::sync::Arc;

use super::block_colors::BlockColors;
use super::surface::Surface;
use crate::world::dimension::{Dimension, NETHER};
use crate::world::region::Region;
use crate::world::world_writer::{LeftOut, chunks};
use mitmcraft_protocol::meaning::{RegistryKind, registry};
use mitmcraft_protocol::packet::Packet;
use mitmcraft_protocol::schema::{Protocol, Release, Value};

/// A chunk about which a packet says something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Sight {
    /// The coordinates, in chunks.
    pub x: i32,
    /// See [`x`](Self::x).
    pub z: i32,
    /// `true` if the packet has the whole chunk: what was known of it before does not matter.
    pub is_whole: bool,
}

/// Returns the chunks whose blocks a packet puts or changes; none for other packets.
#[must_use]
pub fn sights(packet: &Packet) -> Vec<Sight> {
    let Some(kind) = packet.kind() else { return Vec::new() };
    let is_whole = match &**kind.name() {
        "map_chunk_bulk" => true,
        "map_chunk" => {
            let Ok(fields) = packet.packed_value() else { return Vec::new() };
            let is_true = |it: &Value| *it.plain() == Value::Bool(true);
            let is_whole = fields.get("groundUp").is_none_or(is_true);
            let release = packet.context().protocol.release();
            let is_empty = fields.get("bitMap").and_then(Value::as_int) == Some(0);
            if is_whole && is_empty && release <= Release::V1_8 {
                // It unloads the chunk, which stays as it was.
                return Vec::new();
            }
            is_whole
        }
        "block_change" | "multi_block_change" | "explosion" | "acknowledge_player_digging" => false,
        _ => return Vec::new(),
    };
    let chunks = chunks(packet).unwrap_or_default();
    chunks.into_iter().map(|(x, z)| Sight { x, z, is_whole }).collect()
}

/// The dimension into which a packet brings the player.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Entered {
    /// The name that the server sent, which tells dimensions apart.
    pub sent: String,
    /// The name in a world: `minecraft:overworld`.
    pub name: String,
    /// `true` if it has a ceiling, as the nether.
    pub has_ceiling: bool,
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
        let has_ceiling = dimension.kind() == NETHER;
        Self { sent: dimension.sent, name: dimension.name, has_ceiling }
    }
}

/// Rebuilds chunks of the packets about them.
#[derive(Debug)]
pub struct Terrain {
    /// By their coordinates.
    regions: Vec<((i32, i32), Region)>,
    has_ceiling: bool,
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
    /// Creates a terrain without chunks; of one with a ceiling, what is below it is seen.
    #[must_use]
    pub fn new(has_ceiling: bool) -> Self {
        Self { regions: Vec::new(), has_ceiling, colors: Vec::new() }
    }

    /// Takes a packet about a chunk, after those that came earlier. What it says of chunks in other regions of 32 × 32 is
    /// left out.
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
        let (surface, states) = Surface::of(chunk, colors, self.has_ceiling, &mut 0);
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
