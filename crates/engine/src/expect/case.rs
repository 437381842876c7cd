use super::rate::Rate;
use crate::capture::Record;
use crate::filter::{Bound, Expect, Per, RateBound, RateUnit, Wanted};
use crate::lang::Expr;
use crate::text::{Escaped, field_text};
use mitmcraft_protocol::packet::Timestamp;
use mitmcraft_protocol::schema::Value;

/// One judgement of an expectation: from the packet that began it, or the beginning of its session, on.
#[derive(Debug)]
pub(super) struct Case {
    begun: Timestamp,
    /// The packet that began it.
    pub(super) opener: Option<Record>,
    /// The values of `same`; `None` before the first packet with them.
    same: Option<Vec<Value>>,
    packets: u64,
    bytes: u64,
    rate: Rate,
    /// The number of steps of `order` that have come.
    came: usize,
    /// Packets that match, but have other values of `same`.
    others: u64,
}

/// What ends a judgement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EndedBy {
    /// The deadline.
    Deadline,
    /// A packet that matches `until`.
    Packet,
    /// The end of the session or the run.
    Scope,
}

/// The state of a [`Case`] after a packet.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// It is undecided.
    Open,
    /// Nothing that follows can break the expectation.
    Passed,
    /// The expectation is broken, and why.
    Failed(String),
}

impl Case {
    /// Begins a judgement with the session or the run.
    pub(super) fn new(begun: Timestamp) -> Self {
        let (rate, others) = (Rate::default(), 0);
        Self { begun, opener: None, same: None, packets: 0, bytes: 0, rate, came: 0, others }
    }

    /// Begins a judgement with a packet. Returns `None` if it lacks a value of `same`.
    pub(super) fn with(expect: &Expect, opener: &Record) -> Option<Self> {
        let same = match expect.same[..] {
            [] => None,
            _ => Some(values(expect, opener)?),
        };
        let case = Self::new(opener.packet.at());
        Some(Self { opener: Some(opener.clone()), same, ..case })
    }

    /// Returns the judgement's deadline; `None` if it has none.
    pub(super) fn deadline(&self, expect: &Expect) -> Option<Timestamp> {
        expect.within.map(|within| self.begun.plus(within))
    }

    /// Returns whether the judgement's deadline has passed at `at`.
    pub(super) fn is_late(&self, expect: &Expect, at: Timestamp) -> bool {
        self.deadline(expect).is_some_and(|deadline| deadline <= at)
    }

    /// Takes the next packet.
    pub(super) fn take(&mut self, expect: &Expect, record: &Record) -> Step {
        match &expect.wanted {
            Wanted::Packets { when, .. } if when.matches(record) => self.take_match(expect, record),
            Wanted::Packets { .. } => Step::Open,
            Wanted::Order(steps) => self.take_step(expect, steps, record),
        }
    }

    /// Ends the judgement at `at`: the deadline, the time of a packet that matches `until`, or the end of the session or
    /// the run. Returns the reason why the expectation failed, or `None` if it was met.
    pub(super) fn end(mut self, expect: &Expect, at: Timestamp, how: EndedBy) -> Option<String> {
        let by = match (how, expect.within, &expect.until, expect.per) {
            (EndedBy::Packet, _, Some(until), _) => format!("until `{until}`"),
            (_, Some(within), ..) if self.is_late(expect, at) => format!("within {within:?}"),
            (.., Per::Session) => "before the session ended".to_owned(),
            (.., Per::Run) => "before the run ended".to_owned(),
        };
        match &expect.wanted {
            Wanted::Packets { when, count, bytes, rate } => {
                if let Some(count) = count
                    && self.packets < count.least
                {
                    let others = self.others(expect);
                    return Some(format!("{} {by}{others}: expected {count}", self.found(when)));
                }
                if let Some(bytes) = bytes
                    && self.bytes < bytes.least
                {
                    let found = self.bytes;
                    return Some(format!("`{when}` has {found} bytes {by}: expected {bytes}"));
                }
                if let Some(rate) = rate
                    && let Some(found) = self.rate.too_few(rate, self.begun, at)
                {
                    return Some(rate_words(when, rate, found));
                }
                None
            }
            Wanted::Order(steps) => match (steps.get(self.came), self.came.checked_sub(1)) {
                (None, _) => None,
                (Some(step), Some(last)) => {
                    let (others, last) = (self.others(expect), &steps[last]);
                    Some(format!("no `{step}` came after `{last}` {by}{others}"))
                }
                (Some(step), None) => Some(format!("no packet matches `{step}` {by}")),
            },
        }
    }

