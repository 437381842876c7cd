use serde_json::{Map, Value as Json, json};

use super::edit::{component, define, field, names, packet, remove_name, replace, unlist_packet};
use super::lists::ATTRIBUTES;
use super::patches::{LAST, Patch};

/// Names of numbers that `minecraft-data` has wrong: a table lists what another version had, or in another order.
///
/// A test compares all registries with the game's own reports (`docs/protocol-tables.md`). Enumerations that are no
/// registry are in no report; their sources are with them.
pub(crate) const NAMED: &[Patch] = &[
    Patch {
        name: "banners are not patterned by a recipe (1.20.5)",
        reason: "The registry `recipe_serializer` of the game's report: 1.14 removed \
                 `crafting_special_banneraddpattern`, and all later numbers are one less.",
        versions: 766..=767,
        apply: |tables| {
            let old = "minecraft:crafting_special_banneraddpattern";
            let recipes = &mut field(packet(tables, "declare_recipes"), "recipes")[1]["type"];
            let layouts = &mut field(recipes, "data")[1]["fields"];
            let had = layouts.as_object_mut().is_some_and(|it| it.remove(old).is_some());
            remove_name(field(recipes, "type"), old) && had
        },
    },
    Patch {
        name: "attributes (1.21.2)",
        reason: "As above: names lose `generic.`, `player.` and `zombie.`.",
        versions: 768..=770,
        apply: |tables| attributes(tables, 768),
    },
    Patch {
        name: "attributes (1.21.6)",
        reason: "As above, with the distance of the camera and of waypoints.",
        versions: 771..=775,
        apply: |tables| attributes(tables, 771),
    },
    Patch {
        name: "attributes (26.2)",
        reason: "As above, with five new ones.",
        versions: 776..=LAST,
        apply: |tables| attributes(tables, 776),
    },
    Patch {
        name: "the parser of NBT is `minecraft:nbt_compound_tag`",
        reason: "The registry `command_argument_type` of the game's report.",
        versions: 759..=LAST,
        apply: |tables| rename(parser(tables), "minecraft:nbt", "minecraft:nbt_compound_tag"),
    },
    Patch {
        name: "the parser of a team's colour (26.2)",
        reason: "As above; the table has `minecraft:color` of 26.1.",
        versions: 776..=LAST,
        apply: |tables| rename(parser(tables), "minecraft:color", "minecraft:team_color"),
    },
    Patch {
        name: "the slot display `dyed` (26.1)",
        reason: "The registry `slot_display` of the game's report.",
        versions: 775..=LAST,
        apply: |tables| {
            let display = &mut tables["play"]["toClient"]["types"]["SlotDisplay"];
            let layouts = field(display, "data")[1]["fields"].as_object_mut();
            let moved = layouts.is_some_and(|layouts| {
                let layout = layouts.remove("dyed_slot_demo");
                layout.is_some_and(|it| layouts.insert("dyed".into(), it).is_none())
            });
            moved && rename(field(display, "type"), "dyed_slot_demo", "dyed")
        },
    },
    Patch {
        name: "the slots of what can be worn, by their ids",
        reason: "ViaVersion (`EnumTypes.EQUIPMENT_SLOT`, of which its hashes of items depend) and the game's \
                 behaviour: the hands are 0 and 5. The table has another order.",
        versions: 768..=769,
        apply: |tables| worn(tables, &SLOTS[..7]),
    },
    Patch {
        name: "the slots of what can be worn, with the saddle (1.21.5)",
        reason: "As above.",
        versions: 770..=LAST,
        apply: |tables| worn(tables, SLOTS),
    },
    Patch {
        name: "an item can be taken out of a bundle (1.21.2)",
        reason: "ViaVersion (`EnumTypes.ITEM_USE_ANIMATION`): the animation 10 is `bundle`.",
        versions: 768..=769,
        apply: |tables| used(tables, USES),
    },
    Patch {
        name: "a spear is used as such (1.21.11)",
        reason: "ViaVersion (`EnumTypes.ITEM_USE_ANIMATION`) and the codec of 26.2 (hyperion's protocol.json): \
                 what was `spear` is `trident`, and 11 is `spear`.",
        versions: 774..=LAST,
        apply: |tables| {
            let uses = USES.iter().map(|it| if *it == "spear" { "trident" } else { it });
            used(tables, &uses.chain(["spear"]).collect::<Vec<_>>())
        },
    },
    Patch {
        name: "the parameters of a chat type",
        reason: "azalea, PacketEvents and the codec of 26.2 (hyperion's protocol.json): the sender is 0, the \
                 target 1, the content 2.",
        versions: 766..=LAST,
        apply: |tables| {
            let types = &mut tables["play"]["toClient"]["types"]["ChatTypeParameterType"];
            define(types, names(&["sender", "target", "content"]))
        },
    },
    Patch {
        name: "a client sends no details for reports and no links (1.21 to 1.21.5)",
        reason: "The game's report of packets has both for clients only; the table has them in both directions.",
        versions: 767..=770,
        apply: |tables| {
            let section = &mut tables["configuration"]["toServer"];
            let both = ["custom_report_details", "server_links"];
            both.into_iter().all(|name| unlist_packet(section, name).is_some())
        },
    },
    Patch {
        name: "the sound of an entity is one of the registry or its own (1.19.3)",
        reason: "PacketEvents, and `sound_effect` of the same version: 0 is followed by a sound, every other number \
                 is one more than that of the registry. The table has it so from 1.20.5 on.",
        versions: 761..=765,
        apply: |tables| {
            let sound = packet(tables, "entity_sound_effect");
            let Some(fields) = sound[1].as_array_mut() else { return false };
            let [id, event, ..] = &fields[..] else { return false };
            let fits = id["name"] == "soundId" && event["name"] == "soundEvent";
            fields.splice(..2, [json!({ "name": "sound", "type": "ItemSoundHolder" })]);
            fits
        },
    },
];

/// Gives the names of a version to the attributes.
fn attributes(tables: &mut Json, version: i32) -> bool {
    let list = ATTRIBUTES.iter().find_map(|list| list.tokens(version)).expect("a list");
    let list: Vec<&str> = list.iter().map(String::as_str).collect();
    let properties = field(packet(tables, "entity_update_attributes"), "properties");
    define(field(&mut properties[1]["type"], "key"), names(&list))
}

/// The number of a command's parser.
fn parser(tables: &mut Json) -> &mut Json {
    let node = &mut tables["types"]["command_node"];
    field(&mut field(node, "extraNodeData")[1]["fields"]["2"], "parser")
}

fn worn(tables: &mut Json, slots: &[&str]) -> bool {
    define(field(component(tables, "equippable"), "slot"), names(slots))
}

fn used(tables: &mut Json, uses: &[&str]) -> bool {
    define(field(component(tables, "consumable"), "animation"), names(uses))
}

/// Renames a number of a mapper.
fn rename(mapper: &mut Json, old: &str, new: &str) -> bool {
    let names = mapper[1]["mappings"].as_object_mut().into_iter().flat_map(Map::values_mut);
    names.map(|name| u8::from(replace(name, &json!(old), json!(new)))).sum::<u8>() == 1
}

/// In the order of their ids.
const SLOTS: &[&str] = &["mainhand", "feet", "legs", "chest", "head", "offhand", "body", "saddle"];

/// How an item is used, in the order of the ids of 1.21.2.
const USES: &[&str] = &[
    "none",
    "eat",
    "drink",
    "block",
    "bow",
    "spear",
    "crossbow",
    "spyglass",
    "toot_horn",
    "brush",
    "bundle",
];
