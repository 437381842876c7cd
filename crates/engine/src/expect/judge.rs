use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use super::ExpectReport;
use super::outcome::Outcome;
use super::scope::Scope;
use crate::capture::{Entry, EventKind, Sink};
use crate::filter::{Per, RuleSet};

/// Judges the expectations of filter files: a sink for the entries of a run or a capture.
///
/// Packets are judged as their sender sent them, in order: those that rules dropped or rewrote as they
/// came, and those that rules made.
#[derive(Debug)]
pub struct Judge {
    outcomes: Vec<Outcome>,
    /// The capture that is being judged.
    source: Option<Arc<str>>,
    /// The sessions that are not over.
    sessions: BTreeMap<u64, Scope>,
    run: Option<Scope>,
    /// `true` if there are expectations of sessions, and of runs.
    judges_sessions: bool,
    judges_runs: bool,
}

impl Judge {
    /// Creates a judge of the expectations of these files, given with their names.
    #[must_use]
    pub fn new<'a>(files: impl IntoIterator<Item = (&'a str, &'a RuleSet)>) -> Self {
        let mut outcomes = Vec::new();
        for (name, set) in files {
            let file: Arc<str> = name.into();
            let expectations = set.expectations().iter().cloned();
            outcomes.extend(expectations.map(|it| Outcome::new(Arc::clone(&file), it)));
        }
        Self::of(outcomes)
    }

    /// Returns a judge of the same expectations that has judged nothing.
    #[must_use]
    pub fn fresh(&self) -> Self {
        let fresh = |it: &Outcome| Outcome::new(Arc::clone(&it.file), it.expect.clone());
        Self::of(self.outcomes.iter().map(fresh).collect())
    }

    fn of(outcomes: Vec<Outcome>) -> Self {
        let judges = |per| outcomes.iter().any(|it| it.expect.per == per);
        let (judges_sessions, judges_runs) = (judges(Per::Session), judges(Per::Run));
        let (sessions, run) = (BTreeMap::new(), None);
        Self { outcomes, source: None, sessions, run, judges_sessions, judges_runs }
    }

    /// Returns whether there is no expectation.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.outcomes.is_empty()
    }

    /// Begins a capture: a run of its own, with its own sessions.
    pub fn begin(&mut self, source: &str) {
        self.end();
        self.source = Some(source.into());
    }

    /// Adds the results of a judge of the same expectations that is finished, of captures that follow.
    pub fn merge(&mut self, other: Self) {
        self.end();
        for (own, others) in self.outcomes.iter_mut().zip(other.outcomes) {
            own.add(others);
        }
    }

    /// Returns the results so far; of everything once the judge is [finished](Sink::finish).
    #[must_use]
    pub fn report(&self) -> ExpectReport {
        ExpectReport { outcomes: self.outcomes.clone() }
    }

    /// Judges all sessions and the run as ended.
    fn end(&mut self) {
        for scope in std::mem::take(&mut self.sessions).into_values() {
            scope.end(&mut self.outcomes);
        }
        if let Some(run) = self.run.take() {
            run.end(&mut self.outcomes);
        }
    }

    fn take(&mut self, entry: &Entry) {
        let (context, source) = (entry.context(), &self.source);
        let outcomes = &mut self.outcomes;
        let begin = |per| Scope::new(per, outcomes, context, source.clone());
        let opens = matches!(entry, Entry::Event(event) if event.kind == EventKind::Open);
        let closes = entry.is_close();
        let mut scopes = Vec::new();
        if self.judges_runs {
            scopes.push(self.run.take().unwrap_or_else(|| begin(Per::Run)));
        }
        let mut reused = None;
        if self.judges_sessions {
            let known = self.sessions.remove(&context.session);
            let (known, over) = if opens { (None, known) } else { (known, None) };
            reused = over;
            scopes.push(known.unwrap_or_else(|| begin(Per::Session)));
        }
        // Another session has the same number.
        if let Some(over) = reused {
            over.end(outcomes);
        }
        for scope in &mut scopes {
            match entry {
                // The packet that it replaces has been judged.
                Entry::Packet(record) if record.of.is_some() => {}
                Entry::Packet(record) => scope.take(record, outcomes),
                Entry::Event(event) => scope.pass(event.at, context),
            }
        }
        if self.judges_sessions
            && let Some(scope) = scopes.pop()
        {
            if closes {
                scope.end(outcomes);
            } else {
                self.sessions.insert(context.session, scope);
            }
        }
        self.run = scopes.pop();
    }
}

impl Sink for Judge {
    fn write(&mut self, entry: &Entry) -> io::Result<()> {
        if !self.is_empty() {
            self.take(entry);
        }
        Ok(())
    }

    fn finish(&mut self) -> io::Result<()> {
        self.end();
        Ok(())
    }
}
