use serde_json::{Value as Json, json};

use super::edit::{
    component, container, define, field, holder, insert, insert_names, insert_packet, list, names,
    packet, remove, remove_name, remove_packet, replace, sent,
};
use super::patches::{LAST, Patch};

/// The changes of 26.1 (775), 26.2 (776) and 26.3 (777) that the tables of `minecraft-data` lack.
///
/// 776 and 777 have no tables in the npm package; they are derived from those of 26.1 by these
/// changes. Each change is in the repository of `minecraft-data` (branch `pc_26_2`, and
/// `data/pc/26.3/proto.yml`) or in ViaVersion's `v26_1to26_2` and `v26_2to26_3`.
pub(crate) const LATER: &[Patch] = &[
    Patch {
        name: "components refer to registries without the name of an entry (26.1)",
        reason: "ViaVersion reads a number or holder for them since 26.1, no flag before it.",
        versions: 775..=LAST,
        apply: |tables| {
            let plain = ["damage_type", "chicken/variant", "chicken/sound_variant"];
            let sets = ["damage_resistant", "provides_banner_patterns"];
            let holders = [
                ("instrument", "instrumentId", "InstrumentData"),
                ("provides_trim_material", "materialId", "ArmorTrimMaterial"),
                ("jukebox_playable", "songId", "JukeboxSongData"),
            ];
            let blocked = component(tables, "blocks_attacks");
            let set = json!(["option", "IDSet"]);
            replace(field(blocked, "bypassedBy"), &json!(["option", "string"]), set)
                && define(component(tables, "zombie_nautilus/variant"), json!("varint"))
                && plain.iter().all(|it| define(component(tables, it), json!("varint")))
                && sets.iter().all(|it| define(component(tables, it), json!("IDSet")))
                && holders.iter().all(|(it, id, ty)| define(component(tables, it), holder(id, ty)))
        },
    },
    Patch {
        name: "login success has the id of the session (26.2)",
        reason: "minecraft-data (pc_26_2) and ViaVersion.",
        versions: 776..=LAST,
        apply: |tables| {
            let types = &mut tables["login"]["toClient"]["types"];
            insert(&mut types["packet_success"], "sessionId", json!("UUID"), None)
        },
    },
    Patch {
        name: "login says whether the server is in online mode (26.2)",
        reason: "minecraft-data (pc_26_2) and ViaVersion.",
        versions: 776..=LAST,
        apply: |tables| {
            let before = Some("enforcesSecureChat");
            insert(packet(tables, "login"), "onlineMode", json!("bool"), before)
        },
    },
    Patch {
        name: "a team's texts come before its rules, and its colour is optional (26.2)",
        reason: "ViaVersion (`SET_PLAYER_TEAM`); minecraft-data has the order of 26.1.",
        versions: 776..=LAST,
        apply: |tables| {
            let cases = &mut packet(tables, "teams")[1][2]["type"][1]["fields"];
            ["add", "change"].iter().all(|case| {
                let case = &mut cases[*case];
                let take = |case: &mut Json, name: &str| {
                    let ty = field(case, name).take();
                    remove(case, name) && insert(case, name, ty, None)
                };
                let order = ["nameTagVisibility", "collisionRule", "formatting", "flags"];
                let colour = json!(["option", "varint"]);
                replace(field(case, "formatting"), &json!("varint"), colour)
                    && order.iter().all(|name| take(case, name))
            })
        },
    },
    Patch {
        name: "`spectator_action` instead of `spectate_entity`, with no entity for the air (26.2)",
        reason: "Both name it; ViaVersion has 0 for none and otherwise the id plus 1, \
                 minecraft-data a flag.",
        versions: 776..=LAST,
        apply: |tables| {
            let section = &mut tables["play"]["toServer"];
            let ty = container(&[("entityId", json!("optvarint"))]);
            insert_packet(section, "spectator_action", ty, "spectate_entity")
                && remove_packet(section, "spectate_entity")
        },
    },
    Patch {
        name: "the component `sulfur_cube_content` (26.2)",
        reason: "minecraft-data and ViaVersion.",
        versions: 776..=LAST,
        apply: |tables| {
            *component(tables, "sulfur_cube_content") = json!("ItemStackTemplate");
            let ids = &mut tables["types"]["SlotComponentType"];
            insert_names(ids, &["sulfur_cube_content"], Some("lock"))
        },
    },
    Patch {
        name: "eight particles (26.2)",
        reason: "The names are those of minecraft-data (26.3). `geyser_plume` has one number as in \
                 ViaVersion, minecraft-data reads two.",
        versions: 776..=LAST,
        apply: |tables| {
            let particle = &mut tables["types"]["Particle"];
            let fields = &mut field(particle, "data")[1]["fields"];
            let burst =
                || container(&[("waterBlocks", json!("i32")), ("burstImpulseBase", json!("f32"))]);
            fields["geyser"] = json!("i32");
            fields["geyser_plume"] = json!("i32");
            fields["geyser_base"] = burst();
            fields["geyser_poof"] = burst();
            let ids = field(particle, "type");
            let gas = ["sulfur_bubbles", "noxious_gas", "noxious_gas_cloud"];
            let geyser = ["geyser", "geyser_base", "geyser_poof", "geyser_plume"];
            insert_names(ids, &[&gas[..], &geyser].concat(), Some("cloud"))
                && insert_names(ids, &["sulfur_cube_goo"], None)
        },
    },
    Patch {
        name: "the packets that 26.3 added and removed",
        reason: "ViaVersion's lists of ids, and the registrations of the game.",
        versions: 777..=LAST,
        apply: |tables| {
            let effects = || container(&[("postEffects", list(json!("string")))]);
            let block = container(&[("location", json!("position")), ("type", json!("varint"))]);
            let swing = container(&[
                ("entityId", json!("varint")),
                ("hand", json!("varint")),
                ("animation", animation()),
            ]);
            let configuration = &mut tables["configuration"]["toClient"];
            let added = insert_packet(configuration, "post_effects", effects(), "store_cookie");
            let play = &mut tables["play"]["toClient"];
            let shown = insert_packet(play, "add_transient_block", block, "unload_chunk")
                && insert_packet(play, "post_effects", effects(), "respawn")
                && insert_packet(play, "swing_animation", swing, "system_chat");
            let play = &mut tables["play"]["toServer"];
            let punch = insert_packet(play, "punch", json!("void"), "recipe_book");
            added && shown && punch && remove_packet(play, "arm_animation")
        },
    },
    Patch {
        name: "game modes are VarInts (26.3)",
        reason: "ViaVersion (`handleGamemodes`); minecraft-data has the bytes of 26.2. The previous \
                 mode is 0 for none, otherwise the mode plus 1.",
        versions: 777..=LAST,
        apply: |tables| {
            let info = &mut tables["play"]["toClient"]["types"]["SpawnInfo"];
            let modes = names(&["survival", "creative", "adventure", "spectator"]);
            define(field(info, "gamemode"), modes)
                && replace(field(info, "previousGamemode"), &json!("u8"), json!("optvarint"))
        },
    },
    Patch {
        name: "a client confirms a teleport with its position (26.3)",
        reason: "minecraft-data and ViaVersion.",
        versions: 777..=LAST,
        apply: |tables| {
            let confirm = sent(tables, "teleport_confirm");
            let fields =
                [("x", "f64"), ("y", "f64"), ("z", "f64"), ("yaw", "f32"), ("pitch", "f32")];
            fields.iter().all(|(name, ty)| insert(confirm, name, json!(ty), None))
        },
    },
    Patch {
        name: "an entity moves in steps (26.3)",
        reason: "ViaVersion, and packets recorded from the game's server. In `entity_look` \
                 `onGround` comes first, which minecraft-data lacks.",
        versions: 777..=LAST,
        apply: |tables| {
            let turn = [("yaw", json!("i8")), ("pitch", json!("i8"))];
            let id = ("entityId", json!("varint"));
            let look = [&[id.clone(), ("onGround", json!("bool"))][..], &turn].concat();
            let mut moved = container(&[id, ("flags", on_ground())]);
            let steps = json!({ "anon": true, "type": movement() });
            moved[1].as_array_mut().expect("a list").push(steps);
            let mut both = moved.clone();
            turn.into_iter().all(|(name, ty)| insert(&mut both, name, ty, None))
                && define(packet(tables, "rel_entity_move"), moved)
                && define(packet(tables, "entity_move_look"), both)
                && define(packet(tables, "entity_look"), container(&look))
        },
    },
    Patch {
        name: "the position of an entity is a path (26.3)",
        reason: "minecraft-data, ViaVersion, and a packet recorded from the game's server.",
        versions: 777..=LAST,
        apply: |tables| {
            let place = [("x", json!("f64")), ("y", json!("f64")), ("z", json!("f64"))];
            let step = [&place[..], &[("tickOffset", json!("varint"))]].concat();
            let path = json!(["switch", { "compareTo": "positionType", "fields": {
                "linear": container(&place),
                "stepped": container(&[("steps", list(container(&step)))]),
            } }]);
            let sync = packet(tables, "sync_entity_position");
            let fits = ["x", "y", "z", "dx", "dy", "dz"].iter().all(|it| remove(sync, it))
                && insert(sync, "positionType", names(&["linear", "stepped"]), Some("yaw"));
            let fields = sync[1].as_array_mut().expect("a list");
            fields.insert(2, json!({ "anon": true, "type": path }));
            fits
        },
    },
    Patch {
        name: "`animation` has three values (26.3)",
        reason: "ViaVersion; the swings of arms have become `swing_animation`. It is still a byte: \
                 ViaVersion and MCProtocolLib.",
        versions: 777..=LAST,
        apply: |tables| {
            let mut values = names(&["wake_up", "critical_hit", "magic_critical_hit"]);
            values[1]["type"] = json!("u8");
            replace(field(packet(tables, "animation"), "animation"), &json!("u8"), values)
        },
    },
    Patch {
        name: "five parsers of commands (26.3)",
        reason: "The game's registry, as ericbstie/mscts has it; minecraft-data has the parsers of \
                 26.1.",
        versions: 777..=LAST,
        apply: |tables| {
            let node = &mut tables["types"]["command_node"];
            let data = &mut field(node, "extraNodeData")[1]["fields"]["2"];
            let ids = field(data, "parser");
            let providers = ["context_float_provider", "context_int_provider", "slot_source"];
            let providers = providers.map(|it| format!("minecraft:{it}"));
            let providers: Vec<&str> = providers.iter().map(String::as_str).collect();
            let last = ["minecraft:feature", "minecraft:swing_animation"];
            insert_names(ids, &providers, Some("minecraft:dialog"))
                && insert_names(ids, &last, Some("minecraft:uuid"))
        },
    },
    Patch {
        name: "particles come first, with a speed for each axis (26.3)",
        reason: "minecraft-data and ViaVersion.",
        versions: 777..=LAST,
        apply: |tables| {
            let speeds = ["xMaxSpeed", "yMaxSpeed", "zMaxSpeed"];
            let kinds = names(&["default", "alternative", "alternative_with_speed"]);
            let particles = packet(tables, "world_particles");
            remove(particles, "particle")
                && insert(particles, "particle", json!("Particle"), Some("longDistance"))
                && speeds
                    .iter()
                    .all(|it| insert(particles, it, json!("f32"), Some("velocityOffset")))
                && remove(particles, "velocityOffset")
                && replace(field(particles, "amount"), &json!("i32"), json!("varint"))
                && insert(particles, "randomizationType", kinds, None)
        },
    },
    Patch {
        name: "three particles (26.3)",
        reason: "minecraft-data.",
        versions: 777..=LAST,
        apply: |tables| {
            let leaves = ["red_poplar_leaves", "orange_poplar_leaves", "yellow_poplar_leaves"];
            let ids = field(&mut tables["types"]["Particle"], "type");
            insert_names(ids, &leaves, Some("tinted_leaves"))
        },
    },
    Patch {
        name: "an explosion says whether it is heard (26.3)",
        reason: "ViaVersion; minecraft-data lacks it.",
        versions: 777..=LAST,
        apply: |tables| insert(packet(tables, "explosion"), "playSound", json!("bool"), None),
    },
    Patch {
        name: "a sign's side is a number, at the end when it is changed (26.3)",
        reason: "ViaVersion; minecraft-data has the flag of 26.2.",
        versions: 777..=LAST,
        apply: |tables| {
            let side = || names(&["back", "front"]);
            let opened = packet(tables, "open_sign_entity");
            let fits = remove(opened, "isFrontText") && insert(opened, "side", side(), None);
            let changed = sent(tables, "update_sign");
            fits && remove(changed, "isFrontText") && insert(changed, "side", side(), None)
        },
    },
    Patch {
        name: "sets of bits are bytes (26.3)",
        reason: "minecraft-data (light), ViaVersion (light, `filterTypeMask`), and a chunk recorded \
                 from the game's server.",
        versions: 777..=LAST,
        apply: |tables| {
            let longs = list(json!("i64"));
            let chat = field(packet(tables, "player_chat"), "filterTypeMask");
            let mut fits = replace(&mut chat[1]["fields"]["2"], &longs, json!("ByteArray"));
            for name in ["map_chunk", "update_light"] {
                for mask in
                    ["skyLightMask", "blockLightMask", "emptySkyLightMask", "emptyBlockLightMask"]
                {
                    let mask = field(packet(tables, name), mask);
                    fits &= replace(mask, &longs, json!("ByteArray"));
                }
            }
            fits
        },
    },
    Patch {
        name: "an advancement has its place without being displayed (26.3)",
        reason: "minecraft-data and ViaVersion.",
        versions: 777..=LAST,
        apply: |tables| {
            let entry = field(packet(tables, "advancements"), "advancementMapping");
            let entry = &mut entry[1]["type"];
            let display = &mut field(field(entry, "value"), "displayData")[1];
            remove(display, "xCord")
                && remove(display, "yCord")
                && insert(entry, "xCord", json!("f32"), None)
                && insert(entry, "yCord", json!("f32"), None)
        },
    },
    Patch {
        name: "a recipe's tag is a set (26.3)",
        reason: "minecraft-data, ViaVersion, and a packet recorded from the game's server.",
        versions: 777..=LAST,
        apply: |tables| {
            let display = &mut tables["play"]["toClient"]["types"]["SlotDisplay"];
            let tag = &mut field(display, "data")[1]["fields"]["tag"];
            replace(tag, &json!("string"), json!("IDSet"))
        },
    },
    Patch {
        name: "colours in metadata (26.3)",
        reason: "minecraft-data and ViaVersion.",
        versions: 777..=LAST,
        apply: |tables| {
            let entry = &mut tables["types"]["entityMetadataEntry"];
            field(entry, "value")[1]["fields"]["dye_color"] = json!("DyeColor");
            insert_names(field(entry, "type"), &["dye_color"], None)
        },
    },
    Patch {
        name: "components (26.3)",
        reason: "The ids are those of minecraft-data. The layouts are ViaVersion's, which has some \
                 that minecraft-data lacks; the filtered lines of a sign are optional there.",
        versions: 777..=LAST,
        apply: |tables| {
            let types = &mut tables["types"];
            types["ResolvableInt"] = resolvable("i32");
            types["ResolvableFloat"] = resolvable("f32");
            let material = [("paletteId", json!("string")), ("description", json!("anonymousNbt"))];
            let random = &mut types["ItemConsumeEffect"][1][1]["type"][1]["fields"];
            let random = &mut random["teleport_randomly"];
            let mut fits = insert(random, "directionalParticles", json!("bool"), None)
                && define(&mut types["ArmorTrimMaterial"], container(&material));
            let instrument = &mut types["InstrumentData"];
            let damage = "durabilityDamage";
            fits &= insert(instrument, damage, json!("varint"), Some("description"));
            let ids = &mut types["SlotComponentType"];
            fits &= insert_names(
                ids,
                &["attack_animation", "interact_animation"],
                Some("swing_animation"),
            ) && remove_name(ids, "swing_animation")
                && remove_name(ids, "map_color")
                && insert_names(
                    ids,
                    &["block_transformer", "villager_food"],
                    Some("stored_enchantments"),
                )
                && insert_names(
                    ids,
                    &["compostable", "cooking_fuel", "brewing_fuel", "mob_visibility"],
                    Some("villager/variant"),
                )
                && insert_names(
                    ids,
                    &[
                        "provides_pottery_pattern",
                        "sign_text_front",
                        "sign_text_back",
                        "waxed",
                        "cushion/color",
                    ],
                    None,
                );
            let side = || json!(["option", "ItemStackTemplate"]);
            let sides = ["back", "left", "right", "front"].map(|name| (name, side()));
            fits &= define(component(tables, "pot_decorations"), container(&sides));
            let lines = || json!(["array", { "count": 4, "type": "anonymousNbt" }]);
            let sign = container(&[
                ("messages", lines()),
                ("filteredMessages", json!(["option", lines()])),
                ("color", json!("DyeColor")),
                ("hasGlowingText", json!("bool")),
            ]);
            let fuel = |amount| {
                container(&[
                    (amount, json!("ResolvableInt")),
                    ("speedMultiplier", json!("ResolvableFloat")),
                ])
            };
            let added = [
                ("attack_animation", animation()),
                ("interact_animation", animation()),
                ("block_transformer", json!("varint")),
                ("villager_food", json!("varint")),
                ("compostable", json!("ResolvableInt")),
                ("cooking_fuel", fuel("burnTime")),
                ("brewing_fuel", fuel("uses")),
                (
                    "mob_visibility",
                    container(&[("entities", json!("IDSet")), ("visibility", json!("f32"))]),
                ),
                ("provides_pottery_pattern", json!("varint")),
                ("sign_text_front", sign.clone()),
                ("sign_text_back", sign),
                ("waxed", json!("void")),
                ("cushion/color", json!("DyeColor")),
            ];
            for (name, ty) in added {
                *component(tables, name) = ty;
            }
            let layouts = &mut field(&mut tables["types"]["SlotComponent"], "data")[1]["fields"];
            let layouts = layouts.as_object_mut().expect("cases");
            fits && ["swing_animation", "map_color"].iter().all(|it| layouts.remove(*it).is_some())
        },
    },
];

