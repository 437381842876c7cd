use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

use super::aligner::{Aligner, AlignmentContext};
use super::entities::EntityIds;
use super::fields::EqualPairs;
use super::item::DiffItem;
use super::{Difference, Ignore};
use crate::capture::Entry;
use crate::lang::Expr;
use mitmcraft_protocol::schema::{Direction, PerDirection};

/// Compares two captures while they are read: [`push`](Self::push) takes entries of either capture,
/// in order, and [`poll`](Self::poll) returns differences.
///
/// The first session of one capture is compared with the first of the other, and so on. Only packets
/// that reached a peer are compared, rewritten ones as they were sent. Memory is bounded if entries of
/// both captures are pushed at about the same rate: a window of packets per open direction.
#[derive(Debug, Default)]
pub struct Differ {
    ignore: Ignore,
    /// Which packets are compared; `None` for all.
    pub condition: Option<Expr>,
    /// The only sessions to compare, given by their numbers: one of each capture.
    pub sessions: Option<(u64, u64)>,
    /// The packets found in both captures so far.
    pub equal: EqualPairs,
    a: CaptureSessions,
    b: CaptureSessions,
    pairs: BTreeMap<usize, Pair>,
    /// The differences, each with the index of its session in the order in which sessions begin, and the
    /// number of the packet in the first capture, or of the one before it.
    found: VecDeque<((usize, u64), Difference)>,
    /// The numbers of the packets that were compared with each other; `None` if they are not kept.
    pub(crate) compared: Option<Vec<(u64, u64)>>,
}

/// One of the two captures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiffSide {
    /// The first capture; packets that only it has were removed.
    A,
    /// The second capture; packets that only it has were added.
    B,
}

/// The sessions of one capture, each identified by its index among them.
#[derive(Debug, Default)]
struct CaptureSessions {
    /// The indexes of the open sessions, by their numbers.
    open: HashMap<u64, usize>,
    begun: usize,
    /// The closed sessions whose counterparts in the other capture are still open.
    closed: HashSet<usize>,
}

/// A session of each capture, which are compared with each other.
#[derive(Debug, Default)]
struct Pair {
    aligners: PerDirection<Aligner>,
    entities: EntityIds,
}

impl Differ {
    /// Creates a comparison that disregards the differences in `ignore`.
    #[must_use]
    pub fn new(ignore: Ignore) -> Self {
        Self { ignore, ..Self::default() }
    }

    /// Takes the next entry of a capture.
    pub fn push(&mut self, side: DiffSide, entry: &Entry) {
        let session = entry.context().session;
        let Some(place) = self.place(side, session) else { return };
        match entry {
            Entry::Packet(record) => {
                let wanted = record.outcome.went()
                    && !self.ignore.packet(&record.packet)
                    && self.condition.as_ref().is_none_or(|condition| condition.matches(record));
                if !wanted {
                    return;
                }
                // Inflated once, and not kept inflated and deflated.
                let item = DiffItem::new(record.clone(), &self.ignore);
                let direction = item.record.packet.direction();
                self.with(place, direction, |aligner, found| aligner.push(side, item, found));
                self.make_room();
            }
            Entry::Event(_) if entry.is_close() => self.close(side, session, place),
            Entry::Event(_) => {}
        }
    }

    /// Ends the comparison: both captures have ended.
    pub fn finish(&mut self) {
        while let Some(place) = self.pairs.keys().next().copied() {
            self.finish_pair(place);
        }
    }

    /// Returns the next difference found, if there is one.
    pub fn poll(&mut self) -> Option<Difference> {
        self.found.pop_front().map(|(_, difference)| difference)
    }

    /// The number of sessions of a capture seen so far.
    #[must_use]
    pub fn seen(&self, side: DiffSide) -> usize {
        match side {
            DiffSide::A => self.a.begun,
            DiffSide::B => self.b.begun,
        }
    }

    /// Returns the index of a session among those to compare, or `None` if it is not compared.
    fn place(&mut self, side: DiffSide, session: u64) -> Option<usize> {
        if let Some((a, b)) = self.sessions {
            let wanted = if side == DiffSide::A { a } else { b };
            if session != wanted {
                return None;
            }
        }
        let (capture, _) = self.captures(side);
        let place = capture.open.entry(session).or_insert_with(|| {
            capture.begun += 1;
            capture.begun - 1
        });
        Some(*place)
    }

    fn close(&mut self, side: DiffSide, session: u64, place: usize) {
        let (own, other) = self.captures(side);
        own.open.remove(&session);
        if other.closed.remove(&place) {
            self.finish_pair(place);
        } else {
            own.closed.insert(place);
        }
    }

    /// Returns the sessions of a capture and those of the other.
    fn captures(&mut self, side: DiffSide) -> (&mut CaptureSessions, &mut CaptureSessions) {
        match side {
            DiffSide::A => (&mut self.a, &mut self.b),
            DiffSide::B => (&mut self.b, &mut self.a),
        }
    }

    fn finish_pair(&mut self, place: usize) {
        for direction in Direction::ALL {
            self.with(place, direction, |aligner, found| aligner.align(true, found));
        }
        self.pairs.remove(&place);
        // Sorts the differences of both directions by the order of the first capture.
        self.found.make_contiguous().sort_by_key(|(place, _)| *place);
    }

    /// Bounds the number of packets that wait in all sessions together.
    fn make_room(&mut self) {
        let waiting = |pair: &Pair| pair.aligners.values().map(Aligner::waiting).sum::<usize>();
        if self.pairs.len() < 2 || self.pairs.values().map(waiting).sum::<usize>() <= MAX_WAITING {
            return;
        }
        let fullest = self.pairs.iter().max_by_key(|(_, pair)| waiting(pair));
        let Some(place) = fullest.map(|(place, _)| *place) else { return };
        for direction in Direction::ALL {
            self.with(place, direction, |aligner, found| aligner.align(false, found));
        }
    }

    fn with(
        &mut self,
        session: usize,
        direction: Direction,
        act: impl FnOnce(&mut Aligner, &mut AlignmentContext<'_>),
    ) {
        let pair = self.pairs.entry(session).or_default();
        let queue = &mut self.found;
        let mut put = |seq, difference| queue.push_back(((session, seq), difference));
        let mut found = AlignmentContext {
            ignore: &self.ignore,
            entities: &mut pair.entities,
            equal: &mut self.equal,
            pairs: self.compared.as_mut(),
            put: &mut put,
        };
        act(&mut pair.aligners[direction], &mut found);
    }
}

/// Greatest number of packets that wait in all sessions together.
const MAX_WAITING: usize = 1 << 16;
