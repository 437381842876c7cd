//! Worlds in the game's own format (Anvil), made of the chunks that servers have sent.
//!
//! A [`WorldWriter`] takes the entries of captures and keeps the packets about blocks, sorted by region, in a spool that its
//! caller provides. When it is finished, one region after the other is rebuilt and written, so that memory is bounded by
//! the largest region. What was never sent is left out. `docs/worlds.md` says what a world from packets has. A
//! [`MapWriter`] draws what would be in it.

mod block_entities;
mod chunk_tag;
mod dimension;
mod known_chunk;
mod level;
mod log;
mod map;
mod memory;
mod palette;
mod region;
mod region_file;
mod storage;
mod tags;
#[cfg(test)]
mod tests;
mod world_writer;

pub use map::{
    Entered, Extent, MapReport, MapWriter, Seen, Sight, Surface, TILE_CHUNKS, Terrain, WorldMap,
    is_walked, player_place, sights, tile,
};
pub use world_writer::{
    LeftOut, WorldError, WorldFiles, WorldReport, WorldWriter, is_about_blocks,
};
