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
/// The first session with a player of one capture is compared with the first of the other, and so on, and so are the
/// sessions without one (pings). Only packets that reached a peer are compared, rewritten ones as they were sent.
/// Memory is bounded if entries of both captures are pushed at about the same rate: a window of packets per open
/// direction.
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
    /// The memory that the entries held of all sessions take, in bytes.
    held: u64,
    pairs: BTreeMap<Place, Pair>,
    /// The numbers of the sessions that were compared with each other.
    paired: Vec<(u64, u64)>,
    /// The differences, each with its session and the number of its packet in the first capture; of the packet before
    /// it, if only the second capture has it.
    found: VecDeque<((Place, u64), Difference)>,
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

/// A session of either capture: whether it has no player, and its index among those of its kind, in the order in which
/// they begin.
type Place = (bool, usize);

/// The sessions of one capture.
#[derive(Debug, Default)]
struct CaptureSessions {
    /// The open sessions, by their numbers.
    open: HashMap<u64, OpenSession>,
    /// The number of sessions that have begun: those with a player, then those without one.
    begun: [usize; 2],
    /// The closed sessions whose counterparts in the other capture are still open.
    closed: HashSet<Place>,
}

#[derive(Debug)]
enum OpenSession {
    /// The entries of a session of which it is not known yet whether it has a player, and the memory that they take,
    /// in bytes.
    Held(Vec<Entry>, u64),
    /// The place of a session that is compared.
    Known(Place),
}

/// A session of each capture, which are compared with each other.
#[derive(Debug, Default)]
struct Pair {
    /// The number of the session in each capture.
    numbers: [Option<u64>; 2],
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
        let context = entry.context();
        let session = context.session;
        if let Some((a, b)) = self.sessions
            && session != if side == DiffSide::A { a } else { b }
        {
            return;
        }
        // Sessions that are given by their numbers need no player.
        let has_player = context.player.is_some() || self.sessions.is_some();
        let (capture, _) = self.captures(side);
        let held = || OpenSession::Held(Vec::new(), 0);
        let open = capture.open.entry(session).or_insert_with(held);
        let held = match open {
            OpenSession::Known(place) => {
                let place = *place;
                return self.take(side, place, entry);
            }
            OpenSession::Held(held, size)
                if has_player || entry.is_close() || held.len() >= MAX_HELD =>
            {
                let (held, size) = (std::mem::take(held), *size);
                self.held -= size;
                held
            }
            OpenSession::Held(held, size) => {
                held.push(entry.clone());
                *size += entry.size();
                self.held += entry.size();
                if self.held > MAX_HELD_BYTES {
                    self.settle();
                }
                return;
            }
        };
        let place = self.begin(side, session, has_player);
        held.iter().chain([entry]).for_each(|entry| self.take(side, place, entry));
    }

    /// Begins the comparison of a session, and returns its place.
    fn begin(&mut self, side: DiffSide, session: u64, has_player: bool) -> Place {
        let (capture, _) = self.captures(side);
        let begun = &mut capture.begun[usize::from(!has_player)];
        let place = (!has_player, *begun);
        *begun += 1;
        capture.open.insert(session, OpenSession::Known(place));
        let pair = self.pairs.entry(place).or_default();
        pair.numbers[side as usize] = Some(session);
        if let [Some(a), Some(b)] = pair.numbers {
            self.paired.push((a, b));
        }
        place
    }

    fn take(&mut self, side: DiffSide, place: Place, entry: &Entry) {
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
            Entry::Event(event) if entry.is_close() => {
                self.close(side, event.context.session, place);
            }
            Entry::Event(_) => {}
        }
    }

    /// Treats all sessions whose player is not known as sessions without one.
    fn settle(&mut self) {
        self.held = 0;
        for side in [DiffSide::A, DiffSide::B] {
            let (capture, _) = self.captures(side);
            let held = capture.open.iter().filter_map(|(session, open)| match open {
                OpenSession::Held(..) => Some(*session),
                OpenSession::Known(_) => None,
            });
            let mut held: Vec<u64> = held.collect();
            held.sort_unstable();
            for session in held {
                let (capture, _) = self.captures(side);
                if let Some(OpenSession::Held(entries, _)) = capture.open.remove(&session) {
                    let place = self.begin(side, session, false);
                    entries.iter().for_each(|entry| self.take(side, place, entry));
                }
            }
        }
    }

    /// Ends the comparison: both captures have ended.
    pub fn finish(&mut self) {
        self.settle();
        while let Some(place) = self.pairs.keys().next().copied() {
            self.finish_pair(place);
        }
    }

    /// Returns the next difference found, if there is one.
    pub fn poll(&mut self) -> Option<Difference> {
        self.found.pop_front().map(|(_, difference)| difference)
    }

    /// Returns the number of differences not yet returned by [`poll`](Self::poll).
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.found.len()
    }

    /// Returns the number of sessions of a capture whose comparison has begun.
    #[must_use]
    pub fn seen(&self, side: DiffSide) -> usize {
        let capture = if side == DiffSide::A { &self.a } else { &self.b };
        capture.begun.iter().sum()
    }

    /// Returns the numbers of the sessions that were compared with each other so far: that of the first capture, and
    /// that of the second.
    #[must_use]
    pub fn paired(&self) -> &[(u64, u64)] {
        &self.paired
    }

    fn close(&mut self, side: DiffSide, session: u64, place: Place) {
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

    fn finish_pair(&mut self, place: Place) {
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
        place: Place,
        direction: Direction,
        act: impl FnOnce(&mut Aligner, &mut AlignmentContext<'_>),
    ) {
        let pair = self.pairs.entry(place).or_default();
        let queue = &mut self.found;
        let mut put = |seq, difference| queue.push_back(((place, seq), difference));
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

/// The number of entries after which a session whose player is not known is compared as one without a player.
const MAX_HELD: usize = 1000;

/// The most memory that entries take until their players are known, in bytes.
const MAX_HELD_BYTES: u64 = 32 << 20;

/// Greatest number of packets that wait in all sessions together.
const MAX_WAITING: usize = 1 << 16;

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::explain::tests::script::Script;
    use mitmcraft_protocol::packet::Context;
    use mitmcraft_protocol::schema::State;

    #[test]
    fn what_sessions_held_before_their_players_were_known_counts_no_more() {
        let mut differ = Differ::default();
        for session in 1..40 {
            let mut script = Script::new(47);
            let name = |player: Option<String>, script: &Script| {
                Arc::new(Context { session, player, ..Context::clone(&script.context) })
            };
            script.context = name(None, &script);
            let bytes = |script: Script, len| {
                script.bytes(Direction::Serverbound, State::Login, vec![0; len])
            };
            script = bytes(script, 1 << 20);
            differ.push(DiffSide::A, script.entries.last().unwrap());
            assert_eq!(differ.seen(DiffSide::A), session as usize - 1);
            script.context = name(Some("Steve".to_owned()), &script);
            script = bytes(script, 1);
            differ.push(DiffSide::A, script.entries.last().unwrap());
            assert_eq!(differ.seen(DiffSide::A), session as usize);
        }
    }
}
