//! The captures in the repository: real sessions, read as a user would.

use std::fs;

use mitmcraft_engine::capture::{Entry, EventKind, Outcome, Record};
use mitmcraft_protocol::schema::{Direction, State};

use crate::support::samples::repository_capture;
use crate::support::{Program, read_lines, root, scratch_file, text};

#[test]
fn the_sessions_hold_a_login_a_game_and_its_end_and_all_of_it_decodes() {
    for file in ["session-1.8.jsonl", "session-1.8-encrypted.pcapng"] {
        let entries = repository_capture(file);
        let records: Vec<&Record> = entries.iter().filter_map(Entry::record).collect();
        assert!(records.len() > 100, "{file}: {}", records.len());
        for record in &records {
            assert_eq!(record.packet.error(), None, "{file}: packet {}", record.packet.seq());
            let player = record.packet.context().player.as_deref();
            assert!(record.packet.state() != State::Play || player == Some("Tester"), "{player:?}");
        }
        let seqs = records.iter().map(|record| record.packet.seq());
        assert!(seqs.eq(1..=records.len() as u64), "{file}: no packet is missing");
        let chat = chat_texts(&records, Direction::Serverbound);
        assert_eq!(chat, ["hello from a real client", "Grüße, 你好, мир 🎮🧱 ☃", "bye"], "{file}");
        let Some(Entry::Event(last)) = entries.last() else { panic!("{file} has no end") };
        let EventKind::Close(summary) = &last.kind else { panic!("{file}: {:?}", last.kind) };
        assert!(summary.reason.contains("see you"), "{file}: {}", summary.reason);
    }
}

#[test]
fn the_encrypted_session_shows_both_versions_of_the_key_exchange() {
    let entries = repository_capture("session-1.8-encrypted.pcapng");
    let exchange: Vec<(Outcome, Option<u64>)> = entries
        .iter()
        .filter_map(Entry::record)
        .filter(|record| name(record) == "encryption_begin")
        .map(|record| (record.outcome, record.of))
        .collect();
    assert_eq!(
        exchange,
        [
            (Outcome::Rewrite, None),
            (Outcome::Send, Some(4)),
            (Outcome::Rewrite, None),
            (Outcome::Send, Some(6)),
        ]
    );
    let encrypted = entries.iter().any(|entry| match entry {
        Entry::Event(event) => match &event.kind {
            EventKind::State(state) => state.client_encrypted && state.server_encrypted,
            _ => false,
        },
        Entry::Packet(_) => false,
    });
    assert!(encrypted);
}

#[test]
fn every_capture_is_on_the_page_and_decodes() {
    let folder = root().join("captures");
    let page = fs::read_to_string(folder.join("README.md")).unwrap();
    for file in fs::read_dir(&folder).unwrap() {
        let path = file.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if !["jsonl", "pcapng"].contains(&path.extension().unwrap_or_default().to_str().unwrap()) {
            continue;
        }
        let rows = page.lines().filter(|line| line.starts_with("| `"));
        let named =
            rows.filter(|row| row.split(" | ").next().unwrap().contains(&*format!("`{name}`")));
        assert_eq!(named.count(), 1, "{name} is not in captures/README.md");
        let size = fs::metadata(&path).unwrap().len();
        assert!(size < 60_000 || name.starts_with("session-1.8"), "{name}: {size} bytes");
        if !name.contains("-wire") {
            for record in repository_capture(&name).iter().filter_map(Entry::record) {
                assert_eq!(record.packet.error(), None, "{name}: packet {}", record.packet.seq());
            }
        }
    }
}

#[test]
fn each_generation_of_the_protocol_is_what_its_capture_says() {
    for (file, protocol, packets) in [
        ("ping-beta.jsonl", None, &["legacy_server_list_ping", "kick_disconnect"][..]),
        ("ping-1.4.jsonl", None, &["legacy_server_list_ping", "kick_disconnect"]),
        ("ping-1.6.jsonl", None, &["legacy_server_list_ping", "kick_disconnect"]),
        ("ping-mcstatus.jsonl", None, &["legacy_server_list_ping", "kick_disconnect"]),
        ("status-1.8.jsonl", Some(47), &["ping_start", "server_info", "ping"]),
        ("query.jsonl", None, &["handshake", "stat"]),
        ("session-alpha.jsonl", Some(5), &["login", "map_chunk", "chat", "kick_disconnect"]),
        ("session-beta-1.7.3.jsonl", Some(14), &["map_chunk", "update_sign", "explosion", "chat"]),
        ("session-1.6.4.jsonl", Some(78), &["encryption_response", "map_chunk", "window_items"]),
        ("session-1.12.2.jsonl", Some(340), &["set_creative_slot", "chat", "kick_disconnect"]),
        ("login-1.20.4.jsonl", Some(765), &["encryption_begin", "tags", "position", "map_chunk"]),
        ("login-1.21.4.jsonl", Some(769), &["select_known_packs", "map_chunk", "player_loaded"]),
        ("login-26.3.jsonl", Some(777), &["select_known_packs", "map_chunk", "player_loaded"]),
        ("session-26.3.jsonl", Some(777), &["start_configuration", "store_cookie", "chat_message"]),
    ] {
        let entries = repository_capture(file);
        let records: Vec<&Record> = entries.iter().filter_map(Entry::record).collect();
        let version = records.last().unwrap().packet.context().version;
        assert_eq!(version, protocol, "{file}");
        let names: Vec<String> = records.iter().map(|record| name(record)).collect();
        for packet in packets {
            assert!(names.iter().any(|name| name == packet), "{file}: no {packet}");
        }
    }
}

#[test]
fn the_key_log_decrypts_both_legs_as_on_the_wire() {
    let folder = root().join("captures");
    let wire = folder.join("session-1.20.4-wire.pcapng");
    let (out, keys) = (scratch_file("wire.jsonl"), folder.join("session-1.20.4-wire.keys"));
    let decode = ["decode", text(&wire), "--keys", text(&keys), "-q", "-w", text(&out)];
    Program::mitmcraft(&decode).succeed();
    let lines = read_lines(&out);
    for session in [1, 2] {
        let said: Vec<&str> = lines
            .iter()
            .filter(|line| line["session"] == session && line["packet"] == "chat_message")
            .map(|line| line["fields"]["message"].as_str().unwrap())
            .collect();
        assert_eq!(said, ["hello from a real client", "Grüße, 你好, мир 🎮🧱 ☃", "!ping", "bye"]);
    }
    let keyless = scratch_file("keyless.jsonl");
    Program::mitmcraft(&["decode", text(&wire), "-q", "-w", text(&keyless)]).finish();
    assert!(!read_lines(&keyless).iter().any(|line| line["packet"] == "chat_message"));
}

fn name(record: &Record) -> String {
    record.packet.kind().map(|packet| packet.name().to_string()).unwrap_or_default()
}

fn chat_texts(records: &[&Record], direction: Direction) -> Vec<String> {
    let chat = records
        .iter()
        .filter(|record| record.packet.direction() == direction && name(record) == "chat");
    chat.map(|record| {
        let value = record.packet.value().unwrap();
        value.get("message").unwrap().as_text().unwrap().to_owned()
    })
    .collect()
}
