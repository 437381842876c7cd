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
    Remove(i32, &'static str),
    Rename(i32, &'static str, &'static str),
}

use Change::{After, Remove, Rename};

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
