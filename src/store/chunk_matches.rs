use super::{Annotations, CHUNK_ROWS, Chunk, Decisions, Row, Selection};

/// The rows of a chunk that match: a bit each.
#[derive(Debug, Clone)]
pub(super) struct ChunkMatches {
    bits: Box<[u64]>,
    /// The number of rows that were evaluated.
    pub(super) evaluated: usize,
    /// The number of rows that match.
    pub(super) count: u64,
}

impl ChunkMatches {
    pub(super) fn new() -> Self {
        Self { bits: vec![0; CHUNK_ROWS.div_ceil(64)].into(), evaluated: 0, count: 0 }
    }

    /// Evaluates the rows that were not evaluated before. Only rows that the
    /// selection's sessions and times have are asked for.
    pub(super) fn evaluate(
        &mut self,
        chunk: &Chunk,
        decisions: &mut [Decisions],
        selection: &Selection,
        notes: &Annotations,
    ) {
        let rows = chunk.rows();
        let from = std::mem::replace(&mut self.evaluated, chunk.len());
        let mut undecided = Vec::new();
        for (place, row) in rows.iter().enumerate().skip(from) {
            let number = chunk.first + place as u64;
            if !selection.has(number, chunk.context(row).session, row.at)
                || selection.folds && chunk.replaces(row)
            {
                continue;
            }
            match of_all(decisions, chunk, row) {
                Some(true) => self.set(place),
                Some(false) => {}
                None => undecided.push(place),
            }
        }
        if undecided.is_empty() {
            return;
        }
        let many = undecided.len() > rows.len() / 16;
        let loaded = many.then(|| chunk.load());
        for place in undecided {
            if decisions.iter().all(|it| it.read(chunk, place, loaded.as_ref(), notes)) {
                self.set(place);
            }
        }
    }

    /// Evaluates a row again that was evaluated before.
    pub(super) fn evaluate_again(
        &mut self,
        chunk: &Chunk,
        place: usize,
        decisions: &[Decisions],
        selection: &Selection,
        notes: &Annotations,
    ) {
        let Some(row) = chunk.row(place).filter(|_| place < self.evaluated) else { return };
        self.clear(place);
        let number = chunk.first + place as u64;
        if selection.has(number, chunk.context(&row).session, row.at)
            && !(selection.folds && chunk.replaces(&row))
            && decisions.iter().all(|it| it.read(chunk, place, None, notes))
        {
            self.set(place);
        }
    }

    fn set(&mut self, place: usize) {
        self.bits[place / 64] |= 1 << (place % 64);
        self.count += 1;
    }

    /// Takes a row out, if it matches.
    pub(super) fn clear(&mut self, place: usize) {
        if place < self.evaluated && self.has(place) {
            self.bits[place / 64] &= !(1 << (place % 64));
            self.count -= 1;
        }
    }

    pub(super) fn has(&self, place: usize) -> bool {
        self.bits[place / 64] >> (place % 64) & 1 == 1
    }

    /// Returns the place of the match after `index` others.
    pub(super) fn nth(&self, index: u64) -> Option<usize> {
        let mut left = index;
        for (word, bits) in self.bits.iter().enumerate() {
            let count = u64::from(bits.count_ones());
            if left < count {
                let mut bits = *bits;
                for _ in 0..left {
                    bits &= bits - 1;
                }
                return Some(word * 64 + bits.trailing_zeros() as usize);
            }
            left -= count;
        }
        None
    }

    /// Returns how many matches are before `place`.
    pub(super) fn rank(&self, place: usize) -> u64 {
        let whole: u64 = self.bits[..place / 64].iter().map(|it| u64::from(it.count_ones())).sum();
        match self.bits.get(place / 64) {
            Some(bits) => whole + u64::from((bits & ((1 << (place % 64)) - 1)).count_ones()),
            None => whole,
        }
    }
}

/// Returns what all decisions on a row say together; `None` if the packet has to be read.
fn of_all(decisions: &mut [Decisions], chunk: &Chunk, row: &Row) -> Option<bool> {
    let mut all = Some(true);
    for one in decisions {
        match one.of(chunk, row) {
            Some(true) => {}
            Some(false) => return Some(false),
            None => all = None,
        }
    }
    all
}
