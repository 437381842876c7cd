use std::collections::HashMap;
use std::sync::LazyLock;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use mitmcraft_protocol::meaning::{Registry, RegistryKind, registry};
use mitmcraft_protocol::schema::{Protocol, Release};

/// The colours of the blocks of a version on maps.
#[derive(Debug)]
pub(super) struct BlockColors {
    release: Release,
    registry: Option<&'static Registry>,
    known: HashMap<u32, Option<Look>>,
}

/// The colour of a block on a map.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Look {
    /// The number of its base colour, 0 if maps show what is below it.
    pub(super) color: u8,
    /// `true` if it is shaded by the depth of the water.
    pub(super) is_water: bool,
}

impl BlockColors {
    pub(super) fn new(protocol: &Protocol) -> Self {
        let registry = registry(protocol, RegistryKind::Block);
        Self { release: protocol.release(), registry, known: HashMap::new() }
    }

    /// Returns the colour of a block state (before 1.13: number × 16 + data); `None` if the version has no such block.
    pub(super) fn get(&mut self, state: u32) -> Option<Look> {
        let (release, registry) = (self.release, self.registry);
        *self.known.entry(state).or_insert_with(|| {
            let colors = MapColors::get();
            let color = if release < Release::V1_13 {
                colors.of_number(registry?.name((state >> 4).into())?, state & 15)
            } else {
                colors.of_state(&registry?.describe(state.into())?)
            };
            Some(Look { color, is_water: color == colors.water })
        })
    }
}

/// The rules by which blocks have their colours on maps: the contents of `data/map_colors.toml`.
#[derive(Debug)]
pub(super) struct MapColors {
    /// Red, green and blue of each base colour.
    pub(super) rgb: Vec<[u8; 3]>,
    names: Vec<String>,
    dyes: Vec<(String, u8)>,
    woods: Vec<(String, u8)>,
    blocks: Vec<(String, Color)>,
    numbered: HashMap<String, Vec<Color>>,
    water: u8,
    stone: u8,
}

/// The colour that a rule names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Color {
    Base(u8),
    Dye,
    Terracotta,
    Wood,
}

