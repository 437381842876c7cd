use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

use super::aligner::{Aligner, AlignmentContext};
use super::entities::EntityIds;
use super::item::DiffItem;
use super::{Difference, DifferenceOrder, Ignore};
use crate::capture::{Entry, EventKind};
use crate::lang::Expr;
use crate::schema::Direction;

/// Compares two captures as they are read: [`push`](Self::push) takes entries of either, in the
/// order of each capture, [`poll`](Self::poll) gives differences.
///
/// The first session of one is compared with the first of the other, and so on. What reached the
/// peers is compared, so what the proxy rewrote counts as it went. Memory is bounded when entries of
/// both come about as fast: a window of packets of each direction that is open.
#[derive(Debug)]
pub struct Differ {
    ignore: Ignore,
    condition: Option<Expr>,
    /// Only this session of the first and that of the second.
    only: Option<(u64, u64)>,
    /// The place of each session among those of its capture.
    sessions: [HashMap<u64, usize>; 2],
    begun: [usize; 2],
    closed: [HashSet<usize>; 2],
    pairs: BTreeMap<usize, Pair>,
    found: VecDeque<(DifferenceOrder, Difference)>,
    same: u64,
}

/// Which of the two captures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiffSide {
    /// The first: what only it has was removed.
    A,
    /// The second: what only it has was added.
    B,
}

/// A session of each capture.
#[derive(Debug, Default)]
struct Pair {
    aligners: [Aligner; 2],
    entities: EntityIds,
}

impl Differ {
    /// Compares with those differences left out.
    #[must_use]
    pub fn new(ignore: Ignore) -> Self {
        Self {
            ignore,
            condition: None,
            only: None,
            sessions: Default::default(),
            begun: [0; 2],
            closed: Default::default(),
            pairs: BTreeMap::new(),
            found: VecDeque::new(),
            same: 0,
        }
    }

    /// Compares only packets that match.
    #[must_use]
    pub fn only(mut self, condition: Option<Expr>) -> Self {
        self.condition = condition;
        self
    }

    /// Compares only that session of the first capture with that one of the second.
    #[must_use]
    pub fn sessions(mut self, only: Option<(u64, u64)>) -> Self {
        self.only = only;
        self
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
                let direction = item.record.packet.direction;
                self.with(place, direction, |aligner, found| aligner.push(side, item, found));
                self.make_room();
            }
            Entry::Event(event) => {
                if let EventKind::Close(_) = event.kind {
                    self.close(side, session, place);
                }
            }
        }
    }

    /// Both captures have ended.
    pub fn finish(&mut self) {
        while let Some(place) = self.pairs.keys().next().copied() {
            self.finish_pair(place);
        }
    }

    /// The next difference that was found.
    pub fn poll(&mut self) -> Option<Difference> {
        self.found.pop_front().map(|(_, difference)| difference)
    }

    /// How many packets were found to be the same so far.
    #[must_use]
    pub fn same(&self) -> u64 {
        let aligners = self.pairs.values().flat_map(|pair| &pair.aligners);
        self.same + aligners.map(|aligner| aligner.same).sum::<u64>()
    }

    /// How many sessions of a capture were seen.
    #[must_use]
    pub fn seen(&self, side: DiffSide) -> usize {
        self.begun[side as usize]
    }

    /// The place of a session among those that are compared; none if it is not.
    fn place(&mut self, side: DiffSide, session: u64) -> Option<usize> {
        if let Some((a, b)) = self.only {
            let wanted = if side == DiffSide::A { a } else { b };
            if session != wanted {
                return None;
            }
        }
        let begun = &mut self.begun[side as usize];
        let place = self.sessions[side as usize].entry(session).or_insert_with(|| {
            *begun += 1;
            *begun - 1
        });
        Some(*place)
    }

    fn close(&mut self, side: DiffSide, session: u64, place: usize) {
        self.sessions[side as usize].remove(&session);
        let other = 1 - side as usize;
        if self.closed[other].remove(&place) {
            self.finish_pair(place);
        } else {
            self.closed[side as usize].insert(place);
        }
    }

    fn finish_pair(&mut self, place: usize) {
        for direction in Direction::ALL {
            self.with(place, direction, |aligner, found| aligner.finish(found));
        }
        if let Some(pair) = self.pairs.remove(&place) {
            self.same += pair.aligners.iter().map(|aligner| aligner.same).sum::<u64>();
        }
        // Differences of both directions, in the order of the first capture.
        self.found.make_contiguous().sort_by_key(|(place, _)| *place);
    }

    /// Keeps what waits in all sessions together within bounds.
    fn make_room(&mut self) {
        let waiting = |pair: &Pair| pair.aligners.iter().map(Aligner::waiting).sum::<usize>();
        if self.pairs.len() < 2 || self.pairs.values().map(waiting).sum::<usize>() <= MAX_WAITING {
            return;
        }
        let fullest = self.pairs.iter().max_by_key(|(_, pair)| waiting(pair));
        let Some(place) = fullest.map(|(place, _)| *place) else { return };
        for direction in Direction::ALL {
            self.with(place, direction, |aligner, found| aligner.shrink(found));
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
        let mut put =
            |seq, difference| queue.push_back((DifferenceOrder { session, seq }, difference));
        let mut found =
            AlignmentContext { ignore: &self.ignore, entities: &mut pair.entities, put: &mut put };
        act(&mut pair.aligners[direction as usize], &mut found);
    }
}

/// Packets that wait in all sessions together.
const MAX_WAITING: usize = 1 << 16;
