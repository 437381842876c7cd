//! Incident files: what is in them, what is not, and when they are written.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Cursor, Read as _};
use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value as Json;

use super::*;
use crate::capture::{EntryRing, EventKind, LeftOut, ZipReader, read_capture};
use crate::lang::Expr;
use crate::lint::tests::planted::body::body;
use mitmcraft_protocol::packet::Timestamp;
use mitmcraft_protocol::schema::{Direction, State};

fn known(entries: &[Entry]) -> Acquaintance {
    let mut known = Acquaintance::default();
    entries.iter().filter_map(Entry::record).for_each(|it| known.take(&it.packet));
    known
}

fn incident(entries: Vec<Entry>) -> Incident {
    let known = known(&entries);
    let (left_out, at) = (LeftOut::default(), Timestamp(0));
    Incident { entries, left_out, trigger: Trigger::Kick, rule: None, at, known }
}

fn zip(incident: Incident, seed: Option<&[u8]>) -> Vec<u8> {
    let mut out = Cursor::new(Vec::new());
    incident.write(&mut out, seed).unwrap();
    out.into_inner()
}

/// The members of an archive by name, with the bytes of the capture's blocks as they are.
fn members(zip: &[u8]) -> BTreeMap<String, Vec<u8>> {
    let mut reader = ZipReader::new(zip);
    let mut found = BTreeMap::new();
    while let Some(name) = reader.next_member().unwrap() {
        let (name, mut bytes) = (name.to_owned(), Vec::new());
        reader.read_to_end(&mut bytes).unwrap();
        found.insert(name, bytes);
    }
    found
}

fn read(zip: &[u8]) -> Vec<Entry> {
    let entries = read_capture(Cursor::new(zip.to_vec()), Catalog::embedded()).unwrap();
    entries.map(Result::unwrap).collect()
}

fn captures() -> impl Iterator<Item = (PathBuf, Vec<Entry>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../captures");
    let files = std::fs::read_dir(folder).unwrap().map(|it| it.unwrap().path());
    let is_capture =
        |it: &PathBuf| it.extension().is_some_and(|end| end == "jsonl" || end == "pcapng");
    files.filter(is_capture).map(|file| {
        let entries = open_capture(&file, Catalog::embedded()).unwrap().map(Result::unwrap);
        let entries: Vec<Entry> = entries.collect();
        (file, entries)
    })
}

#[test]
fn an_incident_file_is_a_capture_with_what_is_known_about_it() {
    let words = "Internal Exception: io.netty.handler.codec.DecoderException: x";
    for version in VERSIONS {
        let channel = if version < 393 { "MC|Brand" } else { "minecraft:brand" };
        let brand = body().text(channel).text("vanilla");
        let script = Script::healthy(version).client("custom_payload", brand);
        let script = script.client("position", body().f64(1.0));
        let seq = script.seq;
        let entries = script.kick(State::Play, words).close("closed by the server").entries;
        let file = zip(incident(entries.clone()), None);
        // The first member, the capture, may become longer than 4 GiB: its version is that of 64-bit lengths.
        assert_eq!(file[4], 45);
        let found = members(&file);
        let names: Vec<&str> = found.keys().map(|it| &**it).collect();
        let expected = [
            "capture.pcapng",
            "report.json",
            "report.txt",
            "session.json",
            "statistics.json",
            "timeline.svg",
        ];
        assert_eq!(names, expected);
        let text = |name: &str| String::from_utf8(found[name].clone()).unwrap();
        let json = |name: &str| serde_json::from_str::<Json>(&text(name)).unwrap();
        let named = format!("packet {seq}, bytes-missing");
        assert!(text("report.txt").contains(&named), "{}", text("report.txt"));
        // Redaction keeps the fault.
        let redacted = members(&zip(incident(entries.clone()), Some(b"seed")));
        let redacted = String::from_utf8_lossy(&redacted["report.txt"]).into_owned();
        assert!(redacted.contains(&named), "{redacted}");
        assert_eq!(json("report.json")["sessions"][0]["evidence"][0]["seq"], seq);
        assert_eq!(json("session.json")["trigger"]["kind"], "kick");
        assert_eq!(json("session.json")["brands"]["client"], "vanilla");
        assert_eq!(json("session.json")["channels"]["client"][0], channel);
        assert_eq!(json("session.json")["session"]["protocol"], version);
        assert!(json("statistics.json")["total"]["packets"].as_u64() > Some(20));
        assert!(text("timeline.svg").starts_with("<svg"), "{}", text("timeline.svg"));
        // It is read like a capture, and explained in the same words.
        let again = read(&file);
        assert_eq!(again.len(), entries.len());
        assert_eq!(super::text(&explain(again)), text("report.txt"));
    }
}