impl MapColors {
    pub(super) fn get() -> &'static Self {
        static COLORS: LazyLock<MapColors> = LazyLock::new(|| {
            MapColors::parse(include_str!("../data/map_colors.toml")).expect(WRITTEN)
        });
        &COLORS
    }

    fn parse(text: &str) -> Option<Self> {
        let file = DeTable::parse(text).ok()?.into_inner();
        let rows = |key: &str| -> Option<Vec<Vec<String>>> {
            let DeValue::Array(rows) = file.get(key)?.get_ref() else { return None };
            let row = |row: &Spanned<DeValue<'_>>| match row.get_ref() {
                DeValue::String(text) => Some(text.split(' ').map(str::to_owned).collect()),
                _ => None,
            };
            rows.iter().map(row).collect()
        };
        let (mut names, mut rgb) = (Vec::new(), Vec::new());
        for row in rows("colors")? {
            let [name, hex] = <[String; 2]>::try_from(row).ok()?;
            let [_, red, green, blue] = u32::from_str_radix(&hex, 16).ok()?.to_be_bytes();
            names.push(name);
            rgb.push([red, green, blue]);
        }
        let number = |name: &str| {
            let place = names.iter().position(|it| it == name)?;
            u8::try_from(place).ok()
        };
        let color = |name: &String| match &**name {
            "dye" => Some(Color::Dye),
            "terracotta" => Some(Color::Terracotta),
            name => number(name).map(Color::Base),
        };
        let kinds = |key: &str| -> Option<Vec<(String, u8)>> {
            let pair = |row: Vec<String>| {
                let [kind, name] = <[String; 2]>::try_from(row).ok()?;
                Some((format!("{kind}_"), number(&name)?))
            };
            rows(key)?.into_iter().map(pair).collect()
        };
        let block = |row: Vec<String>| {
            let [pattern, name] = <[String; 2]>::try_from(row).ok()?;
            let color = if name == "wood" { Color::Wood } else { color(&name)? };
            Some((pattern, color))
        };
        let numbered = |row: Vec<String>| {
            let (name, colors) = row.split_first()?;
            let colors: Vec<Color> = colors.iter().map(color).collect::<Option<_>>()?;
            // The lowest bits of the data are a place in it.
            colors.len().is_power_of_two().then(|| (name.clone(), colors))
        };
        Some(Self {
            dyes: kinds("dyes")?,
            woods: kinds("woods")?,
            blocks: rows("blocks")?.into_iter().map(block).collect::<Option<_>>()?,
            numbered: rows("numbered")?.into_iter().map(numbered).collect::<Option<_>>()?,
            water: number("water")?,
            stone: number("stone")?,
            rgb,
            names,
        })
    }

    /// Returns the colour of a block since 1.13, which may have properties: `oak_log[axis=x]`.
    fn of_state(&self, described: &str) -> u8 {
        let (name, properties) = described.split_once('[').unwrap_or((described, ""));
        let mut properties = properties.trim_end_matches(']').split(',');
        if properties.clone().any(|it| it == "waterlogged=true") {
            return self.water;
        }
        let is_side = properties.any(|it| matches!(it, "axis=x" | "axis=z"));
        self.of_name(name, is_side)
    }

    /// Returns the colour of a block up to 1.12.
    fn of_number(&self, name: &str, data: u32) -> u8 {
        let Some(colors) = self.numbered.get(name) else { return self.of_name(name, false) };
        let data = data as usize;
        match colors.get(data & (colors.len() - 1)) {
            Some(Color::Base(color)) => *color,
            Some(Color::Dye) => self.dyes.get(data).map_or(self.stone, |(_, color)| *color),
            Some(Color::Terracotta) => {
                self.dyes.get(data).map_or(self.stone, |(dye, _)| self.terracotta(dye))
            }
            Some(Color::Wood) | None => self.stone,
        }
    }

    fn of_name(&self, name: &str, is_side: bool) -> u8 {
        let name = name.strip_prefix("waxed_").unwrap_or(name);
        let fits = |pattern: &str| match pattern.strip_suffix("/side") {
            Some(pattern) => is_side && matches(name, pattern),
            None => matches(name, pattern),
        };
        let rule = self.blocks.iter().find(|(pattern, _)| fits(pattern));
        let kind = |kinds: &[(String, u8)], name: &str| {
            // `light_blue_` is longer than `light_`, and `dark_oak_` than `oak_`.
            let found = kinds.iter().filter(|(kind, _)| name.starts_with(&**kind));
            found.max_by_key(|(kind, _)| kind.len()).cloned()
        };
        match rule.map(|(_, color)| *color) {
            Some(Color::Base(color)) => color,
            Some(Color::Dye) => kind(&self.dyes, name).map_or(self.stone, |(_, color)| color),
            Some(Color::Terracotta) => {
                kind(&self.dyes, name).map_or(self.stone, |(dye, _)| self.terracotta(&dye))
            }
            Some(Color::Wood) => {
                let name = name.strip_prefix("stripped_").unwrap_or(name);
                kind(&self.woods, name).map_or_else(|| self.named("wood"), |(_, color)| color)
            }
            None => self.stone,
        }
    }

    /// Returns the colour of terracotta with a dye, whose name ends in `_`.
    fn terracotta(&self, dye: &str) -> u8 {
        self.named(&format!("terracotta_{}", dye.trim_end_matches('_')))
    }

    fn named(&self, name: &str) -> u8 {
        let place = self.names.iter().position(|it| it == name);
        place.and_then(|place| u8::try_from(place).ok()).unwrap_or(self.stone)
    }
}

