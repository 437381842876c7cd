use std::fmt::Write as _;

use serde_json::{Value as Json, json};

use super::Outcome;
use crate::report::{Annotation, Case, Finding, Report, Suite, Verdict};
use crate::text::{Escaped, LineOptions, count};

/// The results of all expectations.
#[derive(Debug, Clone)]
pub struct ExpectReport {
    /// The results, in the order of the files.
    pub outcomes: Vec<Outcome>,
}

impl ExpectReport {
    /// Returns the number of expectations with this result.
    #[must_use]
    pub fn count(&self, verdict: Verdict) -> usize {
        self.outcomes.iter().filter(|it| it.verdict() == verdict).count()
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

impl Report for ExpectReport {
    /// Returns whether no expectation failed, and at least one was judged.
    fn passed(&self) -> bool {
        self.count(Verdict::Failed) == 0 && self.count(Verdict::Passed) > 0
    }

    fn json(&self) -> Json {
        let [passed, failed, skipped] =
            [Verdict::Passed, Verdict::Failed, Verdict::Skipped].map(|verdict| self.count(verdict));
        let all: Json = self.outcomes.iter().map(Outcome::json).collect();
        json!({ "passed": passed, "failed": failed, "skipped": skipped, "expectations": all })
    }

    /// Appends the failures with the packets around them, and a table of all expectations.
    fn write_text(&self, out: &mut String, options: &LineOptions) {
        for outcome in &self.outcomes {
            let Outcome { expect, file, .. } = outcome;
            for failure in &outcome.failures {
                let (name, file) = (Escaped(&expect.name), Escaped(file));
                let _ = writeln!(out, "failed: {name} ({file}:{})", expect.line);
                write_failure(out, failure, options);
                out.push('\n');
            }
            if outcome.more() > 0 {
                let _ =
                    writeln!(out, "and {} more of `{}`\n", outcome.more(), Escaped(&expect.name));
            }
        }
        let _ = writeln!(out, "{:<8} {:>8} {:>8}  expectation", "result", "judged", "failed");
        for outcome in &self.outcomes {
            let (verdict, failed) = (outcome.verdict().name(), outcome.failed);
            let (judged, name) = (outcome.passed + failed, Escaped(&outcome.expect.name));
            let _ = writeln!(out, "{verdict:<8} {judged:>8} {failed:>8}  {name}");
        }
        let _ = writeln!(out, "{}", self.summary());
    }

    /// Returns a suite for each file, with a case for each expectation.
    fn suites(&self, options: &LineOptions) -> Vec<Suite> {
        let files = self.outcomes.chunk_by(|a, b| a.file == b.file);
        let suites = files.map(|outcomes| Suite {
            name: outcomes[0].file.to_string(),
            cases: outcomes.iter().map(|outcome| outcome.case(options)).collect(),
        });
        suites.collect()
    }
}

impl Outcome {
    /// Returns the number of failures that are not kept.
    fn more(&self) -> u64 {
        self.failed - self.failures.len() as u64
    }

    fn json(&self) -> Json {
        json!({
            "name": self.expect.name,
            "file": &*self.file,
            "line": self.expect.line,
            "result": self.verdict().name(),
            "judged": self.passed + self.failed,
            "failed": self.failed,
            "failures": self.failures.iter().map(Finding::json).collect::<Json>(),
        })
    }

    fn case(&self, options: &LineOptions) -> Case {
        let Self { expect, file, failed, .. } = self;
        if self.verdict() == Verdict::Skipped {
            return Case::new(&expect.name, Verdict::Skipped, "nothing was judged");
        }
        let write = |out: &mut String, it| write_failure(out, it, options);
        let mut case = Case::of(&expect.name, &self.failures, write);
        let Some(first) = self.failures.first() else { return case };
        if self.more() > 0 {
            let _ = writeln!(case.text, "and {} more", self.more());
        }
        let more = if *failed > 1 { format!(" ({failed} failures)") } else { String::new() };
        let message = format!("{}: {}{more}", first.place.session(), first.reason);
        let (file, line) = (file.clone(), expect.line);
        Case { annotation: Some(Annotation { file, line, message }), ..case }
    }
}

/// Appends where and why an expectation failed, and the packets around it.
fn write_failure(out: &mut String, failure: &Finding, options: &LineOptions) {
    let _ = writeln!(out, "  {}: {}", failure.place.session(), Escaped(&failure.reason));
    failure.write_packets(out, options);
}
