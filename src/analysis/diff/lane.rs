use std::collections::VecDeque;

use similar::{Algorithm, DiffOp, capture_diff_slices};

use super::entities::Entities;
use super::fields::compare;
use super::ignore::Ignore;
use super::item::Item;
use super::{Difference, Operand};

/// One direction of one session in both captures: what waits to be aligned.
#[derive(Debug, Default)]
pub(super) struct Lane {
    a: VecDeque<Item>,
    b: VecDeque<Item>,
    /// Bytes that wait.
    bytes: usize,
    /// Number of the last packet of the first capture that was aligned.
    last: u64,
    /// Packets that are in both.
    pub(super) same: u64,
}

/// What the aligned packets are compared with, and where differences go.
pub(super) struct Found<'f> {
    pub(super) ignore: &'f Ignore,
    pub(super) entities: &'f mut Entities,
    pub(super) put: &'f mut dyn FnMut(u64, Difference),
}

impl Lane {
    pub(super) fn push(&mut self, operand: Operand, item: Item, found: &mut Found<'_>) {
        self.bytes += item.size();
        match operand {
            Operand::A => self.a.push_back(item),
            Operand::B => self.b.push_back(item),
        }
        self.align_front(found);
        let shorter = self.a.len().min(self.b.len());
        let longer = self.a.len().max(self.b.len());
        if shorter >= WINDOW || longer >= 2 * WINDOW || self.bytes >= MAX_BYTES {
            self.align(false, found);
        }
    }

    /// Aligns all that waits: nothing follows.
    pub(super) fn finish(&mut self, found: &mut Found<'_>) {
        self.align(true, found);
    }

    /// How many packets wait.
    pub(super) fn waiting(&self) -> usize {
        self.a.len() + self.b.len()
    }

    /// Makes room, whatever comes.
    pub(super) fn shrink(&mut self, found: &mut Found<'_>) {
        self.align(false, found);
    }

    /// What is the same in front needs no window.
    fn align_front(&mut self, found: &mut Found<'_>) {
        while let (Some(a), Some(b)) = (self.a.front(), self.b.front())
            && a.same == b.same
        {
            self.pair(found);
        }
    }

    fn align(&mut self, last: bool, found: &mut Found<'_>) {
        let keys = |items: &VecDeque<Item>| items.iter().map(|item| item.same).collect::<Vec<_>>();
        let ops = capture_diff_slices(Algorithm::Patience, &keys(&self.a), &keys(&self.b));
        let (until_a, until_b) = match last {
            true => (self.a.len(), self.b.len()),
            false => self.cut(&ops),
        };
        let (mut done_a, mut done_b) = (0, 0);
        for op in ops {
            let DiffOp::Equal { old_index, new_index, len } = op else { continue };
            if old_index >= until_a || new_index >= until_b {
                break;
            }
            self.align_gap(old_index - done_a, new_index - done_b, found);
            let len = len.min(until_a - old_index).min(until_b - new_index);
            for _ in 0..len {
                self.pair(found);
            }
            (done_a, done_b) = (old_index + len, new_index + len);
        }
        self.align_gap(until_a - done_a, until_b - done_b, found);
    }

    /// How far the alignment of a window is certain: what is at its end may yet find its like.
    fn cut(&self, ops: &[DiffOp]) -> (usize, usize) {
        let (most_a, most_b) = (self.a.len() * 3 / 4, self.b.len() * 3 / 4);
        let mut found = (0, 0);
        for op in ops {
            let DiffOp::Equal { old_index, new_index, len } = *op else { continue };
            if old_index < most_a && new_index < most_b {
                let len = len.min(most_a - old_index).min(most_b - new_index);
                found = (old_index + len, new_index + len);
            }
        }
        // Without progress there would be no bound.
        let enough = found.0 >= self.a.len() / 4 && found.1 >= self.b.len() / 4;
        if enough { found } else { (self.a.len() / 2, self.b.len() / 2) }
    }

    /// Aligns the first so many of each, of which none are the same, by their names.
    fn align_gap(&mut self, count_a: usize, count_b: usize, found: &mut Found<'_>) {
        let keys = |items: &VecDeque<Item>, count| {
            items.iter().take(count).map(|item| item.alike).collect::<Vec<_>>()
        };
        let (a, b) = (keys(&self.a, count_a), keys(&self.b, count_b));
        for op in capture_diff_slices(Algorithm::Myers, &a, &b) {
            let (removed, added, both) = match op {
                DiffOp::Equal { len, .. } => (0, 0, len),
                DiffOp::Delete { old_len, .. } => (old_len, 0, 0),
                DiffOp::Insert { new_len, .. } => (0, new_len, 0),
                DiffOp::Replace { old_len, new_len, .. } => (old_len, new_len, 0),
            };
            for _ in 0..removed {
                let Some(item) = self.take_a() else { return };
                (found.put)(self.last, Difference::Removed(item.record.into()));
            }
            for _ in 0..added {
                let Some(item) = self.take_b() else { return };
                (found.put)(self.last, Difference::Added(item.record.into()));
            }
            for _ in 0..both {
                self.pair(found);
            }
        }
    }

    /// Takes the first of both as one packet.
    fn pair(&mut self, found: &mut Found<'_>) {
        let (Some(a), Some(b)) = (self.take_a(), self.take_b()) else { return };
        if a.same == b.same && !a.entities {
            self.same += 1;
            return;
        }
        let changes = compare(&a.record, &b.record, found.ignore, found.entities);
        match changes.is_empty() {
            true => self.same += 1,
            false => {
                let (a, b) = (a.record.into(), b.record.into());
                (found.put)(self.last, Difference::Changed(a, b, changes));
            }
        }
    }

    fn take_a(&mut self) -> Option<Item> {
        let item = self.a.pop_front()?;
        self.bytes -= item.size();
        self.last = item.record.packet.seq;
        Some(item)
    }

    fn take_b(&mut self) -> Option<Item> {
        let item = self.b.pop_front()?;
        self.bytes -= item.size();
        Some(item)
    }
}

/// Packets of each capture that are looked at together.
const WINDOW: usize = 16_384;

/// Bytes of them.
const MAX_BYTES: usize = 64 << 20;
