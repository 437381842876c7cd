//! The types that values in an entity's metadata must have.

use mitmcraft_protocol::schema::{Release, Scalar};

/// A key of an entity's metadata and the type of its value, as a packet has them.
#[derive(Debug, Default)]
pub(super) struct MetadataEntry {
    key: Option<MetadataKey>,
    kind: Option<String>,
}

/// A key by its name, and the type of the entity if it is known.
#[derive(Debug, Clone, Copy)]
pub(super) struct MetadataKey {
    pub(super) name: &'static str,
    pub(super) entity: Option<&'static str>,
}

impl MetadataEntry {
    /// Takes the key; `None` if it has no name.
    pub(super) fn take_key(
        &mut self,
        release: Release,
        key: Option<MetadataKey>,
    ) -> Option<String> {
        self.key = key;
        // Before 1.9 the type comes first.
        let fault = self.fault(release);
        if self.kind.is_some() {
            *self = Self::default();
        }
        fault
    }

    /// Takes the type of the value.
    pub(super) fn take_type(&mut self, release: Release, kind: &Scalar<'_>) -> Option<String> {
        self.kind = match *kind {
            Scalar::Name(name, _) => Some(name.to_string()),
            Scalar::Int(number) => type_name(release, number).map(str::to_owned),
            _ => None,
        };
        if release < Release::V1_9 {
            return None;
        }
        let fault = self.fault(release);
        *self = Self::default();
        fault
    }

    fn fault(&self, release: Release) -> Option<String> {
        let (key, kind) = (self.key?, self.kind.as_deref()?);
        let wanted = type_of(release, key)?;
        let name = key.name;
        (kind != wanted).then(|| format!("`{name}` is of type {kind}, the game reads {wanted}"))
    }
}

/// Returns the name of a type's number, for versions whose tables do not have the names.
fn type_name(release: Release, number: i64) -> Option<&'static str> {
    let names: &[&str] = if release < Release::V1_9 { &TYPES_1_8 } else { &TYPES_1_13 };
    let (is_new, is_newer) = (release >= Release::V1_13, release >= Release::V1_19_3);
    let place = match number {
        _ if release < Release::V1_9 => number,
        5..14 if !is_new => number + 1,
        14.. if !is_new => return None,
        2 if is_newer => return Some("long"),
        3.. if is_newer => number - 1,
        _ => number,
    };
    names.get(usize::try_from(place).ok()?).copied()
}

/// Returns the type of the value with that key; `None` if it is not known, or depends on an entity that is not.
fn type_of(release: Release, key: MetadataKey) -> Option<&'static str> {
    if release < Release::V1_9 {
        // These two depend on the entity.
        let later = Some(key.name).filter(|name| !["flags", "health"].contains(name));
        return named(&KEYS_1_8, key.name).or_else(|| named(&KEYS, later?));
    }
    match key.name {
        "attached_to_target" if release < Release::V1_14 => Some("int"),
        "custom_name" if release < Release::V1_13 => Some("string"),
        "particle" if release < Release::V1_13 => Some("int"),
        "player_main_hand" if release >= Release::V1_21_11 => Some("humanoid_arm"),
        "color" => match key.entity? {
            "area_effect_cloud" => Some("int"),
            "shulker" => Some("byte"),
            _ => None,
        },
        "home_pos" => match key.entity? {
            "creaking" => Some("optional_block_pos"),
            "turtle" => Some("block_pos"),
            _ => None,
        },
        "sound_variant" => match key.entity? {
            "cat" => Some("cat_sound_variant"),
            "chicken" => Some("chicken_sound_variant"),
            "cow" => Some("cow_sound_variant"),
            "pig" => Some("pig_sound_variant"),
            "wolf" => Some("wolf_sound_variant"),
            _ => None,
        },
        "type" => match key.entity? {
            "mooshroom" if release < Release::V1_21_5 => Some("string"),
            "salmon" if release < Release::V1_21_4 => Some("string"),
            "boat" | "cat" | "chest_boat" | "fox" | "horse" | "mooshroom" | "ocelot" | "rabbit"
            | "salmon" | "skeleton" => Some("int"),
            _ => None,
        },
        "variant" => match key.entity? {
            "axolotl" | "llama" | "parrot" | "trader_llama" => Some("int"),
            "cat" => Some("cat_variant"),
            "chicken" => Some("chicken_variant"),
            "cow" => Some("cow_variant"),
            "frog" => Some("frog_variant"),
            "pig" => Some("pig_variant"),
            "wolf" => Some("wolf_variant"),
            "zombie_nautilus" => Some("zombie_nautilus_variant"),
            _ => None,
        },
        name => named(&KEYS, name),
    }
}

