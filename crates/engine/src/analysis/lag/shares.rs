use std::collections::{BTreeMap, HashMap};

use super::flow::TAIL;
use crate::analysis::Channels;
use crate::analysis::named_counts::ENTITIES;
use crate::text::packet_name;
use mitmcraft_protocol::meaning::each_value;
use mitmcraft_protocol::packet::Packet;
use mitmcraft_protocol::schema::{Direction, Flow, Leaf, Name, Scalar, Visitor};
use mitmcraft_protocol::wire::named;

/// The packets and bytes of a session by packet type, channel, chunk and entity type, for each five seconds.
///
/// Memory is bounded: for each five seconds, only the largest of each kind are kept.
#[derive(Debug, Default)]
pub(super) struct Shares {
    slots: Vec<(i64, Vec<(Item, Counts)>)>,
    current: HashMap<Item, Counts>,
    slot: i64,
    /// The types of the entities that have appeared.
    entities: HashMap<i64, &'static str>,
}

/// Something that accounts for packets and bytes.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Item {
    Packet(Direction, Name),
    Channel(Direction, String),
    Chunk(i64, i64),
    Entity(&'static str),
}

#[derive(Debug, Clone, Copy, Default)]
struct Counts {
    packets: u64,
    bytes: u64,
}

/// The share that something had in the packets and bytes of a period.
#[derive(Debug, Clone, PartialEq)]
pub struct Share {
    /// What kind of thing it is.
    pub kind: ShareKind,
    /// The direction, for packets and channels.
    pub direction: Option<Direction>,
    /// The player, channel, packet, chunk or type of entity.
    pub name: String,
    /// Number of packets.
    pub packets: u64,
    /// Bytes on the wire.
    pub bytes: u64,
}

named! {
    /// The kinds of things that take packets and bytes.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum ShareKind {
        /// The sessions of a player.
        Player => "player",
        /// A plugin channel.
        Channel => "channel",
        /// Packets of a name.
        Packet => "packet",
        /// A chunk.
        Chunk => "chunk",
        /// Entities of a type.
        Entity => "entity",
    }

    /// All kinds.
    pub const ALL;

    /// Returns the kind's name in JSON.
    pub fn name;
}

/// The share that a plugin channel had in a direction.
#[derive(Debug, Clone)]
pub(super) struct ChannelShare {
    pub(super) direction: Direction,
    pub(super) name: String,
    pub(super) packets: u64,
    pub(super) bytes: u64,
}

impl Shares {
    /// Takes a packet of the game.
    pub(super) fn take(&mut self, packet: &Packet, at: f64) {
        let slot = slot(at);
        if slot != self.slot {
            self.seal();
            self.slot = slot;
        }
        let bytes = packet.wire_size() as u64;
        let direction = packet.direction();
        let Some(kind) = packet.kind() else { return };
        self.count(Item::Packet(direction, packet_name(packet).into()), bytes);
        if let Some(channel) = Channels::name(packet).filter(|it| it.len() <= MAX_NAME) {
            self.count(Item::Channel(direction, channel), bytes);
        }
        if direction == Direction::Serverbound {
            return;
        }
        let name = &**kind.name();
        if name == PLAYER || ENTITIES.contains(&name) {
            self.appear(packet, name);
        }
        let mut first = FirstFields::default();
        // A packet that does not decode after its first fields is still about them.
        let _ = packet.walk_dyn(&mut first);
        match first.found[..] {
            [(FieldKind::Entity, id), ..] => {
                if let Some(entity) = self.entities.get(&id).copied() {
                    self.count(Item::Entity(entity), bytes);
                }
            }
            [(FieldKind::X, x), (FieldKind::Z, z)] => self.count(Item::Chunk(x, z), bytes),
            _ => {}
        }
    }

    /// Returns the shares that go on after the last seconds, with times from so many later on: a number of full slots.
    pub(super) fn next(&mut self, length: f64) -> Self {
        self.seal();
        let (shift, first) = (slot(length), slot(length - TAIL));
        let last = self.slots.iter().filter(|(slot, _)| *slot >= first);
        Self {
            slots: last.map(|(slot, items)| (slot - shift, items.clone())).collect(),
            entities: std::mem::take(&mut self.entities),
            ..Self::default()
        }
    }

    /// Returns what took most bytes in a period: the first five of each kind.
    pub(super) fn top(&self, from: f64, to: f64) -> Vec<Share> {
        let mut shares: Vec<Share> = self.sums(from, to).into_iter().map(share).collect();
        shares.sort_by(|a, b| (a.kind, b.bytes, &a.name).cmp(&(b.kind, a.bytes, &b.name)));
        let (mut kind, mut count) = (None, 0);
        shares.retain(|share| {
            (kind, count) =
                (Some(share.kind), if kind == Some(share.kind) { count + 1 } else { 1 });
            count <= TOP
        });
        shares
    }

    /// Returns what plugin channels took in a period, the largest first.
    pub(super) fn channels(&self, from: f64, to: f64) -> Vec<ChannelShare> {
        let channels = self.sums(from, to).into_iter().filter_map(|(item, counts)| match item {
            Item::Channel(direction, name) => {
                Some(ChannelShare { direction, name, packets: counts.packets, bytes: counts.bytes })
            }
            _ => None,
        });
        let mut channels: Vec<_> = channels.collect();
        channels.sort_by_key(|it| std::cmp::Reverse(it.bytes));
        channels
    }

