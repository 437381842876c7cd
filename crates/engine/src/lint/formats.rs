use std::fmt::Write as _;

use serde_json::{Value as Json, json};

use super::{Finding, LintReport, LintRule, Visit};
use crate::text::{LineOptions, xml};

impl LintReport {
    /// Returns the matrix, the findings and the visits as JSON.
    #[must_use]
    pub fn json(&self) -> Json {
        let versions: Vec<Json> = self
            .versions()
            .map(|(version, packets)| {
                let broken =
                    LintRule::ALL.into_iter().map(|rule| (rule, self.count(version, rule)));
                let broken = broken.filter(|(_, count)| *count > 0);
                let rules: serde_json::Map<String, Json> =
                    broken.map(|(rule, count)| (rule.name().to_owned(), count.into())).collect();
                json!({ "version": version, "packets": packets, "rules": rules })
            })
            .collect();
        let findings: Vec<Json> = self.findings.iter().map(finding_json).collect();
        let mut json = json!({ "versions": versions, "findings": findings });
        if !self.visits.is_empty() {
            json["visits"] = self.visits.iter().map(visit_json).collect();
        }
        json
    }

    /// Returns the matrix in the XML format of JUnit: a test suite for each version, a test case for each
    /// rule, and one for the visit.
    #[must_use]
    pub fn junit(&self, options: &LineOptions) -> String {
        let judged = self.versions().map(|(version, _)| version);
        let visited = self.visits.iter().map(|visit| visit.version.as_str());
        let mut versions: Vec<&str> = Vec::new();
        for version in judged.chain(visited) {
            if !versions.contains(&version) {
                versions.push(version);
            }
        }
        let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n");
        versions.into_iter().for_each(|version| self.write_suite(&mut out, version, options));
        out.push_str("</testsuites>\n");
        out
    }

    /// Appends the test suite of a version.
    fn write_suite(&self, out: &mut String, version: &str, options: &LineOptions) {
        let of = |rule: LintRule| {
            let ours = self.findings.iter();
            ours.filter(move |it| it.version() == version && it.rule == rule)
        };
        let visit = self.visits.iter().find(|visit| visit.version == version);
        let broken = LintRule::ALL.into_iter().filter(|rule| of(*rule).next().is_some()).count();
        let failures = broken + usize::from(visit.is_some_and(Visit::has_failed));
        let tests = LintRule::ALL.len() + usize::from(visit.is_some());
        let version = xml(version);
        let _ = writeln!(
            out,
            "  <testsuite name=\"{version}\" tests=\"{tests}\" failures=\"{failures}\" errors=\"0\">"
        );
        if let Some(visit) = visit {
            let text = xml(&visit.describe());
            let _ = write!(out, "    <testcase classname=\"{version}\" name=\"visit\"");
            let _ = match (visit.has_failed(), visit.is_refused()) {
                (true, _) => writeln!(out, "><failure message=\"{text}\"/></testcase>"),
                (false, true) => writeln!(out, "><skipped message=\"{text}\"/></testcase>"),
                (false, false) => writeln!(out, "/>"),
            };
        }
        for rule in LintRule::ALL {
            let name = rule.name();
            let _ = write!(out, "    <testcase classname=\"{version}\" name=\"{name}\"");
            let Some(first) = of(rule).next() else {
                out.push_str("/>\n");
                continue;
            };
            let mut text = String::new();
            of(rule).for_each(|finding| finding.write(&mut text, options));
            let (message, text) = (xml(&first.reason), xml(text.trim_end()));
            let _ = writeln!(
                out,
                ">\n      <failure message=\"{message}\">{text}</failure>\n    </testcase>"
            );
        }
        out.push_str("  </testsuite>\n");
    }
}

fn visit_json(visit: &Visit) -> Json {
    let stages: Vec<&str> = visit.stages.iter().map(|stage| stage.name()).collect();
    json!({
        "version": visit.version,
        "protocol": visit.protocol,
        "refused": visit.is_refused(),
        "failed": visit.has_failed(),
        "stages": stages,
        "end": visit.end,
    })
}

fn finding_json(finding: &Finding) -> Json {
    let Finding { rule, certain, reason, source, record, field, span, count } = finding;
    let packet = &record.packet;
    json!({
        "rule": rule.name(),
        "certain": certain,
        "version": finding.version(),
        "reason": reason,
        "count": count,
        "capture": source.as_deref(),
        "session": packet.context().session,
        "seq": packet.seq(),
        "state": packet.state().name(),
        "packet": packet.kind().map(|kind| &**kind.name()),
        "id": packet.id(),
        "field": field,
        "at": span.as_ref().map(|span| span.start),
        "bytes": span.as_ref().map(ExactSizeIterator::len),
        "player_sees": rule.player_sees(),
    })
}
