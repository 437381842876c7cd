use std::collections::VecDeque;
use std::sync::Arc;

use super::case::{Case, EndedBy, Step};
use super::outcome::Outcome;
use crate::capture::{Outcome as Fate, Record};
use crate::filter::{AtEnd, Per};
use crate::report::{Around, Finding, Place};
use mitmcraft_protocol::packet::{Context, Timestamp};

/// A session or a run that is being judged.
#[derive(Debug)]
pub(super) struct Scope {
    source: Option<Arc<str>>,
    context: Arc<Context>,
    /// The time of the last entry.
    last: Timestamp,
    /// The expectations of this scope by their places, each with the judgements that are open.
    open: Vec<(usize, Vec<Case>)>,
    /// The last packets.
    recent: VecDeque<Record>,
    /// The failures to which the next packets are added: the places of the expectation and of the
    /// failure, and the number of packets to come.
    shown: Vec<(usize, usize, usize)>,
}

impl Scope {
    /// Begins judging the expectations that have this scope.
    pub(super) fn new(
        per: Per,
        outcomes: &[Outcome],
        context: &Arc<Context>,
        source: Option<Arc<str>>,
    ) -> Self {
        let begun = context.opened;
        let ours = outcomes.iter().enumerate().filter(|(_, it)| it.expect.per == per);
        let open = ours.map(|(place, outcome)| {
            let first = outcome.expect.after.is_none().then(|| Case::new(begun));
            (place, first.into_iter().collect())
        });
        Self {
            source,
            context: Arc::clone(context),
            last: begun,
            open: open.collect(),
            recent: VecDeque::new(),
            shown: Vec::new(),
        }
    }

    /// Takes the next packet.
    pub(super) fn take(&mut self, record: &Record, outcomes: &mut [Outcome]) {
        let at = record.packet.at();
        self.expire(at, outcomes);
        self.context = Arc::clone(record.packet.context());
        self.last = at;
        self.shown.retain_mut(|(place, failure, left)| {
            outcomes[*place].failures[*failure].around.records.push(shown(record));
            *left -= 1;
            *left > 0
        });
        let mut open = std::mem::take(&mut self.open);
        for (place, cases) in &mut open {
            self.judge(*place, cases, record, outcomes);
        }
        self.open = open;
        if self.recent.len() == BEFORE {
            self.recent.pop_front();
        }
        self.recent.push_back(shown(record));
    }

    /// Takes an event that is not the end.
    pub(super) fn pass(&mut self, at: Timestamp, context: &Arc<Context>) {
        self.last = self.last.max(at);
        self.context = Arc::clone(context);
    }

    /// Judges all that is open: the session or the run has ended.
    pub(super) fn end(mut self, outcomes: &mut [Outcome]) {
        let at = self.last;
        self.expire(at, outcomes);
        for (place, cases) in std::mem::take(&mut self.open) {
            for case in cases {
                self.end_case(place, case, at, EndedBy::Scope, outcomes);
            }
        }
    }

    /// Judges what was over before `at`.
    fn expire(&mut self, at: Timestamp, outcomes: &mut [Outcome]) {
        let mut open = std::mem::take(&mut self.open);
        for (place, cases) in &mut open {
            let expect = &outcomes[*place].expect;
            if expect.within.is_none() {
                continue;
            }
            let due = |case: &mut Case| case.deadline(expect).is_some_and(|it| it < at);
            let over: Vec<Case> = cases.extract_if(.., due).collect();
            for case in over {
                let deadline = case.deadline(&outcomes[*place].expect).unwrap_or(at);
                self.end_case(*place, case, deadline, EndedBy::Deadline, outcomes);
            }
        }
        self.open = open;
    }

    fn judge(
        &mut self,
        place: usize,
        cases: &mut Vec<Case>,
        record: &Record,
        outcomes: &mut [Outcome],
    ) {
        let until = &outcomes[place].expect.until;
        if !cases.is_empty() && until.as_ref().is_some_and(|it| it.matches(record)) {
            for case in std::mem::take(cases) {
                self.end_case(place, case, record.packet.at(), EndedBy::Packet, outcomes);
            }
        }
        let outcome = &mut outcomes[place];
        let mut failed = Vec::new();
        cases.retain_mut(|case| match case.take(&outcome.expect, record) {
            Step::Open => true,
            Step::Passed => {
                outcome.passed += 1;
                false
            }
            Step::Failed(reason) => {
                failed.push((reason, case.opener.take()));
                false
            }
        });
        let expect = &outcome.expect;
        if expect.after.as_ref().is_some_and(|after| after.matches(record))
            && let Some(case) = Case::with(expect, record)
        {
            if cases.len() < MAX_OPEN {
                cases.push(case);
            } else {
                let reason = format!(
                    "more than {MAX_OPEN} judgements are open: limit them with `within`, or `after`"
                );
                failed.push((reason, None));
            }
        }
        for (reason, opener) in failed {
            self.fail(outcome, place, record.packet.at(), reason, opener, Some(record));
        }
    }

    fn end_case(
        &mut self,
        place: usize,
        mut case: Case,
        at: Timestamp,
        by: EndedBy,
        outcomes: &mut [Outcome],
    ) {
        let outcome = &mut outcomes[place];
        let (opener, expect) = (case.opener.take(), &outcome.expect);
        let has_end = expect.within.is_some() || expect.until.is_some();
        let is_open = by == EndedBy::Scope && has_end && !case.is_late(expect, at);
        match (case.end(expect, at, by), expect.at_end) {
            (None, _) => outcome.passed += 1,
            (Some(_), AtEnd::Skip) if is_open => {}
            (Some(_), AtEnd::Pass) if is_open => outcome.passed += 1,
            (Some(reason), _) => self.fail(outcome, place, at, reason, opener, None),
        }
    }

    fn fail(
        &mut self,
        outcome: &mut Outcome,
        place: usize,
        at: Timestamp,
        reason: String,
        opener: Option<Record>,
        broken_by: Option<&Record>,
    ) {
        let mut records: Vec<Record> = self.recent.iter().cloned().collect();
        records.extend(broken_by.map(shown));
        // The packet that began it is shown once.
        let is_around = |opener: &Record| {
            let own = |it: &Record| {
                it.packet.seq() == opener.packet.seq()
                    && it.packet.context().session == opener.packet.context().session
            };
            records.iter().any(own)
        };
        let opener = opener.filter(|opener| !is_around(opener)).as_ref().map(shown);
        let at_fault = broken_by.map(|_| records.len() - 1);
        let (source, context) = (self.source.clone(), Arc::clone(&self.context));
        let session = Place { source, context, at };
        let around = Around { opener, records, at_fault };
        let failure = Finding::new(outcome.expect.name.clone(), reason, session, around);
        if let Some(kept) = outcome.fail(failure) {
            self.shown.push((place, kept, AFTER));
        }
    }
}

/// Returns a record as it is shown: a rewritten packet as it came.
fn shown(record: &Record) -> Record {
    let mut record = record.clone();
    if record.outcome == Fate::Rewrite {
        record.outcome = Fate::Pass;
    }
    record
}

/// The greatest number of judgements of an expectation that are open in a session or a run.
const MAX_OPEN: usize = 1000;

/// The number of packets shown before a failure.
const BEFORE: usize = 3;

/// The number of packets shown after a failure.
const AFTER: usize = 2;
