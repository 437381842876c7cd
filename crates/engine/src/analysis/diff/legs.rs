use std::collections::{HashMap, VecDeque};

use super::entities::EntityIds;
use super::fields::{EqualPairs, compare};
use super::{Change, Difference, Ignore};
use crate::capture::{Entry, Outcome, Record};
use crate::lang::Expr;
use mitmcraft_protocol::schema::Value;

/// Compares the two legs of a capture: packets received from one peer with packets sent to the other.
/// Dropped packets count as removed, packets made by the proxy as added, rewritten ones as changed.
#[derive(Debug, Default)]
pub struct LegDiffer {
    ignore: Ignore,
    /// Which packets are compared, if they match on either leg; `None` for all.
    pub condition: Option<Expr>,
    /// The number of the only session to compare.
    pub session: Option<u64>,
    /// The packets that were forwarded without a difference so far.
    pub equal: EqualPairs,
    /// Rewritten packets whose replacement has not been seen yet, by session and number.
    rewritten: HashMap<(u64, u64), Record>,
    found: VecDeque<Difference>,
}

impl LegDiffer {
    /// Creates a comparison that disregards the differences in `ignore`.
    #[must_use]
    pub fn new(ignore: Ignore) -> Self {
        Self { ignore, ..Self::default() }
    }

    /// Takes the next entry.
    pub fn push(&mut self, entry: &Entry) {
        let session = entry.context().session;
        if self.session.is_some_and(|wanted| wanted != session) {
            return;
        }
        match entry {
            Entry::Packet(record) => self.record(session, record),
            Entry::Event(_) if entry.is_close() => self.give_up(|(own, _)| *own == session),
            Entry::Event(_) => {}
        }
    }

    /// Ends the comparison: the capture has ended.
    pub fn finish(&mut self) {
        self.give_up(|_| true);
    }

    /// Returns the next difference found, if there is one.
    pub fn poll(&mut self) -> Option<Difference> {
        self.found.pop_front()
    }

    fn record(&mut self, session: u64, record: &Record) {
        if self.ignore.packet(&record.packet) {
            return;
        }
        match (record.outcome, record.of) {
            (Outcome::Pass, _) => self.equal.same += u64::from(self.wants(record)),
            (Outcome::Drop, _) if self.wants(record) => {
                self.found.push_back(Difference::Removed(record.clone().into()));
            }
            (Outcome::Rewrite, _) => {
                if self.rewritten.len() >= MAX_REWRITTEN {
                    self.give_up(|_| true);
                }
                self.rewritten.insert((session, record.packet.seq()), record.clone());
            }
            (Outcome::Send, Some(of)) => match self.rewritten.remove(&(session, of)) {
                Some(came) => self.pair(came, record),
                None => self.add(record),
            },
            (Outcome::Send, None) => self.add(record),
            (Outcome::Drop, _) => {}
        }
    }

    fn pair(&mut self, came: Record, went: &Record) {
        if !self.wants(&came) && !self.wants(went) {
            return;
        }
        let name = |record: &Record| record.packet.kind().map(|packet| packet.name().to_string());
        let (from, to) = (name(&came), name(went));
        let mut changes = compare(&came, went, &self.ignore, &mut EntityIds::default());
        if from != to {
            let value = |name: Option<String>| name.map(|name| Value::from(&*name));
            let (a, b) = (value(from), value(to));
            changes.insert(0, Change { path: "(packet)".to_owned(), a, b, meanings: [None, None] });
        }
        self.found.extend(self.equal.judge(came, went.clone(), changes));
    }

    fn add(&mut self, record: &Record) {
        if self.wants(record) {
            self.found.push_back(Difference::Added(record.clone().into()));
        }
    }

    /// Reports rewritten packets whose replacement is not in the capture as removed.
    fn give_up(&mut self, which: impl Fn(&(u64, u64)) -> bool) {
        let mut gone: Vec<_> = self.rewritten.extract_if(|key, _| which(key)).collect();
        gone.sort_by_key(|(key, _)| *key);
        for (_, record) in gone {
            if self.wants(&record) {
                self.found.push_back(Difference::Removed(record.into()));
            }
        }
    }

    fn wants(&self, record: &Record) -> bool {
        self.condition.as_ref().is_none_or(|condition| condition.matches(record))
    }
}

/// Greatest number of rewritten packets that wait. The replacement is recorded next unless it is
/// delayed.
const MAX_REWRITTEN: usize = 1 << 14;
