//! What `explain` prints, and its exit codes.

use serde_json::Value as Json;

use crate::support::{Program, fails, refuses, root, scratch_file, text};

#[test]
fn sessions_that_ended_as_they_should_have_exit_code_0_and_others_1() {
    let capture = |name: &str| root().join("captures").join(name);
    let (left, kicked) = (capture("session-1.6.4.jsonl"), capture("session-1.12.2.jsonl"));
    let said = Program::mitmcraft(&["explain", text(&left)]).succeed();
    assert!(said.ends_with(" s: nothing is wrong; the client left\n"), "{said}");
    assert_eq!(said.lines().count(), 1);

    let (status, said) = Program::mitmcraft(&["explain", text(&left), text(&kicked)]).finish();
    assert_eq!(status.code(), Some(1), "{said}");
    assert!(said.contains("nothing is wrong with its packets; packet 19; "), "{said}");
    assert!(said.ends_with("\n2 sessions, 1 ended unexpectedly\n"), "{said}");

    let (status, said) = Program::mitmcraft(&["explain", "--json", text(&kicked)]).finish();
    assert_eq!(status.code(), Some(1), "{said}");
    let json: Json = serde_json::from_str(&said).unwrap();
    assert_eq!((&json["count"], &json["unexpected"]), (&1.into(), &1.into()));
    let session = &json["sessions"][0];
    for (key, value) in [
        ("ended", Json::from("disconnected")),
        ("by", "server".into()),
        ("words", "see you".into()),
        ("player", "Tester340".into()),
        ("seq", 19.into()),
    ] {
        assert_eq!(session[key], value, "{said}");
    }
    let evidence = &session["evidence"][0];
    assert_eq!((&evidence["certainty"], &evidence["seq"]), (&"possible".into(), &19.into()));
}

#[test]
fn the_first_line_names_the_packet_that_was_planted_into_a_capture() {
    let (faulty, junit) = (scratch_file("explain.jsonl"), scratch_file("explain.xml"));
    let whole = std::fs::read_to_string(root().join("captures/session-26.3.jsonl")).unwrap();
    let mut lines = Vec::new();
    for line in whole.lines() {
        let mut json: Json = serde_json::from_str(line).unwrap();
        if json["seq"] == 56 {
            // The id of nothing, and the client closes.
            json["body"] = "/wE=".into();
            json["size"] = 2.into();
            json.as_object_mut().unwrap().remove("fields");
            lines.push(json.to_string());
            continue;
        }
        if json["seq"].as_u64().is_some_and(|seq| seq > 56) {
            continue;
        }
        if json["event"] == "close" {
            json["reason"] = "closed by the client".into();
        }
        lines.push(json.to_string());
    }
    std::fs::write(&faulty, lines.join("\n") + "\n").unwrap();
    let arguments = ["explain", text(&faulty), "--junit", text(&junit)];
    let (status, said) = Program::mitmcraft(&arguments).finish();
    assert_eq!(status.code(), Some(1), "{said}");
    let first = said.lines().next().unwrap();
    assert!(first.ends_with(": cause: packet 56, id-unknown; the client gave up"), "{said}");
    assert!(std::fs::read_to_string(&junit).unwrap().contains("failures=\"1\""));
    assert!(refuses(&arguments).contains("--overwrite"));
}

#[test]
fn a_damaged_capture_is_explained_up_to_the_damage_with_exit_code_2() {
    let capture = scratch_file("cut-explain.jsonl");
    let whole = std::fs::read_to_string(root().join("captures/session-1.6.4.jsonl")).unwrap();
    std::fs::write(&capture, whole.trim_end().strip_suffix('}').unwrap()).unwrap();
    assert!(fails(&["explain", text(&capture)], 2).contains(text(&capture)));
    refuses(&["explain"]);
}
