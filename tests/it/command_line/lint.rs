//! What `lint` prints and writes, and its exit codes.

use serde_json::Value as Json;

use crate::support::refusing::Refusing;
use crate::support::{Program, fails, refuses, root, scratch_file, text};

#[test]
fn a_capture_without_a_fault_has_exit_code_0_and_one_with_a_fault_1() {
    let captures = ["session-1.12.2.jsonl", "session-26.3.jsonl"];
    let captures = captures.map(|name| root().join("captures").join(name));
    let said = Program::mitmcraft(&["lint", "--capture", text(&captures[0]), text(&captures[1])]);
    let said = said.succeed();
    assert!(said.starts_with("version ") && said.ends_with("\n0 findings\n"), "{said}");
    assert!(said.contains("\n1.12.2 ") && said.contains("\n26.3 "), "{said}");

    // A byte too many in the first keep-alive of the server.
    let (faulty, junit) = (scratch_file("faulty.jsonl"), scratch_file("lint.xml"));
    let whole = std::fs::read_to_string(&captures[0]).unwrap();
    let mut changed = 0;
    let lines = whole.lines().map(|line| {
        let mut json: Json = serde_json::from_str(line).unwrap();
        if json["packet"] == "kick_disconnect" {
            // The id and a text that is a byte shorter, and a byte after it.
            json["body"] = "GhF7InRleHQiOiJzZWUgeW8ifQA=".into();
            json.as_object_mut().unwrap().remove("fields");
            changed += 1;
        }
        json.to_string() + "\n"
    });
    std::fs::write(&faulty, lines.collect::<String>()).unwrap();
    assert_eq!(changed, 1);
    let arguments = ["lint", "--capture", text(&faulty), "--junit", text(&junit)];
    let (status, said) = Program::mitmcraft(&arguments).finish();
    assert_eq!(status.code(), Some(1), "{said}");
    assert!(said.contains("bytes-left in 1.12.2: "), "{said}");
    assert!(said.contains("\n  the player sees: the connection is lost: "), "{said}");
    assert!(std::fs::read_to_string(&junit).unwrap().contains("failures=\"1\""));
    assert!(refuses(&arguments).contains("--overwrite"));
    let (status, said) =
        Program::mitmcraft(&["lint", "--capture", text(&faulty), "--json"]).finish();
    assert_eq!(status.code(), Some(1), "{said}");
    let json: Json = serde_json::from_str(&said).unwrap();
    let finding = &json["findings"][0];
    assert_eq!(
        (&finding["rule"], &finding["packet"]),
        (&"bytes-left".into(), &"kick_disconnect".into())
    );
    assert_eq!(json["versions"][0]["rules"]["bytes-left"], 1);
}

#[test]
fn a_damaged_capture_is_linted_up_to_the_damage_with_exit_code_2() {
    let capture = scratch_file("cut.jsonl");
    let whole = std::fs::read_to_string(root().join("captures/session-1.12.2.jsonl")).unwrap();
    std::fs::write(&capture, whole.trim_end().strip_suffix('}').unwrap()).unwrap();
    assert!(fails(&["lint", "--capture", text(&capture)], 2).contains(text(&capture)));
    refuses(&["lint"]);
}

/// A recording stands in for a server: it lets in one version, and ends by disconnecting the player.
#[test]
fn a_visit_that_the_server_ends_or_refuses_has_exit_code_1() {
    let capture = root().join("captures/session-1.12.2.jsonl");
    let mut server = Program::mitmcraft(&["replay", "server", text(&capture), "-l", "127.0.0.1:0"]);
    let address = format!("127.0.0.1:{}", server.listening());
    let lint = |more: &[&str]| {
        let briefly = ["--stay", "0", "--pause", "0", "--patience", "300"];
        let arguments = [&["lint", &address], &briefly[..]].concat();
        Program::mitmcraft(&[&arguments[..], more].concat()).finish()
    };
    let (status, said) = lint(&["--versions", "1.12.2"]);
    assert_eq!(status.code(), Some(1), "{said}");
    let ended = "1.12.2       status, login, join; disconnected by the server: see you\n";
    assert!(said.starts_with(ended) && said.ends_with("\n0 findings\n"), "{said}");

    let (junit, visits) = (scratch_file("visits.xml"), scratch_file("visits.jsonl"));
    let more = ["--versions", "1.8.9,340", "--json", "--junit", text(&junit), "-w", text(&visits)];
    let (status, said) = lint(&more);
    assert_eq!(status.code(), Some(1), "{said}");
    let json: Json = serde_json::from_str(&said).unwrap();
    let seen = |visit: &Json| {
        (visit["protocol"].as_i64(), visit["refused"].as_bool(), visit["failed"].as_bool())
    };
    let visited: Vec<_> = json["visits"].as_array().unwrap().iter().map(seen).collect();
    let (yes, no) = (Some(true), Some(false));
    assert_eq!(visited, [(Some(47), yes, yes), (Some(340), no, yes)]);
    let xml = std::fs::read_to_string(&junit).unwrap();
    assert_eq!(xml.matches("<failure").count(), 2, "{xml}");
    // The capture of the visits has what was judged.
    let (_, again) = Program::mitmcraft(&["lint", "--capture", text(&visits), "--json"]).finish();
    let again: Json = serde_json::from_str(&again).unwrap();
    assert_eq!(again["versions"], json["versions"]);

    // By default a server need not let all versions in.
    let (_, said) = lint(&["--json"]);
    let json: Json = serde_json::from_str(&said).unwrap();
    let visited: Vec<_> = json["visits"].as_array().unwrap().iter().map(seen).collect();
    assert_eq!(visited.len(), 8);
    let failed: Vec<_> = visited.iter().filter(|(.., failed)| *failed == yes).collect();
    assert_eq!(failed, [&(Some(340), no, yes)]);
    server.interrupt();
    server.succeed();
}

