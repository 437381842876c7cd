use std::collections::HashMap;
use std::io;
use std::sync::Arc;

use super::{ExplainReport, Explained, Watched};
use crate::analysis::Lag;
use crate::capture::{Entry, EventKind, Sink};

/// Finds out how sessions ended: a sink for the entries of captures.
///
/// What is kept of sessions that have ended is bounded: the first 10,000, each with its first ten pieces of
/// evidence, whose packets are kept up to 64 MiB.
#[derive(Debug, Default)]
pub struct Explainer {
    source: Option<Arc<str>>,
    sessions: HashMap<u64, Watched>,
    lag: Lag,
    report: ExplainReport,
}

impl Explainer {
    /// Begins a capture, whose session numbers are independent of those of the one before.
    pub fn begin(&mut self, source: &str) {
        self.end();
        self.source = Some(source.into());
    }

    /// Adds what was found in captures that follow.
    pub fn merge(&mut self, other: Self) {
        self.end();
        self.report.merge(other.into_report());
    }

    /// Ends all sessions that are still open, and returns what was found.
    #[must_use]
    pub fn into_report(mut self) -> ExplainReport {
        self.end();
        self.report
    }

    fn end(&mut self) {
        let _ = self.lag.finish();
        let mut sessions: Vec<(u64, Watched)> = self.sessions.drain().collect();
        sessions.sort_by_key(|(session, _)| *session);
        for (number, session) in sessions {
            self.explain(number, session);
        }
    }

    fn explain(&mut self, number: u64, session: Watched) {
        self.report.add(Explained::of(session, self.lag.findings_of(number)));
    }
}

impl Sink for Explainer {
    fn write(&mut self, entry: &Entry) -> io::Result<()> {
        let number = entry.context().session;
        self.lag.write(entry)?;
        if let Entry::Event(event) = entry
            && event.kind == EventKind::Open
            && let Some(before) = self.sessions.remove(&number)
        {
            self.explain(number, before);
        }
        let source = self.source.as_ref();
        let new = || Watched::new(source.cloned(), Arc::clone(entry.context()));
        self.sessions.entry(number).or_insert_with(new).take(entry)?;
        if entry.is_close()
            && let Some(session) = self.sessions.remove(&number)
        {
            self.explain(number, session);
        }
        Ok(())
    }

    fn finish(&mut self) -> io::Result<()> {
        self.end();
        Ok(())
    }
}
