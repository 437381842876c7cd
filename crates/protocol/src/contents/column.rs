use super::fields::{int, list};
use super::{BiomeMap, Contents, ContentsError, Section};
use crate::packet::Packet;
use crate::schema::{Release, Value};

/// The state of sections that a packet leaves out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Missing {
    /// The client keeps these sections as they were.
    Kept,
    /// The sections are air: up to 1.17, a whole chunk leaves out those of air, from y 0 to 255.
    Air,
    /// The client unloads the chunk, up to 1.8.
    Unloaded,
}

impl Missing {
    /// Reads the fate of the sections that a `map_chunk` of 1.2 or later does not have.
    pub(super) fn of(fields: &Value, release: Release) -> Result<Self, ContentsError> {
        let is_full = fields.get("groundUp").is_none_or(|it| *it.plain() == Value::Bool(true));
        Ok(match is_full {
            // An unsigned short.
            true if release <= Release::V1_8 && int(fields, "bitMap")? & 0xffff == 0 => {
                Self::Unloaded
            }
            true if release < Release::V1_18 => Self::Air,
            // Since 1.18 no section is left out.
            _ => Self::Kept,
        })
    }
}

/// The place of a chunk that a packet has, without its blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Announced {
    /// The coordinates, in chunks.
    pub x: i32,
    /// See [`x`](Self::x).
    pub z: i32,
    /// The fate of the sections that the packet does not have.
    pub missing: Missing,
}

impl Announced {
    /// Reads the chunks that a packet of 1.2 or later has; `None` if it is of a type without any.
    ///
    /// # Errors
    /// [`ContentsError`]: what is wrong with the packet.
    pub fn read(packet: &Packet) -> Option<Result<Vec<Self>, ContentsError>> {
        let kind = packet.kind().filter(|kind| Contents::has(kind))?;
        let release = packet.context().protocol.release();
        if release < Release::V1_2 {
            return None;
        }
        let read = |fields: &Value| match &**kind.name() {
            "map_chunk_bulk" => {
                let missing = Missing::Air;
                let all = list(fields, "meta")?.iter();
                all.map(|it| Ok(Self { x: int(it, "x")?, z: int(it, "z")?, missing })).collect()
            }
            "update_light" => {
                let (x, z) = (int(fields, "chunkX")?, int(fields, "chunkZ")?);
                Ok(vec![Self { x, z, missing: Missing::Kept }])
            }
            _ => {
                let missing = Missing::of(fields, release)?;
                Ok(vec![Self { x: int(fields, "x")?, z: int(fields, "z")?, missing }])
            }
        };
        Some(packet.packed_value().map_err(ContentsError::from).and_then(|fields| read(&fields)))
    }
}

/// The part of a chunk that a packet has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// The coordinates of the chunk, in chunks.
    pub x: i32,
    /// See [`x`](Self::x).
    pub z: i32,
    /// The sections, from the lowest up.
    pub sections: Vec<Section>,
    /// The fate of the sections that the packet does not have.
    pub missing: Missing,
    /// The biomes, if the packet has any beside those of the sections.
    pub biomes: Option<BiomeMap>,
}

impl Column {
    /// Returns the state of the block at absolute coordinates; `None` if the packet does not tell it.
    #[must_use]
    pub fn state(&self, x: i32, y: i32, z: i32) -> Option<u32> {
        match self.sections.iter().find(|section| section.contains(x, y, z)) {
            Some(section) => section.state(x, y, z),
            None => (self.missing == Missing::Air
                && (x >> 4, z >> 4) == (self.x, self.z)
                && HEIGHTS.contains(&y))
            .then_some(AIR),
        }
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

/// Heights of the blocks of a world, up to 1.17.
const HEIGHTS: std::ops::Range<i32> = 0..256;

/// The state of air in every version.
const AIR: u32 = 0;
