//! The captures in the repository: real sessions, read as a user would.

use mitmcraft::capture::{Entry, EventKind, Outcome, Record};
use mitmcraft::schema::{Direction, State};

use crate::support::samples::repository_capture;

#[test]
fn the_sessions_hold_a_login_a_game_and_its_end_and_all_of_it_decodes() {
    for file in ["session-1.8.jsonl", "session-1.8-encrypted.pcapng"] {
        let entries = repository_capture(file);
        let records: Vec<&Record> = entries.iter().filter_map(Entry::record).collect();
        assert!(records.len() > 100, "{file}: {}", records.len());
        for record in &records {
            assert_eq!(record.packet.error(), None, "{file}: packet {}", record.packet.seq);
            let player = record.packet.context.player.as_deref();
            assert!(record.packet.state != State::Play || player == Some("Tester"), "{player:?}");
        }
        let seqs = records.iter().map(|record| record.packet.seq);
        assert!(seqs.eq(1..=records.len() as u64), "{file}: no packet is missing");
        let chat = texts(&records, Direction::Serverbound);
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

fn name(record: &Record) -> String {
    record.packet.kind().map(|packet| packet.name().to_string()).unwrap_or_default()
}

fn texts(records: &[&Record], direction: Direction) -> Vec<String> {
    let chat = records
        .iter()
        .filter(|record| record.packet.direction == direction && name(record) == "chat");
    chat.map(|record| {
        let value = record.packet.value().unwrap();
        value.get("message").unwrap().as_text().unwrap().to_owned()
    })
    .collect()
}
