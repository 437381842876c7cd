use bytes::Bytes;

use super::memory;
use super::storage::Storage;
use super::tags::put;
use mitmcraft_protocol::meaning::{RegistryKind, registry};
use mitmcraft_protocol::packet::Packet;
use mitmcraft_protocol::schema::{Protocol, Release, Value};
use mitmcraft_protocol::wire::{Compound, Tag};

/// The data of a block beside its state.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct BlockEntity {
    /// The type as worlds name it: `Chest`, since 1.11 `minecraft:chest`.
    pub(super) kind: String,
    /// The data, without type and position.
    pub(super) data: Compound,
    /// Its approximate memory in bytes, with that of its packet if the packet has nothing else.
    pub(super) size: usize,
}

impl BlockEntity {
    fn new(kind: String, data: Compound) -> Self {
        let size = size_of::<Self>() + kind.len() + memory::of_compound(&data);
        Self { kind, data, size }
    }

    /// Reads the block entities of a `map_chunk`, whose chunk has these coordinates.
    pub(super) fn of_chunk(packet: &Packet, x: i32, z: i32) -> Vec<([i32; 3], Self)> {
        let Ok(fields) = packet.packed_value() else { return Vec::new() };
        let Some(all) = fields.get("blockEntities").and_then(Value::as_list) else {
            return Vec::new();
        };
        let protocol = &packet.context().protocol;
        let read = |value: &Value| match value.plain() {
            Value::Nbt(nbt) => Self::saved(&nbt.root),
            value => {
                let int = |name| i32::try_from(value.get(name)?.as_int()?).ok();
                let at = [
                    x.wrapping_mul(16).wrapping_add(int("x")?),
                    int("y")?,
                    z.wrapping_mul(16).wrapping_add(int("z")?),
                ];
                let kind = kind(protocol, value.get("type")?)?;
                let data = compound(value.get("nbtData")).unwrap_or_default();
                Some((at, Self::new(kind, without_place(data))))
            }
        };
        all.iter().filter_map(read).collect()
    }

    /// Reads a packet that sets or removes a block entity. Returns its position, and the block entity unless it is
    /// removed.
    pub(super) fn of_packet(packet: &Packet) -> Option<([i32; 3], Option<Self>)> {
        let (at, entity) = Self::single(packet)?;
        Some((at, entity.map(|it| Self { size: it.size + packet.size(), ..it })))
    }

    /// The block entity without data that a block has.
    pub(super) fn stub(kind: &str) -> Self {
        Self::new(format!("minecraft:{kind}"), Compound::default())
    }

    /// Returns the type that the block entity of a block has; `None` if it has none.
    pub(super) fn kind_of(block: &str, protocol: &Protocol) -> Option<&'static str> {
        let kind = Storage::get().block_entity(block, protocol.release())?;
        // Since 1.18 the types of a version are known.
        let known = registry(protocol, RegistryKind::BlockEntity);
        known.is_none_or(|known| known.names().any(|(_, name)| name == kind)).then_some(kind)
    }

    /// Returns the block entity as a world has it.
    pub(super) fn tag(&self, [x, y, z]: [i32; 3], release: Release) -> Tag {
        let mut tag = Compound::default();
        put(&mut tag, "id", Tag::text(&self.kind));
        for (name, at) in [("x", x), ("y", y), ("z", z)] {
            put(&mut tag, name, Tag::Int(at));
        }
        if release >= Release::V1_13 {
            put(&mut tag, "keepPacked", Tag::Byte(0));
        }
        tag.entries.extend(self.data.entries.iter().cloned());
        Tag::Compound(tag)
    }

    fn single(packet: &Packet) -> Option<([i32; 3], Option<Self>)> {
        let fields = packet.value().ok()?;
        let location = fields.get("location")?;
        let int = |name| i32::try_from(location.get(name)?.as_int()?).ok();
        let at = [int("x")?, int("y")?, int("z")?];
        let protocol = &packet.context().protocol;
        if &**packet.kind()?.name() == "update_sign" {
            let mut data = Compound::default();
            for (field, key) in SIGN_LINES {
                put(&mut data, key, Tag::text(fields.get(field).and_then(Value::as_text)?));
            }
            return Some((at, Some(Self::new("Sign".to_owned(), data))));
        }
        let data = compound(fields.get("nbtData"));
        if protocol.release() < Release::V1_18 {
            let entity = data.and_then(|data| Self::saved(&Tag::Compound(data)));
            return Some((at, entity.map(|(_, entity)| entity)));
        }
        let kind = kind(protocol, fields.get("action")?)?;
        let data = without_place(data.unwrap_or_default());
        Some((at, Some(Self::new(kind, data))))
    }

    /// Reads the form with type and position, in which they were sent up to 1.17.
    fn saved(tag: &Tag) -> Option<([i32; 3], Self)> {
        let Tag::Compound(data) = tag else { return None };
        let int = |name| i32::try_from(data.get(name)?.as_int()?).ok();
        let at = [int("x")?, int("y")?, int("z")?];
        let Tag::Text(kind) = data.get("id")? else { return None };
        let kind = String::from_utf8_lossy(kind).into_owned();
        Some((at, Self::new(kind, without_place(data.clone()))))
    }
}

/// Returns the name of the type with a number, since 1.18.
fn kind(protocol: &Protocol, number: &Value) -> Option<String> {
    let name = registry(protocol, RegistryKind::BlockEntity)?.name(number.as_int()?)?;
    Some(format!("minecraft:{name}"))
}

fn compound(value: Option<&Value>) -> Option<Compound> {
    match value?.plain() {
        Value::Nbt(nbt) => match &nbt.root {
            Tag::Compound(compound) => Some(compound.clone()),
            _ => None,
        },
        _ => None,
    }
}

/// Removes what [`BlockEntity::tag`] writes itself.
fn without_place(mut data: Compound) -> Compound {
    let own: [&[u8]; 5] = [b"id", b"x", b"y", b"z", b"keepPacked"];
    data.entries.retain(|(name, _): &(Bytes, Tag)| !own.contains(&&name[..]));
    data
}

/// The lines of a sign in a packet, and in a world.
const SIGN_LINES: [(&str, &str); 4] =
    [("text1", "Text1"), ("text2", "Text2"), ("text3", "Text3"), ("text4", "Text4")];
