//! Single blocks that packets change.

use super::ContentsError;
use super::fields::{int, ints, list};
use crate::packet::Packet;
use crate::schema::{Direction, PacketType, Release, State, Value};

/// The single blocks that a packet changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changes {
    /// Positions in the order in which they change, and the state of the block that is there then; up to 1.12 its
    /// number times 16 and its data.
    pub all: Vec<([i32; 3], u32)>,
}

impl Changes {
    /// Returns whether packets of a type name blocks that change.
    pub(super) fn has(kind: &PacketType) -> bool {
        is_clientbound(kind) && matches!(&**kind.name(), "block_change" | "multi_block_change")
    }

    /// Reads the blocks that change when the client receives a packet; `None` if it is of a type that changes none.
    /// Beside changes that are named there are explosions, which leave air, up to 1.21.1, and answers to digging,
    /// which restore a block, up to 1.18.2.
    ///
    /// # Errors
    /// [`ContentsError`]: what is wrong with the packet.
    pub fn read(packet: &Packet) -> Option<Result<Self, ContentsError>> {
        let kind = packet.kind().filter(|kind| is_clientbound(kind))?;
        let read = match &**kind.name() {
            "block_change" => single,
            "multi_block_change" => several,
            "explosion" => exploded,
            "acknowledge_player_digging" => restored,
            _ => return None,
        };
        let release = packet.context().protocol.release();
        let fields = packet.value().map_err(ContentsError::from);
        Some(fields.and_then(|fields| read(&fields, release)).map(|all| Self { all }))
    }

    /// Returns the state of the block that is put at absolute coordinates.
    pub(super) fn state(&self, x: i32, y: i32, z: i32) -> Option<u32> {
        // Of several changes of a block the last holds.
        self.all.iter().rfind(|(at, _)| *at == [x, y, z]).map(|(_, state)| *state)
    }
}

fn is_clientbound(kind: &PacketType) -> bool {
    (kind.state(), kind.direction()) == (State::Play, Direction::Clientbound)
}

/// A position and the state of the block that is there now.
type Change = ([i32; 3], u32);

fn single(fields: &Value, release: Release) -> Result<Vec<Change>, ContentsError> {
    Ok(vec![(location(fields)?, state(fields, "type", release)?)])
}

fn several(fields: &Value, release: Release) -> Result<Vec<Change>, ContentsError> {
    if release >= Release::V1_16_2 {
        let section = fields.get("chunkCoordinates");
        let section = section.ok_or(ContentsError::Field("chunkCoordinates"))?;
        // Some descriptions have the 20 bits of y without their sign.
        let y = int(section, "y")? << 12 >> 12;
        let corner = [int(section, "x")?, y, int(section, "z")?].map(|it| it.wrapping_mul(16));
        let changes = ints(fields, "records")?.into_iter().map(|record| {
            let part = |shift: i64| (record >> shift & 15) as i32;
            let [x, y, z] = corner;
            (
                [x.wrapping_add(part(8)), y.wrapping_add(part(0)), z.wrapping_add(part(4))],
                // No number of a block is wider.
                (record >> 12) as u32,
            )
        });
        return Ok(changes.collect());
    }
    let corner = [int(fields, "chunkX")?, int(fields, "chunkZ")?].map(|it| it.wrapping_mul(16));
    let at = |x: i32, y: i32, z: i32| [corner[0].wrapping_add(x), y, corner[1].wrapping_add(z)];
    if release < Release::V1_2 {
        let places = list(fields, "coordinates")?.iter().zip(ints(fields, "types")?);
        let data = ints(fields, "metadata").unwrap_or_default();
        let changes = places.enumerate().map(|(index, (place, kind))| {
            let data = data.get(index).copied().unwrap_or_default();
            let state = with_data(kind as u32, data as u32);
            Ok((at(int(place, "x")?, int(place, "y")?, int(place, "z")?), state))
        });
        return changes.collect();
    }
    let changes = list(fields, "records")?.iter().map(|record| {
        let (x, z) = match record.get("horizontalPos") {
            Some(_) => {
                let packed = int(record, "horizontalPos")?;
                (packed >> 4 & 15, packed & 15)
            }
            None => (int(record, "x")?, int(record, "z")?),
        };
        Ok((at(x, int(record, "y")?, z), state(record, "blockId", release)?))
    });
    changes.collect()
}

/// Reads the blocks that an explosion destroys on the client.
fn exploded(fields: &Value, release: Release) -> Result<Vec<Change>, ContentsError> {
    let Ok(offsets) = list(fields, "affectedBlockOffsets") else { return Ok(Vec::new()) };
    // Since 1.20.3 some destroy nothing: those that keep blocks, and those that trigger them.
    let kind = fields.get("block_interaction_type").and_then(Value::as_int);
    if matches!(kind, Some(KEEPS | TRIGGERS)) {
        return Ok(Vec::new());
    }
    let center = |name: &'static str| match fields.get(name).map(Value::plain) {
        Some(Value::Float32(at)) => Ok(whole(f64::from(*at), release)),
        Some(Value::Float64(at)) => Ok(whole(*at, release)),
        _ => Err(ContentsError::Field(name)),
    };
    let [x, y, z] = [center("x")?, center("y")?, center("z")?];
    let at = |offset: &Value| {
        let [dx, dy, dz] = [int(offset, "x")?, int(offset, "y")?, int(offset, "z")?];
        Ok(([x.wrapping_add(dx), y.wrapping_add(dy), z.wrapping_add(dz)], AIR))
    };
    offsets.iter().map(at).collect()
}

/// Returns the block of a coordinate as an explosion counts: up to 1.13 the fraction is cut off.
fn whole(at: f64, release: Release) -> i32 {
    // Numbers outside of the range are those of hostile packets.
    (if release < Release::V1_14 { at.trunc() } else { at.floor() }) as i32
}

/// Reads the block that the server says is where the client has dug.
fn restored(fields: &Value, release: Release) -> Result<Vec<Change>, ContentsError> {
    if fields.get("location").is_none() {
        return Ok(Vec::new());
    }
    Ok(vec![(location(fields)?, state(fields, "block", release)?)])
}

fn location(fields: &Value) -> Result<[i32; 3], ContentsError> {
    let location = fields.get("location").ok_or(ContentsError::Field("location"))?;
    Ok([int(location, "x")?, int(location, "y")?, int(location, "z")?])
}

/// Returns the state of a block, whose data is a field of its own up to 1.7.
fn state(fields: &Value, name: &'static str, release: Release) -> Result<u32, ContentsError> {
    let number = int(fields, name)?.cast_unsigned();
    if release >= Release::V1_8 {
        return Ok(number);
    }
    let data = if fields.get("metadata").is_some() { int(fields, "metadata")? } else { 0 };
    Ok(with_data(number, data.cast_unsigned()))
}

fn with_data(number: u32, data: u32) -> u32 {
    number << 4 | data & 15
}

/// The state of air in every version.
const AIR: u32 = 0;

/// The kinds of explosions that destroy no block.
const KEEPS: i64 = 0;
const TRIGGERS: i64 = 3;
