use std::sync::Arc;

use crate::filter::Expect;
use crate::report::{Finding, Verdict};

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
    /// The first of the failures, with the packets around each.
    pub failures: Vec<Finding>,
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
    pub(super) fn fail(&mut self, failure: Finding) -> Option<usize> {
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
