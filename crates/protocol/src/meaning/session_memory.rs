use std::collections::HashMap;

use super::{FieldMeanings, RegistryKind, registry};
use crate::packet::Packet;
use crate::schema::{Direction, PacketType, State, Value};

/// The types of the entities that a client knows in each session, as the packets told that showed them.
#[derive(Debug, Default)]
pub struct EntityTypes {
    sessions: HashMap<u64, SessionEntities>,
}

#[derive(Debug, Default)]
struct SessionEntities {
    /// The names of entity types, by entity number.
    types: HashMap<i64, &'static str>,
    /// The number of the player's own entity.
    player: Option<i64>,
}

impl EntityTypes {
    /// Returns whether packets of a type show an entity that was not there.
    #[must_use]
    pub fn shows(kind: &PacketType) -> bool {
        let name = &**kind.name();
        (kind.state(), kind.direction()) == (State::Play, Direction::Clientbound)
            && (name.starts_with("spawn_entity") || name == NAMED_SPAWN || name == "login")
    }

    /// Takes the next packet of a session and returns the type of the entity whose metadata it has, if
    /// its version has names for metadata.
    pub fn take(&mut self, packet: &Packet) -> Option<&'static str> {
        let kind = packet.kind()?;
        if (kind.state(), kind.direction()) != (State::Play, Direction::Clientbound) {
            return None;
        }
        let protocol = &packet.context().protocol;
        let (name, session) = (&**kind.name(), packet.context().session);
        let wanted =
            Self::shows(kind) || matches!(name, "respawn" | "entity_destroy" | "entity_metadata");
        if !wanted || registry(protocol, RegistryKind::Metadata).is_none() {
            return None;
        }
        if name == "respawn" {
            if let Some(known) = self.sessions.get_mut(&session) {
                known.types.retain(|id, _| Some(*id) == known.player);
            }
            return None;
        }
        let fields = packet.value().ok()?;
        let id = fields.get("entityId").and_then(Value::as_int);
        if name == "entity_metadata" {
            return self.sessions.get(&session)?.types.get(&id?).copied();
        }
        let known = self.sessions.entry(session).or_default();
        if name == "entity_destroy" {
            let ids = match fields.get("entityIds").map(Value::plain) {
                Some(Value::List(ids)) => ids.as_slice(),
                _ => &[],
            };
            for id in ids.iter().filter_map(Value::as_int) {
                known.types.remove(&id);
            }
            return None;
        }
        if known.types.len() >= MAX_ENTITIES {
            known.types.clear();
        }
        let entity = match name {
            "login" => {
                *known = SessionEntities { player: id, ..SessionEntities::default() };
                Some(PLAYER)
            }
            NAMED_SPAWN => Some(PLAYER),
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

    /// Forgets a session that has ended.
    pub fn forget(&mut self, session: u64) {
        self.sessions.remove(&session);
    }
}

/// The packet with which players appear, up to 1.20.1.
pub(super) const NAMED_SPAWN: &str = "named_entity_spawn";

pub(super) const PLAYER: &str = "player";

/// Most entities of a session. With more, all are forgotten, and those that follow are known.
const MAX_ENTITIES: usize = 10_000;
