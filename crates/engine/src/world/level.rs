use std::io;

use super::dimension::{Dimension, END, NETHER, OVERWORLD};
use super::storage::{DataVersion, Storage};
use super::tags::{compound, gzipped, list, put, tree};
use mitmcraft_protocol::schema::Release;
use mitmcraft_protocol::wire::{Compound, List, Tag, TagType};

/// What `level.dat` says of a world.
#[derive(Debug)]
pub(super) struct Level<'a> {
    /// The name that the game shows.
    pub(super) name: &'a str,
    /// The newest version of its chunks.
    pub(super) release: Release,
    /// Where players begin, and the dimension.
    pub(super) spawn: [i32; 3],
    pub(super) spawn_dimension: &'a str,
    /// The time when it was last seen, in milliseconds since the epoch.
    pub(super) millis: i64,
    pub(super) dimensions: &'a [Dimension],
}

impl Level<'_> {
    /// Returns `level.dat`, and what its version needs beside it, with their paths.
    ///
    /// # Errors
    /// [`io::Error`] if they cannot be compressed.
    pub(super) fn files(&self) -> io::Result<Vec<(&'static str, Vec<u8>)>> {
        let mut files = vec![("level.dat", gzipped(tree([("Data", self.data())]))?)];
        if self.release >= Release::V26_1 {
            let settings = tree([
                ("seed", Tag::Long(0)),
                ("generate_structures", Tag::Byte(0)),
                ("bonus_chest", Tag::Byte(0)),
                ("dimensions", self.dimensions()),
            ]);
            let version = self.data_version().map_or(0, |it| it.number);
            let file = tree([("DataVersion", Tag::Int(version)), ("data", settings)]);
            files.push(("data/minecraft/world_gen_settings.dat", gzipped(file)?));
        }
        Ok(files)
    }

    fn data(&self) -> Tag {
        let mut data = compound([
            ("version", Tag::Int(ANVIL)),
            ("LevelName", Tag::text(self.name)),
            ("LastPlayed", Tag::Long(self.millis)),
            ("GameType", Tag::Int(CREATIVE)),
            ("allowCommands", Tag::Byte(1)),
            ("initialized", Tag::Byte(1)),
            ("Time", Tag::Long(0)),
        ]);
        if let Some(DataVersion { number, name }) = self.data_version() {
            let mut version = compound([
                ("Id", Tag::Int(*number)),
                ("Name", Tag::text(name)),
                ("Snapshot", Tag::Byte(0)),
            ]);
            if self.release >= Release::V1_18 {
                put(&mut version, "Series", Tag::text("main"));
            }
            put(&mut data, "DataVersion", Tag::Int(*number));
            put(&mut data, "Version", Tag::Compound(version));
        }
        let [x, y, z] = self.spawn;
        if self.release >= Release::V1_21_9 {
            let spawn = tree([
                ("dimension", Tag::text(self.spawn_dimension)),
                ("pos", Tag::IntArray(vec![x, y, z])),
                ("yaw", Tag::Float(0.0)),
                ("pitch", Tag::Float(0.0)),
            ]);
            put(&mut data, "spawn", spawn);
        } else {
            for (name, at) in [("SpawnX", x), ("SpawnY", y), ("SpawnZ", z)] {
                put(&mut data, name, Tag::Int(at));
            }
        }
        self.difficulty_and_rules(&mut data);
        self.generator(&mut data);
        Tag::Compound(data)
    }

    /// Adds what keeps the world as it was seen: no monsters, and nothing grows or burns.
    fn difficulty_and_rules(&self, data: &mut Compound) {
        if self.release >= Release::V26_1 {
            let settings = tree([
                ("difficulty", Tag::text("peaceful")),
                ("hardcore", Tag::Byte(0)),
                ("locked", Tag::Byte(0)),
            ]);
            put(data, "difficulty_settings", settings);
            return;
        }
        put(data, "hardcore", Tag::Byte(0));
        put(data, "Difficulty", Tag::Byte(0));
        put(data, "DayTime", Tag::Long(NOON));
        if self.release >= Release::V1_21_11 {
            put(data, "game_rules", tree([("minecraft:random_tick_speed", Tag::Int(0))]));
            return;
        }
        let rules = RULES.map(|(name, value)| (name, Tag::text(value)));
        put(data, "GameRules", tree(rules));
    }

    /// Adds a generator that makes no blocks around the chunks.
    fn generator(&self, data: &mut Compound) {
        if self.release < Release::V1_16_RC1 {
            put(data, "RandomSeed", Tag::Long(0));
            put(data, "generatorName", Tag::text("flat"));
            put(data, "generatorVersion", Tag::Int(0));
            // 127 is the void.
            put(data, "generatorOptions", Tag::text("3;minecraft:air;127"));
            put(data, "MapFeatures", Tag::Byte(0));
            return;
        }
        let names = |names: &[&str]| {
            let names = names.iter().map(|name| Tag::text(name)).collect();
            Tag::List(List::new(TagType::Text, names))
        };
        let packs = tree([("Enabled", names(&["vanilla"])), ("Disabled", names(&[]))]);
        put(data, "DataPacks", packs);
        if self.release >= Release::V26_1 {
            return;
        }
        let settings = tree([
            ("seed", Tag::Long(0)),
            ("generate_features", Tag::Byte(0)),
            ("bonus_chest", Tag::Byte(0)),
            ("dimensions", self.dimensions()),
        ]);
        put(data, "WorldGenSettings", settings);
    }

    /// Returns the dimensions: those of the game, and the others that were seen.
    fn dimensions(&self) -> Tag {
        let mut all = Compound::default();
        for name in [OVERWORLD, NETHER, END] {
            put(&mut all, name, self.dimension(name));
        }
        for dimension in self.dimensions.iter().filter(|it| it.name.contains(':')) {
            if all.get(&dimension.name).is_none() {
                put(&mut all, &dimension.name, self.dimension(dimension.kind()));
            }
        }
        Tag::Compound(all)
    }

    fn dimension(&self, kind: &str) -> Tag {
        let layer = tree([("block", Tag::text("minecraft:air")), ("height", Tag::Int(1))]);
        let mut settings = compound([
            ("biome", Tag::text("minecraft:the_void")),
            ("features", Tag::Byte(0)),
            ("lakes", Tag::Byte(0)),
            ("layers", list(vec![layer])),
        ]);
        if self.release > Release::V1_18 {
            let none = Tag::List(List::new(TagType::Text, Vec::new()));
            put(&mut settings, "structure_overrides", none);
        } else {
            put(&mut settings, "structures", tree([("structures", tree([]))]));
        }
        let generator =
            tree([("type", Tag::text("minecraft:flat")), ("settings", Tag::Compound(settings))]);
        tree([("type", Tag::text(kind)), ("generator", generator)])
    }

    fn data_version(&self) -> Option<&'static DataVersion> {
        Storage::get().data_version(self.release)
    }
}

/// The version of the format of regions.
const ANVIL: i32 = 19133;

const CREATIVE: i32 = 1;

/// The time of day in ticks.
const NOON: i64 = 6000;

/// The rules up to 1.21.10.
const RULES: [(&str, &str); 4] = [
    ("doMobSpawning", "false"),
    ("doFireTick", "false"),
    ("mobGriefing", "false"),
    ("randomTickSpeed", "0"),
];