    fn sums(&self, from: f64, to: f64) -> BTreeMap<Item, Counts> {
        let (first, last) = (slot(from), slot(to));
        let sealed = self.slots.iter().filter(|(slot, _)| (first..=last).contains(slot));
        let sealed =
            sealed.flat_map(|(_, items)| items.iter().map(|(item, counts)| (item, counts)));
        let current = (first..=last).contains(&self.slot).then_some(&self.current);
        let mut sums: BTreeMap<Item, Counts> = BTreeMap::new();
        for (item, counts) in sealed.chain(current.into_iter().flatten()) {
            sums.entry(item.clone()).or_default().add(counts);
        }
        sums
    }

    fn count(&mut self, item: Item, bytes: u64) {
        if self.current.len() < MAX_ITEMS || self.current.contains_key(&item) {
            self.current.entry(item).or_default().add(&Counts { packets: 1, bytes });
        }
    }

    /// Keeps the greatest of the current slot.
    fn seal(&mut self) {
        let mut items: Vec<(Item, Counts)> = self.current.drain().collect();
        items.sort_by(|(a, x), (b, y)| (kind(a), y.bytes, a).cmp(&(kind(b), x.bytes, b)));
        let (mut last, mut count) = (None, 0);
        items.retain(|(item, _)| {
            let kind = kind(item);
            (last, count) = (Some(kind), if last == Some(kind) { count + 1 } else { 1 });
            count <= KEPT
        });
        if !items.is_empty() {
            self.slots.push((self.slot, items));
        }
    }

    /// Notes the type of an entity that appears.
    fn appear(&mut self, packet: &Packet, packet_name: &str) {
        let mut first = FirstFields::default();
        let _ = packet.walk_dyn(&mut first);
        let Some((FieldKind::Entity, id)) = first.found.first().copied() else { return };
        let mut entity = (packet_name == PLAYER).then_some("player");
        each_value(packet, &mut |tracker, leaf| {
            if entity.is_none()
                && let Some(meaning) = tracker.leaf(leaf)
                && let Scalar::Int(number) = leaf.value
                && meaning.names_things()
            {
                entity = meaning.name(number);
            }
        });
        let Some(entity) = entity else { return };
        if self.entities.len() >= MAX_ENTITIES {
            self.entities.clear();
        }
        self.entities.insert(id, entity);
    }
}

impl Counts {
    fn add(&mut self, other: &Self) {
        self.packets += other.packets;
        self.bytes += other.bytes;
    }
}

fn slot(at: f64) -> i64 {
    (at / SLOT).floor() as i64
}

fn kind(item: &Item) -> ShareKind {
    match item {
        Item::Packet(..) => ShareKind::Packet,
        Item::Channel(..) => ShareKind::Channel,
        Item::Chunk(..) => ShareKind::Chunk,
        Item::Entity(_) => ShareKind::Entity,
    }
}

fn share((item, Counts { packets, bytes }): (Item, Counts)) -> Share {
    let kind = kind(&item);
    let (direction, name) = match item {
        Item::Packet(direction, name) => (Some(direction), name.to_string()),
        Item::Channel(direction, name) => (Some(direction), name),
        Item::Chunk(x, z) => (None, format!("{x}, {z}")),
        Item::Entity(name) => (None, name.to_owned()),
    };
    Share { kind, direction, name, packets, bytes }
}

/// Reads the entity, or the chunk, with which a packet begins.
#[derive(Debug, Default)]
struct FirstFields {
    here: Option<FieldKind>,
    found: Vec<(FieldKind, i64)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FieldKind {
    Entity,
    X,
    Z,
}

impl Visitor for FirstFields {
    fn leaf(&mut self, leaf: &Leaf<'_>) -> Flow {
        let (Some(kind), Scalar::Int(number)) = (self.here, leaf.value) else {
            return Flow::Break(());
        };
        self.found.push((kind, number));
        match kind {
            FieldKind::X => Flow::Continue(()),
            _ => Flow::Break(()),
        }
    }

    fn field(&mut self, name: &Name) -> Flow {
        self.here = match &**name {
            "entityId" => Some(FieldKind::Entity),
            "x" | "chunkX" => Some(FieldKind::X),
            "z" | "chunkZ" => Some(FieldKind::Z),
            _ => None,
        };
        Flow::Continue(())
    }
}

/// The packet by which players appear.
const PLAYER: &str = "named_entity_spawn";

/// Seconds that are counted together.
pub(super) const SLOT: f64 = 5.0;

/// Things of a kind that are kept of a slot.
const KEPT: usize = 8;

/// Things of a kind that are shown.
const TOP: usize = 5;

/// Things that are counted in a slot.
const MAX_ITEMS: usize = 512;

/// Entities whose type is known.
const MAX_ENTITIES: usize = 1 << 14;

/// Greatest length of a channel's name that is counted, in bytes.
const MAX_NAME: usize = 64;
