use std::sync::Arc;

use crate::capture::Record;
use crate::filter::Expect;
use mitmcraft_protocol::packet::Timestamp;

/// The result of an expectation in everything that was judged.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Outcome {
    /// The expectation.
    pub expect: Expect,
    /// The file that has it, as the user named it.
    pub file: Arc<str>,
    /// The number of judgements that it passed.
    pub passed: u64,
    /// The number of judgements that it failed.
    pub failed: u64,
    /// The first of the failures.
    pub failures: Vec<Failure>,
}

/// The result of an expectation in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// Every judgement passed.
    Passed,
    /// A judgement failed.
    Failed,
    /// Nothing was judged: no packet matches `after`, or there was no session.
    Skipped,
}

impl Verdict {
    /// Returns `passed`, `failed` or `skipped`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::Skipped => "skipped",
        }
    }
}

/// A broken expectation, with the packets around it.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Failure {
    /// The capture; `None` of a live session.
    pub source: Option<Arc<str>>,
    /// The number of the session, of a run that of its last packet.
    pub session: u64,
    /// The player's name, if it was known.
    pub player: Option<String>,
    /// The time at which it was broken.
    pub at: Timestamp,
    /// What was found, and what was expected.
    pub reason: String,
    /// The packet that began the judgement, if one did.
    pub opener: Option<Record>,
    /// The last packets before the failure, the one that broke the expectation, and the next ones.
    pub around: Vec<Record>,
    /// The place in `around` of the packet that broke the expectation; `None` if the lack of one did.
    pub broken_by: Option<usize>,
}

impl Outcome {
    pub(super) fn new(file: Arc<str>, expect: Expect) -> Self {
        Self { expect, file, passed: 0, failed: 0, failures: Vec::new() }
    }

    /// Returns the result in one word.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        match (self.failed, self.passed) {
            (0, 0) => Verdict::Skipped,
            (0, _) => Verdict::Passed,
            _ => Verdict::Failed,
        }
    }

    /// Counts a failure. Returns its place in [`failures`](Self::failures), if it is kept.
    pub(super) fn fail(&mut self, failure: Failure) -> Option<usize> {
        self.failed += 1;
        if self.failures.len() == KEPT {
            return None;
        }
        self.failures.push(failure);
        Some(self.failures.len() - 1)
    }

    /// Adds the result of the same expectation in other captures.
    pub(super) fn add(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.failures.extend(other.failures);
        self.failures.truncate(KEPT);
    }
}

/// The number of failures of an expectation that are kept with their packets.
const KEPT: usize = 10;
