use std::collections::{HashMap, VecDeque};

use super::entities::EntityIds;
use super::fields::compare;
use super::{Change, Difference, Ignore};
use crate::capture::{Entry, EventKind, Outcome, Record};
use crate::lang::Expr;
use crate::schema::Value;

/// Compares the two legs of a capture: what came from one peer with what went to the other. What
/// the proxy dropped was removed, what it made was added, what it rewrote was changed.
#[derive(Debug)]
pub struct LegDiffer {
    ignore: Ignore,
    condition: Option<Expr>,
    session: Option<u64>,
    /// What came and was rewritten, until what went in its place: by session and number.
    rewritten: HashMap<(u64, u64), Record>,
    found: VecDeque<Difference>,
    same: u64,
}

impl LegDiffer {
    /// Compares with those differences left out.
    #[must_use]
    pub fn new(ignore: Ignore) -> Self {
        Self {
            ignore,
            condition: None,
            session: None,
            rewritten: HashMap::new(),
            found: VecDeque::new(),
            same: 0,
        }
    }

    /// Compares only packets that match, on either leg.
    #[must_use]
    pub fn only(mut self, condition: Option<Expr>) -> Self {
        self.condition = condition;
        self
    }

    /// Compares only that session.
    #[must_use]
    pub fn session(mut self, session: Option<u64>) -> Self {
        self.session = session;
        self
    }

    /// Takes the next entry.
    pub fn push(&mut self, entry: &Entry) {
        let session = entry.context().session;
        if self.session.is_some_and(|wanted| wanted != session) {
            return;
        }
        match entry {
            Entry::Packet(record) => self.record(session, record),
            Entry::Event(event) => {
                if let EventKind::Close(_) = event.kind {
                    self.give_up(|(own, _)| *own == session);
                }
            }
        }
    }

    /// The capture has ended.
    pub fn finish(&mut self) {
        self.give_up(|_| true);
    }

    /// The next difference that was found.
    pub fn poll(&mut self) -> Option<Difference> {
        self.found.pop_front()
    }

    /// How many packets went on as they came.
    #[must_use]
    pub fn same(&self) -> u64 {
        self.same
    }

    fn record(&mut self, session: u64, record: &Record) {
        if self.ignore.packet(&record.packet) {
            return;
        }
        match (record.outcome, record.of) {
            (Outcome::Pass, _) => self.same += u64::from(self.wants(record)),
            (Outcome::Drop, _) if self.wants(record) => {
                self.found.push_back(Difference::Removed(record.clone().into()));
            }
            (Outcome::Rewrite, _) => {
                if self.rewritten.len() >= MAX_REWRITTEN {
                    self.give_up(|_| true);
                }
                self.rewritten.insert((session, record.packet.seq), record.clone());
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
            changes.insert(0, Change { path: "(packet)".to_owned(), a, b });
        }
        match changes.is_empty() {
            true => self.same += 1,
            false => {
                let (came, went) = (came.into(), went.clone().into());
                self.found.push_back(Difference::Changed(came, went, changes));
            }
        }
    }

    fn add(&mut self, record: &Record) {
        if self.wants(record) {
            self.found.push_back(Difference::Added(record.clone().into()));
        }
    }

    /// What was to be replaced by something that is not in the capture.
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

/// What goes in the place of a packet is recorded next, unless it is delayed.
const MAX_REWRITTEN: usize = 1 << 14;
