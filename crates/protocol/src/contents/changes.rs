//! Single blocks that packets change: `block_change` and `multi_block_change`.

use super::ContentsError;
use super::fields::{int, ints, list};
use crate::meaning::{Registry, RegistryKind, registry};
use crate::packet::Packet;
use crate::schema::{Direction, PacketType, Release, State, Value};

/// The blocks that a packet changes.
pub(super) struct Changes {
    all: Vec<Change>,
    names: &'static Registry,
}

impl Changes {
    /// Returns whether packets of a type change single blocks.
    pub(super) fn has(kind: &PacketType) -> bool {
        (kind.state(), kind.direction()) == (State::Play, Direction::Clientbound)
            && matches!(&**kind.name(), "block_change" | "multi_block_change")
    }

    /// Reads the changes of a packet; `None` if it is invalid, or blocks of its version have no names.
    pub(super) fn read(packet: &Packet, kind: &PacketType) -> Option<Self> {
        let protocol = &packet.context().protocol;
        let fields = packet.value().ok()?;
        let release = protocol.release();
        let changes = match &**kind.name() {
            "block_change" => single(&fields, release),
            _ => several(&fields, release),
        };
        Some(Self { all: changes.ok()?, names: registry(protocol, RegistryKind::Block)? })
    }

    /// Returns the name of the block that is put at absolute coordinates, or its number.
    pub(super) fn block(&self, x: i32, y: i32, z: i32) -> Option<String> {
        // Of several changes of a block the last holds.
        let (_, number) = self.all.iter().rfind(|(at, _)| *at == [x, y, z])?;
        let name = self.names.name(*number);
        Some(name.map_or_else(|| format!("block {number}"), str::to_owned))
    }
}

/// A position and the number of the block that is there now.
type Change = ([i32; 3], i64);

fn single(fields: &Value, release: Release) -> Result<Vec<Change>, ContentsError> {
    let location = fields.get("location").ok_or(ContentsError::Field("location"))?;
    let at = [int(location, "x")?, int(location, "y")?, int(location, "z")?];
    Ok(vec![(at, number(release, int(fields, "type")?))])
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
                record >> 12,
            )
        });
        return Ok(changes.collect());
    }
    let corner = [int(fields, "chunkX")?, int(fields, "chunkZ")?].map(|it| it.wrapping_mul(16));
    let at = |x: i32, y: i32, z: i32| [corner[0].wrapping_add(x), y, corner[1].wrapping_add(z)];
    if release < Release::V1_2 {
        let places = list(fields, "coordinates")?.iter().zip(ints(fields, "types")?);
        let changes = places.map(|(place, kind)| {
            Ok((at(int(place, "x")?, int(place, "y")?, int(place, "z")?), kind))
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
        let number = number(release, int(record, "blockId")?);
        Ok((at(x, int(record, "y")?, z), number))
    });
    changes.collect()
}

/// Returns the number by which the registry knows a block.
fn number(release: Release, value: i32) -> i64 {
    let has_data = (Release::V1_8..Release::V1_13).contains(&release);
    i64::from(if has_data { value >> 4 } else { value })
}
