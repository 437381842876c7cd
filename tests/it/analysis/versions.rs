//! A server of which most packets cannot be read is named in one sentence.

use mitmcraft_engine::analysis::VersionCheck;
use mitmcraft_engine::capture::Entry;
use serde_json::json;

use crate::support::samples::*;

/// Returns the sentences about entries.
fn said(entries: &[Entry]) -> Vec<String> {
    let mut check = VersionCheck::default();
    entries.iter().filter_map(|entry| check.take(entry)).map(|it| it.to_string()).collect()
}

fn stage(session: u64) -> Stage {
    Stage::new(session, "127.0.0.1:51234", "192.0.2.7:25565")
}

/// A session in which `wrong` of 16 packets of the server have an unknown id.
fn session(number: u64, wrong: u8) -> Stage {
    let mut stage = stage(number);
    stage.open();
    for place in 0..16 {
        let body: &[u8] = if place < wrong { &[0x7f, 1] } else { &[0, 1] };
        stage.body(Clientbound, Play, body);
    }
    stage
}

/// A ping that is answered with that protocol number.
fn ping(number: u64, protocol: i32) -> Vec<Entry> {
    let mut stage = stage(number);
    let status = json!({"version": {"name": "Paper 1.20.4", "protocol": protocol}}).to_string();
    stage.packet(Clientbound, Status, "server_info", json!({ "response": status }));
    stage.entries
}

#[test]
fn most_of_the_first_packets_decide() {
    let sentence = "the server of session 1 sends what cannot be read: 7 of its first 12 packets do not decode as \
                    1.8.9 (protocol 47)";
    assert_eq!(said(&session(1, 7).entries), [sentence]);
    assert!(said(&session(1, 6).entries).is_empty());
    assert!(said(&everything(1, "127.0.0.1:51234", "192.0.2.7:25565")).is_empty());
}

#[test]
fn a_session_that_ends_early_is_judged_at_its_end() {
    let mut short = stage(1);
    for _ in 0..3 {
        short.body(Clientbound, Play, &[0x7f, 1]);
    }
    assert!(said(&short.entries).is_empty());
    short.close("lost");
    assert_eq!(said(&short.entries).len(), 1);
}

#[test]
fn it_is_said_once_for_each_server_and_version_of_clients() {
    let mut entries: Vec<Entry> = (1..5).flat_map(|number| session(number, 16).entries).collect();
    assert_eq!(said(&entries).len(), 1);
    let mut other = stage(5);
    "play.example.com:25565".clone_into(&mut other.context.upstream);
    for _ in 0..16 {
        other.body(Clientbound, Play, &[0x7f, 1]);
    }
    entries.extend(other.entries);
    assert_eq!(said(&entries).len(), 2);
}

#[test]
fn the_status_of_the_server_confirms_it_unless_it_echoes_the_ping() {
    let with =
        |protocol: i32, wrong: u8| said(&[ping(1, protocol), session(2, wrong).entries].concat());
    let confirmed = with(765, 12);
    assert!(confirmed[0].contains(" seems to speak another version than the client: "));
    assert!(confirmed[0].ends_with(", and its status says `Paper 1.20.4` (protocol 765)"));
    // With the status, fewer packets are enough; without any, it is a server of several versions.
    assert_eq!((with(765, 1).len(), with(765, 0).len(), with(47, 1).len()), (1, 0, 0));
}

#[test]
fn versions_that_are_guessed_and_bytes_that_are_no_packets_are_not_judged() {
    let mut guessed = session(1, 16);
    guessed.context.guess = true;
    guessed.entries.clear();
    for _ in 0..16 {
        guessed.body(Clientbound, Play, &[0x7f, 1]);
    }
    assert!(said(&guessed.entries).is_empty());
}
