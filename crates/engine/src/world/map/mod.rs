//! Maps of worlds, seen from above: a pixel for each column of blocks, in the colours and shades of the game's own maps.
//!
//! A chunk is reduced to its [`Surface`]. [`MapWriter`] draws all chunks in captures; [`Terrain`] rebuilds single chunks
//! from their packets, for interfaces that draw the map in [tiles](tile).

mod block_colors;
mod map_writer;
mod path;
mod picture;
mod png;
mod surface;
mod terrain;
#[cfg(test)]
mod tests;

pub use map_writer::{MapReport, MapWriter, WorldMap};
pub use path::{is_walked, player_place};
pub use picture::{TILE_CHUNKS, tile};
pub use surface::Surface;
pub use terrain::{Entered, Extent, Seen, Sight, Terrain, sights};
