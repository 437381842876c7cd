use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use mitmcraft_engine::capture::{
    CreateOptions, Entry, EventKind, Keep, Rotation, create_sink, open_capture,
};
use mitmcraft_protocol::packet::Timestamp;
use mitmcraft_protocol::schema::Catalog;
use serde_json::json;

use super::{interleaved, put, to_jsonl};
use crate::support::samples::*;

/// An empty folder.
fn folder(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("capture-files").join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    // The list of files for `--keep`.
    names.retain(|name| name != ".mitmcraft-files");
    names.sort();
    names
}

fn read(path: &Path) -> Vec<Entry> {
    open_capture(path, Catalog::embedded()).unwrap().map(Result::unwrap).collect()
}

fn write(path: &Path, options: &CreateOptions, entries: &[Entry]) {
    put(create_sink(path, options).unwrap(), entries);
}

/// A session of a player who sends this message this many times.
fn chatter(session: u64, player: Option<&str>, lines: usize) -> Vec<Entry> {
    let mut stage = Stage::new(session, &format!("127.0.0.1:{}", 50_000 + session), "[::1]:25565");
    stage.open();
    stage.state(Login, None, false);
    stage.packet(Serverbound, Login, "login_start", json!({"username": "who"}));
    stage.context.player = player.map(str::to_owned);
    stage.state(Play, Some(256), true);
    for line in 0..lines {
        let message = format!("{line} {}", "\u{fc}ber".repeat(line % 50));
        stage.packet(Serverbound, Play, "chat", json!({"message": message}));
    }
    stage.close("over");
    stage.entries
}

#[test]
fn each_session_has_its_own_file_named_after_it() {
    let entries = interleaved(vec![
        chatter(1, Some("Notch"), 20),
        chatter(2, None, 3),
        chatter(3, Some("../etc/Notch"), 20),
        chatter(4, Some("Notch"), 1),
    ]);
    for ending in ["jsonl", "pcapng.zst"] {
        let folder = folder(&format!("sessions-{ending}"));
        let path = folder.join(format!("{{player}}/{{time}}-{{player}}.{ending}"));
        // The second run finds the files of the first.
        for _ in 0..2 {
            write(&path, &CreateOptions::default(), &entries);
        }
        assert_eq!(names(&folder), ["Notch", "___etc_Notch", "unknown"]);
        let own = names(&folder.join("Notch"));
        let expected = ["123104Z-Notch-2", "123104Z-Notch", "123108Z-Notch-2", "123108Z-Notch"];
        assert_eq!(own, expected.map(|name| format!("20261120T{name}.{ending}")));
        for (session, file) in [(1, &own[0]), (1, &own[1]), (4, &own[3])] {
            let own: Vec<Entry> = entries
                .iter()
                .filter(|entry| entry.context().session == session)
                .cloned()
                .collect();
            let found = read(&folder.join("Notch").join(file));
            assert_eq!(to_jsonl(&found), to_jsonl(&own), "{file}");
        }
    }
}

#[test]
fn a_session_without_a_player_is_buffered_up_to_a_mebibyte() {
    let folder = folder("held");
    let path = folder.join("{session}-{player}.jsonl");
    let mut sink = create_sink(&path, &CreateOptions::default()).unwrap();
    let mut stage = Stage::new(7, "127.0.0.1:1", "127.0.0.1:2");
    stage.open();
    for _ in 0..9 {
        stage.body(Clientbound, Play, &chunk(100_000));
    }
    stage.entries.iter().for_each(|entry| sink.write(entry).unwrap());
    assert_eq!(names(&folder), [""; 0]);
    for _ in 0..3 {
        let entry = stage.body(Clientbound, Play, &chunk(100_000)).clone();
        sink.write(&Entry::Packet(entry)).unwrap();
    }
    assert_eq!(names(&folder), ["7-unknown.jsonl"]);
    sink.finish().unwrap();
    assert_eq!(read(&folder.join("7-unknown.jsonl")).len(), 13);
}

