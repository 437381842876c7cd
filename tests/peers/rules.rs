//! Rules between real peers: rewritten, dropped and injected packets arrive as intended, and the
//! capture shows the received and the sent packets.

use std::path::Path;

use crate::support::{Program, read_lines, scratch_file, text};
use serde_json::Value as Json;

const RULES: &str = r#"
[[rule]]
name = "louder"
when = 'serverbound and chat and message == "hello from a real client"'
set = { message = '=upper(message)' }

[[rule]]
name = "quieter"
when = 'clientbound and chat and message contains "HELLO FROM"'
set = { "message#/with/1" = "hello from a real client" }

[[rule]]
name = "no waving"
when = 'arm_animation'
drop = true

[[rule]]
name = "a word"
when = 'serverbound and held_item_slot'
send = [{ to = "client", packet = "chat", fields = { message = '{"text":"from the proxy"}', position = 0 } }]

[[rule]]
name = "unrecorded"
when = 'rel_entity_move'
log = false

[[rule]]
name = "status"
when = 'server_info'
set = { "response#/players/online" = 999, "response#/description" = { text = "another text" } }
"#;

#[test]
fn rules_change_an_encrypted_and_compressed_session() {
    let (server_log, client_log) = (scratch_file("server.log"), scratch_file("client.log"));
    let options = ["--port", "0", "--log", text(&server_log), "--threshold", "64", "--encrypt"];
    let mut server = Program::node("server.js", &options);
    let upstream = format!("127.0.0.1:{}", server.port());
    let (capture, rules) = (scratch_file("rules.jsonl"), scratch_file("rules.toml"));
    std::fs::write(&rules, RULES).unwrap();
    let mut proxy = proxy(&upstream, &capture, &rules);
    let port = proxy.listening().to_string();
    let client = Program::node("client.js", &["--port", &port, "--log", text(&client_log)]);
    let client = client.succeed();
    // The server received it in capitals; the client got its own text back.
    assert!(
        client.contains(r#"{"event":"echo","message":"hello from a real client"}"#),
        "{client}"
    );
    let output = server.succeed();
    assert!(output.contains("HELLO FROM A REAL CLIENT"), "{output}");
    assert!(!output.contains("hello from a real client"), "{output}");
    proxy.interrupt();
    proxy.succeed();

    let names = |log: &Path, direction: &str, name: &str| {
        let lines = read_lines(log).into_iter();
        lines.filter(|line| line["dir"] == direction && line["name"] == name).count()
    };
    assert_eq!(names(&client_log, "serverbound", "arm_animation"), 1);
    assert_eq!(names(&server_log, "serverbound", "arm_animation"), 0);
    let sent = names(&server_log, "clientbound", "chat");
    assert_eq!(names(&client_log, "clientbound", "chat"), sent + 1, "one made by the proxy");

    let lines = read_lines(&capture);
    let verdicts = |packet: &str, direction: &str| -> Vec<&str> {
        let ours = lines.iter().filter(|line| line["packet"] == packet && line["dir"] == direction);
        ours.map(|line| line["verdict"].as_str().unwrap()).collect()
    };
    assert_eq!(verdicts("arm_animation", "serverbound"), ["drop"]);
    assert!(verdicts("rel_entity_move", "clientbound").is_empty());
    assert!(names(&client_log, "clientbound", "rel_entity_move") > 100);
    let rewrite = lines
        .iter()
        .position(|line| line["fields"]["message"] == "hello from a real client")
        .unwrap();
    assert_eq!(lines[rewrite]["verdict"], "rewrite");
    let went = lines.iter().find(|line| line["of"] == lines[rewrite]["seq"]).unwrap();
    assert_eq!(went["verdict"], "send");
    assert_eq!(went["origin"], "proxy");
    assert_eq!(went["fields"]["message"], "HELLO FROM A REAL CLIENT");
    let made =
        lines.iter().find(|line| line["fields"]["message"] == r#"{"text":"from the proxy"}"#);
    assert_eq!(made.unwrap()["verdict"], "send");
}

#[test]
fn rules_change_a_status_and_a_changed_file_takes_effect() {
    let mut server = Program::node("server.js", &["--port", "0", "--sessions", "0"]);
    let upstream = format!("127.0.0.1:{}", server.port());
    let (capture, rules) = (scratch_file("status.jsonl"), scratch_file("status.toml"));
    std::fs::write(&rules, RULES).unwrap();
    let mut proxy = proxy(&upstream, &capture, &rules);
    let port = proxy.listening().to_string();
    let ping = || -> Json {
        let output = Program::node("ping.js", &["--port", &port]).succeed();
        serde_json::from_str::<Json>(output.lines().next().unwrap()).unwrap()["status"].clone()
    };
    let status = ping();
    assert_eq!(status["players"]["online"], 999);
    assert_eq!(status["description"]["text"], "another text");
    replace(&rules, "[[rule]]\nwhen = 'server_info'\nfaulty = true\n");
    proxy.wait_for_error("the old rules stay");
    assert_eq!(ping()["players"]["online"], 999);
    replace(&rules, &RULES.replace("999", "1000"));
    proxy.wait_for_error("reloaded the filter files");
    assert_eq!(ping()["players"]["online"], 1000);
    proxy.interrupt();
    proxy.succeed();
}

/// Replaces a file atomically, as editors do.
fn replace(file: &Path, text: &str) {
    let fresh = scratch_file("fresh.toml");
    std::fs::write(&fresh, text).unwrap();
    std::fs::rename(fresh, file).unwrap();
}

fn proxy(upstream: &str, capture: &Path, rules: &Path) -> Program {
    Program::proxy(upstream, &["-w", text(capture), "-f", text(rules)])
}
