//! What packets with chunks contain: blocks, light and biomes of every era, from Alpha to the newest.
//!
//! Decoded on demand, and bounded: arrays stay as they are in the packet and are read where a block is
//! asked for, so that a hostile chunk takes no more memory than its packet, or than the limit to which
//! compressed ones are inflated.

mod biome_map;
mod blocks;
mod changes;
mod column;
mod container;
#[expect(clippy::module_inception, reason = "one type per file, named after it")]
mod contents;
mod error;
mod fields;
mod light;
mod lookup;
mod packed;
mod planar;
mod region;
mod section;
mod summary;
#[cfg(test)]
mod tests;

pub use biome_map::BiomeMap;
pub use blocks::Blocks;
pub use changes::Changes;
pub use column::{Announced, Column, Missing};
pub use container::{Container, Palette};
pub use contents::Contents;
pub use error::ContentsError;
pub use section::Section;
pub use summary::Summary;
