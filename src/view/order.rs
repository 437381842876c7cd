use super::sort_key::{SortKey, SortValue};
use crate::store::{Matches, Snapshot};

/// The rows of a list in the order of a value of their packets; of those with the same value, in the order in which
/// they were recorded. Descending is the reverse of that.
///
/// Rows are taken in slices once the list is complete, and merged with those that were sorted before. Lists of more
/// than [`MAX`](Self::MAX) packets are not sorted.
#[derive(Debug)]
pub(super) struct Order {
    key: SortKey,
    descending: bool,
    /// Ascending, by value and number.
    rows: Vec<(SortValue, u64)>,
    /// The oldest row that was stored when rows were taken last.
    first: u64,
    /// The row from which on rows were not taken yet.
    next: u64,
    /// `true` once all rows were sorted that the list had when it was complete first: it is the order of the list.
    pub(super) ready: bool,
}

impl Order {
    /// Most packets of a list that is sorted.
    pub(super) const MAX: u64 = 1_000_000;

    pub(super) fn new(key: SortKey, descending: bool) -> Self {
        Self { key, descending, rows: Vec::new(), first: 0, next: 0, ready: false }
    }

    /// Begins again, for another list.
    pub(super) fn restart(&mut self) {
        (self.rows, self.first, self.next, self.ready) = (Vec::new(), 0, 0, false);
    }

    /// Takes about `rows` more rows of a list. Returns `true` once there is nothing more to do.
    pub(super) fn advance(&mut self, matches: &Matches, rows: usize) -> bool {
        if matches.count() > Self::MAX {
            self.restart();
            return true;
        }
        let snapshot = matches.snapshot();
        if snapshot.first() > self.first {
            self.first = snapshot.first();
            self.rows.retain(|(_, row)| *row >= snapshot.first());
        }
        if !matches.is_complete() {
            return false;
        }
        // Packets that have to be read take longer.
        let limit = if matches!(self.key, SortKey::Value(_)) { rows / 16 } else { rows };
        let found = matches.rows_from(self.next, limit);
        let ends = found.last().is_none_or(|last| matches.after(*last).is_none());
        self.next = if ends { snapshot.end() } else { found.last().map_or(0, |last| last + 1) };
        if !found.is_empty() {
            self.rows.extend(found.into_iter().map(|row| (self.key.of(snapshot, row), row)));
            // Those of before are sorted: the new ones are merged into them.
            self.rows.sort();
        }
        self.ready |= ends;
        ends
    }

    /// The number of rows.
    pub(super) fn len(&self) -> u64 {
        self.rows.len() as u64
    }

    /// Leaves a row out.
    pub(super) fn hide(&mut self, row: u64) {
        self.rows.retain(|(_, it)| *it != row);
    }

    pub(super) fn nth(&self, index: u64) -> Option<u64> {
        let index = usize::try_from(index).ok()?;
        let place = match self.descending {
            true => self.rows.len().checked_sub(index + 1)?,
            false => index,
        };
        self.rows.get(place).map(|(_, row)| *row)
    }

    /// Returns the index of a row, or of where it would be.
    pub(super) fn index_of(&self, snapshot: &Snapshot, row: u64) -> u64 {
        let value = self.key.of(snapshot, row);
        let place = self.rows.partition_point(|(other, it)| (other, *it) < (&value, row));
        let place = match self.descending {
            // Rows behind it ascending are before it descending.
            true => {
                let here = usize::from(self.rows.get(place).is_some_and(|(_, it)| *it == row));
                self.rows.len() - place - here
            }
            false => place,
        };
        place as u64
    }
}
