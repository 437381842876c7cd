use std::fmt::Write as _;

use serde_json::{Value as Json, json};

use super::{Finding, LintReport, LintRule};
use crate::text::{LineOptions, xml};

impl LintReport {
    /// Returns the matrix and the findings as JSON.
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
        let findings: Vec<Json> = self.findings().iter().map(finding_json).collect();
        json!({ "versions": versions, "findings": findings })
    }

    /// Returns the matrix in the XML format of JUnit: a test suite for each version, a test case for each
    /// rule.
    #[must_use]
    pub fn junit(&self, options: &LineOptions) -> String {
        let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n");
        for (version, _) in self.versions() {
            let of = |rule: LintRule| {
                let ours = self.findings().iter();
                ours.filter(move |it| it.version() == version && it.rule == rule)
            };
            let broken =
                LintRule::ALL.into_iter().filter(|rule| of(*rule).next().is_some()).count();
            let version = xml(version);
            let _ = writeln!(
                out,
                "  <testsuite name=\"{version}\" tests=\"{}\" failures=\"{broken}\" errors=\"0\">",
                LintRule::ALL.len()
            );
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
        out.push_str("</testsuites>\n");
        out
    }
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
