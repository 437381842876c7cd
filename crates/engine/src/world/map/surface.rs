use super::block_colors::BlockColors;
use crate::world::known_chunk::KnownChunk;

/// The top of a chunk: height, colour and depth of water of each of its 256 columns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Surface {
    /// The columns, x fastest.
    columns: Box<[Column; COLUMNS]>,
}

/// The top of a column of blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Column {
    /// The height of the highest block with a colour; [`i16::MIN`] if there is none.
    pub(super) y: i16,
    /// Its base colour, 0 if there is none; or [`PATH`] or [`PATH_END`].
    pub(super) color: u8,
    /// The number of blocks of water from there down, as far as it matters; 0 for land.
    pub(super) depth: u8,
}

/// A column while its chunk is looked through from the top.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// In the ceiling of the dimension, of which only what is below is shown.
    Ceiling,
    /// In the rock below the ceiling, which is shown if nothing is free below it.
    Rock,
    /// In the free space over the ground.
    Above,
    InWater,
    Done,
}

impl Surface {
    /// Looks at a chunk from above, or, if the dimension has a ceiling that ends below the height `ceiling`, from inside it.
    /// Returns also the states of the blocks that are seen; those of columns without any are 0. Numbers that the version
    /// does not have are counted in `unknown`.
    pub(super) fn of(
        chunk: &KnownChunk,
        colors: &mut BlockColors,
        ceiling: Option<i32>,
        unknown: &mut u64,
    ) -> (Self, Box<[u32; COLUMNS]>) {
        let begin = if ceiling.is_some() { Phase::Ceiling } else { Phase::Above };
        let mut view = View {
            columns: Box::new([Column { y: i16::MIN, color: 0, depth: 0 }; COLUMNS]),
            states: Box::new([0; COLUMNS]),
            phases: [begin; COLUMNS],
        };
        // The number of the section above.
        let mut last = ceiling.map(|ceiling| ceiling >> 4);
        for number in chunk.numbers().into_iter().rev() {
            if last.is_some_and(|last| number >= last) {
                continue;
            }
            // Sections that were not sent are air.
            if last.is_some_and(|last| number + 1 < last) {
                view.air();
            }
            last = Some(number);
            let single = chunk.single(number);
            if single.is_some_and(|state| colors.get(state).is_some_and(|it| it.color == 0)) {
                view.air();
                continue;
            }
            match chunk.states(number, unknown) {
                Some(states) => view.section(number, &states, colors, unknown),
                None => view.air(),
            }
            if view.phases.iter().all(|phase| *phase == Phase::Done) {
                break;
            }
        }
        (Self { columns: view.columns }, view.states)
    }

    /// Returns the height of what is seen of a column; `None` if nothing is. The coordinates are those in the chunk.
    #[must_use]
    pub fn height(&self, x: usize, z: usize) -> Option<i16> {
        self.column(x, z).filter(|it| it.color != 0).map(|it| it.y)
    }

    /// Draws a mark over a column: [`PATH`] or [`PATH_END`].
    pub(super) fn mark(&mut self, x: usize, z: usize, mark: u8) {
        if let Some(column) = self.columns.get_mut(z * WIDTH + x) {
            column.color = mark;
        }
    }

    pub(super) fn column(&self, x: usize, z: usize) -> Option<Column> {
        self.columns.get(z * WIDTH + x).copied()
    }
}

struct View {
    columns: Box<[Column; COLUMNS]>,
    states: Box<[u32; COLUMNS]>,
    phases: [Phase; COLUMNS],
}

impl View {
    /// Goes through a section of air.
    fn air(&mut self) {
        for phase in &mut self.phases {
            match phase {
                Phase::Ceiling | Phase::Rock => *phase = Phase::Above,
                Phase::InWater => *phase = Phase::Done,
                Phase::Above | Phase::Done => {}
            }
        }
    }

    fn section(
        &mut self,
        number: i32,
        states: &[u32],
        colors: &mut BlockColors,
        unknown: &mut u64,
    ) {
        for (layer, states) in states.chunks(COLUMNS).enumerate().rev() {
            // Worlds are at most 4,064 blocks high.
            let y = i16::try_from(number * 16).unwrap_or(i16::MAX).saturating_add(layer as i16);
            let columns = self.columns.iter_mut().zip(self.states.iter_mut());
            for ((state, phase), (column, seen)) in states.iter().zip(&mut self.phases).zip(columns)
            {
                if *phase == Phase::Done {
                    continue;
                }
                let look = colors.get(*state);
                *unknown += u64::from(look.is_none());
                let (color, is_water) = look.map_or((0, false), |it| (it.color, it.is_water));
                match phase {
                    Phase::InWater if is_water && column.depth < DEEPEST => column.depth += 1,
                    Phase::InWater => *phase = Phase::Done,
                    _ if color == 0 => *phase = Phase::Above,
                    Phase::Ceiling if column.color != color => {
                        if column.color != 0 {
                            *phase = Phase::Rock;
                        }
                        *column = Column { y, color, depth: 0 };
                        *seen = *state;
                    }
                    Phase::Ceiling | Phase::Rock => {}
                    _ => {
                        *column = Column { y, color, depth: is_water.into() };
                        *seen = *state;
                        *phase = if is_water { Phase::InWater } else { Phase::Done };
                    }
                }
            }
        }
    }
}

/// Columns of a chunk.
const COLUMNS: usize = WIDTH * WIDTH;

/// Columns of a chunk in each direction.
const WIDTH: usize = 16;

/// The mark of a player's path: a colour after those of blocks.
pub(super) const PATH: u8 = 62;

/// The mark of the end of a player's path.
pub(super) const PATH_END: u8 = PATH + 1;

/// The depth from which water is not darker.
const DEEPEST: u8 = 16;
