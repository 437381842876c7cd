use std::collections::VecDeque;

use super::aligner::{Aligner, AlignmentContext};
use super::entities::EntityIds;
use super::fields::EqualPairs;
use super::item::DiffItem;
use super::{DiffSide, Difference, Ignore};
use crate::capture::Entry;
use crate::lang::Expr;
use mitmcraft_protocol::packet::Packet;
use mitmcraft_protocol::schema::{Direction, Release, Role, State};

/// Compares what two clients send, tick by tick: the first tick after Join Game of one with that of the other, and so
/// on.
///
/// Since 1.21.2 `tick_end` ends a tick; before, each move does. The first session of each capture that gets into the
/// game is compared. Push entries of the side that is [behind](Self::behind), so that few ticks have to wait.
#[derive(Debug, Default)]
pub struct TickDiffer {
    ignore: Ignore,
    /// Which packets are compared; `None` for all.
    pub condition: Option<Expr>,
    /// The sessions to compare, given by their numbers: one of each capture.
    pub sessions: Option<(u64, u64)>,
    /// The packets found in both captures so far.
    pub equal: EqualPairs,
    a: Ticks,
    b: Ticks,
    entities: EntityIds,
    /// The number of ticks that were compared.
    compared: u64,
    /// The differences, each with the number of its tick, from 1.
    found: VecDeque<(u64, Difference)>,
}

/// The ticks of one client.
#[derive(Debug, Default)]
struct Ticks {
    /// The session that is compared, once it is known.
    session: Option<u64>,
    /// The completed ticks that wait for those of the other client.
    over: VecDeque<Vec<DiffItem>>,
    /// The packets of the current tick; at most [`MAX_PACKETS`].
    open: Vec<DiffItem>,
    /// The number of completed ticks.
    count: u64,
}

impl TickDiffer {
    /// Creates a comparison that disregards the differences in `ignore`.
    #[must_use]
    pub fn new(ignore: Ignore) -> Self {
        Self { ignore, ..Self::default() }
    }

    /// Takes the next entry of a capture.
    pub fn push(&mut self, side: DiffSide, entry: &Entry) {
        let Entry::Packet(record) = entry else { return };
        let packet = &record.packet;
        let wanted = self.sessions.map(|(a, b)| if side == DiffSide::A { a } else { b });
        let number = packet.context().session;
        let is_client = packet.direction() == Direction::Serverbound;
        let is_compared = !self.ignore.packet(packet)
            && self.condition.as_ref().is_none_or(|condition| condition.matches(record));
        let ticks = match side {
            DiffSide::A => &mut self.a,
            DiffSide::B => &mut self.b,
        };
        if ticks.session.is_none() && packet.role() == Some(Role::JoinGame) {
            ticks.session = Some(number).filter(|it| wanted.is_none_or(|wanted| wanted == *it));
        }
        let is_of_game = packet.state() == State::Play && record.outcome.came();
        if ticks.session != Some(number) || !is_client || !is_of_game {
            return;
        }
        if is_compared {
            ticks.open.push(DiffItem::new(record.clone(), &self.ignore));
        }
        if ends_tick(packet) || ticks.open.len() >= MAX_PACKETS {
            let open = std::mem::take(&mut ticks.open);
            ticks.over.push_back(open);
            ticks.count += 1;
            self.compare();
        }
    }

    /// Returns the side whose next entry should be pushed: the one with fewer completed ticks.
    #[must_use]
    pub fn behind(&self) -> DiffSide {
        if self.b.count < self.a.count { DiffSide::B } else { DiffSide::A }
    }

    /// Returns the next difference found with the number of its tick, if there is one.
    pub fn poll(&mut self) -> Option<(u64, Difference)> {
        self.found.pop_front()
    }

    /// Returns the number of completed ticks of a client.
    #[must_use]
    pub fn ticks(&self, side: DiffSide) -> u64 {
        match side {
            DiffSide::A => self.a.count,
            DiffSide::B => self.b.count,
        }
    }

