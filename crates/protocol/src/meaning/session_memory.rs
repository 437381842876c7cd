use std::collections::HashMap;

use super::annotation::bare;
use super::{FieldMeanings, RegistryKind, registry};
use crate::packet::Packet;
use crate::schema::{Direction, Family, PacketType, State, Value};

/// The knowledge of a client from earlier packets of each session: the types of entities, and the window
/// that is open.
#[derive(Debug, Default)]
pub struct SessionMemory {
    sessions: HashMap<u64, Session>,
    /// `true` if entities are not followed, of which there are many.
    windows_only: bool,
}

/// The subject of a packet, as earlier packets describe it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum About {
    /// The type of the entity whose metadata the packet has.
    Entity(&'static str),
    /// The type of the window: `furnace`, `brewing_stand`, `enchanting_table`, `beacon`, `anvil` and such.
    Window(&'static str),
}

#[derive(Debug, Default)]
struct Session {
    /// The names of entity types, by entity number.
    types: HashMap<i64, &'static str>,
    /// The number of the player's own entity.
    player: Option<i64>,
    /// The number and the type of the window that was opened last.
    window: Option<(i64, &'static str)>,
}

impl SessionMemory {
    /// Creates a memory of windows, not of entities.
    #[must_use]
    pub fn of_windows() -> Self {
        Self { windows_only: true, ..Self::default() }
    }

    /// Returns whether earlier packets say what packets of a type are about.
    #[must_use]
    pub fn asks(kind: &PacketType) -> bool {
        matches!(&**kind.name(), METADATA | PROPERTY) && kind.direction() == Direction::Clientbound
    }

    /// Returns whether packets of a type say what packets of the type `asking` are about.
    #[must_use]
    pub fn tells(kind: &PacketType, asking: &PacketType) -> bool {
        if (kind.state(), kind.direction()) != (State::Play, Direction::Clientbound) {
            return false;
        }
        let name = &**kind.name();
        match &**asking.name() {
            METADATA => name.starts_with("spawn_entity") || name == NAMED_SPAWN || name == LOGIN,
            PROPERTY => name == OPEN_WINDOW,
            _ => false,
        }
    }

    /// Takes the next packet of a session and returns what earlier packets say about it.
    pub fn take(&mut self, packet: &Packet) -> Option<About> {
        let kind = packet.kind()?;
        if (kind.state(), kind.direction()) != (State::Play, Direction::Clientbound) {
            return None;
        }
        match &**kind.name() {
            OPEN_WINDOW => {
                let (id, window) = opened(packet, kind)?;
                self.session(packet).window = window.map(|window| (id, window));
                None
            }
            PROPERTY => {
                let (id, window) = self.sessions.get(&packet.context().session)?.window?;
                let asked = packet.value().ok()?.get("windowId")?.as_int()?;
                (asked == id).then_some(About::Window(window))
            }
            name => match self.windows_only {
                true => None,
                false => self.take_entity(packet, kind, name),
            },
        }
    }

    /// Returns the type of an entity of a session, as earlier packets describe it.
    #[must_use]
    pub fn entity(&self, session: u64, id: i64) -> Option<&'static str> {
        self.sessions.get(&session)?.types.get(&id).copied()
    }

    /// Forgets a session that has ended.
    pub fn forget(&mut self, session: u64) {
        self.sessions.remove(&session);
    }

    fn take_entity(&mut self, packet: &Packet, kind: &PacketType, name: &str) -> Option<About> {
        let protocol = &packet.context().protocol;
        let shows = name.starts_with("spawn_entity") || matches!(name, NAMED_SPAWN | LOGIN);
        let wanted = shows || matches!(name, "respawn" | "entity_destroy" | METADATA);
        let has_types = protocol.family() == Family::Java
            || registry(protocol, RegistryKind::Metadata).is_some();
        if !wanted || !has_types {
            return None;
        }
        let number = packet.context().session;
        if name == "respawn" {
            if let Some(known) = self.sessions.get_mut(&number) {
                known.types.retain(|id, _| Some(*id) == known.player);
            }
            return None;
        }
        let fields = packet.value().ok()?;
        let id = fields.get("entityId").and_then(Value::as_int);
        if name == METADATA {
            return self.sessions.get(&number)?.types.get(&id?).copied().map(About::Entity);
        }
        let known = self.session(packet);
        if name == "entity_destroy" {
            let ids = fields.get("entityIds").and_then(Value::as_list).unwrap_or_default();
            for id in ids.iter().filter_map(Value::as_int) {
                known.types.remove(&id);
            }
            return None;
        }
        if known.types.len() >= MAX_ENTITIES {
            known.types.clear();
        }
        let entity = match name {
            LOGIN => {
                *known = Session { player: id, ..Session::default() };
                Some(PLAYER)
            }
            NAMED_SPAWN => Some(PLAYER),
            "spawn_entity_experience_orb" => Some("experience_orb"),
            _ => {
                let number = fields.get("type").and_then(Value::as_int);
                let meaning = FieldMeanings::of(protocol, kind)?.at("type", |_| None);
                meaning.zip(number).and_then(|(meaning, number)| meaning.name(number))
            }
        };
        match entity {
            Some(entity) => known.types.insert(id?, entity),
            // A number that was another entity's.
            None => known.types.remove(&id?),
        };
        None
    }

    fn session(&mut self, packet: &Packet) -> &mut Session {
        self.sessions.entry(packet.context().session).or_default()
    }
}

/// Returns the number of a window that is opened, and its type if it has properties.
fn opened(packet: &Packet, kind: &PacketType) -> Option<(i64, Option<&'static str>)> {
    let fields = packet.value().ok()?;
    let id = fields.get("windowId")?.as_int()?;
    let of_window = fields.get("inventoryType")?.plain();
    let name = match of_window {
        Value::Text(text) => bare(text),
        number => {
            let meanings = FieldMeanings::of(&packet.context().protocol, kind)?;
            meanings.at("inventoryType", |_| None)?.name(number.as_int()?)?
        }
    };
    let known = WINDOWS.iter().find(|(names, _)| names.contains(&name));
    Some((id, known.map(|(_, window)| *window)))
}

/// Windows with properties: their names in 1.7, from 1.8 on and from 1.14 on, and the one by which
/// `data/java.toml` knows them.
pub(crate) const WINDOWS: [(&[&str], &str); 9] = [
    (&["furnace", "blast_furnace", "smoker"], "furnace"),
    (&["brewing stand", "brewing_stand"], "brewing_stand"),
    (&["enchanting table", "enchanting_table", "enchantment"], "enchanting_table"),
    (&["beacon"], "beacon"),
    (&["anvil"], "anvil"),
    (&["lectern"], "lectern"),
    (&["stonecutter"], "stonecutter"),
    (&["loom"], "loom"),
    (&["crafter_3x3"], "crafter"),
];

/// The packet with which players appear, up to 1.20.1.
pub(super) const NAMED_SPAWN: &str = "named_entity_spawn";

pub(super) const PLAYER: &str = "player";

const LOGIN: &str = "login";
const METADATA: &str = "entity_metadata";
const OPEN_WINDOW: &str = "open_window";
const PROPERTY: &str = "craft_progress_bar";

/// Most entities of a session. With more, all are forgotten, and those that follow are known.
const MAX_ENTITIES: usize = 10_000;