#[test]
fn rotated_files_have_every_entry_and_each_is_a_complete_capture() {
    let entries = interleaved(vec![chatter(1, Some("Notch"), 300), chatter(2, Some("Jeb"), 300)]);
    for (ending, size) in [("jsonl", 70_000), ("jsonl.zst", 3_000), ("pcapng", 70_000)] {
        let folder = folder(&format!("row-{ending}"));
        let mut options = CreateOptions::default();
        options.rotate = Some(Rotation::Size(size));
        write(&folder.join(format!("all.{ending}")), &options, &entries);
        let files = names(&folder);
        assert!(files.len() >= 2, "{files:?}");
        assert_eq!(files[0], format!("all-00001.{ending}"));
        let mut packets = Vec::new();
        for file in &files {
            for entry in read(&folder.join(file)) {
                let player = entry.context().player.clone();
                let server = entry.context().server;
                let Entry::Packet(record) = entry else { continue };
                if record.packet.state() == Play {
                    assert!(
                        matches!(player.as_deref(), Some("Notch" | "Jeb")),
                        "{file}: {player:?}"
                    );
                    assert!(server.is_some(), "{file}");
                }
                packets.push(Entry::Packet(record));
            }
        }
        let mut expected = entries.clone();
        expected.retain(|entry| matches!(entry, Entry::Packet(_)));
        assert_eq!(to_jsonl(&packets), to_jsonl(&expected), "{ending}");
        let closes = read(&folder.join(files.last().unwrap())).into_iter().filter(|entry| {
            matches!(entry, Entry::Event(event) if matches!(event.kind, EventKind::Close(_)))
        });
        assert_eq!(closes.count(), 2);
    }
}

#[test]
fn files_rotated_by_age_begin_when_the_age_of_the_last_is_reached() {
    let entries = chatter(1, Some("Notch"), 300);
    let (first, last) = (entries[0].at(), entries.last().unwrap().at());
    let age = Duration::from_nanos((last.0 - first.0) / 4);
    for ending in ["jsonl", "pcapng"] {
        let folder = folder(&format!("age-{ending}"));
        let mut options = CreateOptions::default();
        options.rotate = Some(Rotation::Age(age));
        write(&folder.join(format!("all.{ending}")), &options, &entries);
        let mut packets = Vec::new();
        let mut begun = None;
        for file in names(&folder) {
            let written: Vec<Entry> = read(&folder.join(file));
            let times = written.iter().filter(|entry| entry.record().is_some()).map(Entry::at);
            let times: Vec<Timestamp> = times.collect();
            if times.is_empty() {
                continue;
            }
            // The first file begins with the opening of the session, and the last may have its end only.
            let from = begun.map_or(first, |_| times[0]);
            assert!(begun.is_none_or(|before: Timestamp| times[0] >= before.plus(age)));
            assert!(times.iter().all(|at| *at < from.plus(age)));
            begun = Some(from);
            packets.extend(written.into_iter().filter(|entry| entry.record().is_some()));
        }
        let files = names(&folder).len();
        assert!(files >= 3, "{files} files");
        let mut expected = entries.clone();
        expected.retain(|entry| entry.record().is_some());
        assert_eq!(to_jsonl(&packets), to_jsonl(&expected), "{ending}");
    }
}

#[test]
fn the_newest_rotated_files_are_kept_and_numbering_continues() {
    let folder = folder("kept");
    fs::write(folder.join("all-notes.jsonl"), "mine").unwrap();
    let mut options = CreateOptions::default();
    options.rotate = Some(Rotation::Size(20_000));
    options.keep = Some(Keep::Files(3));
    let entries = chatter(1, Some("Notch"), 1000);
    write(&folder.join("all.jsonl"), &options, &entries);
    let first = names(&folder);
    assert_eq!(first.len(), 4, "{first:?}");
    let last = first[2].clone();
    write(&folder.join("all.jsonl"), &options, &entries[..3]);
    let then = names(&folder);
    assert_eq!(then.len(), 4, "{then:?}");
    assert!(then[2] > last && then[1] == last, "{first:?} {then:?}");
    assert_eq!(fs::read(folder.join("all-notes.jsonl")).unwrap(), b"mine");
}

