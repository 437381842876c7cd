use bytes::Bytes;

use super::blocks::nibble;
use super::{Blocks, Container};

/// A box of blocks, usually 16 × 16 × 16, with their light.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    /// The least coordinates.
    pub origin: [i32; 3],
    /// The extent in x, y and z.
    pub size: [usize; 3],
    /// The blocks; `None` if the packet has only light.
    pub blocks: Option<Blocks>,
    /// The number of blocks that are not air, as the packet says; since 1.14.
    pub declared: Option<i16>,
    /// Half a byte for each block; `None` if the packet has no block light for the section.
    pub block_light: Option<Bytes>,
    /// Half a byte for each block; `None` if the packet has no sky light for the section.
    pub sky_light: Option<Bytes>,
    /// The biomes of cells of 4 × 4 × 4 blocks; since 1.18.
    pub biomes: Option<Container>,
    /// `true` if y counts fastest, as in Alpha; otherwise x, then z.
    pub(super) upright: bool,
}

impl Section {
    /// A section of 16 × 16 × 16 blocks of which nothing is known.
    pub(super) const EMPTY: Self = Self {
        origin: [0; 3],
        size: [16; 3],
        blocks: None,
        declared: None,
        block_light: None,
        sky_light: None,
        biomes: None,
        upright: false,
    };

    /// Returns the state of the block at absolute coordinates; `None` if it is outside of the section.
    #[must_use]
    pub fn state(&self, x: i32, y: i32, z: i32) -> Option<u32> {
        self.blocks.as_ref()?.state(self.index(x, y, z)?)
    }

    /// Iterates over the states of all blocks; `None` for one that its palette does not have.
    pub fn states(&self) -> impl Iterator<Item = Option<u32>> {
        let blocks = self.blocks.as_ref();
        let count = if blocks.is_some() { self.len() } else { 0 };
        (0..count).map(move |index| blocks?.state(index))
    }

    /// Returns the block light and the sky light at absolute coordinates.
    #[must_use]
    pub fn light(&self, x: i32, y: i32, z: i32) -> (Option<u8>, Option<u8>) {
        let Some(index) = self.index(x, y, z) else { return (None, None) };
        // A light has 4 bits.
        let light = |bytes: &Option<Bytes>| nibble(bytes.as_ref()?, index).map(|it| it as u8);
        (light(&self.block_light), light(&self.sky_light))
    }

    /// Returns the number of blocks.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "no section is empty")]
    pub fn len(&self) -> usize {
        self.size.iter().product()
    }

    /// Returns whether the section has the block at absolute coordinates.
    #[must_use]
    pub fn contains(&self, x: i32, y: i32, z: i32) -> bool {
        self.index(x, y, z).is_some()
    }

    fn index(&self, x: i32, y: i32, z: i32) -> Option<usize> {
        let mut offsets = [0; 3];
        for (axis, at) in [x, y, z].into_iter().enumerate() {
            let offset = at.checked_sub(self.origin[axis])?;
            offsets[axis] = usize::try_from(offset).ok().filter(|it| *it < self.size[axis])?;
        }
        let [x, y, z] = offsets;
        Some(match self.upright {
            true => y + (z + x * self.size[2]) * self.size[1],
            false => x + (z + y * self.size[2]) * self.size[0],
        })
    }
}

/// Returns the least coordinates of a section; those of hostile packets wrap.
pub(super) fn origin(x: i32, number: i64, z: i32) -> [i32; 3] {
    [x.wrapping_mul(16), (number * 16) as i32, z.wrapping_mul(16)]
}
