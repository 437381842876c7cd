use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

use super::fields::{int, masked};
use super::{
    BiomeMap, Blocks, Column, ContentsError, Missing, Palette, light, packed, planar, region,
};
use crate::meaning::{FieldMeanings, Registry, RegistryKind, registry};
use crate::packet::{Packet, SentRegistries};
use crate::schema::{Direction, PacketType, Protocol, Release, Scalar, State, Value};

/// The chunks that a packet contains.
#[derive(Debug)]
pub struct Contents {
    /// The chunks; several in a `map_chunk_bulk`.
    pub columns: Vec<Column>,
    pub(super) release: Release,
    pub(super) blocks: Option<&'static Registry>,
    pub(super) biomes: Option<&'static Registry>,
    /// The meanings in the packet that changes one block, among them those of its data.
    changes: Option<FieldMeanings>,
    /// The names that the server has sent.
    sent: Arc<SentRegistries>,
}

impl Contents {
    /// Returns whether packets of a type contain chunks.
    #[must_use]
    pub fn has(kind: &PacketType) -> bool {
        (kind.state(), kind.direction()) == (State::Play, Direction::Clientbound)
            && matches!(&**kind.name(), "map_chunk" | "map_chunk_bulk" | "update_light")
    }

    /// Reads the chunks of a packet; `None` if it is of a type without any.
    ///
    /// # Errors
    /// [`ContentsError`]: what is wrong with them.
    pub fn read(packet: &Packet) -> Option<Result<Self, ContentsError>> {
        let kind = packet.kind().filter(|kind| Self::has(kind))?;
        let protocol = &packet.context().protocol;
        let sent = &packet.context().registries;
        let fields = packet.packed_value().map_err(ContentsError::from);
        Some(fields.and_then(|fields| Self::of(protocol, kind, &fields, sent)))
    }

    /// Reads the chunks of a packet's fields.
    fn of(
        protocol: &Protocol,
        kind: &PacketType,
        fields: &Value,
        sent: &Arc<SentRegistries>,
    ) -> Result<Self, ContentsError> {
        let release = protocol.release();
        let compressed = release < Release::V1_8;
        let mut columns = match &**kind.name() {
            _ if release < Release::V1_2 => region::read(fields)?,
            "map_chunk_bulk" => planar::bulk(fields, compressed)?,
            // Palettes came before 15w40b, the first snapshot after 1.8 with a table.
            "map_chunk" if release <= Release::V1_8 => planar::single(fields, release, compressed)?,
            "update_light" => {
                let (x, z) = (int(fields, "chunkX")?, int(fields, "chunkZ")?);
                vec![Column { x, z, sections: Vec::new(), missing: Missing::Kept, biomes: None }]
            }
            _ => packed::read(fields, release, sent)?,
        };
        if let [column] = &mut *columns
            && fields.get("skyLightMask").is_some()
        {
            let sections = match &**kind.name() {
                // Of the light alone, two more sections than the world has tell its height.
                "update_light" => masked(fields),
                _ => column.sections.len(),
            };
            let is_counted = release >= Release::V1_18;
            let lowest = if is_counted { packed::lowest(sections, sent) } else { 0 };
            light::add(column, fields, lowest)?;
        }
        let registry = |kind| registry(protocol, kind);
        let (blocks, biomes) = (registry(RegistryKind::Block), registry(RegistryKind::Biome));
        let change = protocol.named(State::Play, Direction::Clientbound, "block_change");
        let changes = change.and_then(|change| FieldMeanings::of(protocol, change));
        Ok(Self { columns, release, blocks, biomes, changes, sent: Arc::clone(sent) })
    }

    /// Returns the state of the block at absolute coordinates; up to 1.12 its number times 16 and its
    /// data. `None` if the packet does not have it.
    #[must_use]
    pub fn state(&self, x: i32, y: i32, z: i32) -> Option<u32> {
        self.columns.iter().find_map(|column| column.state(x, y, z))
    }

    /// Returns the name of the block at absolute coordinates, or its number if it has no name.
    #[must_use]
    pub fn block(&self, x: i32, y: i32, z: i32) -> Option<String> {
        Some(self.block_name(self.state(x, y, z)?))
    }

    /// Returns the name of a block without its state, or its number if it has no name.
    #[must_use]
    pub fn block_name(&self, state: u32) -> String {
        let number = self.block_number(state);
        let name = self.blocks.and_then(|blocks| blocks.name(number.into()));
        name.map_or_else(|| format!("block {number}"), str::to_owned)
    }

