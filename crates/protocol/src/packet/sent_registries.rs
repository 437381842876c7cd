use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;

use super::Packet;
use crate::schema::{Direction, Protocol, State, Value};
use crate::wire::{Encoding, Tag};

/// The registries that a server has sent in the configuration state: the names of biomes, dimension
/// types, damage types, variants of animals and such, by their numbers. Since 1.20.2.
///
/// The packets are kept as they came, and decoded when the first name is asked for.
#[derive(Debug, Clone, Default)]
pub struct SentRegistries {
    packets: Vec<(Arc<Protocol>, Bytes)>,
    contents: OnceLock<Contents>,
}

/// The names and dimension types of a session's registries, as far as the server has sent them.
#[derive(Debug, Clone, Default)]
struct Contents {
    /// Names by registry (`minecraft:damage_type`).
    names: HashMap<String, Vec<String>>,
    /// The dimension types, as far as the server has described them.
    worlds: Vec<World>,
}

/// The vertical extent of the worlds of a dimension type, in blocks.
#[derive(Debug, Clone)]
struct World {
    /// The name of the dimension type.
    name: String,
    bottom: i32,
    height: i32,
    ceiling: Option<i32>,
}

impl SentRegistries {
    /// Returns whether a packet is one of a server's registries.
    #[inline]
    #[must_use]
    pub fn takes(packet: &Packet) -> bool {
        packet.state() == State::Configuration
            && packet.direction() == Direction::Clientbound
            && packet.kind().is_some_and(|kind| &**kind.name() == "registry_data")
    }

    /// Returns the registries with those of a packet, which replace earlier ones of the same names. The
    /// packets are forgotten if they take more than 2 MiB: then only those that follow are known.
    #[must_use]
    pub fn with(&self, packet: &Packet) -> Self {
        let Ok(body) = packet.body() else { return self.clone() };
        let mut packets = self.packets.clone();
        let size: usize = packets.iter().map(|(_, body)| body.len()).sum();
        if size + body.len() > MAX_SIZE {
            packets.clear();
        }
        if body.len() <= MAX_SIZE {
            // The body may be a part of a larger buffer.
            let protocol = Arc::clone(&packet.context().protocol);
            packets.push((protocol, Bytes::copy_from_slice(&body)));
        }
        Self { packets, contents: OnceLock::new() }
    }

    /// Returns whether the server has sent the same in both sessions.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        let same = |((protocol, body), (other, theirs)): (&(_, Bytes), &(_, Bytes))| {
            Arc::ptr_eq(protocol, other) && body == theirs
        };
        self.packets.len() == other.packets.len()
            && self.packets.iter().zip(&other.packets).all(same)
    }

    /// Returns the name of a number in a registry, without `minecraft:`.
    #[must_use]
    pub fn name(&self, registry: &str, number: i64) -> Option<&str> {
        let name = self.of(registry)?.get(usize::try_from(number).ok()?)?;
        Some(name.strip_prefix("minecraft:").unwrap_or(name)).filter(|name| !name.is_empty())
    }

    /// Returns the number of a name in a registry, with or without `minecraft:`.
    #[must_use]
    pub fn number(&self, registry: &str, name: &str) -> Option<i64> {
        let plain = |name: &str| name.strip_prefix("minecraft:").unwrap_or(name).to_owned();
        let name = plain(name);
        let names = self.of(registry)?;
        names.iter().position(|it| plain(it) == name)?.try_into().ok()
    }

    /// Returns the least y of the worlds with this height in blocks. `None` if the server has described no
    /// dimension type with it, or several that begin at different heights.
    #[must_use]
    pub fn bottom(&self, height: i32) -> Option<i32> {
        let mut fitting = self.contents()?.worlds.iter().filter(|world| world.height == height);
        let bottom = fitting.next()?.bottom;
        fitting.all(|world| world.bottom == bottom).then_some(bottom)
    }

    /// Returns the height at which the ceiling of a dimension type ends; `None` if it has none, or the server has not
    /// described it.
    #[must_use]
    pub fn ceiling(&self, dimension_type: &str) -> Option<i32> {
        self.contents()?.worlds.iter().find(|world| world.name == dimension_type)?.ceiling
    }

    /// Returns the names in a registry.
    fn of(&self, registry: &str) -> Option<&Vec<String>> {
        self.contents()?.names.get(registry)
    }

    fn contents(&self) -> Option<&Contents> {
        (!self.packets.is_empty()).then(|| self.contents.get_or_init(|| self.read()))
    }

    fn read(&self) -> Contents {
        let mut contents = Contents::default();
        for (protocol, body) in &self.packets {
            let (state, direction) = (State::Configuration, Direction::Clientbound);
            let Ok((kind, start)) = protocol.identify(state, direction, body) else { continue };
            let Ok(fields) = protocol.decode(kind, body, start) else { continue };
            read_one(&fields, &mut contents);
        }
        contents
    }
}

