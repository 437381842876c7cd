use super::{BiomeMap, Section};

/// The part of a chunk that a packet has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// The coordinates of the chunk, in chunks.
    pub x: i32,
    /// See [`x`](Self::x).
    pub z: i32,
    /// The sections, from the lowest up.
    pub sections: Vec<Section>,
    /// The biomes, if the packet has any beside those of the sections.
    pub biomes: Option<BiomeMap>,
}

impl Column {
    /// Returns the state of the block at absolute coordinates; `None` if the packet does not have it.
    #[must_use]
    pub fn state(&self, x: i32, y: i32, z: i32) -> Option<u32> {
        self.sections.iter().find_map(|section| section.state(x, y, z))
    }

    /// Returns the ranges of y, least and greatest, in which sections have something.
    #[must_use]
    pub fn heights(&self, has: impl Fn(&Section) -> bool) -> Vec<(i64, i64)> {
        let mut heights: Vec<(i64, i64)> = Vec::new();
        for section in self.sections.iter().filter(|section| has(section)) {
            let bottom = i64::from(section.origin[1]);
            let top = bottom + section.size[1] as i64 - 1;
            match heights.last_mut() {
                Some((_, last)) if *last + 1 == bottom => *last = top,
                _ => heights.push((bottom, top)),
            }
        }
        heights
    }
}
