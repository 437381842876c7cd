//! A real session, recorded through the proxy, is run again: to a real client and to a real server,
//! which see what their like saw then.

use std::path::{Path, PathBuf};

use crate::support::{Program, read_lines, root, scratch_file, text};
use serde_json::Value as Json;

#[test]
fn a_recorded_session_is_replayed_to_a_real_client_and_to_a_real_server() {
    let (recorded, server_log, client_log) = record();

    // To a client, encrypted, and compressed otherwise than recorded.
    let again = scratch_file("again.jsonl");
    let options = ["-l", "127.0.0.1:0", "--pace", "lockstep", "--encrypt", "--threshold", "128"];
    let arguments = [&["replay", "server", text(&recorded), "-w", text(&again)], &options[..]];
    let mut replay = Program::mitmcraft(&arguments.concat());
    let port = replay.listening().to_string();
    let log = scratch_file("replayed-client.log");
    let client =
        Program::node("client.js", &["--port", &port, "--name", "Guest", "--log", text(&log)]);
    let said = client.succeed();
    assert!(said.contains(r#""name":"Guest","encrypted":true,"threshold":128"#), "{said}");
    assert!(said.contains("see you"), "{said}");
    for name in ["chat", "map_chunk", "window_items", "named_entity_spawn"] {
        let saw = bodies(&log, "clientbound", name);
        assert!(!saw.is_empty(), "{name}");
        assert_eq!(saw, bodies(&client_log, "clientbound", name), "{name}");
    }
    replay.interrupt();
    let summary = replay.fail().1;
    assert!(summary.contains("1 in the game, 1 to the end"), "{summary}");

    // What was recorded of that has the recorded game, and can be replayed itself.
    let compared =
        Program::mitmcraft(&["diff", text(&recorded), text(&again), "-Y", "clientbound and play"]);
    compared.succeed();

    // To a server; three clients at once, and what it answers is as it was.
    let log = scratch_file("replayed-server.log");
    let server = ["--port", "0", "--small", "--threshold", "64", "--encrypt", "--sessions", "3"];
    let mut server = Program::node("server.js", &[&server[..], &["--log", text(&log)]].concat());
    let upstream = format!("127.0.0.1:{}", server.port());
    let expected = "chat or map_chunk or window_items or kick_disconnect or custom_payload";
    let options = ["--clients", "3", "--stagger", "0.05", "--expect", "--expect-where", expected];
    let arguments = [&["replay", "client", text(&recorded), &upstream][..], &options].concat();
    let told = Program::mitmcraft(&arguments).succeed();
    assert_eq!(told, "", "nothing differs");
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
fn a_server_that_answers_otherwise_is_told_with_what_differs() {
    let (capture, other) = (root().join("captures/session-1.8.jsonl"), scratch_file("other.jsonl"));
    let rules = scratch_file("other.toml");
    let rule = "[[rule]]\nname = 'rude'\nwhen = 'clientbound and chat and position == 1'\n\
                set = { message = '{\"text\":\"Go away\"}' }\n";
    std::fs::write(&rules, rule).unwrap();
    let arguments =
        ["replay", "filters", text(&capture), "-f", text(&rules), "-q", "-w", text(&other)];
    let counts = Program::mitmcraft(&arguments).succeed();
    assert_eq!(counts, "rule `rude`: 1 matched, 1 acted, 0 failed\n");

    let arguments = ["replay", "server", text(&other), "-l", "127.0.0.1:0", "--pace", "lockstep"];
    let mut server = Program::mitmcraft(&arguments);
    let upstream = format!("127.0.0.1:{}", server.listening());
    let play = |options: &[&str]| {
        let arguments =
            ["replay", "client", text(&capture), &upstream, "--pace", "lockstep", "--expect"];
        let (status, told) = Program::mitmcraft(&[&arguments[..], options].concat()).finish();
        (status.code(), told)
    };
    let (status, told) = play(&[]);
    assert_eq!(status, Some(1), "{told}");
    let lines: Vec<&str> = told.lines().collect();
    assert_eq!(lines.len(), 3, "{told}");
    assert_eq!(lines[0], "session 1 (Tester) is not as recorded:");
    assert!(lines[1].starts_with("~ ") && lines[1].contains("chat"), "{told}");
    assert!(lines[2].contains("Welcome") && lines[2].contains("Go away"), "{told}");
    assert_eq!(play(&["--expect-where", "not chat"]), (Some(0), String::new()));
    assert_eq!(play(&["--ignore", "chat.message"]), (Some(0), String::new()));
    server.interrupt();
    server.succeed();
}

#[test]
fn a_client_of_another_version_is_told_which_one_is_recorded() {
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
    let (status, told) = bot.fail();
    assert!(!status.success());
    assert!(told.contains("this is a recording of 1.8 (protocol 47)"), "{told}");
    assert!(told.contains("1.12.2"), "{told}");
    replay.interrupt();
    replay.succeed();
}

#[test]
fn what_cannot_be_replayed_is_told_with_exit_code_2() {
    let missing = Program::mitmcraft(&["replay", "server", "nothing.jsonl"]).fail();
    assert_eq!(missing.0.code(), Some(2));
    assert!(missing.1.contains("nothing.jsonl"), "{}", missing.1);
    let capture = root().join("captures/session-1.8.jsonl");
    for (options, told) in [
        (&["--session", "7"][..], "it has no session 7; those that reached the game: 1"),
        (&["--speed", "0"], "`--speed 0`: a factor above 0"),
        (&["--from", "#3"], "`#3` is no place"),
        (&["--name", "much too long for a name"], "want 1 to 16 characters"),
    ] {
        let arguments = [&["replay", "client", text(&capture), "127.0.0.1:1"][..], options];
        let (status, errors) = Program::mitmcraft(&arguments.concat()).fail();
        assert_eq!(status.code(), Some(2), "{errors}");
        assert!(errors.contains(told), "{errors}");
    }
    let nobody = ["replay", "client", text(&capture), "127.0.0.1:1"];
    let (status, errors) = Program::mitmcraft(&nobody).fail();
    assert_eq!(status.code(), Some(2));
    assert!(errors.contains("cannot reach 127.0.0.1:1: connection refused"), "{errors}");
}

/// A session of real peers through the proxy; the capture, and what the two ends say.
fn record() -> (PathBuf, PathBuf, PathBuf) {
    let (server_log, client_log) = (scratch_file("server.log"), scratch_file("client.log"));
    let options = ["--port", "0", "--small", "--threshold", "64", "--encrypt"];
    let mut server =
        Program::node("server.js", &[&options[..], &["--log", text(&server_log)]].concat());
    let upstream = format!("127.0.0.1:{}", server.port());
    let capture = scratch_file("recorded.pcapng");
    let arguments = ["proxy", &upstream, "-l", "127.0.0.1:0", "-q", "-w", text(&capture)];
    let mut proxy = Program::mitmcraft(&arguments);
    let port = proxy.listening().to_string();
    Program::node("client.js", &["--port", &port, "--log", text(&client_log)]).succeed();
    server.succeed();
    proxy.interrupt();
    proxy.succeed();
    (capture, server_log, client_log)
}

/// The bodies of packets of that name, as an end has seen them.
fn bodies(log: &Path, direction: &str, name: &str) -> Vec<Json> {
    let lines = read_lines(log).into_iter();
    lines
        .filter(|line| line["dir"] == direction && line["name"] == name && line["state"] == "play")
        .map(|line| line["body"].clone())
        .collect()
}
