//! `show --fields` and `show --follow`.

use std::fs::{self, File};
use std::io::Write as _;

use crate::support::{Program, convert, refuses, root, scratch_file, text};

#[test]
fn show_prints_fields_as_columns() {
    let capture = root().join("captures/session-1.8.jsonl");
    let show = |fields: &str, form: &[&str]| {
        let condition = "serverbound and (chat or keep_alive)";
        let arguments = ["show", "-Y", condition, "--fields", fields, text(&capture)];
        Program::mitmcraft(&[&arguments, form].concat()).succeed()
    };
    let fields = "pkt.n,pkt.name,session.player,message,upper(message)";
    let table = show(fields, &[]);
    let rows: Vec<Vec<&str>> = table.lines().map(|row| row.split('\t').collect()).collect();
    assert!(rows.len() > 2 && rows.iter().all(|row| row.len() == 5), "{table}");
    let chat = rows.iter().find(|row| row[1] == "chat").unwrap();
    assert_eq!(chat[2..], ["Tester", "hello from a real client", "HELLO FROM A REAL CLIENT"]);
    let alive = rows.iter().find(|row| row[1] == "keep_alive").unwrap();
    assert_eq!(alive[3..], ["", ""]);

    let csv = show(fields, &["--csv"]);
    let lines: Vec<&str> = csv.split("\r\n").collect();
    assert_eq!(lines[0], fields);
    assert_eq!(lines.len(), rows.len() + 2, "{csv}");
    assert!(lines.contains(&chat.join(",").as_str()), "{csv}");

    let json = show("pkt.n,pkt.time,message", &["--json"]);
    assert_eq!(json.lines().count(), rows.len());
    for (line, row) in json.lines().zip(&rows) {
        let object: serde_json::Value = serde_json::from_str(line).unwrap();
        assert_eq!(object["pkt.n"], row[0].parse::<u64>().unwrap());
        assert!(object["pkt.time"].as_f64().unwrap() > 0.0);
        assert_eq!(object["message"].as_str().unwrap_or_default(), row[3]);
        assert!(object.as_object().unwrap().contains_key("message"));
    }
}

