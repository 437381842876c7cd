//! Real clients play on real servers through the proxy, and the capture equals the logs of both
//! ends: every packet, in order, with the same bytes.

use std::path::Path;

use crate::support::{Program, assert_same, capture_of, end, read_lines, scratch_file, text};
use serde_json::Value as Json;

#[test]
fn a_session_without_compression() {
    play(&["--threshold", "-1"], &[]);
}

#[test]
fn a_session_that_compresses_every_packet() {
    play(&["--threshold", "0"], &[]);
}

#[test]
fn a_session_with_the_usual_threshold() {
    play(&["--threshold", "256"], &[]);
}

#[test]
fn an_encrypted_session() {
    play(&["--threshold", "-1", "--encrypt"], &[]);
}

#[test]
fn an_encrypted_and_compressed_session() {
    play(&["--threshold", "64", "--encrypt"], &[]);
}

#[test]
fn a_session_with_malformed_packets() {
    play(&["--threshold", "64", "--odd"], &["--odd"]);
}

#[test]
fn a_bot_of_another_version_than_the_server_is_named_once() {
    let mut server = Program::node("server.js", &["--accept", "765", "--allow-quit"]);
    let upstream = format!("127.0.0.1:{}", server.port());
    let capture = scratch_file("another-version.jsonl");
    let mut proxy = proxy(&upstream, &capture);
    let port = proxy.listening().to_string();
    Program::node("bot.js", &["--version", "1.20.4", "--port", &port]).fail();
    proxy.interrupt();
    let (_, said) = proxy.succeed_with_errors();
    let sentence = "the server of session 1 seems to speak another version than the client: ";
    assert_eq!(said.matches(sentence).count(), 1, "{said}");
    for verb in ["show", "stats"] {
        let (_, said) = Program::mitmcraft(&[verb, text(&capture)]).succeed_with_errors();
        assert_eq!(said.matches(sentence).count(), 1, "{verb}: {said}");
    }
}

#[test]
fn a_mineflayer_bot_plays_on_a_flying_squid_server() {
    let mut server = Program::node("squid.js", &["--port", "0"]);
    let upstream = format!("127.0.0.1:{}", server.port());
    let capture = scratch_file("squid.jsonl");
    let mut proxy = proxy(&upstream, &capture);
    let port = proxy.listening().to_string();
    let bot = Program::node("bot.js", &["--port", &port]).succeed();
    assert!(bot.contains("\"spawn\"") && bot.contains("\"walked\""), "{bot}");
    server.succeed();
    proxy.interrupt();
    proxy.succeed();
    let lines = read_lines(&capture);
    let packets: Vec<&Json> = lines.iter().filter(|line| line.get("event").is_none()).collect();
    assert!(packets.len() > 50, "{}", packets.len());
    let undecoded: Vec<_> = packets.iter().filter(|line| line.get("error").is_some()).collect();
    assert!(undecoded.is_empty(), "{undecoded:?}");
    assert!(
        packets
            .iter()
            .any(|line| line["packet"] == "map_chunk_bulk" || line["packet"] == "map_chunk")
    );
}

#[test]
fn a_ping_receives_the_servers_own_answer() {
    let server_log = scratch_file("server.log");
    let mut server =
        Program::node("server.js", &["--port", "0", "--sessions", "0", "--log", text(&server_log)]);
    let upstream = format!("127.0.0.1:{}", server.port());
    let capture = scratch_file("ping.jsonl");
    let mut proxy = proxy(&upstream, &capture);
    let port = proxy.listening().to_string();
    let client_log = scratch_file("client.log");
    let output = Program::node("ping.js", &["--port", &port, "--log", text(&client_log)]).succeed();
    let direct = upstream.rsplit(':').next().unwrap();
    let direct = Program::node("ping.js", &["--port", direct]).succeed();
    let status = |output: &str| {
        let mut event: Json = serde_json::from_str(output.lines().next().unwrap()).unwrap();
        event["status"].as_object_mut().unwrap().remove("latency");
        event
    };
    assert_eq!(status(&output), status(&direct));
    proxy.interrupt();
    proxy.succeed();
    let lines = read_lines(&capture);
    let names: Vec<&str> = lines.iter().filter_map(|line| line["packet"].as_str()).collect();
    assert_eq!(
        names,
        ["set_protocol", "set_protocol", "ping_start", "server_info", "ping", "ping"]
    );
}

