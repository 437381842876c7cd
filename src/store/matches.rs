use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use super::{Chunk, ChunkMatches, Decisions, Snapshot};
use mitmcraft_engine::capture::Record;
use mitmcraft_engine::lang::Expr;
use mitmcraft_protocol::packet::Timestamp;

/// What is looked for.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    /// The filter; `None` for all packets.
    pub filter: Option<Expr>,
    /// Conditions that packets meet as well: those of a search, a conversation or a series within a list.
    pub within: Vec<Expr>,
    /// The sessions, by number; empty for all.
    pub sessions: Vec<u64>,
    /// The times, the end excluded; `None` for all.
    pub times: Option<Range<Timestamp>>,
    /// Rows that are left out.
    pub hidden: Arc<BTreeSet<u64>>,
    /// The first row; all before it are left out.
    pub since: u64,
    /// `true` if packets are left out that were sent in place of others.
    pub folds: bool,
}

impl Selection {
    /// Returns the conditions, all of which a packet meets.
    pub fn conditions(&self) -> impl Iterator<Item = &Expr> {
        self.filter.iter().chain(&self.within)
    }

    /// Returns whether a condition asks for the comments of packets.
    #[must_use]
    pub fn asks_comments(&self) -> bool {
        self.conditions().any(Expr::asks_comments)
    }

    /// Returns whether a row is selected, the expressions aside.
    pub(super) fn has(&self, row: u64, session: u64, at: Timestamp) -> bool {
        row >= self.since
            && !self.hidden.contains(&row)
            && (self.sessions.is_empty() || self.sessions.contains(&session))
            && self.times.as_ref().is_none_or(|times| times.contains(&at))
    }
}

/// The rows of a [`Store`](super::Store) that a [`Selection`] selects.
///
/// The rows are found in slices: [`advance`](Self::advance) evaluates some, on all processors, those of
/// the newest packets first. Its threads do nothing but evaluate, and end before it returns. Between
/// slices, what was found so far can be used, and the whole can be dropped. Packets that the store has
/// taken meanwhile are found by further slices.
#[derive(Debug)]
pub struct Matches {
    selection: Selection,
    snapshot: Snapshot,
    /// By the number of the chunk's first row.
    found: BTreeMap<u64, ChunkMatches>,
}

impl Matches {
    /// Creates the matches in `snapshot`, none of which is found yet.
    #[must_use]
    pub fn new(selection: Selection, snapshot: Snapshot) -> Self {
        Self { selection, snapshot, found: BTreeMap::new() }
    }

    /// Goes on in a later snapshot of the same store. What the store has forgotten is forgotten. Packets about which
    /// people noted something else meanwhile are evaluated again, if the selection asks for that.
    pub fn update(&mut self, snapshot: Snapshot) {
        self.found = self.found.split_off(&snapshot.first());
        let before = std::mem::replace(&mut self.snapshot, snapshot).annotations;
        let notes = &self.snapshot.annotations;
        if Arc::ptr_eq(&before, notes) || !self.selection.asks_comments() {
            return;
        }
        let decisions: Vec<_> = self.selection.conditions().cloned().map(Decisions::new).collect();
        let noted = before.keys().chain(notes.keys());
        for row in noted.filter(|row| before.get(row) != notes.get(row)) {
            if let Some((chunk, place)) = self.snapshot.find(*row)
                && let Some(found) = self.found.get_mut(&chunk.first)
            {
                found.evaluate_again(chunk, place, &decisions, &self.selection, notes);
            }
        }
    }

    /// Evaluates about `rows` rows. Returns `true` once all are evaluated.
    pub fn advance(&mut self, rows: usize) -> bool {
        let mut work: Vec<(&Chunk, ChunkMatches)> = Vec::new();
        let mut left = rows;
        for chunk in self.snapshot.chunks.iter().rev() {
            let done = self.found.get(&chunk.first).map_or(0, |it| it.evaluated);
            if done < chunk.len() {
                let found = self.found.remove(&chunk.first).unwrap_or_else(ChunkMatches::new);
                left = left.saturating_sub(chunk.len() - done);
                work.push((chunk, found));
                if left == 0 {
                    break;
                }
            }
        }
        let threads = std::thread::available_parallelism().map_or(1, usize::from).min(work.len());
        let (selection, notes) = (&self.selection, &self.snapshot.annotations);
        let queue = Mutex::new(work.into_iter());
        let evaluate = || {
            let mut decisions: Vec<_> =
                selection.conditions().cloned().map(Decisions::new).collect();
            let mut done = Vec::new();
            loop {
                let next = queue.lock().unwrap_or_else(PoisonError::into_inner).next();
                let Some((chunk, mut found)) = next else { return done };
                found.evaluate(chunk, &mut decisions, selection, notes);
                done.push((chunk.first, found));
            }
        };
        let done = match threads {
            0 => return true,
            1 => evaluate(),
            _ => std::thread::scope(|scope| {
                let others: Vec<_> = (1..threads).map(|_| scope.spawn(evaluate)).collect();
                let mut done = evaluate();
                for other in others {
                    match other.join() {
                        Ok(found) => done.extend(found),
                        Err(panic) => std::panic::resume_unwind(panic),
                    }
                }
                done
            }),
        };
        self.found.extend(done);
        left > 0 || self.is_complete()
    }

