use std::fmt::Write as _;

use super::outcome::{Failure, Outcome, Verdict};
use crate::capture::{Entry, Record};
use crate::text::{Escaped, LineOptions, count, write_line};

/// The results of all expectations.
#[derive(Debug, Clone)]
pub struct Report {
    /// The results, in the order of the files.
    pub outcomes: Vec<Outcome>,
}

impl Report {
    /// Returns whether no expectation failed, and at least one was judged.
    #[must_use]
    pub fn passed(&self) -> bool {
        self.count(Verdict::Failed) == 0 && self.count(Verdict::Passed) > 0
    }

    /// Returns the number of expectations with this result.
    #[must_use]
    pub fn count(&self, verdict: Verdict) -> usize {
        self.outcomes.iter().filter(|it| it.verdict() == verdict).count()
    }

    /// Appends the failures with the packets around them, and a table of all expectations.
    pub fn write_text(&self, out: &mut String, options: &LineOptions) {
        for outcome in &self.outcomes {
            for failure in &outcome.failures {
                let Outcome { expect, file, .. } = outcome;
                let _ = writeln!(out, "failed: {} ({file}:{})", expect.name, expect.line);
                failure.write(out, options);
                out.push('\n');
            }
            let more = outcome.failed - outcome.failures.len() as u64;
            if more > 0 {
                let _ = writeln!(out, "and {more} more of `{}`\n", outcome.expect.name);
            }
        }
        let _ = writeln!(out, "{:<8} {:>8} {:>8}  expectation", "result", "judged", "failed");
        for outcome in &self.outcomes {
            let (verdict, failed) = (outcome.verdict().name(), outcome.failed);
            let (judged, name) = (outcome.passed + failed, &outcome.expect.name);
            let _ = writeln!(out, "{verdict:<8} {judged:>8} {failed:>8}  {name}");
        }
        let _ = writeln!(out, "{}", self.summary());
    }

    /// Returns a line with the number of each result.
    #[must_use]
    pub fn summary(&self) -> String {
        let all = self.outcomes.len();
        let counts = [Verdict::Passed, Verdict::Failed, Verdict::Skipped]
            .map(|verdict| format!("{} {}", self.count(verdict), verdict.name()));
        format!("{}: {}", count(all as u64, "expectation"), counts.join(", "))
    }
}

impl Failure {
    /// Appends where and why it failed, and the packets around it: `>` marks the one that broke the
    /// expectation, `after` the one that began the judgement if it came much earlier.
    pub fn write(&self, out: &mut String, options: &LineOptions) {
        let _ = writeln!(out, "  {}: {}", self.place(), self.reason);
        let mut line = |mark: &str, record: &Record| {
            let _ = write!(out, "  {mark:>5} ");
            write_line(out, &Entry::Packet(record.clone()), options);
        };
        if let Some(opener) = &self.opener {
            line("after", opener);
        }
        for (place, record) in self.around.iter().enumerate() {
            line(if self.broken_by == Some(place) { ">" } else { "" }, record);
        }
    }

    /// Describes the session: `session.jsonl, session 3 (Steve)`.
    #[must_use]
    pub fn place(&self) -> String {
        let Self { source, session, player, .. } = self;
        let source = source.as_ref().map(|it| format!("{it}, ")).unwrap_or_default();
        let player = player.as_ref().map(|it| format!(" ({})", Escaped(it))).unwrap_or_default();
        format!("{source}session {session}{player}")
    }
}
