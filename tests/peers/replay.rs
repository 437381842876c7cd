//! A real session, recorded through the proxy, is replayed to a real client and to a real server,
//! which see the same packets as the original peers.

use std::path::{Path, PathBuf};

use crate::support::{Program, read_lines, root, scratch_file, text};
use serde_json::Value as Json;

#[test]
fn a_recorded_session_is_replayed_to_a_real_client_and_to_a_real_server() {
    let (recorded, server_log, client_log) = record();

    // To a client, encrypted, and with another compression than recorded.
    let again = scratch_file("again.jsonl");
    let options = ["-l", "127.0.0.1:0", "--pace", "lockstep", "--encrypt", "--threshold", "128"];
    let files = ["replay", "server", text(&recorded), "-w", text(&again), "--patience", "300"];
    let arguments = [&files, &options[..]];
    let mut replay = Program::mitmcraft(&arguments.concat());
    let port = replay.listening().to_string();
    let log = scratch_file("replayed-client.log");
    let client =
        Program::node("client.js", &["--port", &port, "--name", "Guest", "--log", text(&log)]);
    let output = client.succeed();
    assert!(output.contains(r#""name":"Guest","encrypted":true,"threshold":128"#), "{output}");
    assert!(output.contains("see you"), "{output}");
    for name in ["chat", "map_chunk", "window_items", "named_entity_spawn"] {
        let saw = bodies(&log, "clientbound", name);
        assert!(!saw.is_empty(), "{name}");
        assert_eq!(saw, bodies(&client_log, "clientbound", name), "{name}");
    }
    replay.interrupt();
    let summary = replay.fail().1;
    assert!(summary.contains("1 session in the game, 1 replayed to the end"), "{summary}");

    // A capture of the replay has the recorded game, and can be replayed itself.
    let compared =
        Program::mitmcraft(&["diff", text(&recorded), text(&again), "-Y", "clientbound and play"]);
    compared.succeed();

    // To a server: three clients at once, and its answers are the recorded ones.
    let log = scratch_file("replayed-server.log");
    let server = ["--port", "0", "--small", "--threshold", "64", "--encrypt", "--sessions", "3"];
    let mut server = Program::node("server.js", &[&server[..], &["--log", text(&log)]].concat());
    let upstream = format!("127.0.0.1:{}", server.port());
    let expected = "chat or map_chunk or window_items or kick_disconnect or custom_payload";
    let options = ["--clients", "3", "--stagger", "0.05", "--expect", "--expect-where", expected];
    let options = [&options[..], &["--patience", "300"]].concat();
    let arguments = [&["replay", "client", text(&recorded), &upstream][..], &options].concat();
    let message = Program::mitmcraft(&arguments).succeed();
    assert_eq!(message, "", "nothing differs");
    server.succeed();
    let chat = bodies(&log, "serverbound", "chat");
    let chat_then = bodies(&server_log, "serverbound", "chat");
    assert_eq!(chat_then.len(), 3);
    for message in &chat_then {
        let heard = chat.iter().filter(|body| *body == message).count();
        assert_eq!(heard, 3, "each client has said it once");
    }
}

#[test]
fn a_client_of_another_version_is_rejected_with_the_recorded_version() {
    let capture = root().join("captures/session-1.8-encrypted.pcapng");
    let arguments = ["replay", "server", text(&capture), "-l", "127.0.0.1:0", "-q"];
    let mut replay = Program::mitmcraft(&arguments);
    let port = replay.listening();
    let status = Program::mitmcraft(&["ping", &format!("127.0.0.1:{port}"), "--json"]).succeed();
    assert!(status.contains("a recorded session of Tester"), "{status}");
    let beta = ["ping", &format!("127.0.0.1:{port}"), "--form", "beta", "--json"];
    let beta = Program::mitmcraft(&beta).succeed();
    assert!(beta.contains("a recorded session of Tester"), "{beta}");
    let port = port.to_string();
    let bot = Program::node("client.js", &["--port", &port, "--version", "1.12.2"]);
    let (status, message) = bot.fail();
    assert!(!status.success());
    assert!(message.contains("this is a recording of 1.8.9 (protocol 47)"), "{message}");
    assert!(message.contains("1.12.2"), "{message}");
    replay.interrupt();
    replay.succeed();
}

/// Plays a session of real peers through the proxy; returns the capture, and the logs of both ends.
fn record() -> (PathBuf, PathBuf, PathBuf) {
    let (server_log, client_log) = (scratch_file("server.log"), scratch_file("client.log"));
    let options = ["--port", "0", "--small", "--threshold", "64", "--encrypt"];
    let mut server =
        Program::node("server.js", &[&options[..], &["--log", text(&server_log)]].concat());
    let upstream = format!("127.0.0.1:{}", server.port());
    let capture = scratch_file("recorded.pcapng");
    let mut proxy = Program::proxy(&upstream, &["-w", text(&capture)]);
    let port = proxy.listening().to_string();
    Program::node("client.js", &["--port", &port, "--log", text(&client_log)]).succeed();
    server.succeed();
    proxy.interrupt();
    proxy.succeed();
    (capture, server_log, client_log)
}

/// Returns the bodies of packets of that name in the log of an end.
fn bodies(log: &Path, direction: &str, name: &str) -> Vec<Json> {
    let lines = read_lines(log).into_iter();
    lines
        .filter(|line| line["dir"] == direction && line["name"] == name && line["state"] == "play")
        .map(|line| line["body"].clone())
        .collect()
}
