//! Names of numbers that minecraft-data does not have: those of one version, and what later versions change.

/// Names in the order of their numbers, and when they changed.
pub(super) struct List {
    /// The version with `names`.
    since: i32,
    /// The last version, if later ones are not known.
    until: i32,
    names: &'static str,
    changes: &'static [Change],
}

/// A change in a version.
enum Change {
    /// New names after another.
    After(i32, &'static str, &'static str),
    /// New names before another.
    Before(i32, &'static str, &'static str),
    Remove(i32, &'static str),
    Rename(i32, &'static str, &'static str),
}

use Change::{After, Before, Remove, Rename};

impl List {
    /// Returns the names in a version; `None` if they are not known.
    pub(super) fn tokens(&self, version: i32) -> Option<Vec<String>> {
        if !(self.since..=self.until).contains(&version) {
            return None;
        }
        let mut names: Vec<&str> = self.names.split(' ').collect();
        let place = |names: &[&str], name: &str| names.iter().position(|it| *it == name);
        for change in self.changes {
            match *change {
                After(since, before, new) if since <= version => {
                    let at = place(&names, before)? + 1;
                    names.splice(at..at, new.split(' '));
                }
                Before(since, after, new) if since <= version => {
                    let at = place(&names, after)?;
                    names.splice(at..at, new.split(' '));
                }
                Remove(since, name) if since <= version => {
                    names.remove(place(&names, name)?);
                }
                Rename(since, old, new) if since <= version => {
                    let at = place(&names, old)?;
                    names[at] = new;
                }
                _ => {}
            }
        }
        Some(names.into_iter().map(str::to_owned).collect())
    }
}

/// Attributes since 1.21. Source: the registry `attribute` of the game's reports.
pub(super) const ATTRIBUTES: [List; 2] = [
    List {
        since: 767,
        until: 767,
        names: "generic.armor generic.armor_toughness generic.attack_damage generic.attack_knockback \
            generic.attack_speed player.block_break_speed player.block_interaction_range \
            generic.burning_time generic.explosion_knockback_resistance \
            player.entity_interaction_range generic.fall_damage_multiplier generic.flying_speed \
            generic.follow_range generic.gravity generic.jump_strength generic.knockback_resistance \
            generic.luck generic.max_absorption generic.max_health player.mining_efficiency \
            generic.movement_efficiency generic.movement_speed generic.oxygen_bonus \
            generic.safe_fall_distance generic.scale player.sneaking_speed \
            zombie.spawn_reinforcements generic.step_height player.submerged_mining_speed \
            player.sweeping_damage_ratio generic.water_movement_efficiency",
        changes: &[],
    },
    List {
        since: 768,
        until: 777,
        names: "armor armor_toughness attack_damage attack_knockback attack_speed block_break_speed \
            block_interaction_range burning_time explosion_knockback_resistance \
            entity_interaction_range fall_damage_multiplier flying_speed follow_range gravity \
            jump_strength knockback_resistance luck max_absorption max_health mining_efficiency \
            movement_efficiency movement_speed oxygen_bonus safe_fall_distance scale sneaking_speed \
            spawn_reinforcements step_height submerged_mining_speed sweeping_damage_ratio tempt_range \
            water_movement_efficiency",
        changes: &[
            After(771, "burning_time", "camera_distance"),
            After(
                771,
                "water_movement_efficiency",
                "waypoint_transmit_range waypoint_receive_range",
            ),
            Before(776, "armor", "air_drag_modifier"),
            After(776, "attack_speed", "below_name_distance"),
            After(776, "block_interaction_range", "bounciness"),
            After(776, "follow_range", "friction_modifier"),
            After(776, "movement_speed", "name_tag_distance"),
        ],
    },
];

/// Types of block entities. Sources: the enumeration `BlockEntityType` of GeyserMC/MCProtocolLib in its
/// commits ff76494a (1.18), 29c230f7 (1.19), 633d5bb7 (1.19.3), ea82b973 (1.19.4), b90ee7ec (1.20), 8f6a34b3
/// (1.20.3), c84cad6d (1.20.5), 293f62ec (1.21.2), fc05f749 (1.21.5), a409aa68 (1.21.9), and of 26.2
/// azalea-rs/azalea@6249c295:azalea-registry/src/builtin.rs.
pub(super) const BLOCK_ENTITIES: List = List {
    since: 757,
    until: 776,
    names: "furnace chest trapped_chest ender_chest jukebox dispenser dropper sign mob_spawner piston \
        brewing_stand enchanting_table end_portal beacon skull daylight_detector hopper comparator banner \
        structure_block end_gateway command_block shulker_box bed conduit barrel smoker blast_furnace \
        lectern bell jigsaw campfire beehive sculk_sensor",
    changes: &[
        After(759, "sculk_sensor", "sculk_catalyst sculk_shrieker"),
        After(761, "sign", "hanging_sign"),
        After(761, "sculk_shrieker", "chiseled_bookshelf"),
        After(762, "chiseled_bookshelf", "suspicious_sand decorated_pot"),
        Rename(763, "suspicious_sand", "brushable_block"),
        After(763, "sculk_sensor", "calibrated_sculk_sensor"),
        After(765, "decorated_pot", "crafter trial_spawner"),
        After(766, "trial_spawner", "vault"),
        After(768, "mob_spawner", "creaking_heart"),
        After(770, "vault", "test_block test_instance_block"),
        After(773, "chiseled_bookshelf", "shelf"),
        After(773, "test_instance_block", "copper_golem_statue"),
        Remove(776, "bed"),
        After(776, "copper_golem_statue", "potent_sulfur"),
    ],
};

/// Potions. Sources: the registrations of the game in decompilations of 1.9 and 1.13, and of 26.2
/// azalea-rs/azalea@6249c295:azalea-registry/src/builtin.rs.
pub(super) const POTIONS: List = List {
    since: 107,
    until: 776,
    names: "empty water mundane thick awkward night_vision long_night_vision invisibility \
        long_invisibility leaping long_leaping strong_leaping fire_resistance long_fire_resistance \
        swiftness long_swiftness strong_swiftness slowness long_slowness water_breathing \
        long_water_breathing healing strong_healing harming strong_harming poison long_poison \
        strong_poison regeneration long_regeneration strong_regeneration strength long_strength \
        strong_strength weakness long_weakness luck",
    changes: &[
        After(
            393,
            "long_slowness",
            "strong_slowness turtle_master long_turtle_master strong_turtle_master",
        ),
        After(393, "luck", "slow_falling long_slow_falling"),
        Remove(766, "empty"),
        After(766, "long_slow_falling", "wind_charged weaving oozing infested"),
    ],
};