#[test]
fn a_finding_of_a_visit_has_exit_code_1_and_its_bytes() {
    let capture = root().join("captures/session-1.8.jsonl");
    let mut server = Program::mitmcraft(&["replay", "server", text(&capture), "-l", "127.0.0.1:0"]);
    let address = format!("127.0.0.1:{}", server.listening());
    let arguments =
        ["lint", &address, "--versions", "1.8.9", "--stay", "0", "--pause", "0", "--patience", "5"];
    let (status, said) = Program::mitmcraft(&arguments).finish();
    assert_eq!(status.code(), Some(1), "{said}");
    let reason = "`effect_ambience` is of type item_stack, the game reads byte";
    assert!(said.contains("metadata-invalid in 1.8") && said.contains(reason), "{said}");
    assert!(said.contains("^^\n  the player sees: the game crashes"), "{said}");
    server.interrupt();
    server.succeed();
}

#[test]
fn what_cannot_be_visited_is_refused() {
    for (arguments, hint) in [
        (&["localhost", "--capture", "a.jsonl"][..], "--capture"),
        (&["--versions", "1.8.9", "--capture", "a.jsonl"], "UPSTREAM"),
        (&["localhost", "--versions", "1.99"], "mitmcraft protocols"),
        (&["localhost", "--versions", "1.21.4..1.8.9"], "the older end comes first"),
        (&["localhost", "--versions", "beta-1.7.3"], "since 1.7"),
        (&["localhost", "-w", "-"], "stdout is for the report"),
    ] {
        let said = refuses(&[&["lint"], arguments].concat());
        assert!(said.contains(hint), "{arguments:?}: {said}");
    }
    let nobody = Refusing::tcp();
    let said = fails(&["lint", &nobody.address()], 2);
    assert!(said.contains("cannot reach 127.0.0.1"), "{said}");
}

/// Writes the login of 1.8 without one of the server's packets, and half a minute after it.
fn stuck(name: &str, missing: &str) -> std::path::PathBuf {
    let (path, mut seq) = (scratch_file(name), 0);
    let whole = std::fs::read_to_string(root().join("captures/session-1.8.jsonl")).unwrap();
    let lines = whole.lines().filter_map(|line| {
        let mut json: Json = serde_json::from_str(line).unwrap();
        let is_late = json["packet"] == "kick_disconnect" || json["event"] == "close";
        if is_late {
            json["time"] = json["time"].as_str().unwrap().replace("02:20:0", "02:20:3").into();
        }
        let is_play = json["state"] == "play" && json["packet"].is_string();
        if is_play && (json["dir"] == "serverbound" || json["packet"] == missing) {
            return None;
        }
        if json["seq"].is_u64() {
            seq += 1;
            json["seq"] = seq.into();
        }
        Some(json.to_string() + "\n")
    });
    std::fs::write(&path, lines.collect::<String>()).unwrap();
    path
}

