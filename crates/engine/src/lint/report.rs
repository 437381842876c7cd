use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::{Value as Json, json};

use super::linter::label;
use super::{ClientRule, LintRule, Visit};
use crate::report::{Case, Finding, Report, Suite, Verdict};
use crate::text::{Escaped, LineOptions, count};
use mitmcraft_protocol::meaning::Grade;

/// The findings of a [`Linter`](super::Linter), and the visits in which the packets came.
#[derive(Debug, Clone)]
pub struct LintReport {
    /// The number of judged packets by version.
    pub(super) judged: BTreeMap<(i32, String), u64>,
    /// The findings, by version and rule; each has its packet.
    pub findings: Vec<Finding>,
    /// The visits whose packets were judged; none if captures were.
    pub visits: Vec<Visit>,
    /// `true` if every finding is a failure; otherwise only certain ones are after which the session cannot go on.
    pub(super) is_strict: bool,
}

impl LintReport {
    /// Iterates over the versions with the number of packets that were judged.
    pub fn versions(&self) -> impl Iterator<Item = (&str, u64)> {
        self.judged.iter().map(|((_, name), packets)| (name.as_str(), *packets))
    }

    /// Returns the number of packets of a version that break a rule.
    #[must_use]
    pub fn count(&self, version: &str, rule: LintRule) -> u64 {
        self.broken(version, rule).map(|it| it.count).sum()
    }

    /// Counts every finding as a failure.
    #[must_use]
    pub fn strict(self, is_strict: bool) -> Self {
        Self { is_strict, ..self }
    }

    /// Returns a line with the number of findings.
    #[must_use]
    pub fn summary(&self) -> String {
        let number =
            |is: &dyn Fn(&Finding) -> bool| self.findings.iter().filter(|it| is(it)).count();
        let mut words = count(self.findings.len() as u64, "finding");
        let parts = [
            (number(&|it| !it.certain), "uncertain"),
            (number(&|it| it.certain && it.grade == Some(Grade::Corrects)), "corrected or flagged"),
            (
                number(&|it| it.certain && it.grade == Some(Grade::Differs)),
                "only different from the game",
            ),
        ];
        let parts = parts.into_iter().filter(|(number, _)| *number > 0);
        for (place, (number, what)) in parts.enumerate() {
            let _ =
                write!(words, "{} {number} {what}", if place == 0 { ", of which" } else { "," });
        }
        words
    }

    /// Returns whether a finding is a failure.
    fn counts(&self, finding: &Finding) -> bool {
        self.is_strict || finding.certain && finding.grade.is_none_or(|it| it == Grade::Ends)
    }

    fn broken(&self, version: &str, rule: LintRule) -> impl Iterator<Item = &Finding> {
        let findings = self.findings.iter();
        findings.filter(move |it| it.rule == rule.name() && version_name(it) == version)
    }

    fn suite(&self, version: &str, options: &LineOptions) -> Suite {
        let visit = self.visits.iter().find(|visit| visit.version == version).map(|visit| {
            let verdict = match (visit.has_failed(), visit.is_refused()) {
                (true, _) => Verdict::Failed,
                (false, true) => Verdict::Skipped,
                (false, false) => Verdict::Passed,
            };
            Case::new("visit", verdict, visit.describe())
        });
        let rules = LintRule::all().map(|rule| {
            let write = |out: &mut String, it| write_finding(out, it, options);
            let failures = self.broken(version, rule).filter(|it| self.counts(it));
            Case::of(rule.name(), failures, write)
        });
        Suite { name: version.to_owned(), cases: visit.into_iter().chain(rules).collect() }
    }
}

impl Report for LintReport {
    /// Returns whether there is neither a finding that counts nor a failed visit, and if there were visits, whether
    /// one has reached the game.
    fn passed(&self) -> bool {
        let visits = &self.visits;
        !self.findings.iter().any(|it| self.counts(it))
            && !visits.iter().any(Visit::has_failed)
            && (visits.is_empty() || !visits.iter().all(Visit::is_refused))
    }

    /// Returns the matrix, the findings and the visits.
    fn json(&self) -> Json {
        let versions = self.versions().map(|(version, packets)| {
            let counts = LintRule::all().map(|it| (it, self.count(version, it)));
            let broken = counts.filter(|(_, count)| *count > 0);
            let rules: serde_json::Map<String, Json> =
                broken.map(|(rule, count)| (rule.name().to_owned(), count.into())).collect();
            json!({ "version": version, "packets": packets, "rules": rules })
        });
        let findings: Json = self.findings.iter().map(Finding::json).collect();
        let mut json = json!({ "versions": versions.collect::<Json>(), "findings": findings });
        if !self.visits.is_empty() {
            json["visits"] = self.visits.iter().map(Visit::json).collect();
        }
        json
    }

    /// Appends the findings, how the visits went, and a matrix of versions and the rules that were broken.
    fn write_text(&self, out: &mut String, options: &LineOptions) {
        for finding in &self.findings {
            write_finding(out, finding, options);
            out.push('\n');
        }
        for visit in &self.visits {
            let _ = writeln!(out, "{:<12} {}", visit.version, Escaped(&visit.describe()));
        }
        if !self.visits.is_empty() {
            out.push('\n');
        }
        let is_broken = |rule: &LintRule| self.findings.iter().any(|it| it.rule == rule.name());
        let rules: Vec<LintRule> = LintRule::all().filter(is_broken).collect();
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

    /// Returns a suite for each version, with a case for each rule, and one for the visit.
    fn suites(&self, options: &LineOptions) -> Vec<Suite> {
        let judged = self.versions().map(|(version, _)| version);
        let visited = self.visits.iter().map(|visit| visit.version.as_str());
        let mut suites: Vec<Suite> = Vec::new();
        for version in judged.chain(visited) {
            if suites.iter().all(|suite| suite.name != version) {
                suites.push(self.suite(version, options));
            }
        }
        suites
    }
}

/// Returns the name of the version of a finding's packet.
fn version_name(finding: &Finding) -> &str {
    finding.packet().map_or("", |packet| packet.context().game_version())
}

/// Appends a finding with its packet, and its bytes with the place marked.
fn write_finding(out: &mut String, finding: &Finding, options: &LineOptions) {
    let Finding { rule, reason, count, place, .. } = finding;
    let label = label(finding.certain, finding.grade);
    let times = if *count > 1 { format!(", {count} packets") } else { String::new() };
    let _ = writeln!(out, "{rule}{label} in {}{times}: {}", version_name(finding), Escaped(reason));
    let number = finding.packet().map(|it| format!(", packet {}", it.seq())).unwrap_or_default();
    let _ = writeln!(out, "  {}{number}", place.session());
    finding.write_packets(out, options);
    if let Some(seen) = finding.player_sees {
        let is_client = ClientRule::ALL.iter().any(|it| it.name() == *rule);
        let is_seen = !is_client && finding.grade.is_none_or(|it| it == Grade::Ends);
        let whose = if !is_seen { "what follows" } else { "the player sees" };
        let _ = writeln!(out, "  {whose}: {seen}");
    }
}
