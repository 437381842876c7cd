use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::{Finding, LintRule, Visit};
use crate::text::{Escaped, LineOptions, count};

/// The findings of a [`Linter`](super::Linter), and the visits that they are of.
#[derive(Debug, Clone)]
pub struct LintReport {
    /// The number of judged packets by version.
    pub(super) judged: BTreeMap<(i32, String), u64>,
    /// The findings, by version and rule.
    pub findings: Vec<Finding>,
    /// The visits whose packets were judged; none if captures were.
    pub visits: Vec<Visit>,
}

impl LintReport {
    /// Returns whether there is neither a finding nor a failed visit, and if there were visits, whether one
    /// has reached the game.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        let visits = &self.visits;
        self.findings.is_empty()
            && !visits.iter().any(Visit::has_failed)
            && (visits.is_empty() || !visits.iter().all(Visit::is_refused))
    }

    /// Iterates over the versions with the number of packets that were judged.
    pub fn versions(&self) -> impl Iterator<Item = (&str, u64)> {
        self.judged.iter().map(|((_, name), packets)| (name.as_str(), *packets))
    }

    /// Returns the number of packets of a version that break a rule.
    #[must_use]
    pub fn count(&self, version: &str, rule: LintRule) -> u64 {
        let ours = self.findings.iter().filter(|it| it.version() == version && it.rule == rule);
        ours.map(|it| it.count).sum()
    }

    /// Appends the findings, how the visits went, and a matrix of versions and the rules that were broken.
    pub fn write_text(&self, out: &mut String, options: &LineOptions) {
        for finding in &self.findings {
            finding.write(out, options);
            out.push('\n');
        }
        for visit in &self.visits {
            let _ = writeln!(out, "{:<12} {}", visit.version, Escaped(&visit.describe()));
        }
        if !self.visits.is_empty() {
            out.push('\n');
        }
        let is_broken = |rule: &LintRule| self.findings.iter().any(|it| it.rule == *rule);
        let rules: Vec<LintRule> = LintRule::ALL.into_iter().filter(is_broken).collect();
        let _ = write!(out, "{:<12} {:>10} {:>10}", "version", "packets", "at fault");
        rules.iter().for_each(|rule| {
            let _ = write!(out, "  {}", rule.name());
        });
        out.push('\n');
        for (version, packets) in self.versions() {
            let counts: Vec<u64> = rules.iter().map(|rule| self.count(version, *rule)).collect();
            let _ = write!(out, "{version:<12} {packets:>10} {:>10}", counts.iter().sum::<u64>());
            for (rule, number) in rules.iter().zip(counts) {
                let text = if number == 0 { ".".to_owned() } else { number.to_string() };
                let _ = write!(out, "  {text:>width$}", width = rule.name().len());
            }
            out.push('\n');
        }
        let _ = writeln!(out, "{}", self.summary());
    }

    /// Returns a line with the number of findings.
    #[must_use]
    pub fn summary(&self) -> String {
        let uncertain = self.findings.iter().filter(|it| !it.certain).count();
        let words = count(self.findings.len() as u64, "finding");
        if uncertain == 0 { words } else { format!("{words}, of which {uncertain} uncertain") }
    }
}
