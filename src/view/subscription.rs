use std::collections::BTreeMap;
use std::sync::Arc;

use super::SLICE;
use super::protocol::{PacketJson, Push, SessionInfo};
use crate::store::{Matches, Selection, Snapshot, Store};
use mitmcraft_engine::lang::Expr;

/// Tells what a store takes: the packets that match an expression, each once and in the order in which they were
/// recorded, and the sessions when they change.
///
/// It reads behind the store, at the pace of its owner, and slows nothing down. What the store has forgotten before
/// it was told is counted.
#[derive(Debug)]
pub struct Subscription {
    store: Arc<Store>,
    /// The packets that are told next; those before `next` are gone from its snapshot.
    matches: Matches,
    /// The row from which on packets are told.
    next: u64,
    /// The sessions as they were told last, without their counts.
    known: BTreeMap<u64, SessionInfo>,
    /// Sessions that have ended, to be told behind their packets.
    ended: Vec<SessionInfo>,
}

impl Subscription {
    /// Subscribes to the packets that match `filter`, from row `from` on; `None` for those that come from now on.
    #[must_use]
    pub fn new(store: Arc<Store>, filter: Option<Expr>, from: Option<u64>) -> Self {
        let next = from.unwrap_or_else(|| store.range().1);
        let selection = Selection { filter, ..Selection::default() };
        let matches = Matches::new(selection, Snapshot::default());
        Self { store, matches, next, known: BTreeMap::new(), ended: Vec::new() }
    }

    /// Returns the row from which on packets are told.
    #[must_use]
    pub fn next(&self) -> u64 {
        self.next
    }

    /// Adds what has happened since to `pushes`: about a chunk of packets. Returns `true` if there is more to tell at
    /// once.
    pub fn advance(&mut self, pushes: &mut Vec<Push>) -> bool {
        if self.next < self.matches.snapshot().end() {
            if self.matches.advance(SLICE) {
                self.tell_packets(pushes);
            }
            return true;
        }
        tell_sessions(std::mem::take(&mut self.ended), pushes);
        self.look_at_sessions(pushes);
        if self.store.range().1 <= self.next {
            return false;
        }
        let snapshot = self.store.snapshot().from(self.next);
        if let Some(missed @ 1..) = snapshot.first().checked_sub(self.next) {
            pushes.push(Push::Packets { packets: Vec::new(), missed });
            self.next = snapshot.first();
        }
        self.matches.update(snapshot);
        true
    }

    /// Tells the packets that match in the next chunk that has some.
    fn tell_packets(&mut self, pushes: &mut Vec<Push>) {
        let (mut packets, mut size) = (Vec::new(), 0);
        let mut told = 0;
        let next = self.matches.records(self.next, 1, |row, record| {
            let packet = PacketJson::new(row, &record);
            told += 1;
            size += packet.as_str().len();
            packets.push(packet);
            if size >= MESSAGE {
                let packets = std::mem::take(&mut packets);
                pushes.push(Push::Packets { packets, missed: 0 });
                size = 0;
            }
        });
        let next = next.unwrap_or_else(|| self.matches.snapshot().end());
        let found = self.matches.index_of(next) - self.matches.index_of(self.next);
        let missed = found - told;
        if !packets.is_empty() || missed > 0 {
            pushes.push(Push::Packets { packets, missed });
        }
        self.next = next;
    }

    /// Tells the sessions that have changed. Those that have ended are told once their packets are.
    fn look_at_sessions(&mut self, pushes: &mut Vec<Push>) {
        let mut changed = Vec::new();
        let mut known = BTreeMap::new();
        let sessions = self.store.sessions();
        // After the sessions: the packets of one that has ended are all there.
        let is_behind = self.store.range().1 > self.next;
        for session in sessions {
            let info = SessionInfo::from(&session);
            let facts = SessionInfo { packets: 0, bytes: 0, wire: 0, last: 0.0, ..info.clone() };
            let before = self.known.get(&info.session);
            let has_changed = before != Some(&facts);
            known.insert(info.session, facts);
            if !has_changed {
                continue;
            }
            if info.closed.is_some() && is_behind {
                if before.is_none() {
                    changed.push(SessionInfo { closed: None, ..info.clone() });
                }
                self.ended.push(info);
            } else {
                changed.push(info);
            }
        }
        self.known = known;
        tell_sessions(changed, pushes);
    }
}

fn tell_sessions(mut sessions: Vec<SessionInfo>, pushes: &mut Vec<Push>) {
    while !sessions.is_empty() {
        let rest = sessions.split_off(sessions.len().min(MAX_SESSIONS));
        pushes.push(Push::Sessions { sessions });
        sessions = rest;
    }
}

/// Bytes of packets after which another message begins.
const MESSAGE: usize = 256 << 10;

/// Most sessions of a message.
const MAX_SESSIONS: usize = 1000;