    fn take_match(&mut self, expect: &Expect, record: &Record) -> Step {
        let Wanted::Packets { when, count, bytes, rate } = &expect.wanted else {
            return Step::Open;
        };
        match self.is_same(expect, record) {
            Some(true) => {}
            Some(false) if self.opener.is_none() => {
                return Step::Failed(self.differs(expect, record));
            }
            Some(false) => {
                self.others += 1;
                return Step::Open;
            }
            None => return Step::Open,
        }
        self.packets += 1;
        self.bytes += record.packet.size() as u64;
        if let Some(count) = count
            && count.is_exceeded(self.packets)
        {
            return Step::Failed(format!("{}: expected {count}", self.found(when)));
        }
        if let Some(bytes) = bytes
            && bytes.is_exceeded(self.bytes)
        {
            let found = self.bytes;
            return Step::Failed(format!("`{when}` has {found} bytes: expected {bytes}"));
        }
        if let Some(rate) = rate
            && let Some(found) = self.rate.take(rate, self.begun, &record.packet)
        {
            return Step::Failed(rate_words(when, rate, found));
        }
        let met = |bound: &Bound, number: u64| bound.most.is_none() && number >= bound.least;
        let decided = count.as_ref().is_none_or(|it| met(it, self.packets))
            && bytes.as_ref().is_none_or(|it| met(it, self.bytes))
            && rate.is_none()
            // Without an opener, each packet must have the values of the first one.
            && (expect.same.is_empty() || self.opener.is_some());
        if decided { Step::Passed } else { Step::Open }
    }

    fn take_step(&mut self, expect: &Expect, steps: &[Expr], record: &Record) -> Step {
        let (past, ahead) = steps.split_at(self.came);
        let Some((next, later)) = ahead.split_first() else { return Step::Passed };
        if next.matches(record) {
            match self.is_same(expect, record) {
                Some(true) => self.came += 1,
                Some(false) => self.others += 1,
                None => {}
            }
            return if self.came == steps.len() { Step::Passed } else { Step::Open };
        }
        if past.iter().any(|step| step.matches(record)) {
            return Step::Open;
        }
        let early = later.iter().find(|step| step.matches(record));
        match early {
            // What does not belong to the first packet is not out of order.
            Some(early) if self.has_values(expect, record) => {
                Step::Failed(format!("`{early}` came before `{next}`"))
            }
            _ => Step::Open,
        }
    }

    /// Returns whether a packet has the values of `same`, which the first one sets; `None` if it lacks
    /// one.
    fn is_same(&mut self, expect: &Expect, record: &Record) -> Option<bool> {
        if expect.same.is_empty() {
            return Some(true);
        }
        let values = values(expect, record)?;
        Some(*self.same.get_or_insert_with(|| values.clone()) == values)
    }

    /// Returns whether a packet has the values of `same` that are known so far.
    fn has_values(&self, expect: &Expect, record: &Record) -> bool {
        self.same.as_ref().is_none_or(|same| values(expect, record).as_ref() == Some(same))
    }

    fn differs(&self, expect: &Expect, record: &Record) -> String {
        let first = self.same.iter().flatten();
        let values = values(expect, record).unwrap_or_default();
        let pairs = expect.same.iter().zip(first.zip(&values));
        let words =
            pairs.filter(|(_, (first, value))| first != value).map(|(name, (first, value))| {
                let [is, was] = [value, first].map(|value| Escaped(field_text(value)).to_string());
                format!("`{name}` is {is} and was {was}")
            });
        words.collect::<Vec<_>>().join(", ")
    }

    fn found(&self, when: &Expr) -> String {
        match self.packets {
            0 => format!("no packet matches `{when}`"),
            1 => format!("1 packet matches `{when}`"),
            packets => format!("{packets} packets match `{when}`"),
        }
    }

    fn others(&self, expect: &Expect) -> String {
        if self.others == 0 {
            return String::new();
        }
        let names: Vec<String> = expect.same.iter().map(|it| format!("`{it}`")).collect();
        format!(" ({} with another {})", self.others, names.join(" or "))
    }
}

/// Returns the values of `same`; `None` if the packet lacks one.
fn values(expect: &Expect, record: &Record) -> Option<Vec<Value>> {
    expect.same.iter().map(|formula| formula.value(record)).collect()
}

fn rate_words(when: &Expr, rate: &RateBound, found: u64) -> String {
    let bound = &rate.bound;
    let unit = match rate.unit {
        RateUnit::Packets => "packets",
        RateUnit::Bytes => "bytes",
    };
    format!("`{when}` has {found} {unit} in a second: expected {bound}")
}
