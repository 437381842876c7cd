use std::collections::HashSet;

use super::Behaviour;
use super::behaviour::name;
use crate::capture::Record;
use mitmcraft_protocol::schema::{Name, Role, Value};

/// The distance between the places where the player appeared in two runs, which servers choose at random.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct SpawnOffset {
    blocks: [f64; 3],
    /// The offset in whole blocks.
    places: [i64; 3],
    /// The offset in chunks, along x and z.
    chunks: [i64; 2],
}

impl SpawnOffset {
    /// Returns how far the place in `b` is from that in `a`; `None` if they are the same.
    pub(super) fn between(a: &Behaviour, b: &Behaviour) -> Option<Self> {
        let (a, b) = (spawn(a)?, spawn(b)?);
        let whole = |value: f64| value.floor() as i64;
        let chunk = |value: f64| whole(value).div_euclid(16);
        (a != b).then(|| Self {
            blocks: std::array::from_fn(|axis| b[axis] - a[axis]),
            places: std::array::from_fn(|axis| whole(b[axis]) - whole(a[axis])),
            chunks: [0, 2].map(|axis| chunk(b[axis]) - chunk(a[axis])),
        })
    }

    /// Returns `b` with its places as they would be if the player had appeared where it did in `a`. Packets
    /// of a type stay as they are if `a` has all of them: the spawn of the world is often the same for all.
    pub(super) fn undone(&self, a: &Behaviour, b: &Behaviour) -> Behaviour {
        let known: HashSet<Vec<u8>> = a.records.iter().map(bytes).collect();
        let others: HashSet<&str> =
            b.records.iter().filter(|it| !known.contains(&bytes(it))).map(name).collect();
        let records = b.records.iter().map(|record| {
            let moved = others.contains(name(record)).then(|| self.moved(record)).flatten();
            moved.unwrap_or_else(|| record.clone())
        });
        Behaviour { records: records.collect(), ended: b.ended }
    }

    fn moved(&self, record: &Record) -> Option<Record> {
        let packet = &record.packet;
        let kind = packet.kind()?;
        let name = &**kind.name();
        let (_, fields) = PLACES.iter().find(|(packets, _)| packets.contains(&name))?;
        let mut value = packet.value().ok()?;
        // A teleport can be relative to the last one.
        if packet.role() == Some(Role::Teleport) && has_flags(&value) {
            return None;
        }
        // Before 1.2, the place of a chunk is that of its first block.
        let chunk = if value.get("sizeX").is_some() { 16 } else { 1 };
        let offset = Self { chunks: self.chunks.map(|it| it * chunk), ..*self };
        for (path, by) in *fields {
            offset.shift(&mut value, path, *by);
        }
        let body = packet.context().protocol.encode(kind, &value).ok()?;
        let mut moved = record.clone();
        moved.packet.replace_body(body.into());
        Some(moved)
    }

    /// Subtracts the offset along an axis from the number at a path.
    fn shift(&self, value: &mut Value, path: &str, by: Axis) {
        let (name, rest) = path.split_once('.').map_or((path, ""), |(name, rest)| (name, rest));
        let Value::Map(fields) = value else { return };
        let Some((_, inner)) = fields.iter_mut().find(|(key, _): &&mut (Name, _)| **key == *name)
        else {
            return;
        };
        match inner {
            inner if !rest.is_empty() => match inner {
                Value::List(items) => items.iter_mut().for_each(|it| self.shift(it, rest, by)),
                inner => self.shift(inner, rest, by),
            },
            Value::Float64(number) => {
                // What was added to a float is not taken from it exactly.
                *number = ((*number - self.blocks[by.index()]) * EXACT).round() / EXACT;
            }
            Value::Int(number) => {
                *number -= match by {
                    Axis::ChunkX => self.chunks[0],
                    Axis::ChunkZ => self.chunks[1],
                    by => self.places[by.index()],
                };
            }
            _ => {}
        }
    }
}

/// The direction in which a number counts blocks or chunks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Axis {
    X,
    Y,
    Z,
    ChunkX,
    ChunkZ,
}

impl Axis {
    fn index(self) -> usize {
        match self {
            Self::X | Self::ChunkX => 0,
            Self::Y => 1,
            Self::Z | Self::ChunkZ => 2,
        }
    }
}

fn bytes(record: &Record) -> Vec<u8> {
    record.packet.body_or_bytes().to_vec()
}

/// Returns the player's first position.
fn spawn(behaviour: &Behaviour) -> Option<[f64; 3]> {
    let mut records = behaviour.records.iter();
    let first = records.find(|record| record.packet.role() == Some(Role::Teleport))?;
    let value = first.packet.value().ok()?;
    let axis = |name: &str| match value.get(name).map(Value::plain) {
        Some(Value::Float64(number)) => Some(*number),
        _ => None,
    };
    Some([axis("x")?, axis("y")?, axis("z")?])
}

/// Returns whether a teleport has coordinates that are relative.
fn has_flags(teleport: &Value) -> bool {
    match teleport.get("flags").map(Value::plain) {
        Some(Value::Int(flags)) => flags & 0x07 != 0,
        Some(flags @ Value::Map(_)) => ["x", "y", "z"]
            .iter()
            .any(|axis| flags.get(axis).map(Value::plain) == Some(&Value::Bool(true))),
        _ => false,
    }
}

type Places = &'static [(&'static str, Axis)];

/// The fields with places in packets that depend on where the player appears, in all versions.
const PLACES: [(&[&str], Places); 5] = [
    (
        &["position", "position_look"],
        &[("x", Axis::X), ("y", Axis::Y), ("stance", Axis::Y), ("z", Axis::Z)],
    ),
    (
        &["spawn_position", "block_change", "tile_entity_data"],
        &[
            ("location.x", Axis::X),
            ("location.y", Axis::Y),
            ("location.z", Axis::Z),
            ("globalPos.location.x", Axis::X),
            ("globalPos.location.y", Axis::Y),
            ("globalPos.location.z", Axis::Z),
        ],
    ),
    (&["map_chunk", "pre_chunk"], &[("x", Axis::ChunkX), ("z", Axis::ChunkZ)]),
    (&["map_chunk_bulk"], &[("meta.x", Axis::ChunkX), ("meta.z", Axis::ChunkZ)]),
    (
        &["unload_chunk", "update_light", "update_view_position", "multi_block_change"],
        &[
            ("chunkX", Axis::ChunkX),
            ("chunkZ", Axis::ChunkZ),
            ("chunkCoordinates.x", Axis::ChunkX),
            ("chunkCoordinates.z", Axis::ChunkZ),
        ],
    ),
];

/// Places are equal to this part of a block.
const EXACT: f64 = 1e9;
