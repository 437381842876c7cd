use std::ops::RangeInclusive;

use serde_json::{Value as Json, json};

use super::edit::{component, define, field, insert, packet, remove, replace, sent};

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
        name: "a node of commands with both bits of its type has no data",
        reason: "The game and ViaVersion read data for the types 1 and 2 only.",
        versions: 351..=SNAPSHOT_21W07A,
        apply: |tables| add_void(field(command_node(tables), "extraNodeData"), "3"),
    },
    Patch {
        name: "`minecraft:nbt_tag` is a parser of commands (1.14)",
        reason: "The argument of `data modify .. value`; the tables list it from 1.19 on. A parser that they do not \
                 list has no layout.",
        versions: 477..=758,
        apply: add_nbt_tag,
    },
    Patch {
        name: "the window of a click is a signed byte (1.8)",
        reason: "The document has a Byte in both packets, and the game reads one: -1 stands for no \
                 window. The tables have an unsigned byte.",
        versions: 47..=47,
        apply: |tables| {
            ["close_window", "window_click"].into_iter().all(|name| {
                replace(field(sent(tables, name), "windowId"), &json!("u8"), json!("i8"))
            })
        },
    },
    Patch {
        name: "the first byte of a map's icon has no sign (1.8 to 1.12)",
        reason: "It is two numbers of four bits, the type and the direction. The document leaves \
                 its type open; signed, type 9 and direction 4 (`94`) would be -108.",
        versions: 47..=340,
        apply: |tables| {
            let icon = &mut field(packet(tables, "map"), "icons")[1]["type"];
            replace(field(icon, "directionAndType"), &json!("i8"), json!("u8"))
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
    Patch {
        name: "a client's position has its feet before its eyes (1.7)",
        reason: "CraftBukkit 1.7 and MCProtocolLib 1.7 read `y`, then `stance`, which is 1.62 above it; the \
                 tables have them the other way round.",
        versions: 4..=5,
        apply: |tables| {
            ["position", "position_look"].iter().all(|name| {
                let fields = &mut sent(tables, name)[1];
                replace(&mut fields[1]["name"], &json!("stance"), json!("y"))
                    && replace(&mut fields[2]["name"], &json!("y"), json!("stance"))
            })
        },
    },
    Patch {
        name: "the action 7 of an entity opens its inventory (1.7)",
        reason: "CraftBukkit 1.7 (`PacketPlayInEntityAction`): 6 is a jump of the vehicle, 7 opens the \
                 inventory of a horse, and there is no 8.",
        versions: 4..=5,
        apply: |tables| {
            let names = &mut field(sent(tables, "entity_action"), "actionId")[1]["mappings"];
            names.as_object_mut().is_some_and(|it| it.remove("8") == Some(json!("open_inventory")))
                && replace(&mut names["7"], &json!("stop_riding_jump"), json!("open_inventory"))
        },
    },
    Patch {
        name: "a record of changed blocks begins with x (1.7)",
        reason: "ViaLegacy (`r1_7_6_10tor1_8`, `BlockChangeRecordArrayType`): x, z and y, then the number of the \
                 block and its data. The tables begin with the lowest bit, and a bitfield with the highest.",
        versions: 4..=5,
        apply: |tables| {
            let records = field(packet(tables, "multi_block_change"), "records");
            let Some(parts) = records[1]["type"][1].as_array_mut() else { return false };
            let first = |part: &Json, name: &str| part["type"][1][0]["name"] == name;
            let [block, _, place] = &mut parts[..] else { return false };
            if !first(block, "metadata") || !first(place, "z") {
                return false;
            }
            for bits in [block, place] {
                bits["type"][1].as_array_mut().into_iter().for_each(|it| it.reverse());
            }
            parts.reverse();
            true
        },
    },
    Patch {
        name: "the time in which a world border moves is a VarLong",
        reason: "MCProtocolLib since 1.17 (9541ab9b), ViaVersion, which does not change it after 1.17, and the \
                 codec of 26.2 (hyperion's protocol.json). The tables have it in 1.17 and 1.18, then a VarInt.",
        versions: 759..=LAST,
        apply: |tables| {
            ["initialize_world_border", "world_border_lerp_size"].iter().all(|name| {
                replace(field(packet(tables, name), "speed"), &json!("varint"), json!("varlong"))
            })
        },
    },
    Patch {
        name: "a painting's variant in entity metadata is a number (1.20.5)",
        reason: "ViaVersion (`EntityDataTypes1_20_5`): the registry was sent by reference only until 1.21.",
        versions: 766..=766,
        apply: |tables| {
            let entry = &mut tables["types"]["entityMetadataEntry"];
            let of = &mut field(entry, "value")[1]["fields"]["painting_variant"];
            of[0] == "registryEntryHolder" && define(of, json!("varint"))
        },
    },
    Patch {
        name: "the size of a painting is in VarInts",
        reason: "MCProtocolLib (`readPaintingVariant`), ViaVersion (`PaintingVariant`) and the codec of 26.2 \
                 (hyperion's protocol.json); the tables have integers of four bytes.",
        versions: 767..=LAST,
        apply: |tables| {
            let variant = &mut tables["types"]["EntityMetadataPaintingVariant"];
            ["width", "height"]
                .iter()
                .all(|side| replace(field(variant, side), &json!("i32"), json!("varint")))
        },
    },
    Patch {
        name: "a painting has no title and no author before 1.21.2",
        reason: "ViaVersion (`PaintingVariant.TYPE1_21`, `TYPE1_21_2`).",
        versions: 767..=767,
        apply: |tables| {
            let variant = &mut tables["types"]["EntityMetadataPaintingVariant"];
            remove(variant, "title") && remove(variant, "author")
        },
    },
    Patch {
        name: "two particles of trial spawners have the game's names",
        reason: "`trial_spawner_detection` and `trial_spawner_detection_ominous` in the game's registry \
                 (hyperion's protocol.json) and in minecraft-data's own particles.json.",
        versions: 766..=LAST,
        apply: |tables| {
            let mappings = &mut field(&mut tables["types"]["Particle"], "type")[1]["mappings"];
            let Some(mappings) = mappings.as_object_mut() else { return false };
            let mut fits = 0;
            for name in mappings.values_mut() {
                for end in ["", "_ominous"] {
                    let right = json!(format!("trial_spawner_detection{end}"));
                    let wrong = json!(format!("trial_spawner_detected_player{end}"));
                    fits += u8::from(replace(name, &wrong, right));
                }
            }
            fits == 2
        },
    },
    Patch {
        name: "a step of a minecart has doubles and angles of a byte",
        reason: "MCProtocolLib (`ClientboundMoveMinecartPacket`) and the codec of 26.2 (hyperion's \
                 protocol.json): two vectors of f64, yaw and pitch as bytes, the weight as f32.",
        versions: 768..=LAST,
        apply: |tables| {
            let steps = field(packet(tables, "move_minecart"), "steps");
            let Some(fields) = steps[1]["type"][1].as_array_mut() else { return false };
            let (float, vector) = (json!("f32"), json!("vec3f"));
            let [position, movement, yaw, pitch, _] = &mut fields[..] else { return false };
            [position, movement]
                .into_iter()
                .all(|it| replace(&mut it["type"], &vector, json!("vec3f64")))
                && [yaw, pitch].into_iter().all(|it| replace(&mut it["type"], &float, json!("i8")))
        },
    },
    Patch {
        name: "the data of a click has its length in front",
        reason: "The codec in the game's jar (hyperion's protocol.json: a length of at most 65,536, then NBT or \
                 one 0x00); the tables have a bool before the NBT.",
        versions: 771..=LAST,
        apply: |tables| {
            let click = &mut tables["types"]["packet_common_custom_click_action"];
            let length = json!("varint");
            replace(
                field(click, "nbt"),
                &json!(["option", "anonymousNbt"]),
                json!("anonOptionalNbt"),
            ) && insert(click, "length", length, Some("nbt"))
        },
    },
    Patch {
        name: "the operation of an attribute's modifier is a VarInt",
        reason: "The codec of 26.2 (hyperion's protocol.json); since 1.20.5 Botcraft, since 1.21 Minestom, which both \
                 had a byte before. MCProtocolLib and ViaVersion read a byte, ViaVersion in 26.2 too, where the \
                 game has a VarInt. The operations have the numbers 0 to 2, which are the same byte.",
        versions: 766..=LAST,
        apply: |tables| {
            let attribute =
                &mut field(packet(tables, "entity_update_attributes"), "properties")[1]["type"];
            let modifier = &mut field(attribute, "modifiers")[1]["type"];
            replace(field(modifier, "operation"), &json!("i8"), json!("varint"))
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

/// The nodes of commands, which 17w50a has in the packet itself.
fn command_node(tables: &mut Json) -> &mut Json {
    if tables["types"]["command_node"].is_array() {
        return &mut tables["types"]["command_node"];
    }
    &mut field(packet(tables, "declare_commands"), "nodes")[1]["type"]
}

/// Adds the parser of any NBT to a list of names.
pub(crate) fn add_nbt_tag(tables: &mut Json) -> bool {
    let argument = &mut field(command_node(tables), "extraNodeData")[1]["fields"]["2"];
    add_void(field(argument, "properties"), "minecraft:nbt_tag")
}

/// Adds a case without data to a `switch` without a default.
fn add_void(switch: &mut Json, case: &str) -> bool {
    let is_closed = switch[1].get("default").is_none();
    let cases = switch[1]["fields"].as_object_mut();
    is_closed && cases.is_some_and(|cases| cases.insert(case.into(), json!("void")).is_none())
}

/// The highest number that is no snapshot's.
pub(crate) const LAST: i32 = (1 << 30) - 1;

/// The number of the only snapshot after 1.13 that has a table.
pub(crate) const SNAPSHOT_21W07A: i32 = (1 << 30) + 15;
