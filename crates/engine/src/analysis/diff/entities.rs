use std::collections::HashMap;

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

/// Greatest number of pairs. Ids are not reused, so a long session has many.
const MAX_ENTITIES: usize = 1 << 20;