#[test]
fn lists_and_containers_are_columns_in_json() {
    let capture = root().join("captures/session-1.8.jsonl");
    let rows = |fields: &str, form: &str| {
        let condition = "window_items";
        let arguments = ["show", "-Y", condition, "--fields", fields, form, text(&capture)];
        Program::mitmcraft(&arguments).succeed()
    };
    let json = rows("windowId,items", "--json");
    let row: serde_json::Value = serde_json::from_str(json.lines().next().unwrap()).unwrap();
    let items = row["items"].as_array().unwrap();
    assert!(items.len() > 1 && items[0]["blockId"].is_i64(), "{json}");
    let last = rows("window_items.items[-1]", "--json");
    let last: serde_json::Value = serde_json::from_str(last.lines().next().unwrap()).unwrap();
    assert_eq!(&last["window_items.items[-1]"], items.last().unwrap());
    let csv = rows("items[0]", "--csv");
    assert!(csv.contains(r#""{""blockId"":"#), "{csv}");
}

#[test]
fn values_that_have_separators_are_quoted() {
    let capture = scratch_file("odd.jsonl");
    let body = [&[0x01, 0x0a][..], b"a,\"b\"\tc\nd\\"].concat();
    let head = r#"{"v":2,"session":1,"seq":1,"time":"2026-01-01T00:00:00Z","t":0.0,"dir":"serverbound","origin":"client","state":"play","protocol":47,"id":1,"packet":"chat","wire":13,"size":12,"verdict":"pass","body":""#;
    fs::write(&capture, format!("{head}{}\"}}\n", base64(&body))).unwrap();
    let show = |form: &[&str]| {
        let arguments = ["show", "--fields", "message,pkt.id", text(&capture)];
        Program::mitmcraft(&[&arguments, form].concat()).succeed()
    };
    assert_eq!(show(&["--csv"]), "message,pkt.id\r\n\"a,\"\"b\"\"\tc\nd\\\",1\r\n");
    assert_eq!(show(&[]), "a,\"b\"\\tc\\nd\\\t1\n");
    assert_eq!(show(&["--json"]), "{\"message\":\"a,\\\"b\\\"\\tc\\nd\\\\\",\"pkt.id\":1}\n");
}

#[test]
fn fields_that_do_not_exist_are_errors_as_in_conditions() {
    let capture = root().join("captures/session-1.8.jsonl");
    let said = refuses(&["show", "--fields", "pkt.n,mesage", text(&capture)]);
    assert!(said.contains("`--fields`") && said.contains("did you mean `message`?"), "{said}");
    assert!(refuses(&["show", "--fields", "x,x", text(&capture)]).contains("given twice"));
    assert!(refuses(&["show", "--csv", text(&capture)]).contains("--fields"));
    assert!(refuses(&["show", "--fields", "x", "-v", text(&capture)]).contains("--verbose"));
}

#[test]
fn show_follows_a_capture_that_grows() {
    let whole = root().join("captures/session-1.8.jsonl");
    let pcapng = scratch_file("whole.pcapng");
    convert(&[text(&whole), text(&pcapng)]);
    for (whole, name) in [(whole, "growing.jsonl"), (pcapng, "growing.pcapng")] {
        let shown = Program::mitmcraft(&["show", text(&whole)]).succeed();
        let bytes = fs::read(&whole).unwrap();
        let growing = scratch_file(name);
        // In the middle of an entry, and in the middle of the file's first bytes.
        let (first, rest) = bytes.split_at(bytes.len() / 2 + 3);
        fs::write(&growing, &first[..2]).unwrap();
        let mut program = Program::mitmcraft(&["show", "--follow", text(&growing)]);
        let mut file = File::options().append(true).open(&growing).unwrap();
        file.write_all(&first[2..]).unwrap();
        let mut expected = shown.lines();
        assert_eq!(program.line(), expected.next().unwrap());
        file.write_all(rest).unwrap();
        for line in expected {
            assert_eq!(program.line(), line, "{name}");
        }
        fs::write(&growing, "").unwrap();
        let (status, said) = program.fail();
        assert_eq!(status.code(), Some(2), "{said}");
        assert!(said.contains("was truncated while it was followed"), "{said}");
    }
}

#[test]
fn only_one_file_can_be_followed() {
    let capture = root().join("captures/session-1.8.jsonl");
    let capture = text(&capture);
    let said = refuses(&["show", "--follow", capture, capture]);
    assert!(said.contains("`--follow` reads one capture"), "{said}");
    assert!(refuses(&["show", "--follow", "-"]).contains("stdin"));
    let compressed = scratch_file("compressed.jsonl.gz");
    convert(&[capture, text(&compressed)]);
    let said = refuses(&["show", "--follow", text(&compressed)]);
    assert!(said.contains("compressed captures cannot be followed"), "{said}");
}

fn base64(bytes: &[u8]) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.encode(bytes)
}

#[test]
fn the_contents_of_chunks_are_counted_shown_and_asked_for() {
    let capture = root().join("captures/session-1.8.jsonl");
    let show = |arguments: &[&str]| {
        Program::mitmcraft(&[&["show"], arguments, &[text(&capture)]].concat()).succeed()
    };
    let tree = show(&["-v", "-Y", "map_chunk"]);
    assert!(
        tree.contains(
            "    contents: chunk 0,0, 1 section, 1024 of 4096 blocks are not air, \
             block light of 1 section, sky light of 1 section\n        \
             blocks: dirt 768, bedrock 256\n"
        ),
        "{tree}"
    );
    assert!(!tree.contains("from above"), "{tree}");
    let whole = show(&["-vv", "-Y", "map_chunk"]);
    let section = "        y 0 to 15: 1024 blocks: dirt 768, bedrock 256\n            \
        from above, x to the right, z down: a dirt\n            aaaaaaaaaaaaaaaa\n";
    assert!(whole.contains(section), "{whole}");
    let fields = "block(3, 0, 5),block(3, 3, 5),block(3, 9, 5),block(16, 0, 5)";
    assert_eq!(show(&["-Y", "map_chunk", "--fields", fields]), "bedrock\tdirt\tair\t\n");
    let found = show(&["-Y", "block(3, 1, 5) == \"dirt\"", "--fields", "pkt.name"]);
    assert_eq!(found, "map_chunk\n");
    assert_eq!(show(&["-Y", "block(3, 1, 5) == \"stone\"", "--fields", "pkt.name"]), "");
    let why = refuses(&["show", "-Y", "block(1, 2) == \"dirt\"", text(&capture)]);
    assert!(why.contains("`block` takes 3 coordinates, not 2"), "{why}");
    assert!(why.contains("block(-140, 64, 195)"), "{why}");
}
