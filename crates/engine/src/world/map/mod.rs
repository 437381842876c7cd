//! Maps of worlds, seen from above: a pixel for each column of blocks, in the colours and shades of the game's own maps.
//!
//! Of a chunk only its [`Surface`] is kept. A [`MapWriter`] makes pictures of all chunks in captures; [`Terrain`] rebuilds
//! single chunks of packets, for interfaces that draw [tiles](tile).

mod block_colors;
mod map_writer;
mod picture;
mod png;
mod surface;
mod terrain;
#[cfg(test)]
mod tests;
mod way;

pub use map_writer::{MapReport, MapWriter, WorldMap};
pub use picture::{TILE_CHUNKS, tile};
pub use surface::Surface;
pub use terrain::{Entered, Seen, Sight, Terrain, sights};
pub use way::player_place;