#[test]
fn nothing_private_is_in_any_member_of_a_redacted_incident_file() {
    let mut looked = 0;
    for (file, entries) in captures() {
        let is_private = |text: &String| text.len() > 3 && !text.starts_with("unknown");
        let contexts = entries.iter().map(Entry::context);
        let mut private: BTreeSet<String> = contexts
            .flat_map(|it| [it.player.clone(), Some(it.client.to_string())])
            .flatten()
            .filter(is_private)
            .collect();
        let plain = members(&zip(incident(entries.clone()), None));
        if file.ends_with("session-1.12.2.jsonl") {
            private.insert("hello from a real client".to_owned());
        }
        let redacted = members(&zip(incident(entries), Some(b"seed")));
        let holds = |bytes: &[u8], text: &str| {
            bytes.windows(text.len()).any(|window| window == text.as_bytes())
        };
        for text in &private {
            assert!(plain.values().any(|bytes| holds(bytes, text)), "{file:?}: {text}");
            for (name, bytes) in &redacted {
                assert!(!holds(bytes, text), "{file:?}: {text} in {name}");
            }
            looked += 1;
        }
        let session: Json = serde_json::from_slice(&redacted["session.json"]).unwrap();
        assert_eq!(session["redacted"], true);
    }
    assert!(looked >= 15, "{looked}");
}

#[test]
fn nothing_is_wrong_with_the_last_minutes_of_a_healthy_session() {
    let mut explained = 0;
    for (file, entries) in captures() {
        for age in [1, 5, 20] {
            for bytes in [2_000, 40_000, 4 << 20] {
                let mut ring = EntryRing::new(Duration::from_secs(age), bytes).thinning();
                entries.iter().cloned().for_each(|entry| ring.push(entry));
                let report = explain(ring.iter().cloned());
                for session in &report.sessions {
                    let headline = session.headline();
                    let is_well = headline.contains("nothing is wrong");
                    assert!(is_well, "{file:?}, {age} s, {bytes}: {}", text(&report));
                    explained += 1;
                }
            }
        }
    }
    assert!(explained > 80, "{explained}");
}

#[test]
fn the_ends_and_faults_of_sessions_are_triggers() {
    let (condition, _) = Expr::parse("keep_alive", Catalog::embedded()).unwrap();
    let tripwire = Tripwire { condition: None };
    for version in VERSIONS {
        let healthy = Script::healthy(version);
        let judged = |script: Script| {
            let known = known(&script.entries);
            let found = tripwire.judge(script.entries.last().unwrap(), &known);
            found.map(|(trigger, rule)| (trigger, rule.unwrap_or_default()))
        };
        for (reason, is_kicked, trigger) in [
            ("closed by the client", false, Some(Trigger::Disconnect)),
            ("closed by the server", false, Some(Trigger::Disconnect)),
            ("closed by the server", true, Some(Trigger::Kick)),
            ("disconnected by the server: Bye", false, Some(Trigger::Kick)),
            ("lost the client: connection reset", false, Some(Trigger::Reset)),
            ("stopped by the user", false, None),
        ] {
            let script = healthy.clone();
            let script = if is_kicked { script.kick(State::Play, "Bye") } else { script };
            let found = judged(script.close(reason));
            assert_eq!(found.map(|(trigger, _)| trigger), trigger, "{reason}");
        }
        let bad = healthy.clone().client("position", body().f64(1.0));
        let found = judged(bad);
        assert_eq!(found, Some((Trigger::Undecodable, "bytes-missing".to_owned())), "{version}");
        let unknown = healthy.clone().bytes(Direction::Clientbound, State::Play, vec![0x7f, 1]);
        assert_eq!(judged(unknown).map(|it| it.0), Some(Trigger::Undecodable));
        // Nothing else is.
        let known = known(&healthy.entries);
        for entry in &healthy.entries {
            assert_eq!(tripwire.judge(entry, &known), None, "{entry:?}");
        }
        let stranger = Acquaintance::default();
        let pinged = healthy.clone().close("closed by the client");
        assert_eq!(tripwire.judge(pinged.entries.last().unwrap(), &stranger), None);
        let with = Tripwire { condition: Some(condition.clone()) };
        let found = healthy.entries.iter().filter(|it| with.judge(it, &known).is_some());
        assert_eq!(found.count(), 12, "{version}");
    }
    for (file, entries) in captures() {
        let known = known(&entries);
        for entry in entries {
            let is_close =
                matches!(&entry, Entry::Event(it) if matches!(it.kind, EventKind::Close(_)));
            let found = tripwire.judge(&entry, &known);
            assert!(is_close || found.is_none(), "{file:?}: {found:?}");
        }
    }
}
