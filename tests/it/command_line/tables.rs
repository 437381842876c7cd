//! Captures that were recorded with a description of the user, and verbs that read them.

use std::fs;
use std::path::PathBuf;

use serde_json::json;

use crate::support::{Program, convert, mitmcraft, read_lines, root, scratch_file, show, text};

/// Writes a description of protocol 47 that calls the clientbound keep-alive `name`.
fn description(name: &str) -> PathBuf {
    let packet = json!(["container", [
        { "name": "name", "type": ["mapper", { "type": "varint", "mappings": { "0x00": name } }] },
        { "name": "params", "type": ["switch", { "compareTo": "name", "fields": { name: "body" } }] },
    ]]);
    let body = json!(["container", [{ "name": "number", "type": "varint" }]]);
    let types = json!({ "packet": packet, "body": body });
    let json = json!({
        "types": { "varint": "native" }, "play": { "toClient": { "types": types } }
    });
    let path = scratch_file(&format!("{name}-47.json"));
    fs::write(&path, json.to_string()).unwrap();
    path
}

/// Converts the sample to a capture that was decoded with a description.
fn recorded(name: &str, to: &str) -> PathBuf {
    let from = root().join("captures/session-1.8.jsonl");
    let to = scratch_file(to);
    convert(&["--protocol", text(&description(name)), text(&from), text(&to)]);
    to
}

