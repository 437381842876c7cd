use std::collections::HashMap;

use super::{Contents, Section};

/// The contents of the chunks in a packet, counted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Summary {
    /// The number of sections with blocks.
    pub sections: usize,
    /// The number of blocks in them.
    pub volume: usize,
    /// The number of blocks that are not air.
    pub blocks: usize,
    /// The number of blocks that are not in the palette of their section.
    pub invalid: usize,
    /// The blocks that are not air, by name, the most frequent first.
    pub names: Vec<(String, usize)>,
    /// The biomes by name, the most frequent first, in the units of the packet: blocks seen from above,
    /// or cells of 4 × 4 × 4 blocks.
    pub biomes: Vec<(String, usize)>,
    /// The numbers of sections with block light and with sky light.
    pub lit: [usize; 2],
}

impl Contents {
    /// Counts what is in the chunks.
    #[must_use]
    pub fn summary(&self) -> Summary {
        let mut summary = Summary::default();
        let (mut states, mut biomes) = (HashMap::new(), HashMap::new());
        for column in &self.columns {
            for section in &column.sections {
                summary.sections += usize::from(section.blocks.is_some());
                summary.lit[0] += usize::from(section.block_light.is_some());
                summary.lit[1] += usize::from(section.sky_light.is_some());
                for state in section.states() {
                    summary.volume += 1;
                    match state {
                        Some(state) => *states.entry(state).or_insert(0) += 1,
                        None => summary.invalid += 1,
                    }
                }
                let cells =
                    section.biomes.iter().flat_map(|it| (0..64).filter_map(|at| it.get(at)));
                cells.for_each(|biome| *biomes.entry(biome).or_insert(0) += 1);
            }
            let numbers = column.biomes.iter().flat_map(|it| it.numbers());
            numbers.for_each(|biome| *biomes.entry(biome).or_insert(0) += 1);
        }
        summary.names = self.solid(states);
        summary.blocks = summary.names.iter().map(|(_, count)| count).sum();
        summary.biomes = sorted(biomes.into_iter().map(|(it, count)| (self.biome_name(it), count)));
        summary
    }

    /// Returns the blocks of a section that are not air, by name, the most frequent first.
    #[must_use]
    pub fn names_in(&self, section: &Section) -> Vec<(String, usize)> {
        let mut states = HashMap::new();
        section.states().flatten().for_each(|state| *states.entry(state).or_insert(0) += 1);
        self.solid(states)
    }

    /// Returns what the data of the blocks of a section says, by the name of the block, the most frequent
    /// first: of `wheat`, `stage 8 of 8, ripe`.
    #[must_use]
    pub fn data_in(&self, section: &Section) -> HashMap<String, Vec<(String, usize)>> {
        let mut states = HashMap::new();
        section.states().flatten().for_each(|state| *states.entry(state).or_insert(0) += 1);
        let mut data: HashMap<String, Vec<(String, usize)>> = HashMap::new();
        for (state, count) in states {
            if let Some(name) = self.data_name(state) {
                let of_block = data.entry(self.block_name(state)).or_default();
                of_block.push((name.into_owned(), count));
            }
        }
        data.into_iter().map(|(block, counts)| (block, sorted(counts.into_iter()))).collect()
    }

    /// Sums up by name the states of blocks that are not air.
    fn solid(&self, states: HashMap<u32, usize>) -> Vec<(String, usize)> {
        let named = states.into_iter().map(|(state, count)| (self.block_name(state), count));
        sorted(named.filter(|(name, _)| !is_air(name)))
    }

    /// Returns whether a block is air of any kind.
    #[must_use]
    pub fn is_air(&self, state: u32) -> bool {
        is_air(&self.block_name(state))
    }
}

/// Sums up the counts of each name; names with the same count are in the order of the alphabet.
fn sorted(counts: impl Iterator<Item = (String, usize)>) -> Vec<(String, usize)> {
    let mut names: HashMap<String, usize> = HashMap::new();
    counts.for_each(|(name, count)| *names.entry(name).or_default() += count);
    let mut sorted: Vec<_> = names.into_iter().collect();
    sorted.sort_by(|(a, a_count), (b, b_count)| b_count.cmp(a_count).then_with(|| a.cmp(b)));
    sorted
}

/// Returns whether a name is that of a kind of air.
fn is_air(name: &str) -> bool {
    matches!(name, "air" | "cave_air" | "void_air")
}
