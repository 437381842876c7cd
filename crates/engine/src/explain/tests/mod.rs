//! Causes planted into healthy sessions of several versions: the first evidence is their packet. The same
//! sessions without them, and the captures of real peers, have nothing that is wrong.

mod forwarding;
mod incident;
mod planted;
pub(crate) mod script;

use std::path::Path;

use super::*;
use crate::capture::{Entry, Sink as _, open_capture};
use crate::report::Report as _;
use crate::text::LineOptions;
use mitmcraft_protocol::schema::Catalog;
use script::Script;

/// The versions of the sessions.
const VERSIONS: [i32; 5] = [47, 754, 765, 769, 777];

fn explain(entries: impl IntoIterator<Item = Entry>) -> ExplainReport {
    let mut explainer = Explainer::default();
    for entry in entries {
        explainer.write(&entry).unwrap();
    }
    explainer.into_report()
}

/// Explains the only session of a script.
fn explained(script: Script) -> Explained {
    let mut report = explain(script.entries);
    assert_eq!(report.sessions.len(), 1);
    report.sessions.remove(0)
}

/// Returns the number and the rule of the first evidence.
fn first(explained: &Explained) -> Option<(u64, String)> {
    explained.evidence.first().map(|it| (it.seq, it.finding.rule.to_string()))
}

fn text(report: &ExplainReport) -> String {
    let mut text = String::new();
    report.write_text(&mut text, &LineOptions::default());
    text
}

#[test]
fn nothing_is_wrong_with_healthy_sessions_however_far_the_capture_goes() {
    for version in VERSIONS {
        let healthy = Script::healthy(version);
        for (script, kind) in [
            (healthy.clone().close("closed by the client"), EndKind::Left),
            (healthy.clone().close("stopped by the user"), EndKind::Stopped),
            (healthy.clone(), EndKind::Open),
        ] {
            let found = explained(script);
            assert_eq!((found.ending.kind, first(&found)), (kind, None), "{version}");
            assert!(found.headline().contains("nothing is wrong"), "{}", found.headline());
        }
        // A capture that was cut anywhere says nothing about the session.
        for entries in (1..healthy.entries.len()).step_by(5) {
            let found = explain(healthy.entries[..entries].iter().cloned());
            assert!(found.passed(), "{version}: {}", text(&found));
            assert!(found.sessions[0].evidence.is_empty(), "{version}: {}", text(&found));
        }
    }
}

#[test]
fn nothing_is_wrong_with_the_packets_of_real_peers() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../captures");
    let mut explained = 0;
    for file in std::fs::read_dir(folder).unwrap().map(|it| it.unwrap().path()) {
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        if !name.ends_with(".jsonl") && !name.ends_with(".pcapng") {
            continue;
        }
        let report = explain(open_capture(&file, Catalog::embedded()).unwrap().map(Result::unwrap));
        for session in &report.sessions {
            let headline = session.headline();
            assert!(headline.contains("nothing is wrong"), "{name}: {}", text(&report));
            // These were told to leave, with words of the server's own.
            let is_kicked = headline.contains(": see you") || headline.contains(": Goodbye!");
            assert_eq!(session.ending.kind == EndKind::Kicked, is_kicked, "{name}: {headline}");
            assert_eq!(session.is_expected(), !is_kicked, "{name}: {headline}");
            assert_eq!(session.evidence.len(), usize::from(is_kicked), "{name}: {}", text(&report));
            explained += 1;
        }
    }
    assert!(explained >= 14, "{explained}");
}

#[test]
fn the_sessions_that_a_report_lists_are_bounded_and_the_others_counted() {
    let mut explainer = Explainer::default();
    let script = Script::login(47).close("closed by the server");
    for _ in 0..10_003 {
        script.entries.iter().for_each(|entry| explainer.write(entry).unwrap());
    }
    let report = explainer.into_report();
    assert_eq!((report.sessions.len(), report.omitted), (10_000, (3, 3)));
    assert_eq!(report.counts(), (10_003, 10_003));
    assert!(!report.passed());
    let text = text(&report);
    assert!(text.ends_with("10003 sessions, 10003 ended unexpectedly\n3 sessions not listed\n"));
    assert_eq!(report.json()["omitted"], 3);
}