fn output(args: &[&str]) -> String {
    let output = mitmcraft().args(args).output().unwrap();
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn every_verb_reads_a_capture_with_the_descriptions_in_it() {
    let count = show(&root().join("captures/session-1.8.jsonl")).matches(" keep_alive ").count();
    assert!(count > 0);
    for name in ["mine.jsonl", "mine.pcapng", "mine.jsonl.zst"] {
        let mine = recorded("beat", name);
        let shown = show(&mine);
        assert_eq!(shown.matches(" beat ").count(), shown.matches(" number=").count(), "{name}");
        assert!(shown.contains(" beat "), "{shown}");
        assert!(output(&["stats", text(&mine)]).contains("beat"));
        let again = scratch_file("again.jsonl");
        convert(&[text(&mine), text(&again)]);
        assert_eq!(show(&again), shown);
        assert_eq!(read_lines(&again).iter().filter(|line| line["event"] == "table").count(), 1);
    }
}

#[test]
fn each_of_two_captures_keeps_its_own_descriptions() {
    let (mine, other) = (recorded("beat", "one.jsonl"), recorded("pulse", "two.pcapng"));
    let shown = output(&["show", text(&mine), text(&other)]);
    assert_eq!(shown.matches(" beat ").count(), shown.matches(" pulse ").count());
    assert!(shown.contains(" beat "));
    let differences = mitmcraft().args(["diff", text(&mine), text(&other)]).output().unwrap();
    let differences = String::from_utf8(differences.stdout).unwrap();
    assert!(differences.contains("beat") && differences.contains("pulse"), "{differences}");
}

#[test]
fn an_option_takes_precedence_over_the_capture_and_replaces_what_it_lacks() {
    let mine = recorded("beat", "precedence.jsonl");
    let lines = fs::read_to_string(&mine).unwrap();
    let lines: Vec<&str> = lines.lines().filter(|it| !it.contains("description")).collect();
    let without = scratch_file("without.jsonl");
    fs::write(&without, lines.join("\n")).unwrap();
    let said = crate::support::refuses(&["show", text(&without)]);
    assert!(said.contains("does not contain: name it with `--protocol`"), "{said}");
    let option = description("pulse");
    assert!(output(&["show", "--protocol", text(&option), text(&without)]).contains(" pulse "));
    let shown = output(&["show", "--protocol", text(&option), "-Y", "pulse", text(&mine)]);
    assert!(shown.contains(" pulse ") && !shown.contains(" beat "), "{shown}");
}

#[test]
fn a_redacted_capture_contains_its_descriptions_and_is_read_with_them() {
    for ending in ["jsonl", "pcapng"] {
        let mine = recorded("beat", &format!("secret.{ending}"));
        let safe = scratch_file(&format!("safe.{ending}"));
        convert(&["--redact", text(&mine), text(&safe)]);
        let beats = |path: &PathBuf| show(path).matches(" beat ").count();
        assert!(beats(&mine) > 0);
        assert_eq!(beats(&safe), beats(&mine), "{ending}");
        let stored = String::from_utf8_lossy(&fs::read(&safe).unwrap()).into_owned();
        assert!(!stored.contains("Tester"), "{ending}");
    }
}

#[test]
fn replay_takes_a_description_too() {
    let rules = scratch_file("beats.toml");
    fs::write(&rules, "[[rule]]\nname = 'no beats'\nwhen = 'beat'\ndrop = true\n").unwrap();
    let from = root().join("captures/session-1.8.jsonl");
    let mine = description("beat");
    let args = ["replay", "filters", "-f", text(&rules), text(&from)];
    let said = crate::support::refuses(&args);
    assert!(said.contains("`beat`"), "{said}");
    let ran = mitmcraft().args(args).args(["--protocol", text(&mine)]).output().unwrap();
    let shown = String::from_utf8(ran.stdout).unwrap();
    let dropped = shown.lines().filter(|line| line.contains(" beat ")).count();
    assert!(dropped > 0 && shown.contains(&format!("`no beats`: {dropped} matched")), "{shown}");
}

/// Writes a description that gives two packets of 1.8 other names and fields.
fn own_names() -> PathBuf {
    let path = scratch_file("own.json");
    let layout = |name: &str, field: &str| json!(["container", [{ "name": name, "type": field }]]);
    let description = json!({ "extends": "1.8.9", "play": {
        "toClient": { "packets": { "0x05": "home" }, "types": { "packet_home": layout("at", "u64") } },
        "toServer": { "packets": { "0x09": "hand" }, "types": { "packet_hand": layout("slot", "i16") } },
    } });
    fs::write(&path, description.to_string()).unwrap();
    path
}

#[test]
fn a_server_and_a_client_are_replayed_with_the_users_own_tables() {
    let (own, sample) = (own_names(), root().join("captures/session-1.8.jsonl"));
    let plain = show(&sample);
    assert!(
        plain.contains(" spawn_position ") && plain.contains("→ play      0x09 held_item_slot")
    );
    let [at_server, at_client] = ["server.jsonl", "client.jsonl"].map(scratch_file);
    let options = ["--protocol", text(&own), "--pace", "lockstep", "-q", "-w"];
    let server = ["replay", "server", text(&sample), "-l", "127.0.0.1:0"];
    let mut server = Program::mitmcraft(&[&server[..], &options, &[text(&at_server)]].concat());
    let upstream = format!("127.0.0.1:{}", server.listening());
    let client = ["replay", "client", text(&sample), &upstream, "--expect"];
    // What arrives is compared by the own names, too.
    Program::mitmcraft(&[&client[..], &options, &[text(&at_client)]].concat()).succeed();
    server.interrupt();
    server.succeed();
    for written in [at_server, at_client] {
        let lines = read_lines(&written);
        let fields = |name: &str, direction: &str| {
            let found = lines.iter().find(|it| it["packet"] == name && it["dir"] == direction);
            found.unwrap_or_else(|| panic!("no {name} in {}", written.display()))["fields"].clone()
        };
        assert!(fields("home", "clientbound")["at"].is_u64());
        assert_eq!(fields("hand", "serverbound"), json!({ "slot": 3 }));
        assert!(lines.iter().all(|it| it["packet"] != "spawn_position" && it["error"].is_null()));
        // The capture has the tables, and is read with them without the option.
        assert!(show(&written).contains(" home "));
    }
}

#[test]
fn rules_names_and_dissectors_are_made_with_the_users_own_tables() {
    let (own, rules) = (own_names(), scratch_file("home.toml"));
    let option = ["--protocol", text(&own)];
    fs::write(&rules, "[[rule]]\nwhen = 'home and at > 5'\ndrop = true\n").unwrap();
    let (status, said) = Program::mitmcraft(&["check", text(&rules)]).finish();
    assert_eq!(status.code(), Some(1), "{said}");
    output(&[&["check", text(&rules)], &option[..]].concat());
    let known = output(&[&["protocols", "47", "home"], &option[..]].concat());
    assert_eq!(known, "play          clientbound 0x05  home\n    at: u64\n");
    let (status, differs) =
        Program::mitmcraft(&[&["protocols", "diff", "5", "47"], &option[..]].concat()).finish();
    assert_eq!(status.code(), Some(1));
    assert!(differs.contains("+ play          clientbound 0x05  home"), "{differs}");
    assert!(output(&[&["wireshark", "47"], &option[..]].concat()).contains("\nhome.at "));
}
