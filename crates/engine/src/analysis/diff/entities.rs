use std::collections::HashMap;

use mitmcraft_protocol::schema::Value;

/// Maps the entity ids of the first capture to those of the second. Two ids that are first compared
/// with each other remain a pair.
#[derive(Debug, Default)]
pub(super) struct EntityIds {
    there: HashMap<i64, i64>,
    back: HashMap<i64, i64>,
}

impl EntityIds {
    /// Returns `true` if both are the same entity. Two new ids become a pair.
    pub(super) fn same(&mut self, a: i64, b: i64) -> bool {
        match (self.there.get(&a), self.back.get(&b)) {
            (None, None) => {
                if self.there.len() >= MAX_ENTITIES {
                    self.there.clear();
                    self.back.clear();
                }
                self.there.insert(a, b);
                self.back.insert(b, a);
                true
            }
            (Some(known), _) => *known == b,
            (None, Some(_)) => false,
        }
    }
}

/// Returns `true` if fields of that name hold entity ids.
pub(super) fn is_entity(name: &str) -> bool {
    ENTITY_FIELDS.contains(&name)
}

/// Returns what `read` makes of each entity id in a packet's fields: in their order, but sorted within a
/// list.
pub(crate) fn entity_ids<T: Ord>(fields: &Value, read: &dyn Fn(i64) -> T) -> Vec<T> {
    let mut ids = Vec::new();
    collect(fields, false, read, &mut ids);
    ids
}

fn collect<T: Ord>(value: &Value, is_id: bool, read: &dyn Fn(i64) -> T, ids: &mut Vec<T>) {
    match value.plain() {
        Value::Int(id) if is_id => ids.push(read(*id)),
        Value::List(items) => {
            let begin = ids.len();
            items.iter().for_each(|item| collect(item, is_id, read, ids));
            if is_id {
                ids[begin..].sort();
            }
        }
        Value::Map(fields) => {
            fields.iter().for_each(|(name, value)| collect(value, is_entity(name), read, ids));
        }
        _ => {}
    }
}

const ENTITY_FIELDS: [&str; 11] = [
    "entityId",
    "entityIds",
    "vehicleId",
    "passengers",
    "cameraId",
    "collectedEntityId",
    "collectorEntityId",
    "attachedEntityId",
    "holdingEntityId",
    "playerId",
    "target",
];

/// Greatest number of pairs. Ids are not reused, so a long session has many.
const MAX_ENTITIES: usize = 1 << 20;
