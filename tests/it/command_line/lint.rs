//! What `lint` prints and writes, and its exit codes.

use serde_json::Value as Json;

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
