//! The types that values in an entity's metadata must have.

use mitmcraft_protocol::schema::Scalar;

/// A key of an entity's metadata and the type of its value, as a packet has them.
#[derive(Debug, Default)]
pub(super) struct MetadataEntry {
    key: Option<&'static str>,
    kind: Option<String>,
}

impl MetadataEntry {
    /// Takes the key, by its name; `None` if it has none.
    pub(super) fn take_key(&mut self, version: i32, key: Option<&'static str>) -> Option<String> {
        self.key = key;
        // Before 1.9 the type comes first.
        let fault = self.fault(version);
        if self.kind.is_some() {
            *self = Self::default();
        }
        fault
    }

    /// Takes the type of the value.
    pub(super) fn take_type(&mut self, version: i32, kind: &Scalar<'_>) -> Option<String> {
        self.kind = match *kind {
            Scalar::Name(name, _) => Some(name.to_string()),
            Scalar::Int(number) => type_name(version, number).map(str::to_owned),
            _ => None,
        };
        if version < V1_9 {
            return None;
        }
        let fault = self.fault(version);
        *self = Self::default();
        fault
    }

    fn fault(&self, version: i32) -> Option<String> {
        let (key, kind) = (self.key?, self.kind.as_deref()?);
        let wanted = type_of(version, key)?;
        (kind != wanted).then(|| format!("`{key}` is of type {kind}, the game reads {wanted}"))
    }
}

/// Returns the name of a type's number, for versions whose tables do not have the names.
fn type_name(version: i32, number: i64) -> Option<&'static str> {
    let names: &[&str] = match version {
        ..V1_9 => &TYPES_1_8,
        V1_9..V1_13 => &TYPES_1_9,
        _ => &TYPES_1_13,
    };
    names.get(usize::try_from(number).ok()?).copied()
}

/// Returns the type of the value with that key; `None` if it is not known, or not the same for all entities
/// that have the key.
fn type_of(version: i32, key: &str) -> Option<&'static str> {
    if version < V1_9 {
        return named(&KEYS_1_8, key);
    }
    match key {
        "custom_name" if version < V1_13 => Some("string"),
        "player_main_hand" if version >= V1_21_11 => None,
        "owneruuid" | "trusted_0" | "trusted_1" if version >= V1_21_5 => None,
        _ => named(&KEYS, key),
    }
}

