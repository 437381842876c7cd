//! The keys of entities' metadata in 1.7 to 1.19.3, which minecraft-data does not have: what each class of
//! the game defines, and the class that it extends.

use crate::Outcome;

/// Returns the entities of a version as tokens, `creeper[shared_flags,air_supply,..]`; a number without a key
/// has an empty name. `version` is 5 for 1.7.
pub(super) fn tokens(version: i32) -> Outcome<Vec<String>> {
    if version < V1_9 {
        return Ok(earlier(version));
    }
    let lines = LATER.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let classes = lines.map(|line| line.split_once(" :").unwrap_or((line, "")));
    let classes = classes.map(|(head, keys)| {
        let (name, parents) = head.split_once(' ').unwrap_or((head, ""));
        let (parents, keys) = (parents.split_whitespace(), keys.split_whitespace());
        let known = |word| known(word, version);
        let keys = keys.filter_map(known).map(|key| key.trim_matches('-'));
        (name, parents.filter_map(known).next(), keys.collect::<Vec<_>>())
    });
    let classes: Vec<_> = classes.collect();
    let class = |name: &str| classes.iter().find(|(it, ..)| *it == name);
    let entities = classes.iter().filter(|(name, ..)| name.starts_with(char::is_lowercase));
    entities
        .map(|entity| {
            let (mut keys, mut next) = (Vec::new(), Some(entity));
            while let Some((name, parent, own)) = next {
                keys.splice(0..0, own.iter().copied());
                next = match parent {
                    Some(parent) => {
                        Some(class(parent).ok_or_else(|| format!("no class {parent} of {name}"))?)
                    }
                    None => None,
                };
            }
            Ok(format!("{}[{}]", entity.0, keys.join(",")))
        })
        .collect()
}

/// Returns a word without its versions, `pose@477-`, if it belongs to a version.
fn known(word: &str, version: i32) -> Option<&str> {
    let Some((word, versions)) = word.split_once('@') else { return Some(word) };
    let (from, to) = versions.split_once('-')?;
    let after = from.parse().is_ok_and(|from: i32| version < from);
    let before = to.parse().is_ok_and(|to: i32| version > to);
    (!after && !before).then_some(word)
}

/// Returns the entities of 1.7 or 1.8.
fn earlier(version: i32) -> Vec<String> {
    let entities = ENTITIES.iter().filter(|it| version >= V1_8 || !SINCE_1_8.contains(&it.0));
    entities.map(|(name, ..)| format!("{name}[{}]", keys(name, version).join(","))).collect()
}

fn keys(entity: &str, version: i32) -> Vec<&'static str> {
    let mut keys = Vec::new();
    let mut next = Some(entity);
    while let Some(class) = next {
        let known = CLASSES.iter().chain(ENTITIES).find(|(name, ..)| *name == class);
        next = known.map(|(_, parent, _)| *parent);
        let earlier = BEFORE_1_8.iter().find(|(name, _)| version < V1_8 && *name == class);
        let own = earlier.map(|(_, keys)| *keys).or_else(|| known.map(|(.., keys)| *keys));
        for (number, key) in own.unwrap_or_default() {
            if keys.len() <= *number {
                keys.resize(number + 1, "");
            }
            keys[*number] = key;
        }
    }
    keys
}

type Keys = &'static [(usize, &'static str)];

/// A class, the one that it extends, and its own keys.
type Class = (&'static str, &'static str, Keys);

const CLASSES: &[Class] = &[
    (
        "Entity",
        "",
        &[
            (0, "shared_flags"),
            (1, "air_supply"),
            (2, "custom_name"),
            (3, "custom_name_visible"),
            (4, "silent"),
        ],
    ),
    (
        "Living",
        "Entity",
        &[(6, "health"), (7, "effect_color"), (8, "effect_ambience"), (9, "arrow_count")],
    ),
    ("Mob", "Living", &[(15, "no_ai")]),
    ("Ageable", "Mob", &[(12, "age")]),
    ("Tamable", "Ageable", &[(16, "flags"), (17, "owner")]),
];

