use std::borrow::Cow;
use std::sync::Arc;

use bytes::Bytes;

use super::{Column, ContentsError, Missing, light, packed, planar, region};
use crate::codec::Inflater;
use crate::meaning::{FieldMeanings, Registry, RegistryKind, registry};
use crate::packet::{Packet, SentRegistries};
use crate::schema::{Direction, Family, PacketType, Protocol, Scalar, State, Value};

/// The chunks that a packet contains.
#[derive(Debug)]
pub struct Contents {
    /// The chunks; several in a `map_chunk_bulk`.
    pub columns: Vec<Column>,
    pub(super) version: i32,
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
        let version = protocol.version();
        let mut columns = match (protocol.family(), version, &**kind.name()) {
            (Family::Alpha, ..) | (Family::Legacy, ..V1_2, _) => region::read(fields)?,
            (Family::Legacy, ..) | (_, ..V1_9, _) => {
                let compressed = protocol.family() == Family::Legacy || version < V1_8;
                match &**kind.name() {
                    "map_chunk" => planar::single(fields, compressed)?,
                    _ => planar::bulk(fields, compressed)?,
                }
            }
            (_, _, "update_light") => {
                let (x, z) = (int(fields, "chunkX")?, int(fields, "chunkZ")?);
                vec![Column { x, z, sections: Vec::new(), missing: Missing::Kept, biomes: None }]
            }
            _ => packed::read(fields, version, sent)?,
        };
        if let [column] = &mut *columns
            && fields.get("skyLightMask").is_some()
        {
            let sections = match &**kind.name() {
                // Of the light alone, two more sections than the world has tell its height.
                "update_light" => masked(fields),
                _ => column.sections.len(),
            };
            let lowest = if version >= packed::V1_18 { lowest(sections, sent) } else { 0 };
            light::add(column, fields, lowest)?;
        }
        let registry = |kind| registry(protocol, kind);
        let (blocks, biomes) = (registry(RegistryKind::Block), registry(RegistryKind::Biome));
        let change = protocol.named(State::Play, Direction::Clientbound, "block_change");
        let changes = change.and_then(|change| FieldMeanings::of(protocol, change));
        Ok(Self { columns, version, blocks, biomes, changes, sent: Arc::clone(sent) })
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
        let sent = self.sent.name("minecraft:worldgen/biome", number.into());
        let name = sent.or_else(|| self.biomes?.name(number.into()));
        name.map_or_else(|| format!("biome {number}"), str::to_owned)
    }

    /// Returns the number by which the registry knows a block.
    fn block_number(&self, state: u32) -> u32 {
        if self.version < V1_13 { state >> 4 } else { state }
    }
}

/// Returns the number of the lowest of so many sections. If the server's dimension types do not tell it, a
/// world that is as high as the overworld of 1.18 and later begins at -64 as well.
pub(super) fn lowest(sections: usize, sent: &SentRegistries) -> i32 {
    let bottom = bottom(sections, sent);
    let assumed = if sections == OVERWORLD { -4 } else { 0 };
    bottom.map_or(assumed, |bottom| bottom >> 4)
}

/// Returns whether worlds have so many sections: those of the game, or of a dimension type that the server
/// has sent.
pub(super) fn is_height(sections: usize, sent: &SentRegistries) -> bool {
    matches!(sections, NETHER | OVERWORLD) || bottom(sections, sent).is_some()
}

fn bottom(sections: usize, sent: &SentRegistries) -> Option<i32> {
    sent.bottom(i32::try_from(sections.checked_mul(16)?).ok()?)
}

/// Returns how many sections the masks of light cover, less the two outside of the world: servers say of
/// each section whether it has light.
pub(super) fn masked(fields: &Value) -> usize {
    let top = |name: &'static str| {
        let words = ints(fields, name).unwrap_or_default();
        let (place, word) = words.iter().enumerate().rfind(|(_, word)| **word != 0)?;
        Some(place * 64 + (63 - word.leading_zeros() as usize))
    };
    let names = ["skyLightMask", "blockLightMask", "emptySkyLightMask", "emptyBlockLightMask"];
    names.into_iter().filter_map(top).max().map_or(0, |top| top.saturating_sub(1))
}

/// Returns the least coordinates of a section; those of hostile packets wrap.
pub(super) fn origin(x: i32, number: i64, z: i32) -> [i32; 3] {
    [x.wrapping_mul(16), (number * 16) as i32, z.wrapping_mul(16)]
}

pub(super) fn int(fields: &Value, name: &'static str) -> Result<i32, ContentsError> {
    let int = fields.get(name).and_then(Value::as_int);
    int.and_then(|int| int.try_into().ok()).ok_or(ContentsError::Field(name))
}

pub(super) fn list<'f>(
    fields: &'f Value,
    name: &'static str,
) -> Result<&'f [Value], ContentsError> {
    fields.get(name).and_then(Value::as_list).ok_or(ContentsError::Field(name))
}

pub(super) fn ints(fields: &Value, name: &'static str) -> Result<Vec<i64>, ContentsError> {
    let items = list(fields, name)?.iter();
    items.map(Value::as_int).collect::<Option<_>>().ok_or(ContentsError::Field(name))
}

/// Returns the numbers of the bits that are set in a field, an integer or since 1.17 a list of longs, of
/// which the first `words` count.
pub(super) fn set_bits(
    fields: &Value,
    name: &'static str,
    words: usize,
) -> Result<Vec<i32>, ContentsError> {
    let mask = match fields.get(name).map(Value::plain) {
        Some(Value::Int(mask)) => vec![*mask],
        // Since 26.3, the lowest byte first.
        Some(Value::Bytes(bytes)) => {
            let words = bytes
                .chunks(8)
                .map(|word| word.iter().rev().fold(0, |word, byte| word << 8 | i64::from(*byte)));
            words.collect()
        }
        _ => ints(fields, name)?,
    };
    let words = (0..).zip(mask).take(words);
    let set = words.flat_map(|(place, word)| {
        (0..64).filter(move |bit| word >> bit & 1 == 1).map(move |bit| place * 64 + bit)
    });
    Ok(set.collect())
}

pub(super) fn flag(fields: &Value, name: &'static str) -> Result<bool, ContentsError> {
    match fields.get(name).map(Value::plain) {
        Some(Value::Bool(flag)) => Ok(*flag),
        _ => Err(ContentsError::Field(name)),
    }
}

pub(super) fn bytes(fields: &Value, name: &'static str) -> Result<Bytes, ContentsError> {
    fields.get(name).and_then(Value::as_bytes).cloned().ok_or(ContentsError::Field(name))
}

/// Inflates a field whose content takes `expected` bytes.
pub(super) fn zlib(
    fields: &Value,
    name: &'static str,
    expected: usize,
) -> Result<Bytes, ContentsError> {
    let bytes = bytes(fields, name)?;
    // A byte more than wanted shows that there is more.
    let limit = (expected + 1).min(MAX_INFLATED);
    Ok(Inflater::with(|inflater| inflater.whole(&bytes, limit))?)
}

/// The greatest size of inflated chunks. A bulk packet of 1.7 has at most 5 chunks of 200 KiB.
const MAX_INFLATED: usize = 16 << 20;

/// Sections of the nether and the end.
const NETHER: usize = 16;

/// Sections of the overworld since 1.18.
const OVERWORLD: usize = 24;

/// In the family of Beta 1.0 to 1.6.4; the others are in that of 1.7 and later.
const V1_2: i32 = 28;
const V1_8: i32 = 47;
const V1_9: i32 = 107;
const V1_13: i32 = 393;
