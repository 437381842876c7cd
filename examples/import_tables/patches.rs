use std::ops::RangeInclusive;

use serde_json::{Value as Json, json};

use crate::edit::{component, field, insert, packet, replace};

/// Where the tables of `minecraft-data` are wrong, and what makes them right.
///
/// A patch has to fit every table of its range: when a later `minecraft-data` has the repair, the
/// import stops and says so, and the patch or its range goes.
pub(crate) const PATCHES: &[Patch] = &[
    Patch {
        name: "a slot is empty for any id below zero",
        reason: "The tables know only -1 as empty. The game, ViaVersion and MCProtocolLib read the \
                 rest of a slot only when the short is not negative, so that -2 ends it as well.",
        versions: 4..=401,
        apply: |tables| below_zero(&mut tables["types"]["slot"][1][1], "-1"),
    },
    Patch {
        name: "a slot is empty for any count of zero or less",
        reason: "With the id after the count (1.20.5), the game and ViaVersion take every count \
                 that is not positive for an empty slot; the tables know only 0.",
        versions: 766..=LAST,
        apply: |tables| below_zero(&mut tables["types"]["Slot"][1][1], "0"),
    },
    Patch {
        name: "the slot of a client in creative mode is empty for any count of zero or less",
        reason: "As above, for the slot whose components have lengths (1.21.5).",
        versions: 770..=LAST,
        apply: |tables| below_zero(&mut tables["types"]["UntrustedSlot"][1][1], "0"),
    },
    Patch {
        name: "the count of a slot is a VarInt from 1.20.5 on",
        reason: "The table of 1.20.5 alone has a byte. ViaVersion reads a VarInt for 1.20.5 and \
                 every later version; below 128 both are the same byte.",
        versions: 766..=766,
        apply: |tables| {
            let count = &mut tables["types"]["Slot"][1][0]["type"];
            replace(count, &json!("i8"), json!("varint"))
        },
    },
    Patch {
        name: "the velocity of an object follows only data above zero (1.7)",
        reason: "The game sends three shorts only if the data is > 0, the tables expect them for \
                 every data but 0.",
        versions: 4..=5,
        apply: |tables| {
            let data = &mut packet(tables, "spawn_entity")[1];
            let data = data.as_array_mut().and_then(|fields| fields.last_mut());
            let Some(data) = data else { return false };
            (1..=3).all(|axis| below_zero(&mut data["type"][1][axis], "0"))
        },
    },
    Patch {
        name: "the velocity of an object follows only data above zero (1.8)",
        reason: "As above. From 1.9 on it is always sent.",
        versions: 47..=47,
        apply: |tables| {
            let fields = &mut packet(tables, "spawn_entity")[1];
            let velocity = fields.as_array_mut().and_then(|fields| fields.last_mut());
            velocity.is_some_and(|velocity| below_zero(velocity, "0"))
        },
    },
    Patch {
        name: "a debug subscription's value is one container below its type",
        reason: "The inner `switch` compares `type`, which is a field of the container around its \
                 own and so `../type`; without, it finds nothing and reads nothing.",
        versions: 773..=LAST,
        apply: |tables| {
            let outer = &mut tables["types"]["DebugSubscriptionUpdate"][1][1]["type"][1];
            let inner = &mut outer["default"][1][0]["type"][1][1]["compareTo"];
            replace(inner, &json!("type"), json!("../type"))
        },
    },
    Patch {
        name: "a bee in a hive has an entity type (1.21.9)",
        reason: "ViaVersion (`Bee.TYPE1_21_9`): entity data begins with the type since 1.21.9, as \
                 in the component `entity_data`.",
        versions: 773..=LAST,
        apply: |tables| {
            let bees = field(component(tables, "bees"), "bees");
            insert(&mut bees[1]["type"], "type", json!("varint"), Some("nbtData"))
        },
    },
];

/// Versions without a table of their own in `minecraft-data`, and what theirs is.
pub(crate) const DERIVED: &[Derived] = &[
    Derived {
        version: 4,
        like: 5,
        reason: "1.7.2 to 1.7.5: a player that appears has no list of signed properties yet.",
        apply: |tables| {
            let fields = packet(tables, "named_entity_spawn")[1].as_array_mut();
            let Some(fields) = fields else { return false };
            let before = fields.len();
            fields.retain(|field| field["name"] != "data");
            fields.len() + 1 == before
        },
    },
    Derived {
        version: 485,
        like: 480,
        reason: "1.14.2: nothing changed since 1.14.1.",
        apply: |_| true,
    },
    Derived {
        version: 776,
        like: 775,
        reason: "26.2 is not in the npm package yet; `LATER` has its changes.",
        apply: |_| true,
    },
    Derived {
        version: 777,
        like: 775,
        reason: "26.3 is not in the npm package yet; `LATER` has its changes.",
        apply: |_| true,
    },
];

/// Directories of `minecraft-data` that are not of this protocol.
pub(crate) const EXCLUDED: &[(&str, &str)] =
    &[("0.30c", "Classic: its number 7 is of another protocol, and means a snapshot in this one.")];

/// A change to the tables of some versions.
pub(crate) struct Patch {
    pub(crate) name: &'static str,
    pub(crate) reason: &'static str,
    /// Protocol numbers; snapshots of later versions (2^30 and above) are never among them.
    pub(crate) versions: RangeInclusive<i32>,
    /// Makes the change, or says that there is nothing to change.
    pub(crate) apply: fn(&mut Json) -> bool,
}

/// A version whose tables are those of another one.
pub(crate) struct Derived {
    pub(crate) version: i32,
    pub(crate) like: i32,
    pub(crate) reason: &'static str,
    pub(crate) apply: fn(&mut Json) -> bool,
}

/// Gives the `switch` of a field, which has a case that is void, no fields below zero either.
fn below_zero(field: &mut Json, void: &str) -> bool {
    let Some(options) = field["type"][1].as_object_mut() else { return false };
    let cases = options.get_mut("fields").and_then(Json::as_object_mut);
    let Some(cases) = cases else { return false };
    if cases.get(void) != Some(&json!("void")) || options.contains_key("negative") {
        return false;
    }
    options.insert("negative".into(), json!("void"));
    true
}

/// The highest number that is no snapshot's.
pub(crate) const LAST: i32 = (1 << 30) - 1;
