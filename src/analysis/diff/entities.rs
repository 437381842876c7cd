use std::collections::HashMap;

/// Which entity of the first capture is which of the second: what is seen together first, stays
/// together.
#[derive(Debug, Default)]
pub(super) struct EntityIds {
    there: HashMap<i64, i64>,
    back: HashMap<i64, i64>,
}

impl EntityIds {
    /// Whether they are the same entity; two that were not seen yet are from now on.
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

/// Whether a field of that name holds an entity's id, or several.
pub(super) fn is_entity(name: &str) -> bool {
    ENTITY_FIELDS.contains(&name)
}

const ENTITY_FIELDS: [&str; 10] = [
    "entityId",
    "entityIds",
    "vehicleId",
    "passengers",
    "cameraId",
    "collectedEntityId",
    "collectorEntityId",
    "attachedEntityId",
    "holdingEntityId",
    "target",
];

/// Ids are not given again, so a long session has many.
const MAX_ENTITIES: usize = 1 << 20;