#[test]
fn transferred_clients_come_back_and_reach_their_own_targets() {
    for (version, from) in [("1.20.6", "play"), ("1.21.11", "configuration")] {
        let mut peers = Program::node("transfer.js", &["--version", version, "--from", from]);
        let listening = peers.event();
        let upstream = format!("127.0.0.1:{}", listening["port"]);
        let capture = scratch_file("transfer.jsonl");
        let mut proxy = proxy(&upstream, &capture);
        let port = proxy.listening();
        peers.tell(&port.to_string());
        let output = peers.succeed();
        proxy.interrupt();
        proxy.succeed();
        let output: Vec<Json> =
            output.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        for (player, server) in [("Left", "left"), ("Right", "right")] {
            let event = |name: &str, key: &str, value: &str| {
                let found = output.iter().find(|it| it["event"] == name && it[key] == value);
                found.unwrap_or_else(|| panic!("no {name} of {value}: {output:?}")).clone()
            };
            let transfer = event("transfer", "player", player);
            assert_eq!((&transfer["host"], &transfer["port"]), (&"127.0.0.1".into(), &port.into()));
            let arrived = event("arrived", "player", player);
            assert_eq!(arrived["server"], server);
            assert_eq!(arrived["cookie"], format!("the luggage of {player}"));
            let handshake = event("handshake", "server", server);
            assert_eq!((&handshake["port"], &handshake["next"]), (&listening[player], &3.into()));
        }
        let lines = read_lines(&capture);
        let transfers: Vec<&Json> =
            lines.iter().filter(|line| line["packet"] == "transfer").collect();
        let verdicts: Vec<&str> =
            transfers.iter().map(|line| line["verdict"].as_str().unwrap()).collect();
        assert_eq!(verdicts, ["rewrite", "send", "rewrite", "send"]);
        assert!(transfers.iter().all(|line| line["state"] == from));
    }
}

/// Plays a session and compares the capture with the logs of both ends.
fn play(server_options: &[&str], client_options: &[&str]) {
    let (server_log, client_log) = (scratch_file("server.log"), scratch_file("client.log"));
    let mut arguments = vec!["--port", "0", "--log", text(&server_log)];
    arguments.extend(server_options);
    let mut server = Program::node("server.js", &arguments);
    let upstream = format!("127.0.0.1:{}", server.port());
    let capture = scratch_file("session.jsonl");
    let mut proxy = proxy(&upstream, &capture);
    let port = proxy.listening().to_string();

    let mut arguments = vec!["--port", &port, "--log", text(&client_log)];
    arguments.extend(client_options);
    let client = Program::node("client.js", &arguments).succeed();
    assert!(client.contains("\"echo\""), "the client has seen its own chat: {client}");
    assert!(client.contains("see you"), "the kick's reason has arrived: {client}");
    server.succeed();
    proxy.interrupt();
    proxy.succeed();

    let lines = read_lines(&capture);
    for (direction, sent, received, sender, receiver) in [
        ("serverbound", &client_log, &server_log, "client", "server"),
        ("clientbound", &server_log, &client_log, "server", "client"),
    ] {
        let [sent, received] = [sent, received].map(|log| end(&read_lines(log), direction));
        let came = capture_of(&lines, direction, &["pass", "drop", "rewrite"]);
        let went = capture_of(&lines, direction, &["pass", "send"]);
        assert!(sent.len() > 30, "{} {direction} packets", sent.len());
        assert_same(&format!("what the {sender} sent"), &sent, &came);
        assert_same(&format!("what the {receiver} received"), &received, &went);
    }
}

fn proxy(upstream: &str, capture: &Path) -> Program {
    Program::proxy(upstream, &["-w", text(capture)])
}