    /// Compares the ticks that both sides have completed.
    fn compare(&mut self) {
        while !self.a.over.is_empty() && !self.b.over.is_empty() {
            let (a, b) = (self.a.over.pop_front(), self.b.over.pop_front());
            self.compared += 1;
            let (tick, queue) = (self.compared, &mut self.found);
            let mut put = |_, difference| queue.push_back((tick, difference));
            let mut found = AlignmentContext {
                ignore: &self.ignore,
                entities: &mut self.entities,
                equal: &mut self.equal,
                pairs: None,
                put: &mut put,
            };
            let mut aligner = Aligner::default();
            for (side, items) in [(DiffSide::A, a), (DiffSide::B, b)] {
                for item in items.into_iter().flatten() {
                    aligner.push(side, item, &mut found);
                }
            }
            aligner.align(true, &mut found);
        }
    }
}

/// Returns whether a packet of a client is the last of its tick, if it sends one in each.
pub(crate) fn ends_tick(packet: &Packet) -> bool {
    let has_ticks = packet.context().protocol.release() >= Release::V1_21_2;
    match packet.role() {
        Some(Role::Movement) => !has_ticks,
        _ => has_ticks && packet.kind().is_some_and(|kind| &**kind.name() == "tick_end"),
    }
}

/// The most packets of a tick that are compared with each other.
const MAX_PACKETS: usize = 4096;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::Record;
    use crate::explain::tests::script::Script;
    use crate::lint::tests::planted::body::body;

    /// Compares two clients, and returns what differs, with the ticks.
    fn compared(a: &Script, b: &Script) -> (Vec<(u64, String)>, [u64; 2]) {
        let mut differ = TickDiffer::new(Ignore::default());
        let mut sides = [a, b].map(|script| script.entries.iter());
        loop {
            let side = differ.behind();
            let place = usize::from(side == DiffSide::B);
            let (entry, side) = match sides[place].next() {
                Some(entry) => (Some(entry), side),
                None if place == 0 => (sides[1].next(), DiffSide::B),
                None => (sides[0].next(), DiffSide::A),
            };
            let Some(entry) = entry else { break };
            differ.push(side, entry);
        }
        let found = std::iter::from_fn(|| differ.poll()).map(|(tick, it)| {
            let name = |record: &Record| record.packet.kind().unwrap().name().to_string();
            let words = match it {
                Difference::Removed(record) => format!("- {}", name(&record)),
                Difference::Added(record) => format!("+ {}", name(&record)),
                Difference::Changed(record, _, changes) => {
                    format!("~ {} {}", name(&record), changes[0].path)
                }
            };
            (tick, words)
        });
        let found = found.collect();
        (found, [DiffSide::A, DiffSide::B].map(|side| differ.ticks(side)))
    }

    #[test]
    fn clients_are_compared_tick_by_tick_whatever_the_server_sends() {
        for version in [47, 754, 769, 777] {
            let swing = |it: Script| match version {
                47 => it.client("arm_animation", body()),
                777 => it.client("punch", body()),
                _ => it.client("arm_animation", body().varint(0)),
            };
            let slot = |it: Script, number| it.client("held_item_slot", body().i16(number));
            let end = |it: Script, x| {
                let it = it.position(x);
                if version >= 768 { it.client("tick_end", body()) } else { it }
            };
            let first = Script::joined(version);
            let a = end(swing(slot(first.clone(), 1)), 1.0);
            let a = end(swing(a.wait(1)), 2.0);
            // Another server, and another rhythm of its packets.
            let b = first.clone().kept_alive(7).kept_alive(8);
            let b = end(swing(slot(b, 1)), 1.0).kept_alive(9).wait(5);
            let same = end(swing(b.clone()), 2.0);
            assert_eq!(compared(&a, &same), (vec![], [2, 2]), "{version}");
            // Another place, another order, and a packet more.
            let moved = end(swing(b.clone()), 3.0);
            assert_eq!(compared(&a, &moved).0, [(2, "~ position x".to_owned())], "{version}");
            let more = end(slot(swing(b.clone()), 2), 2.0);
            assert_eq!(compared(&a, &more).0, [(2, "+ held_item_slot".to_owned())], "{version}");
            let swapped = end(slot(swing(first.clone()), 1), 1.0);
            let name = if version == 777 { "punch" } else { "arm_animation" };
            let found = compared(&a, &swapped).0;
            let all: Vec<&str> = found.iter().map(|(_, it)| &it[2..]).collect();
            assert!(all == [name, name] || all == ["held_item_slot"; 2], "{version}: {found:?}");
            // What only one of them has plays no part.
            let longer = end(end(same.clone(), 4.0), 5.0);
            assert_eq!(compared(&a, &longer), (vec![], [2, 4]), "{version}");
        }
    }
}