fn named(keys: &[(&'static str, &[&str])], key: &str) -> Option<&'static str> {
    keys.iter().find(|(_, keys)| keys.contains(&key)).map(|(kind, _)| *kind)
}

/// The types by their numbers in 1.7 and 1.8.
const TYPES_1_8: [&str; 8] =
    ["byte", "short", "int", "float", "string", "item_stack", "block_pos", "rotations"];

/// The types by their numbers from 1.9 to 1.12.
const TYPES_1_9: [&str; 14] = [
    "byte",
    "int",
    "float",
    "string",
    "component",
    "item_stack",
    "boolean",
    "rotations",
    "block_pos",
    "optional_block_pos",
    "direction",
    "optional_uuid",
    "optional_block_state",
    "compound_tag",
];

/// The types by their numbers from 1.13 to 1.19.2.
const TYPES_1_13: [&str; 19] = [
    "byte",
    "int",
    "float",
    "string",
    "component",
    "optional_component",
    "item_stack",
    "boolean",
    "rotations",
    "block_pos",
    "optional_block_pos",
    "direction",
    "optional_uuid",
    "optional_block_state",
    "compound_tag",
    "particle",
    "villager_data",
    "optional_unsigned_int",
    "pose",
];

/// The keys of 1.7 and 1.8 by the type of their values, where all entities with the key agree.
///
/// Source: ViaVersion/ViaVersion, `EntityDataIndex1_9`.
const KEYS_1_8: [(&str, &[&str]); 7] = [
    (
        "byte",
        &[
            "shared_flags",
            "custom_name_visible",
            "silent",
            "effect_ambience",
            "arrow_count",
            "no_ai",
            "client_flags",
            "player_mode_customisation",
            "hide_cape",
            "swell_dir",
            "is_powered",
            "is_ignited",
            "carried_block_data",
            "creepy",
            "is_charging",
            "saddle",
            "wool",
            "size",
            "using_item",
            "is_interested",
            "collar_color",
            "baby",
            "is_villager",
            "converting",
            "rotation",
            "fuel",
            "custom_display",
            "dangerous",
        ],
    ),
    ("short", &["air_supply", "carried_block"]),
    (
        "int",
        &[
            "effect_color",
            "score",
            "attack_target",
            "variant",
            "armor",
            "profession",
            "target_a",
            "target_b",
            "target_c",
            "inv",
            "hurt",
            "hurtdir",
            "display_block",
            "display_offset",
        ],
    ),
    ("float", &["player_absorption", "tail_health", "damage"]),
    ("string", &["custom_name", "owner", "command_name", "last_output"]),
    ("item_stack", &["item", "fireworks_item"]),
    (
        "rotations",
        &[
            "head_pose",
            "body_pose",
            "left_arm_pose",
            "right_arm_pose",
            "left_leg_pose",
            "right_leg_pose",
        ],
    ),
];

/// The keys since 1.9 by the type of their values, where all entities with the key agree. Those that only
/// some entities have are named since 1.19.4.
///
/// Source: azalea-rs/azalea@84cd2611 and earlier, `azalea-entity/src/metadata.rs`, which is generated from
/// the game.
const KEYS: [(&str, &[&str]); 17] = [
    (
        "byte",
        &[
            "shared_flags",
            "living_entity_flags",
            "mob_flags",
            "client_flags",
            "flags",
            "pierce_level",
            "billboard_render_constraints",
            "hidden_gene",
            "main_gene",
            "item_display",
            "loyalty",
            "peek",
            "player_main_hand",
            "player_mode_customisation",
            "pumpkin",
            "spell_casting",
            "style_flags",
            "text_opacity",
            "wool",
        ],
    ),
    (
        "int",
        &[
            "air_supply",
            "arrow_count",
            "attack_target",
            "background_color",
            "boost_time",
            "brightness_override",
            "bubble_time",
            "client_anger_level",
            "collar_color",
            "dark_ticks_remaining",
            "display_offset",
            "drop_seed_at_tick",
            "eat_counter",
            "effect_color",
            "fuse",
            "glow_color_override",
            "hooked_entity",
            "hurt",
            "hurtdir",
            "interpolation_duration",
            "interpolation_start_delta_ticks",
            "inv",
            "line_width",
            "moistness_level",
            "phase",
            "pos_rot_interpolation_duration",
            "puff_state",
            "remaining_anger_time",
            "rotation",
            "score",
            "size",
            "sneeze_counter",
            "special_type",
            "stinger_count",
            "strength",
            "swell_dir",
            "target_a",
            "target_b",
            "target_c",
            "ticks_frozen",
            "transformation_interpolation_duration",
            "transformation_interpolation_start_delta_ticks",
            "type_variant",
            "unhappy_counter",
            "value",
        ],
    ),
    ("long", &["anger_end_time", "last_pose_change_tick"]),
    (
        "float",
        &[
            "damage",
            "health",
            "height",
            "player_absorption",
            "radius",
            "shadow_radius",
            "shadow_strength",
            "view_range",
            "width",
        ],
    ),
    ("string", &["command_name"]),
    ("component", &["last_output", "text"]),
    ("optional_component", &["custom_name", "description"]),
    ("item_stack", &["fireworks_item", "item", "item_stack"]),
    (
        "boolean",
        &[
            "baby",
            "biting",
            "can_duplicate",
            "can_move",
            "chest",
            "converting",
            "creepy",
            "custom_name_visible",
            "dancing",
            "dangerous",
            "dash",
            "drowned_conversion",
            "effect_ambience",
            "foil",
            "from_bucket",
            "fuel",
            "got_fish",
            "has_egg",
            "has_left_horn",
            "has_right_horn",
            "immovable",
            "immune_to_zombification",
            "in_ground",
            "interested",
            "is_active",
            "is_celebrating",
            "is_charging",
            "is_charging_crossbow",
            "is_dancing",
            "is_ignited",
            "is_leash_holder",
            "is_lying",
            "is_powered",
            "is_screaming_goat",
            "is_tearing_down",
            "laying_egg",
            "moving",
            "no_gravity",
            "paddle_left",
            "paddle_right",
            "playing_dead",
            "relax_state_one",
            "response",
            "saddle",
            "sheared",
            "shot_at_angle",
            "show_bottom",
            "silent",
            "standing",
            "stared_at",
            "stays_still",
            "stray_conversion",
            "suffocating",
            "trusting",
            "using_item",
            "waiting",
        ],
    ),
    (
        "rotations",
        &[
            "head_pose",
            "body_pose",
            "left_arm_pose",
            "right_arm_pose",
            "left_leg_pose",
            "right_leg_pose",
        ],
    ),
    ("block_pos", &["start_pos"]),
    ("optional_block_pos", &["beam_target", "sleeping_pos"]),
    ("optional_uuid", &["owneruuid", "trusted_0", "trusted_1"]),
    ("optional_block_state", &["carry_state", "custom_display_block"]),
    ("optional_unsigned_int", &["attached_to_target", "tongue_target"]),
    ("pose", &["pose"]),
    ("villager_data", &["villager_data"]),
];

const V1_9: i32 = 107;
const V1_13: i32 = 393;
const V1_21_5: i32 = 770;
const V1_21_11: i32 = 774;