const ENTITIES: &[Class] = &[
    (
        "player",
        "Living",
        &[
            (10, "player_mode_customisation"),
            (16, "hide_cape"),
            (17, "player_absorption"),
            (18, "score"),
        ],
    ),
    (
        "armor_stand",
        "Living",
        &[
            (10, "client_flags"),
            (11, "head_pose"),
            (12, "body_pose"),
            (13, "left_arm_pose"),
            (14, "right_arm_pose"),
            (15, "left_leg_pose"),
            (16, "right_leg_pose"),
        ],
    ),
    ("bat", "Mob", &[(16, "flags")]),
    ("blaze", "Mob", &[(16, "flags")]),
    ("cave_spider", "Mob", &[(16, "flags")]),
    ("chicken", "Ageable", &[]),
    ("cow", "Ageable", &[]),
    ("creeper", "Mob", &[(16, "swell_dir"), (17, "is_powered"), (18, "is_ignited")]),
    ("ender_dragon", "Mob", &[]),
    ("enderman", "Mob", &[(16, "carried_block"), (17, "carried_block_data"), (18, "creepy")]),
    ("endermite", "Mob", &[]),
    ("ghast", "Mob", &[(16, "is_charging")]),
    ("giant", "Mob", &[]),
    ("guardian", "Mob", &[(16, "flags"), (17, "attack_target")]),
    (
        "horse",
        "Ageable",
        &[(16, "flags"), (19, "type"), (20, "variant"), (21, "owner"), (22, "armor")],
    ),
    ("iron_golem", "Mob", &[(16, "flags")]),
    ("magma_cube", "Mob", &[(16, "size")]),
    ("mooshroom", "Ageable", &[]),
    ("ocelot", "Tamable", &[(18, "type")]),
    ("pig", "Ageable", &[(16, "saddle")]),
    ("rabbit", "Ageable", &[(18, "type")]),
    ("sheep", "Ageable", &[(16, "wool")]),
    ("silverfish", "Mob", &[]),
    ("skeleton", "Mob", &[(13, "type")]),
    ("slime", "Mob", &[(16, "size")]),
    ("snow_golem", "Mob", &[]),
    ("spider", "Mob", &[(16, "flags")]),
    ("squid", "Mob", &[]),
    ("villager", "Ageable", &[(16, "profession")]),
    ("witch", "Mob", &[(21, "using_item")]),
    ("wither", "Mob", &[(17, "target_a"), (18, "target_b"), (19, "target_c"), (20, "inv")]),
    ("wolf", "Tamable", &[(18, "tail_health"), (19, "is_interested"), (20, "collar_color")]),
    ("zombie", "Mob", &[(12, "baby"), (13, "is_villager"), (14, "converting")]),
    ("zombie_pigman", "Mob", &[(12, "baby"), (13, "is_villager"), (14, "converting")]),
    ("arrow", "Entity", &[(16, "flags")]),
    ("boat", "Entity", &[(17, "hurt"), (18, "hurtdir"), (19, "damage")]),
    ("end_crystal", "Entity", &[(8, "health")]),
    ("firework_rocket", "Entity", &[(8, "fireworks_item")]),
    ("item", "Entity", &[(10, "item")]),
    ("item_frame", "Entity", &[(8, "item"), (9, "rotation")]),
    (
        "minecart",
        "Entity",
        &[
            (16, "fuel"),
            (17, "hurt"),
            (18, "hurtdir"),
            (19, "damage"),
            (20, "display_block"),
            (21, "display_offset"),
            (22, "custom_display"),
            (23, "command_name"),
            (24, "last_output"),
        ],
    ),
    ("wither_skull", "Entity", &[(10, "dangerous")]),
];

const SINCE_1_8: [&str; 4] = ["armor_stand", "endermite", "guardian", "rabbit"];

/// Classes whose keys were others in 1.7.
const BEFORE_1_8: &[(&str, Keys)] = &[
    ("Entity", &[(0, "shared_flags"), (1, "air_supply")]),
    ("Mob", &[(10, "custom_name"), (11, "custom_name_visible")]),
    ("player", &[(16, "hide_cape"), (17, "player_absorption"), (18, "score")]),
    ("item_frame", &[(2, "item"), (3, "rotation")]),
];

/// Classes and keys since 1.9.
const LATER: &str = include_str!("metadata.txt");

const V1_8: i32 = 47;
const V1_9: i32 = 107;
