use std::fmt::Write as _;

use serde_json::{Value as Json, json};

use super::Report;
use super::outcome::{Failure, Outcome, Verdict};
use crate::capture::Record;
use crate::text::{LineOptions, xml};

impl Report {
    /// Returns the results as JSON.
    #[must_use]
    pub fn json(&self) -> Json {
        let [passed, failed, skipped] =
            [Verdict::Passed, Verdict::Failed, Verdict::Skipped].map(|verdict| self.count(verdict));
        let all: Vec<Json> = self.outcomes.iter().map(outcome_json).collect();
        json!({ "passed": passed, "failed": failed, "skipped": skipped, "expectations": all })
    }

    /// Returns the results in the XML format of JUnit: a test suite for each file, a test case for each
    /// expectation.
    #[must_use]
    pub fn junit(&self, options: &LineOptions) -> String {
        let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n");
        for outcomes in self.outcomes.chunk_by(|a, b| a.file == b.file) {
            let number =
                |verdict| outcomes.iter().filter(|outcome| outcome.verdict() == verdict).count();
            let file = xml(&outcomes[0].file);
            let _ = writeln!(
                out,
                "  <testsuite name=\"{file}\" tests=\"{}\" failures=\"{}\" errors=\"0\" skipped=\"{}\">",
                outcomes.len(),
                number(Verdict::Failed),
                number(Verdict::Skipped),
            );
            for outcome in outcomes {
                write_case(&mut out, &file, outcome, options);
            }
            out.push_str("  </testsuite>\n");
        }
        out.push_str("</testsuites>\n");
        out
    }

    /// Returns the failures as annotations of GitHub's workflows, one per line.
    #[must_use]
    pub fn github(&self) -> String {
        let mut out = String::new();
        for outcome in &self.outcomes {
            let Outcome { expect, file, failed, .. } = outcome;
            let Some(first) = outcome.failures.first() else { continue };
            let more = if *failed > 1 { format!(" ({failed} failures)") } else { String::new() };
            let message = format!("{}: {}{more}", first.place(), first.reason);
            let (file, title) = (property(file), property(&expect.name));
            let line = expect.line;
            let _ =
                writeln!(out, "::error file={file},line={line},title={title}::{}", data(&message));
        }
        out
    }
}

fn outcome_json(outcome: &Outcome) -> Json {
    let failures: Vec<Json> = outcome.failures.iter().map(failure_json).collect();
    json!({
        "name": outcome.expect.name,
        "file": &*outcome.file,
        "line": outcome.expect.line,
        "result": outcome.verdict().name(),
        "judged": outcome.passed + outcome.failed,
        "failed": outcome.failed,
        "failures": failures,
    })
}

fn failure_json(failure: &Failure) -> Json {
    let Failure { source, session, player, at, reason, opener, around, broken_by } = failure;
    let around: Vec<Json> = around.iter().map(packet_json).collect();
    json!({
        "capture": source.as_deref(),
        "session": session,
        "player": player,
        "time": at.to_string(),
        "reason": reason,
        "after": opener.as_ref().map(packet_json),
        "packets": around,
        "broken_by": broken_by,
    })
}

fn packet_json(record: &Record) -> Json {
    let packet = &record.packet;
    json!({
        "session": packet.context().session,
        "seq": packet.seq(),
        "time": packet.at().to_string(),
        "dir": packet.direction().name(),
        "state": packet.state().name(),
        "packet": packet.kind().map(|kind| &**kind.name()),
        "size": packet.size(),
    })
}

fn write_case(out: &mut String, file: &str, outcome: &Outcome, options: &LineOptions) {
    let name = xml(&outcome.expect.name);
    let _ = write!(out, "    <testcase classname=\"{file}\" name=\"{name}\"");
    match outcome.verdict() {
        Verdict::Passed => out.push_str("/>\n"),
        Verdict::Skipped => out.push_str("><skipped message=\"nothing was judged\"/></testcase>\n"),
        Verdict::Failed => {
            let message = outcome.failures.first().map_or("", |it| it.reason.as_str());
            let mut text = String::new();
            outcome.failures.iter().for_each(|failure| failure.write(&mut text, options));
            let more = outcome.failed - outcome.failures.len() as u64;
            if more > 0 {
                let _ = writeln!(text, "and {more} more");
            }
            let (message, text) = (xml(message), xml(text.trim_end()));
            let _ = writeln!(
                out,
                ">\n      <failure message=\"{message}\">{text}</failure>\n    </testcase>"
            );
        }
    }
}

/// Escapes the message of a workflow command.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// Escapes a property of a workflow command.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