fn named(keys: &[(&'static str, &[&str])], key: &str) -> Option<&'static str> {
    keys.iter().find(|(_, keys)| keys.contains(&key)).map(|(kind, _)| *kind)
}

/// The types by their numbers in 1.7 and 1.8.
const TYPES_1_8: [&str; 8] =
    ["byte", "short", "int", "float", "string", "item_stack", "block_pos", "rotations"];

/// The types by their numbers from 1.13 to 1.19.2. In 1.19.3, `long` comes before the third.
const TYPES_1_13: [&str; 23] = [
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
    "cat_variant",
    "frog_variant",
    "optional_global_pos",
    "painting_variant",
];

/// The keys of 1.7 and 1.8 by the type of their values, where all entities with the key agree, without those
/// whose type is that of later versions.
///
/// Source: ViaVersion/ViaVersion, `EntityDataIndex1_9`.
const KEYS_1_8: [(&str, &[&str]); 5] = [
    (
        "byte",
        &[
            "custom_name_visible",
            "silent",
            "effect_ambience",
            "arrow_count",
            "no_ai",
            "hide_cape",
            "swell_dir",
            "is_powered",
            "is_ignited",
            "carried_block_data",
            "creepy",
            "is_charging",
            "saddle",
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
    ("int", &["variant", "armor", "profession"]),
    ("float", &["tail_health"]),
    ("string", &["custom_name", "owner", "last_output"]),
];

/// The keys since 1.9 by the type of their values, where all entities with the key agree.
///
/// Sources: azalea-rs/azalea@84cd2611 and earlier, `azalea-entity/src/metadata.rs`, which is generated from
/// the game; for 1.12.2 to 1.19.3 the types in C++ of adepierre/Botcraft@2eb9a817,
/// `botcraft/include/botcraft/Game/Entities/entities`, which agree; for 1.9 to 1.12 ViaVersion's
/// `EntityDataIndex1_9`.
const KEYS: [(&str, &[&str]); 30] = [
    (
        "byte",
        &[
            "billboard_render_constraints",
            "client_flags",
            "flags",
            "has_target",
            "hidden_gene",
            "item_display",
            "living_entity_flags",
            "loyalty",
            "main_gene",
            "mob_flags",
            "peek",
            "pierce_level",
            "player_main_hand",
            "player_mode_customisation",
            "pumpkin",
            "shared_flags",
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
            "armor_type",
            "arrow_count",
            "attack_target",
            "background_color",
            "boost_time",
            "brightness_override",
            "bubble_time",
            "client_anger_level",
            "collar_color",
            "dark_ticks_remaining",
            "display_block",
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
            "particle_argument1",
            "particle_argument2",
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
            "swag",
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
            "villager_profession",
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
            "age_locked",
            "are_hands_up",
            "baby",
            "biting",
            "can_duplicate",
            "can_move",
            "chest",
            "converting",
            "creepy",
            "custom_display",
            "custom_name_visible",
            "dancing",
            "dangerous",
            "dash",
            "drowned_conversion",
            "effect_ambience",
            "foil",
            "from_bucket",
            "fuel",
            "going_home",
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
            "is_swinging_arms",
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
            "travelling",
            "trusting",
            "using_item",
            "villager_finalized",
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
    ("block_pos", &["start_pos", "travel_pos", "treasure_pos"]),
    ("optional_block_pos", &["attach_pos", "beam_target", "sleeping_pos"]),
    ("optional_uuid", &["owner_uuid", "owneruuid", "trusted_0", "trusted_1"]),
    ("optional_block_state", &["carry_state", "custom_display_block"]),
    (
        "optional_unsigned_int",
        &["attached_to_target", "shoulder_parrot_left", "shoulder_parrot_right", "tongue_target"],
    ),
    ("pose", &["pose"]),
    ("villager_data", &["villager_data"]),
    ("armadillo_state", &["armadillo_state"]),
    ("block_state", &["block_state"]),
    ("compound_tag", &["shoulder_left", "shoulder_right"]),
    ("copper_golem_state", &["copper_golem_state"]),
    ("direction", &["attach_face", "direction"]),
    ("painting_variant", &["painting_variant"]),
    ("particle", &["particle"]),
    ("particles", &["effect_particles"]),
    ("quaternion", &["left_rotation", "right_rotation"]),
    ("resolvable_profile", &["profile"]),
    ("sniffer_state", &["state"]),
    ("vector3", &["scale", "translation"]),
    ("weathering_copper_golem_state", &["weather_state"]),
];
