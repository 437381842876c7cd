use serde_json::{Value as Json, json};

use super::edit::{container, define, exchange_names, field, list, packet, remove, replace, sent};
use super::patches::{LAST, Patch};

/// Errors of `minecraft-data` that the comparison with second witnesses has shown (`docs/protocol-tables.md`).
pub(crate) const COMPARED: &[Patch] = &[
    Patch {
        name: "a player that uses an entity does not say where (1.7)",
        reason: "MCProtocolLib 1.7.7 (`ClientPlayerInteractEntityPacket`): an int and a byte, 0 or 1. The place \
                 and its button 2 came with 1.8.",
        versions: 4..=5,
        apply: |tables| {
            let packet = sent(tables, "use_entity");
            ["x", "y", "z"].into_iter().all(|axis| remove(packet, axis))
        },
    },
    Patch {
        name: "the type of an entity's metadata is a VarInt (1.9 to 1.12.2)",
        reason: "MCProtocolLib 1.12.2 (`NetUtil.readEntityMetadata`) and ViaVersion (`ModernEntityDataType`, from \
                 1.9 on); the tables have a byte. Below 128 both are the same byte.",
        versions: 107..=340,
        apply: |tables| {
            let entry = &mut tables["types"]["entityMetadata"][1]["type"];
            let keys = &mut entry[1][0]["type"];
            replace(field(keys, "type"), &json!("i8"), json!("varint"))
        },
    },
    Patch {
        name: "the columns and rows of a map have no sign (1.9 to 1.16.5)",
        reason: "MCProtocolLib 1.12.2 and 1.16.5 (`ServerMapDataPacket`); the tables have it from 1.17 on. A whole \
                 map has 128 columns, not -128. In 1.8 the document has bytes with a sign.",
        versions: 107..=754,
        apply: |tables| {
            let map = packet(tables, "map");
            let unsigned = |place: &mut Json| replace(place, &json!("i8"), json!("u8"));
            unsigned(field(map, "columns"))
                && ["rows", "x", "y"]
                    .into_iter()
                    .all(|name| unsigned(&mut field(map, name)[1]["default"]))
        },
    },
    Patch {
        name: "the part of an entity at which a player looks is a VarInt",
        reason: "MCProtocolLib 1.16.5 (`ServerPlayerFacingPacket`), as the part of the player before it; the \
                 tables have a string up to 1.20.2.",
        versions: 393..=764,
        apply: |tables| {
            let part = field(packet(tables, "face_player"), "entity_feet_eyes");
            replace(&mut part[1]["fields"]["true"], &json!("string"), json!("varint"))
        },
    },
    Patch {
        name: "a changed block of a section is a VarLong",
        reason: "MCProtocolLib (`ClientboundSectionBlocksUpdatePacket`), and the tables from 1.16.2 to 1.18.2; then \
                 they have a VarInt. The numbers of the game's blocks fit both.",
        versions: 759..=LAST,
        apply: |tables| {
            let records = field(packet(tables, "multi_block_change"), "records");
            replace(&mut records[1]["type"], &json!("varint"), json!("varlong"))
        },
    },
    Patch {
        name: "the seed of a structure block is a VarLong",
        reason: "MCProtocolLib (`ServerboundSetStructureBlockPacket`), and the tables up to 1.18.2; then they have a \
                 VarInt.",
        versions: 759..=LAST,
        apply: |tables| {
            let seed = field(sent(tables, "update_structure_block"), "seed");
            replace(seed, &json!("varint"), json!("varlong"))
        },
    },
    Patch {
        name: "whether a player is listed is a bool",
        reason: "MCProtocolLib 1.20.4 (`ClientboundPlayerInfoUpdatePacket`); the tables have a VarInt.",
        versions: 761..=LAST,
        apply: |tables| {
            let player = &mut field(packet(tables, "player_info"), "data")[1]["type"];
            let listed = &mut field(player, "listed")[1]["fields"]["true"];
            replace(listed, &json!("varint"), json!("bool"))
        },
    },
    Patch {
        name: "what a player keeps when it respawns is a mask",
        reason: "MCProtocolLib 1.20.4 (`ClientboundRespawnPacket`) and ViaVersion (1.19.3: 1 attributes, 2 metadata); \
                 the tables have a bool up to 1.20.4.",
        versions: 761..=765,
        apply: |tables| {
            replace(field(packet(tables, "respawn"), "copyMetadata"), &json!("bool"), json!("u8"))
        },
    },
    Patch {
        name: "where a vibration goes begins with a VarInt (1.20.4)",
        reason: "MCProtocolLib 1.20.4 (`readPositionSource`) and ViaVersion (`VIBRATION1_20_3`): 0 a block's position, \
                 1 an entity and the height of its eyes as f32. The tables have a name, and three VarInts for an \
                 entity.",
        versions: 765..=765,
        apply: |tables| {
            let kind = json!(["mapper", { "type": "varint", "mappings": { "0": "block", "1": "entity" } }]);
            set_vibration(tables, kind, ["block", "entity"])
        },
    },
    Patch {
        name: "where a vibration goes is a block or an entity with its eyes (1.19)",
        reason: "As above, with a name in front. The tables have three VarInts for an entity.",
        versions: 759..=764,
        apply: |tables| {
            set_vibration(tables, json!("string"), ["minecraft:block", "minecraft:entity"])
        },
    },
    Patch {
        name: "the particles of an explosion have data (1.20.4)",
        reason: "MCProtocolLib 1.20.4 (`ClientboundExplodePacket`): a number and its data, as in `world_particles`. \
                 The tables have the number alone, with the names of 1.20.5.",
        versions: 765..=765,
        apply: |tables| {
            let data = json!(["particleData", { "compareTo": "particleId" }]);
            let particle = container(&[("particleId", json!("varint")), ("data", data)]);
            define(&mut tables["types"]["Particle"], particle)
        },
    },
    Patch {
        name: "the sound of an explosion is not a number (1.20.4)",
        reason: "ViaVersion (`v1_20_3to1_20_5`) and Botcraft: a name and an optional range. A number, or 0 and \
                 these, came with 1.20.5.",
        versions: 765..=765,
        apply: |tables| {
            let sound = field(packet(tables, "explosion"), "sound");
            replace(sound, &json!("ItemSoundHolder"), json!("ItemSoundEvent"))
        },
    },
    Patch {
        name: "four more types of metadata (1.19)",
        reason: "MCProtocolLib 1.19 (`MetadataType`): the variants of cats and frogs, an optional place in a \
                 dimension and the variant of a painting. The tables have them from 1.19.1 on.",
        versions: 759..=759,
        apply: |tables| {
            let item = &mut tables["types"]["entityMetadataItem"][1]["fields"];
            let Some(fields) = item.as_object_mut() else { return false };
            [
                ("19", json!("varint")),
                ("20", json!("varint")),
                ("21", place()),
                ("22", json!("varint")),
            ]
            .into_iter()
            .all(|(number, ty)| fields.insert(number.into(), ty).is_none())
        },
    },
    Patch {
        name: "a place in a dimension has a position (1.19.1 to 1.21.8)",
        reason: "MCProtocolLib 1.20.4 (`readGlobalPos`) and the tables from 1.21.9 on; before, they have the \
                 dimension alone.",
        versions: 760..=772,
        apply: |tables| {
            let types = &mut tables["types"];
            let old = json!(["option", "string"]);
            if types["entityMetadataEntry"].is_null() {
                let fields = &mut types["entityMetadataItem"][1]["fields"];
                return ["optional_global_pos", "21", "22"].into_iter().any(|name| {
                    fields.get_mut(name).is_some_and(|field| replace(field, &old, place()))
                });
            }
            let value = field(&mut types["entityMetadataEntry"], "value");
            replace(&mut value[1]["fields"]["optional_global_pos"], &old, place())
        },
    },
    Patch {
        name: "the order of a player comes before its hat (1.21.4)",
        reason: "Bit 6 of the actions is the place in the list, bit 7 the hat: ViaVersion (`v1_21_2to1_21_4`), \
                 MCProtocolLib 1.21.11, Minestom 26.2. The tables have them the other way round.",
        versions: 769..=LAST,
        apply: |tables| {
            let flags = &mut field(packet(tables, "player_info"), "action")[1]["flags"];
            replace(&mut flags[6], &json!("update_hat"), json!("update_list_order"))
                && replace(&mut flags[7], &json!("update_list_order"), json!("update_hat"))
        },
    },
    Patch {
        name: "the window and the button of a click on a button are VarInts (1.20.5)",
        reason: "ViaVersion (`v1_20_3to1_20_5`) and Botcraft; the tables have bytes.",
        versions: 766..=766,
        apply: |tables| {
            let click = sent(tables, "enchant_item");
            ["windowId", "enchantment"]
                .into_iter()
                .all(|name| replace(field(click, name), &json!("i8"), json!("varint")))
        },
    },
    Patch {
        name: "the window of a click on a button is a VarInt (1.21)",
        reason: "As in 1.20.5 and from 1.21.2 on: ViaVersion and Botcraft. Other packets still have a byte.",
        versions: 767..=767,
        apply: |tables| {
            let window = field(sent(tables, "enchant_item"), "windowId");
            replace(window, &json!("ContainerID"), json!("varint"))
        },
    },
    Patch {
        name: "the button of a click on a button is a VarInt (1.21.11)",
        reason: "As before and after: ViaVersion and Botcraft.",
        versions: 774..=774,
        apply: |tables| {
            replace(
                field(sent(tables, "enchant_item"), "enchantment"),
                &json!("i8"),
                json!("varint"),
            )
        },
    },
    Patch {
        name: "the ids of `spectate` and `test_instance_block_action` (1.21.5)",
        reason: "ViaVersion (`ServerboundPackets1_21_5`) and Botcraft: 0x3c and 0x3d, in the order of later \
                 versions.",
        versions: 770..=770,
        apply: |tables| {
            let names = field(&mut tables["play"]["toServer"]["types"]["packet"], "name");
            exchange_names(names, "test_instance_block_action", "spectate")
        },
    },
    Patch {
        name: "the mode of a click in a window is a VarInt (1.9 to 1.17)",
        reason: "ViaVersion (`v1_8to1_9`) and Botcraft; the tables have it from 1.17.1 on, and a byte before.",
        versions: 107..=755,
        apply: |tables| {
            let mode = field(sent(tables, "window_click"), "mode");
            replace(mode, &json!("i8"), json!("varint"))
        },
    },
    Patch {
        name: "the number of trades is a VarInt (1.19)",
        reason: "ViaVersion (`v1_18_2to1_19`) and Botcraft; the tables have it from 1.19.1 on, and a byte before.",
        versions: 759..=759,
        apply: |tables| {
            let trades = field(packet(tables, "trade_list"), "trades");
            replace(&mut trades[1]["countType"], &json!("u8"), json!("varint"))
        },
    },
    Patch {
        name: "the event of goals has a list of them (1.21.9)",
        reason: "MCProtocolLib (`readDebugSubscription`) and Botcraft; the tables have one goal in an event, and a \
                 list where a value changes.",
        versions: 773..=LAST,
        apply: |tables| {
            let value = field(&mut tables["types"]["DebugSubscriptionEvent"], "value");
            let goals = &mut value[1]["fields"]["GoalSelectors"];
            let list = list(goals.clone());
            goals[0] == "container" && define(goals, list)
        },
    },
    Patch {
        name: "the window of a list of trades is a VarInt (1.20.5, 1.21)",
        reason: "ViaVersion (`v1_20_3to1_20_5`), MCProtocolLib 1.20.6 and 1.21, and Botcraft; the tables have a byte.",
        versions: 766..=767,
        apply: |tables| {
            let window = field(packet(tables, "trade_list"), "windowId");
            replace(window, &json!("ContainerID"), json!("varint"))
        },
    },
    Patch {
        name: "the knockback of an explosion has doubles (1.21.2)",
        reason: "MCProtocolLib 1.21.2 (`ClientboundExplodePacket`) and Botcraft; the tables from 1.21.4 on have them.",
        versions: 768..=768,
        apply: |tables| {
            let knockback = field(packet(tables, "explosion"), "playerKnockback");
            replace(knockback, &json!(["option", "vec3f"]), json!(["option", "vec3f64"]))
        },
    },
];

/// An optional dimension with a position in it.
fn place() -> Json {
    let global = container(&[("dimensionName", json!("string")), ("location", json!("position"))]);
    json!(["option", global])
}

/// Sets the layout of the particle `vibration`, for these names of its two targets.
fn set_vibration(tables: &mut Json, kind: Json, [block, entity]: [&str; 2]) -> bool {
    let to_entity = container(&[("entityId", json!("varint")), ("entityEyeHeight", json!("f32"))]);
    let place = json!(["switch", {
        "compareTo": "positionType", "fields": { block: "position", entity: to_entity }
    }]);
    let layout =
        container(&[("positionType", kind), ("position", place), ("ticks", json!("varint"))]);
    let particles = tables["types"]["particleData"][1]["fields"].as_object_mut();
    let vibration = particles
        .and_then(|particles| particles.values_mut().find(|it| it[1][0]["name"] == "positionType"));
    vibration.is_some_and(|it| define(it, layout))
}