/// Returns whether a name fits a pattern, in which `*` stands for any characters.
fn matches(name: &str, pattern: &str) -> bool {
    let Some((begin, rest)) = pattern.split_once('*') else { return name == pattern };
    let Some(name) = name.strip_prefix(begin) else { return false };
    match rest.split_once('*') {
        None => name.ends_with(rest),
        Some((middle, _)) => {
            // The first place leaves the most to what follows.
            name.find(middle).is_some_and(|at| matches(&name[at..], rest))
        }
    }
}

const WRITTEN: &str = "`data/map_colors.toml` is read by a test";

#[cfg(test)]
mod tests {
    use super::*;
    use mitmcraft_protocol::schema::Catalog;

    fn color(name: &str) -> &str {
        let colors = MapColors::get();
        &colors.names[usize::from(colors.of_state(name))]
    }

    #[test]
    fn patterns_fit_whole_names() {
        for (name, pattern) in [
            ("water", "water"),
            ("cave_air", "*air"),
            ("glass_pane", "glass*"),
            ("exposed_cut_copper_slab", "*exposed_*copper*"),
            ("exposed_copper", "*exposed_*copper*"),
            ("stone", "*stone"),
        ] {
            assert!(matches(name, pattern), "{name} {pattern}");
        }
        for (name, pattern) in
            [("water", "wate"), ("airy", "*air"), ("copper_exposed_", "*exposed_*copper*")]
        {
            assert!(!matches(name, pattern), "{name} {pattern}");
        }
    }

    #[test]
    fn blocks_have_the_colours_of_the_games_maps() {
        for (name, expected) in [
            ("air", "none"),
            ("grass_block[snowy=false]", "grass"),
            ("dark_oak_planks", "brown"),
            ("light_blue_terracotta", "terracotta_light_blue"),
            ("light_gray_wool", "light_gray"),
            ("white_concrete", "snow"),
            ("oak_log[axis=y]", "wood"),
            ("oak_log[axis=x]", "podzol"),
            ("stripped_birch_log[axis=z]", "sand"),
            ("oak_slab[type=bottom,waterlogged=true]", "water"),
            ("waxed_weathered_cut_copper", "warped_stem"),
            ("copper_ore", "stone"),
            ("a_block_of_tomorrow", "stone"),
        ] {
            assert_eq!(color(name), expected, "{name}");
        }
        let colors = MapColors::get();
        let old = |name, data| &*colors.names[usize::from(colors.of_number(name, data))];
        assert_eq!([0, 11, 15].map(|data| old("wool", data)), ["snow", "blue", "black"]);
        assert_eq!(old("stained_hardened_clay", 14), "terracotta_red");
        assert_eq!([1, 5, 9].map(|data| old("log", data)), ["podzol"; 3]);
        assert_eq!([old("grass", 0), old("stone_stairs", 3)], ["grass", "stone"]);
    }

    #[test]
    fn every_row_says_something() {
        let colors = MapColors::get();
        assert_eq!((colors.rgb.len(), colors.dyes.len()), (62, 16));
        let mut names: Vec<&str> = Vec::new();
        for protocol in Catalog::embedded().protocols() {
            let Some(blocks) = registry(protocol, RegistryKind::Block) else { continue };
            names.extend(blocks.names().map(|(_, name)| name));
        }
        names.sort_unstable();
        names.dedup();
        let plain = |it: &str| it.strip_prefix("waxed_").unwrap_or(it).to_owned();
        let names: Vec<String> = names.into_iter().map(plain).collect();
        for (pattern, _) in &colors.blocks {
            let pattern = pattern.trim_end_matches("/side");
            assert!(names.iter().any(|name| matches(name, pattern)), "{pattern}");
        }
        for name in colors.numbered.keys() {
            assert!(names.contains(name), "{name}");
        }
        // The number of names that nothing fits, all of them of stone.
        let left = names.iter().filter(|name| {
            !colors.numbered.contains_key(*name)
                && !colors.blocks.iter().any(|(pattern, _)| matches(name, pattern))
        });
        let left: Vec<_> = left.collect();
        assert!(left.len() < 90, "{left:?}");
    }
}