fn animation() -> Json {
    let kinds = names(&["none", "whack", "stab"]);
    container(&[("type", kinds), ("duration", json!("varint"))])
}

/// A number, or the name of what gives one.
fn resolvable(number: &str) -> Json {
    container(&[
        ("constant", json!("bool")),
        (
            "value",
            json!(["switch", {
                "compareTo": "constant",
                "fields": { "true": number, "false": "string" },
            }]),
        ),
    ])
}

/// Bit 0 of the number says whether the entity is on the ground; the others count its steps.
fn on_ground() -> Json {
    json!(["bitflags", { "type": "varint", "flags": ["onGround"] }])
}

/// One movement without steps, or as many steps as the bits of `flags` above the first say.
fn movement() -> Json {
    let by = [("dX", json!("i16")), ("dY", json!("i16")), ("dZ", json!("i16"))];
    let step = container(&[&[("tickOffset", json!("varint"))][..], &by].concat());
    let cases = (0..2 * MAX_STEPS).map(|flags| {
        let case = match flags / 2 {
            0 => container(&by),
            count => container(&[("steps", json!(["array", { "count": count, "type": step }]))]),
        };
        (flags.to_string(), case)
    });
    let cases: serde_json::Map<_, _> = cases.collect();
    json!(["switch", { "compareTo": "flags", "fields": cases }])
}

/// The game's server sends one or two steps; a movement with this many does not decode.
const MAX_STEPS: usize = 16;