#[test]
fn a_session_that_is_stuck_says_what_it_waits_for_in_every_view() {
    let missing = "the client waits for its world: no position for ";
    let capture = stuck("stuck.jsonl", "position");
    let (status, said) = Program::mitmcraft(&["lint", "--capture", text(&capture)]).finish();
    assert_eq!(status.code(), Some(1), "{said}");
    assert!(said.contains(&format!("join-incomplete in 1.8.9: {missing}")), "{said}");
    let (_, warned) = Program::mitmcraft(&["show", text(&capture)]).succeed_with_errors();
    assert!(warned.contains(&format!("session 1 is stuck: {missing}")), "{warned}");
    // Nothing is missing.
    let capture = stuck("shown.jsonl", "update_health");
    let said = Program::mitmcraft(&["lint", "--capture", text(&capture)]).finish().1;
    assert!(!said.contains("join-incomplete"), "{said}");
    let (_, warned) = Program::mitmcraft(&["show", text(&capture)]).succeed_with_errors();
    assert!(!warned.contains("stuck"), "{warned}");
}

/// The client of the capture is a bot: it does not click as the game does.
#[test]
fn what_only_differs_from_the_game_is_a_failure_if_it_is_asked_for() {
    let capture = root().join("captures/session-1.8.jsonl");
    let (plain, strict) = (scratch_file("plain.xml"), scratch_file("strict.xml"));
    let arguments = ["lint", "--side", "client", "--capture", text(&capture), "--junit"];
    let said = Program::mitmcraft(&[&arguments[..], &[text(&plain)]].concat()).succeed();
    assert!(said.contains("click-late (corrected) in 1.8.9"), "{said}");
    assert!(said.contains("\n  what follows: Grim (PacketOrderF) flags it"), "{said}");
    assert!(!std::fs::read_to_string(&plain).unwrap().contains("<failure"));
    let arguments = [&arguments[..], &[text(&strict), "--strict"]].concat();
    assert_eq!(Program::mitmcraft(&arguments).finish().0.code(), Some(1));
    assert!(std::fs::read_to_string(&strict).unwrap().contains("<failure"));
}

#[test]
fn a_proxy_shows_findings_while_they_happen() {
    let session = root().join("captures/session-1.8.jsonl");
    let mut server = Program::mitmcraft(&["replay", "server", text(&session), "-l", "127.0.0.1:0"]);
    let capture = scratch_file("linted.jsonl");
    let upstream = format!("127.0.0.1:{}", server.listening());
    let mut proxy = Program::proxy(&upstream, &["--lint", "-w", text(&capture)]);
    let address = format!("127.0.0.1:{}", proxy.listening());
    Program::mitmcraft(&["replay", "client", text(&session), &address]).finish();
    let said = proxy.wait_for_error("metadata-invalid in session ");
    assert!(
        said.contains("(play named_entity_spawn of Tester): `effect_ambience` is of"),
        "{said}"
    );
    proxy.interrupt();
    proxy.succeed();
    server.interrupt();
    server.succeed();
    let comments = std::fs::read_to_string(&capture).unwrap();
    assert!(
        comments.contains("\"comment\":\"metadata-invalid: `effect_ambience` is of"),
        "{comments}"
    );
}

#[test]
fn clients_are_compared_by_their_ticks() {
    let session = root().join("captures/session-1.8.jsonl");
    let said = Program::mitmcraft(&["diff", "--ticks", text(&session), text(&session)]);
    let (said, noted) = said.succeed_with_errors();
    assert_eq!(said, "");
    assert!(noted.contains("compared 13 ticks"), "{noted}");
    // A client that takes another first step.
    let other = scratch_file("other.jsonl");
    let whole = std::fs::read_to_string(&session).unwrap();
    let mut steps = 0;
    let lines = whole.lines().map(|line| {
        let mut json: Json = serde_json::from_str(line).unwrap();
        if json["packet"] == "position" && json["dir"] == "serverbound" {
            steps += 1;
            if steps == 1 {
                json["fields"]["x"] = 9.25.into();
                json.as_object_mut().unwrap().remove("body");
            }
        }
        json.to_string() + "\n"
    });
    std::fs::write(&other, lines.collect::<String>()).unwrap();
    let (status, said) =
        Program::mitmcraft(&["diff", "--ticks", text(&session), text(&other)]).finish();
    assert_eq!(status.code(), Some(1), "{said}");
    assert!(said.contains("\n@@ tick 3 @@\n~ "), "{said}");
    assert!(said.ends_with("      x: 8.6 -> 9.25\n"), "{said}");
    let arguments = ["diff", "--ticks", "--json", text(&session), text(&other)];
    let said = Program::mitmcraft(&arguments).finish().1;
    let json: Json = serde_json::from_str(said.trim_end()).unwrap();
    assert!(json["tick"] == 3 && json["kind"] == "changed", "{said}");
}