#[test]
fn the_oldest_complete_session_files_are_deleted() {
    let folder = folder("kept-sessions");
    let mut options = CreateOptions::default();
    options.keep = Some(Keep::Files(2));
    let mut sink = create_sink(&folder.join("s{session}.jsonl"), &options).unwrap();
    let long = chatter(1, Some("Steve"), 2);
    let (begun, rest) = long.split_at(4);
    begun.iter().for_each(|entry| sink.write(entry).unwrap());
    for session in 2..=5 {
        chatter(session, Some("Steve"), 2).iter().for_each(|entry| sink.write(entry).unwrap());
    }
    assert_eq!(names(&folder), ["s1.jsonl", "s5.jsonl"], "what is written to stays");
    rest.iter().for_each(|entry| sink.write(entry).unwrap());
    sink.finish().unwrap();
    assert_eq!(to_jsonl(&read(&folder.join("s1.jsonl"))), to_jsonl(&long));
}

#[test]
fn files_of_earlier_runs_are_retired_by_count_size_and_age_and_nothing_else_is() {
    let session = |number: u64| chatter(number, None, 50);
    let run = |folder: &Path, keep: Option<Keep>, sessions: std::ops::RangeInclusive<u64>| {
        let mut options = CreateOptions::default();
        options.keep = keep;
        let mut sink = create_sink(&folder.join("{session}.jsonl"), &options).unwrap();
        for number in sessions {
            session(number).iter().for_each(|entry| sink.write(entry).unwrap());
        }
        sink.finish().unwrap();
    };
    let all = Keep::Files(100);
    for (name, keep, left) in [
        ("count", Keep::Files(2), vec!["4.jsonl", "5.jsonl"]),
        // What was begun last stays until the next is begun.
        ("size", Keep::Bytes(1), vec!["5.jsonl"]),
        (
            "large",
            Keep::Bytes(1 << 40),
            vec!["1.jsonl", "2.jsonl", "3.jsonl", "4.jsonl", "5.jsonl"],
        ),
        ("age", Keep::Age(Duration::from_secs(3600)), vec!["3.jsonl", "4.jsonl", "5.jsonl"]),
    ] {
        let folder = folder(&format!("retired-{name}"));
        // Names that mitmcraft could have written, and has not.
        for name in ["0.jsonl", "7.jsonl", "18446744073709551615.jsonl"] {
            fs::write(folder.join(name), "mine").unwrap();
        }
        run(&folder, Some(all), 1..=2);
        for name in ["1.jsonl", "2.jsonl"] {
            let file = fs::File::options().write(true).open(folder.join(name)).unwrap();
            let opened = UNIX_EPOCH + Duration::from_nanos(OPENED);
            file.set_modified(opened - Duration::from_secs(4000)).unwrap();
        }
        run(&folder, Some(all), 3..=3);
        let now = UNIX_EPOCH + Duration::from_nanos(OPENED);
        fs::File::options()
            .write(true)
            .open(folder.join("3.jsonl"))
            .unwrap()
            .set_modified(now)
            .unwrap();
        run(&folder, Some(keep), 4..=5);
        let mut names = names(&folder);
        names.retain(|name| fs::read(folder.join(name)).unwrap() != b"mine");
        assert_eq!(names, left, "{name}");
        for name in ["0.jsonl", "7.jsonl", "18446744073709551615.jsonl"] {
            assert_eq!(fs::read(folder.join(name)).unwrap(), b"mine");
        }
    }
}

#[test]
fn files_per_session_are_rotated_by_size() {
    let folder = folder("both");
    let mut options = CreateOptions::default();
    options.rotate = Some(Rotation::Size(70_000));
    let entries = interleaved(vec![chatter(1, Some("Notch"), 400), chatter(2, Some("Jeb"), 2)]);
    write(&folder.join("{player}.jsonl"), &options, &entries);
    let files = names(&folder);
    assert_eq!(files[0], "Jeb-00001.jsonl");
    assert!(files.len() > 2 && files[1..].iter().all(|name| name.starts_with("Notch-")));
}

#[test]
fn an_unknown_placeholder_is_an_error() {
    let Err(error) = create_sink("{user}.jsonl".as_ref(), &CreateOptions::default()) else {
        panic!()
    };
    assert!(error.to_string().contains("expected `{session}`, `{player}` or `{time}`"), "{error}");
}
