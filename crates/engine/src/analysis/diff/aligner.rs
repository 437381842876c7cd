use std::collections::VecDeque;

use similar::{Algorithm, DiffOp, capture_diff_slices};

use super::entities::EntityIds;
use super::fields::{EqualPairs, compare};
use super::ignore::Ignore;
use super::item::DiffItem;
use super::{DiffSide, Difference};

/// Aligns the packets of one direction of a session in both captures.
#[derive(Debug, Default)]
pub(super) struct Aligner {
    a: VecDeque<DiffItem>,
    b: VecDeque<DiffItem>,
    /// Bytes of the packets that wait.
    bytes: usize,
    /// The number of the last aligned packet of the first capture.
    last: u64,
}

/// The options for comparing aligned packets, and the destination of differences.
pub(super) struct AlignmentContext<'f> {
    pub(super) ignore: &'f Ignore,
    pub(super) entities: &'f mut EntityIds,
    pub(super) equal: &'f mut EqualPairs,
    /// The numbers of the packets that were paired; `None` if nobody asks.
    pub(super) pairs: Option<&'f mut Vec<(u64, u64)>>,
    pub(super) put: &'f mut dyn FnMut(u64, Difference),
}

impl Aligner {
    pub(super) fn push(
        &mut self,
        side: DiffSide,
        item: DiffItem,
        found: &mut AlignmentContext<'_>,
    ) {
        self.bytes += item.size();
        match side {
            DiffSide::A => self.a.push_back(item),
            DiffSide::B => self.b.push_back(item),
        }
        self.align_front(found);
        if self.a.len().min(self.b.len()) >= WINDOW || self.is_full() {
            self.align(false, found);
        }
    }

    /// Aligns a part of the packets that wait, to make room, or all of them if nothing follows.
    pub(super) fn align(&mut self, last: bool, found: &mut AlignmentContext<'_>) {
        let runs = self.runs();
        let (until_a, until_b) = if last { (self.a.len(), self.b.len()) } else { self.cut(&runs) };
        let (mut done_a, mut done_b) = (0, 0);
        for run in runs {
            if run.a >= until_a || run.b >= until_b {
                break;
            }
            self.align_gap(run.a - done_a, run.b - done_b, found);
            let length = run.length.min(until_a - run.a).min(until_b - run.b);
            for _ in 0..length {
                self.pair(found);
            }
            (done_a, done_b) = (run.a + length, run.b + length);
        }
        self.align_gap(until_a - done_a, until_b - done_b, found);
    }

    /// The number of packets that wait.
    pub(super) fn waiting(&self) -> usize {
        self.a.len() + self.b.len()
    }

    /// Returns `true` if packets must be aligned even though better matches may follow.
    fn is_full(&self) -> bool {
        self.a.len().max(self.b.len()) >= 2 * WINDOW || self.bytes >= MAX_BYTES
    }

    /// Pairs equal packets at the front, which need no window.
    fn align_front(&mut self, found: &mut AlignmentContext<'_>) {
        while let (Some(a), Some(b)) = (self.a.front(), self.b.front())
            && a.same == b.same
        {
            self.pair(found);
        }
    }

    /// Finds equal packets in both, in order. Sequences of several packets are matched first: a single
    /// packet may equal many others elsewhere.
    fn runs(&self) -> Vec<Run> {
        let keys =
            |items: &VecDeque<DiffItem>| items.iter().map(|item| item.same).collect::<Vec<_>>();
        let (a, b) = (keys(&self.a), keys(&self.b));
        let mut runs = Vec::new();
        let (mut done_a, mut done_b) = (0, 0);
        let anchors = equal(&a, &b, SEQUENCE);
        let end = Run { a: a.len(), b: b.len(), length: 0 };
        for anchor in anchors.into_iter().chain([end]) {
            // A sequence may overlap the previous one.
            let skipped = done_a.max(anchor.a) - anchor.a;
            let skipped = skipped.max(done_b.max(anchor.b) - anchor.b);
            if skipped > anchor.length {
                continue;
            }
            let (to_a, to_b) = (anchor.a + skipped, anchor.b + skipped);
            for run in equal(&a[done_a..to_a], &b[done_b..to_b], 1) {
                runs.push(Run { a: run.a + done_a, b: run.b + done_b, length: run.length });
            }
            let length = anchor.length - skipped;
            runs.push(Run { a: to_a, b: to_b, length });
            (done_a, done_b) = (to_a + length, to_b + length);
        }
        runs
    }