impl World {
    /// Reads the description of a dimension type.
    fn read(name: String, description: &Tag) -> Option<Self> {
        let (bottom, height) = (int(description, "min_y")?, int(description, "height")?);
        Some(Self { name, bottom, height, ceiling: dimension_ceiling(description) })
    }
}

/// Returns the height at which the ceiling ends that a dimension type has by its description; `None` if it has none.
#[must_use]
pub fn dimension_ceiling(description: &Tag) -> Option<i32> {
    let has_ceiling = matches!(inside(description, "has_ceiling")?, Tag::Byte(flag) if *flag != 0);
    // Before 1.17, every world begins at 0.
    let bottom = int(description, "min_y").unwrap_or_default();
    int(description, "logical_height").filter(|_| has_ceiling).map(|it| bottom.saturating_add(it))
}

/// Adds the contents of a packet.
fn read_one(fields: &Value, contents: &mut Contents) {
    let Contents { names, worlds } = contents;
    // Since 1.20.5 each registry has a packet of its own.
    if let (Some(id), Some(Value::List(entries))) =
        (fields.get("id").and_then(Value::as_text), fields.get("entries").map(Value::plain))
    {
        let name = |entry: &Value| {
            entry.get("key").and_then(Value::as_text).unwrap_or_default().to_owned()
        };
        names.insert(id.to_owned(), entries.iter().take(MAX_ENTRIES).map(name).collect());
        if id == DIMENSIONS {
            let described = entries.iter().take(MAX_ENTRIES).filter_map(|entry| {
                let Value::Nbt(nbt) = entry.get("value")?.plain() else { return None };
                World::read(name(entry), &nbt.root)
            });
            *worlds = described.collect();
        }
        return;
    }
    let Some(Value::Nbt(codec)) = fields.get("codec").map(Value::plain) else { return };
    let Tag::Compound(registries) = &codec.root else { return };
    for (id, registry) in &registries.entries {
        let Some(Tag::List(list)) = inside(registry, "value") else { continue };
        let mut of_registry = Vec::new();
        if text(id) == DIMENSIONS {
            let entries = list.items.iter().take(MAX_ENTRIES);
            let world = |entry: &Tag| {
                let Some(Tag::Text(name)) = inside(entry, "name") else { return None };
                World::read(text(name), inside(entry, "element")?)
            };
            *worlds = entries.filter_map(world).collect();
        }
        for entry in list.items.iter().take(MAX_ENTRIES) {
            let number = match inside(entry, "id") {
                Some(Tag::Int(id)) => usize::try_from(*id).ok().filter(|id| *id < MAX_ENTRIES),
                _ => None,
            };
            let (Some(number), Some(Tag::Text(name))) = (number, inside(entry, "name")) else {
                continue;
            };
            if of_registry.len() <= number {
                of_registry.resize(number + 1, String::new());
            }
            of_registry[number] = text(name);
        }
        names.insert(text(id), of_registry);
    }
}

fn inside<'t>(tag: &'t Tag, name: &str) -> Option<&'t Tag> {
    let Tag::Compound(compound) = tag else { return None };
    compound.get(name)
}

fn int(tag: &Tag, name: &str) -> Option<i32> {
    match inside(tag, name)? {
        Tag::Int(int) => Some(*int),
        _ => None,
    }
}

fn text(bytes: &Bytes) -> String {
    Encoding::ModifiedUtf8.decode_lossy(bytes).into_owned()
}

const DIMENSIONS: &str = "minecraft:dimension_type";

/// Greatest size of the packets of a session.
const MAX_SIZE: usize = 2 << 20;

/// Greatest number of names kept of a registry; those of the game have at most a hundred.
const MAX_ENTRIES: usize = 10_000;
