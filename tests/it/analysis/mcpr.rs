use std::io::{Cursor, Read as _};
use std::sync::Arc;

use mitmcraft_engine::capture::{Entry, McprSink, Record, Sink};
use mitmcraft_protocol::schema::Catalog;
use serde_json::Value as Json;

use crate::support::samples::*;
use crate::support::shared::Shared;

#[test]
fn a_replay_file_holds_clientbound_packets_from_login_success() {
    for file in ["session-1.8.jsonl", "session-1.8-encrypted.pcapng"] {
        let entries = repository_capture(file);
        let (packets, meta) = read(&replay(&entries, None).unwrap());
        let records: Vec<&Record> = entries
            .iter()
            .filter_map(Entry::record)
            .filter(|record| record.packet.direction() == Clientbound && record.outcome.went())
            .skip_while(|record| name(record) != "success")
            .filter(|record| name(record) != "keep_alive")
            .collect();
        let begun = records[0].packet.at();
        let expected: Vec<(i32, Vec<u8>)> = records
            .iter()
            .map(|record| {
                let millis = record.packet.at().since(begun).as_millis();
                (millis.try_into().unwrap(), record.packet.body().unwrap().to_vec())
            })
            .collect();
        assert!(packets == expected, "{file}: {} and {}", packets.len(), expected.len());
        assert_eq!(packets[0].0, 0);
        assert_eq!(meta["duration"], packets.last().unwrap().0);
        for (key, value) in [("fileFormat", "MCPR"), ("mcversion", "1.8")] {
            assert_eq!(meta[key], value);
        }
        for (key, value) in [("fileFormatVersion", 14), ("protocol", 47), ("selfId", -1)] {
            assert_eq!(meta[key], value);
        }
        assert_eq!(meta["date"], begun.0 / 1_000_000);
        let players = meta["players"].as_array().unwrap();
        assert!(players.contains(&"069a79f4-44e9-4726-a5be-fca90e38aaf5".into()), "{players:?}");
    }
}

#[test]
fn captures_that_cannot_become_a_replay_file_are_rejected() {
    let game = |session: u64| everything(session, "127.0.0.1:51234", "192.0.2.7:25565");
    let two = [game(1), game(2)].concat();
    let error = |entries: &[Entry], session| replay(entries, session).unwrap_err();
    assert!(error(&two, None).contains("sessions 1 and 2 reach the game"));
    assert!(!read(&replay(&two, Some(2)).unwrap()).0.is_empty());
    assert!(error(&two, Some(3)).contains("no session that reaches the game"));
    assert!(error(&[], None).contains("no session that reaches the game"));
    for (number, guess) in [(5, false), (776, false), (1 << 30, true)] {
        let mut stage = Stage::new(1, "127.0.0.1:51234", "192.0.2.7:25565");
        stage.context.protocol = Catalog::embedded().find(number).unwrap().protocol;
        (stage.context.version, stage.context.guess) = (Some(number), guess);
        let protocol = Arc::clone(&stage.context.protocol);
        let success = protocol.named(Login, Clientbound, "success").unwrap();
        let body = [success.id() as u8, 0, 0, 0, 0];
        stage.body(Clientbound, Login, &body);
        let error = error(&stage.entries, None);
        assert!(error.contains("1.8 to 26.1") && error.contains(&number.to_string()), "{error}");
    }
}

fn replay(entries: &[Entry], session: Option<u64>) -> Result<Vec<u8>, String> {
    let shared = Shared::default();
    let mut sink = McprSink::new(shared.clone(), session).unwrap();
    let write = |entry| sink.write(entry);
    let written = entries.iter().try_for_each(write).and_then(|()| sink.finish());
    written.map_err(|error| error.to_string())?;
    let bytes = shared.bytes();
    Ok(bytes)
}

/// Returns the packets with their milliseconds, and the metadata.
fn read(replay: &[u8]) -> (Vec<(i32, Vec<u8>)>, Json) {
    let mut zip = zip::ZipArchive::new(Cursor::new(replay)).unwrap();
    let mut file = |name| {
        let mut bytes = Vec::new();
        zip.by_name(name).unwrap().read_to_end(&mut bytes).unwrap();
        bytes
    };
    let meta = serde_json::from_slice(&file("metaData.json")).unwrap();
    let recording = file("recording.tmcpr");
    let mut rest = &recording[..];
    let mut packets = Vec::new();
    while let Some((head, after)) = rest.split_first_chunk::<8>() {
        let number = |at: usize| i32::from_be_bytes(head[at..at + 4].try_into().unwrap());
        let (body, after) = after.split_at(number(4).try_into().unwrap());
        packets.push((number(0), body.to_vec()));
        rest = after;
    }
    assert!(rest.is_empty());
    (packets, meta)
}

fn name(record: &Record) -> String {
    record.packet.kind().map(|packet| packet.name().to_string()).unwrap_or_default()
}