    /// Leaves a row out.
    pub fn hide(&mut self, row: u64) {
        Arc::make_mut(&mut self.selection.hidden).insert(row);
        if let Some((first, found)) = self.found.range_mut(..=row).next_back()
            && let Ok(place) = usize::try_from(row - first)
        {
            found.clear(place);
        }
    }

    /// Returns how many rows were evaluated, and how many there are.
    #[must_use]
    pub fn progress(&self) -> (u64, u64) {
        let done = self.found.values().map(|it| it.evaluated as u64).sum();
        (done, self.snapshot.end() - self.snapshot.first())
    }

    /// Returns `true` once all rows are evaluated.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        let (done, all) = self.progress();
        done == all
    }

    /// Returns the selection.
    #[must_use]
    pub fn selection(&self) -> &Selection {
        &self.selection
    }

    /// Returns the packets among which rows are looked for.
    #[must_use]
    pub fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    /// Returns the number of matches found so far.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.found.values().map(|it| it.count).sum()
    }

    /// Returns whether a row was found.
    #[must_use]
    pub fn has(&self, row: u64) -> bool {
        let Some((first, found)) = self.found.range(..=row).next_back() else { return false };
        usize::try_from(row - first).is_ok_and(|place| place < found.evaluated && found.has(place))
    }

    /// Returns the row that is found at `index`, from 0 for the oldest.
    #[must_use]
    pub fn nth(&self, index: u64) -> Option<u64> {
        let mut left = index;
        for (first, found) in &self.found {
            match left.checked_sub(found.count) {
                Some(rest) => left = rest,
                None => return Some(first + found.nth(left)? as u64),
            }
        }
        None
    }

    /// Returns how many of the rows found are older than `row`: its index if it is one of them.
    #[must_use]
    pub fn index_of(&self, row: u64) -> u64 {
        let before = self.found.range(..=row);
        let ranks = before.map(|(first, found)| {
            let place = usize::try_from(row - first).unwrap_or(usize::MAX);
            if place >= found.evaluated { found.count } else { found.rank(place) }
        });
        ranks.sum()
    }

    /// Returns the first row found after `row`.
    #[must_use]
    pub fn after(&self, row: u64) -> Option<u64> {
        self.nth(self.index_of(row) + u64::from(self.has(row)))
    }

    /// Returns the last row found before `row`.
    #[must_use]
    pub fn before(&self, row: u64) -> Option<u64> {
        self.nth(self.index_of(row).checked_sub(1)?)
    }

    /// Returns `limit` rows found from row `from` on, in order, or somewhat more. Costs less than asking for each
    /// alone.
    #[must_use]
    pub fn rows_from(&self, from: u64, limit: usize) -> Vec<u64> {
        let mut rows = Vec::new();
        for (first, found) in &self.found {
            if rows.len() >= limit {
                break;
            }
            let begin = usize::try_from(from.saturating_sub(*first)).unwrap_or(usize::MAX);
            let places = (begin..found.evaluated).filter(|place| found.has(*place));
            rows.extend(places.map(|place| first + place as u64));
        }
        rows
    }

    /// Calls `see` with the records of rows found from row `from` on, in order, until it has looked at
    /// `limit` rows or more. Returns the row to go on from; `None` after the last. Costs less than asking
    /// for each record alone.
    pub fn records(
        &self,
        from: u64,
        limit: usize,
        mut see: impl FnMut(u64, Record),
    ) -> Option<u64> {
        let mut looked = 0;
        for chunk in self.snapshot.chunks.iter().filter(|chunk| chunk.end() > from) {
            if looked >= limit {
                return Some(chunk.first.max(from));
            }
            looked += chunk.len();
            let Some(found) = self.found.get(&chunk.first).filter(|it| it.count > 0) else {
                continue;
            };
            let begin = usize::try_from(from.saturating_sub(chunk.first)).unwrap_or(usize::MAX);
            let loaded = chunk.load();
            for place in (begin..found.evaluated).filter(|place| found.has(*place)) {
                if let Some(record) = chunk.record(place, Some(&loaded)) {
                    let row = chunk.first + place as u64;
                    see(row, self.snapshot.annotated(row, record));
                }
            }
        }
        None
    }
}