    /// Returns how far the alignment of a window is certain: packets at its end may match later ones.
    fn cut(&self, runs: &[Run]) -> (usize, usize) {
        let (most_a, most_b) = (self.a.len() * 3 / 4, self.b.len() * 3 / 4);
        let mut found = (0, 0);
        for run in runs {
            if run.a < most_a && run.b < most_b {
                let length = run.length.min(most_a - run.a).min(most_b - run.b);
                found = (run.a + length, run.b + length);
            }
        }
        // Memory is bounded only with progress: in one of them at least, in both if full.
        let (some_a, some_b) = (found.0 >= self.a.len() / 4, found.1 >= self.b.len() / 4);
        let enough = if self.is_full() { some_a && some_b } else { some_a || some_b };
        if enough { found } else { (self.a.len() / 2, self.b.len() / 2) }
    }

    /// Aligns the first packets of each, none of which are equal, by their names.
    fn align_gap(&mut self, count_a: usize, count_b: usize, found: &mut AlignmentContext<'_>) {
        let keys = |items: &VecDeque<DiffItem>, count| {
            items.iter().take(count).map(|item| item.alike).collect::<Vec<_>>()
        };
        let (a, b) = (keys(&self.a, count_a), keys(&self.b, count_b));
        for op in difference(&a, &b, 1, Algorithm::Myers) {
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

    /// Pairs the first packets of both and compares their fields.
    fn pair(&mut self, found: &mut AlignmentContext<'_>) {
        let (Some(a), Some(b)) = (self.take_a(), self.take_b()) else { return };
        if let Some(pairs) = &mut found.pairs {
            pairs.push((a.record.packet.seq(), b.record.packet.seq()));
        }
        let changes = match a.same == b.same && !a.entities {
            true => Vec::new(),
            false => compare(&a.record, &b.record, found.ignore, found.entities),
        };
        if let Some(difference) = found.equal.judge(a.record, b.record, changes) {
            (found.put)(self.last, difference);
        }
    }

    fn take_a(&mut self) -> Option<DiffItem> {
        let item = self.a.pop_front()?;
        self.bytes -= item.size();
        self.last = item.record.packet.seq();
        Some(item)
    }

    fn take_b(&mut self) -> Option<DiffItem> {
        let item = self.b.pop_front()?;
        self.bytes -= item.size();
        Some(item)
    }
}

/// A sequence of equal packets in both.
#[derive(Debug, Clone, Copy)]
struct Run {
    a: usize,
    b: usize,
    length: usize,
}

/// Finds what two sequences of keys have in common, in order: equal sequences of `length` keys.
fn equal(a: &[u64], b: &[u64], length: usize) -> Vec<Run> {
    let ops = difference(a, b, length, Algorithm::Patience).into_iter();
    let runs = ops.filter_map(|op| match op {
        DiffOp::Equal { old_index: a, new_index: b, len: length } => Some(Run { a, b, length }),
        _ => None,
    });
    runs.collect()
}

/// Compares the sequences of `length` keys in each. It is compiled once for all that is compared:
/// `similar` takes long to compile.
fn difference(a: &[u64], b: &[u64], length: usize, algorithm: Algorithm) -> Vec<DiffOp> {
    let [a, b] = [a, b].map(|keys| keys.windows(length).collect::<Vec<_>>());
    capture_diff_slices(algorithm, &a, &b)
}

/// Length of sequences that are rarely equal by chance.
const SEQUENCE: usize = 6;

/// Packets of each capture that are aligned together.
const WINDOW: usize = 16_384;

/// Bytes of packets that are aligned together.
const MAX_BYTES: usize = 64 << 20;