    /// Returns what the data of a block says, in Alpha and 1.7: `falling`. `None` if it has no name.
    #[must_use]
    pub fn data_name(&self, state: u32) -> Option<Cow<'static, str>> {
        let block = |_: &str| Some(i64::from(self.block_number(state)).into());
        self.changes?.at("metadata", block)?.text(&Scalar::Int((state & 15).into()))
    }

    /// Returns the name of a biome, or its number if it has no name.
    #[must_use]
    pub fn biome_name(&self, number: u32) -> String {
        let sent = self.sent.name(BIOMES, number.into());
        let name = sent.or_else(|| self.biomes?.name(number.into()));
        name.map_or_else(|| format!("biome {number}"), str::to_owned)
    }

    /// Returns what is wrong with the first section that has a block of nothing, or one that its palette lacks; `None`
    /// if there is none, or the version's blocks are not known.
    #[must_use]
    pub fn unknown_block(&self) -> Option<String> {
        let blocks = self.blocks?;
        let sections = self.columns.iter().flat_map(|column| column.sections.iter().enumerate());
        let is_unknown = |state: u32| blocks.name(self.block_number(state).into()).is_none();
        let (mut last, mut known) = (None, HashSet::new());
        // Most blocks are as the one before.
        let mut is_new = |state: u32| last.replace(state) != Some(state) && known.insert(state);
        for (place, section) in sections {
            let palette = match &section.blocks {
                None => continue,
                Some(Blocks::Packed(container)) => match &container.palette {
                    Palette::Indirect(palette) => Some((palette, container.bits)),
                    Palette::Single(_) | Palette::Direct => None,
                },
                Some(Blocks::Bytes { .. } | Blocks::Shorts(_)) => None,
            };
            let unknown = match palette {
                Some((palette, _)) => palette.iter().copied().find(|state| is_unknown(*state)),
                None => section.states().flatten().find(|it| is_new(*it) && is_unknown(*it)),
            };
            if let Some(state) = unknown {
                let number = self.block_number(state);
                return Some(format!(
                    "section {place} has block {number}, which the version does not have"
                ));
            }
            if let Some((palette, bits)) = palette
                && palette.len() < 1 << bits.min(16)
                && section.states().any(|state| state.is_none())
            {
                let entries = palette.len();
                return Some(format!(
                    "section {place} has blocks beyond the {entries} of its palette"
                ));
            }
        }
        None
    }

    /// Returns a sentence about the first biome that does not exist: in the registry that the server has sent, or else
    /// in the version. `None` if all exist, or it is not known which do.
    #[must_use]
    pub fn unknown_biome(&self) -> Option<String> {
        let are_sent = self.sent.name(BIOMES, 0).is_some();
        // Since 1.16.2, servers have biomes of their own.
        let own = self.biomes.filter(|_| !are_sent && self.release < Release::V1_16_2);
        if !are_sent && own.is_none() {
            return None;
        }
        let is_unknown = |number: u32| match own {
            None => self.sent.name(BIOMES, number.into()).is_none(),
            // The game chooses one itself.
            Some(_) if self.release < Release::V1_13 && number == UNSET => false,
            Some(own) => own.name(number.into()).is_none(),
        };
        let mut known = HashSet::new();
        for column in &self.columns {
            let mut flat = column.biomes.iter().flat_map(BiomeMap::numbers);
            let unknown = flat.find(|number| known.insert(*number) && is_unknown(*number));
            if let Some(number) = unknown {
                return Some(format!("there is no biome {number}"));
            }
            for (place, section) in column.sections.iter().enumerate() {
                let Some(cells) = &section.biomes else { continue };
                let unknown = match &cells.palette {
                    Palette::Single(number) => Some(*number).filter(|it| is_unknown(*it)),
                    Palette::Indirect(all) => all.iter().copied().find(|it| is_unknown(*it)),
                    Palette::Direct => (0..CELLS)
                        .filter_map(|it| cells.get(it))
                        .find(|number| known.insert(*number) && is_unknown(*number)),
                };
                if let Some(number) = unknown {
                    return Some(format!("section {place} has biome {number}, which there is not"));
                }
            }
        }
        None
    }

    /// Returns the number by which the registry knows a block.
    fn block_number(&self, state: u32) -> u32 {
        if self.release < Release::V1_13 { state >> 4 } else { state }
    }
}

/// The registry of biomes.
const BIOMES: &str = "minecraft:worldgen/biome";

/// The biome of a column that has none, up to 1.12.
const UNSET: u32 = 255;

/// The cells with a biome in a section.
const CELLS: usize = 4 * 4 * 4;
