//! Recordings made in memory, from the packets of captures and by hand.

use std::io::{Cursor, Write as _};

use serde_json::{Value as Json, json};
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use super::super::{Entry, EventKind, ReadError, Sink as _, read_capture, read_capture_within};
use super::McprSink;
use crate::filter::is_own;
use mitmcraft_protocol::schema::{Catalog, Direction, Role, State};

/// A member of an archive.
type Member<'m> = (&'m str, &'m [u8]);

fn archive(members: &[Member<'_>]) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in members {
        zip.start_file(*name, SimpleFileOptions::default()).unwrap();
        zip.write_all(bytes).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

fn records(packets: &[(i32, &[u8])]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (millis, body) in packets {
        bytes.extend_from_slice(&millis.to_be_bytes());
        bytes.extend_from_slice(&i32::try_from(body.len()).unwrap().to_be_bytes());
        bytes.extend_from_slice(body);
    }
    bytes
}

fn metadata(format: i32, protocol: Option<i32>) -> Json {
    let mut metadata = json!({
        "singleplayer": false, "serverName": "play.example.org", "duration": 0,
        "date": 1_700_000_000_000u64, "mcversion": "x", "fileFormat": "MCPR",
        "fileFormatVersion": format, "generator": "ReplayMod v1", "selfId": -1, "players": [],
    });
    if let Some(protocol) = protocol {
        metadata["protocol"] = protocol.into();
    }
    metadata
}

fn recording(format: i32, protocol: Option<i32>, packets: &[(i32, &[u8])]) -> Vec<u8> {
    let metadata = metadata(format, protocol).to_string();
    archive(&[("recording.tmcpr", &records(packets)), ("metaData.json", metadata.as_bytes())])
}

/// Reads the entries, and the errors as text.
fn read(zip: &[u8]) -> (Vec<Entry>, Vec<String>) {
    let (mut entries, mut errors) = (Vec::new(), Vec::new());
    match read_capture(Cursor::new(zip.to_vec()), Catalog::embedded()) {
        Ok(read) => read.for_each(|it| match it {
            Ok(entry) => entries.push(entry),
            Err(error) => errors.push(error.to_string()),
        }),
        Err(error) => errors.push(error.to_string()),
    }
    (entries, errors)
}

/// Returns for each packet its state, its name, and its milliseconds since the beginning.
fn packets(entries: &[Entry]) -> Vec<(State, String, u128)> {
    let packets = entries.iter().filter_map(Entry::record).map(|record| {
        let packet = &record.packet;
        assert_eq!(packet.direction(), Direction::Clientbound);
        let millis = packet.at().since(packet.context().opened).as_millis();
        (packet.state(), record.name_or("?"), millis)
    });
    packets.collect()
}

/// Returns the body of a packet without fields that has a role or a name.
fn body(protocol: i32, state: State, name: &str, fields: &[u8]) -> Vec<u8> {
    let protocol = Catalog::embedded().find(protocol).unwrap().protocol;
    let kind = protocol.named(state, Direction::Clientbound, name).unwrap();
    [&[u8::try_from(kind.id()).unwrap()], fields].concat()
}

#[test]
fn every_packet_of_a_capture_comes_back_from_a_recording() {
    for name in ["session-1.8.jsonl", "session-1.12.2.jsonl"] {
        let path = format!("{}/../../captures/{name}", env!("CARGO_MANIFEST_DIR"));
        let bytes = std::fs::read(path).unwrap();
        let capture: Vec<Entry> = read_capture(Cursor::new(bytes), Catalog::embedded())
            .unwrap()
            .map(Result::unwrap)
            .collect();
        let mut zip = Vec::new();
        let mut sink = McprSink::new(&mut zip, None).unwrap();
        capture.iter().for_each(|entry| sink.write(entry).unwrap());
        sink.finish().unwrap();
        drop(sink);
        let (entries, errors) = read(&zip);
        assert_eq!(errors, [""; 0], "{name}");
        let shown = |entries: &[Entry]| -> Vec<(State, String, Vec<u8>)> {
            let records = entries.iter().filter_map(Entry::record).filter(|record| {
                let is_kept = record.packet.role() != Some(Role::KeepAlive)
                    && record.packet.role() != Some(Role::SetCompression);
                is_kept && record.packet.direction() == Direction::Clientbound
            });
            let started = records.skip_while(|it| it.packet.role() != Some(Role::LoginSuccess));
            let shown = |it: &super::super::Record| {
                (it.packet.state(), it.name_or("?"), it.packet.body().unwrap().to_vec())
            };
            started.map(shown).collect()
        };
        let expected = shown(&capture);
        assert!(expected.len() > 5 && shown(&entries) == expected, "{name}");
        let context = entries.last().unwrap().context();
        assert!(context.player.is_some(), "{name}");
        // What it lacks is said once.
        let said: Vec<_> =
            entries.iter().filter_map(|it| it.record()?.comment.as_deref()).collect();
        let [said] = said[..] else { panic!("{said:?}") };
        // Redaction leaves it.
        assert!(said.contains("only what the client received") && is_own(said), "{said}");
    }
}

#[test]
fn formats_before_14_begin_in_the_game_and_may_name_no_protocol() {
    let keep_alive = body(47, State::Play, "keep_alive", &[7]);
    for (format, protocol, version) in
        [(0, None, 47), (1, None, 47), (2, None, 110), (9, None, 340), (12, Some(393), 393)]
    {
        let alive = body(version, State::Play, "keep_alive", &[7; 8]);
        let bytes = if version < 340 { &keep_alive } else { &alive };
        let fits = body(version, State::Play, "keep_alive", &bytes[1..]);
        let (entries, errors) = read(&recording(format, protocol, &[(5, &fits)]));
        assert_eq!(errors, [""; 0], "{format}");
        assert_eq!(packets(&entries), [(State::Play, "keep_alive".to_owned(), 5)]);
        assert_eq!(entries[0].context().version, Some(version));
        assert_eq!(entries[0].context().upstream, "play.example.org");
        assert!(!entries[0].context().guess);
        let said = entries.iter().find_map(|it| it.record()?.comment.as_deref()).unwrap();
        assert!(said.contains("without the login") && is_own(said), "{said}");
    }
    let (entries, errors) = read(&recording(13, None, &[(5, &keep_alive)]));
    assert!(entries.is_empty() && errors[0].contains("`fileFormatVersion` 13 does not tell it"));
}

#[test]
fn a_recording_of_a_version_without_a_table_is_read_by_the_one_that_its_packets_fit() {
    // A snapshot of 1.13, as of the release before and as of the one after.
    let text = |text: &str| [&[u8::try_from(text.len()).unwrap()], text.as_bytes()].concat();
    let uuid = text("11111111-2222-3333-4444-555555555555");
    for (version, said) in [(351, false), (393, true)] {
        let lists = [text("{\"text\":\"hello\"}"), text("{\"text\":\"bye\"}")].concat();
        let mut all = vec![(
            0,
            body(version, State::Login, "success", &[uuid.clone(), text("Eve")].concat()),
        )];
        for at in 1..9 {
            all.push((at, body(version, State::Play, "playerlist_header", &lists)));
        }
        let all: Vec<(i32, &[u8])> = all.iter().map(|(at, body)| (*at, &**body)).collect();
        let (entries, errors) = read(&recording(14, Some(360), &all));
        assert_eq!(errors, [""; 0], "{version}");
        let last = entries.last().unwrap();
        assert_eq!(last.context().protocol.version(), version);
        assert!(last.context().guess && last.context().version == Some(360), "{version}");
        let records = entries.iter().filter_map(Entry::record);
        let misread = records.clone().filter(|it| it.packet.error().is_some()).count();
        assert!(misread <= 3, "{version}: {misread}");
        let comments: Vec<_> = records.filter_map(|it| it.comment.as_deref()).collect();
        assert!(comments.iter().all(|it| is_own(it)), "{comments:?}");
        let is_said = comments.iter().any(|it| it.contains("packets fit that one better"));
        assert_eq!(is_said, said, "{version}: {comments:?}");
    }
}

#[test]
fn a_recording_since_1_20_2_goes_through_the_configuration() {
    let success = [&[0; 16][..], &[3], b"Eve", &[0]].concat();
    // 1.20.5 to 1.21.1 say whether errors are strict.
    let strict = [&success[..], &[1]].concat();
    for (protocol, success) in [(764, &success), (765, &success), (767, &strict), (769, &success)] {
        let packet = |state, name, fields: &[u8]| body(protocol, state, name, fields);
        let all = [
            (0, packet(State::Login, "success", success)),
            (1, packet(State::Configuration, "finish_configuration", &[])),
            (2, packet(State::Play, "start_configuration", &[])),
            (2, packet(State::Configuration, "finish_configuration", &[])),
            (3, packet(State::Play, "bundle_delimiter", &[])),
            (3, Vec::new()),
            (-1, Vec::new()),
            (9, vec![0]),
        ];
        let all: Vec<(i32, &[u8])> = all.iter().map(|(at, body)| (*at, &**body)).collect();
        let (entries, errors) = read(&recording(14, Some(protocol), &all));
        assert_eq!(errors, [""; 0], "{protocol}");
        let expected = [
            (State::Login, "success".to_owned(), 0),
            (State::Configuration, "finish_configuration".to_owned(), 1),
            (State::Play, "start_configuration".to_owned(), 2),
            (State::Configuration, "finish_configuration".to_owned(), 2),
            (State::Play, "bundle_delimiter".to_owned(), 3),
        ];
        assert_eq!(packets(&entries), expected, "{protocol}");
        let states = entries.iter().filter(
            |it| matches!(it, Entry::Event(event) if matches!(event.kind, EventKind::State(_))),
        );
        assert_eq!(states.count(), 5);
        assert_eq!(entries.last().unwrap().context().player.as_deref(), Some("Eve"));
    }
}

#[test]
fn a_recording_before_1_20_2_goes_from_the_login_to_the_game() {
    // Up to 1.15 the UUID is text.
    let old = [&[36][..], b"069a79f4-44e9-4726-a5be-fca90e38aaf5", &[3], b"Eve"].concat();
    let new = [&[0; 16][..], &[3], b"Eve"].concat();
    let newer = [&new[..], &[0]].concat();
    for (protocol, success) in [(47, &old), (340, &old), (754, &new), (763, &newer)] {
        let success = body(protocol, State::Login, "success", success);
        let slot = body(protocol, State::Play, "held_item_slot", &[3]);
        let (entries, errors) = read(&recording(14, Some(protocol), &[(0, &success), (50, &slot)]));
        assert_eq!(errors, [""; 0], "{protocol}");
        let expected = [
            (State::Login, "success".to_owned(), 0),
            (State::Play, "held_item_slot".to_owned(), 50),
        ];
        assert_eq!(packets(&entries), expected, "{protocol}");
        assert!(entries.iter().filter_map(Entry::record).all(|it| it.packet.error().is_none()));
        assert_eq!(entries.last().unwrap().context().player.as_deref(), Some("Eve"));
    }
}

#[test]
fn the_metadata_may_come_before_the_recording_or_behind_it() {
    let alive = body(47, State::Play, "keep_alive", &[7]);
    let bytes = records(&[(5, &alive)]);
    let metadata = metadata(1, None).to_string();
    let [one, other] = [("recording.tmcpr", &*bytes), ("metaData.json", metadata.as_bytes())];
    let thumb = ("thumb.jpg", &b"\xff\xd8"[..]);
    for members in
        [[one, other, thumb], [other, one, thumb], [thumb, other, one], [one, thumb, other]]
    {
        let (entries, errors) = read(&archive(&members));
        assert_eq!((packets(&entries).len(), errors.len()), (1, 0));
    }
    let (entries, errors) = read(&archive(&[one, thumb]));
    assert!(entries.is_empty() && errors[0].contains("without its `metaData.json`"), "{errors:?}");
    let (entries, errors) = read(&archive(&[other, thumb]));
    assert!(entries.is_empty() && errors[0].contains("no member of the zip"), "{errors:?}");
}

#[test]
fn a_recording_that_is_cut_off_anywhere_is_read_up_to_there() {
    let alive = body(47, State::Play, "keep_alive", &[7]);
    let all: Vec<(i32, &[u8])> = (0..20).map(|at| (at, &*alive)).collect();
    let bytes = records(&all);
    let text = metadata(1, None).to_string();
    for end in 0..bytes.len() {
        let zip =
            archive(&[("metaData.json", text.as_bytes()), ("recording.tmcpr", &bytes[..end])]);
        let (entries, errors) = read(&zip);
        let size = 8 + alive.len();
        assert_eq!(packets(&entries).len(), end / size);
        assert_eq!(errors.len(), usize::from(!end.is_multiple_of(size)), "{errors:?}");
        if let Some(error) = errors.first() {
            let place = format!("packet {} of the recording", end / size + 1);
            assert!(error.starts_with(&place), "{error}");
        }
    }
    // The archive itself is cut off.
    let zip = archive(&[("metaData.json", text.as_bytes()), ("recording.tmcpr", &bytes)]);
    for end in 0..zip.len() {
        let (_, errors) = read(&zip[..end]);
        assert!(!errors.is_empty() || end == 0, "{end}");
    }
    let zip = archive(&[("recording.tmcpr", &bytes), ("metaData.json", text.as_bytes())]);
    let (_, errors) = read(&zip[..80]);
    assert!(errors[0].contains("the archive is cut off before it"), "{errors:?}");
}

#[test]
fn hostile_recordings_are_named_and_take_no_memory() {
    // A length that is not there.
    let lie = [&0i32.to_be_bytes()[..], &(16i32 << 20).to_be_bytes(), &[0, 7]].concat();
    let alive = body(47, State::Play, "keep_alive", &[7]);
    let text = metadata(1, None).to_string();
    let made =
        |bytes: &[u8]| archive(&[("metaData.json", text.as_bytes()), ("recording.tmcpr", bytes)]);
    let (entries, errors) = read(&made(&lie));
    assert!(packets(&entries).is_empty());
    assert!(errors[0].contains("packet 1 of the recording: the file ends within"), "{errors:?}");
    // A packet beyond the memory is left out, and those behind it are read.
    let long = vec![0; 10_000];
    let bytes = records(&[(1, &alive), (2, &long), (3, &alive)]);
    let read =
        read_capture_within(Cursor::new(made(&bytes)), Catalog::embedded(), 8 * 5000).unwrap();
    let (entries, errors): (Vec<_>, Vec<_>) = read.partition(Result::is_ok);
    assert_eq!(packets(&entries.into_iter().flatten().collect::<Vec<_>>()).len(), 2);
    let [Err(ReadError::Entry(place, error))] = &errors[..] else { panic!("{errors:?}") };
    assert_eq!(place.to_string(), "packet 2 of the recording");
    assert_eq!(error.to_string(), "10000 bytes long, and 5000 can be read");
    // Negative lengths.
    let bytes =
        [&records(&[(1, &alive)])[..], &1i32.to_be_bytes(), &(-7i32).to_be_bytes()].concat();
    let (entries, errors) = self::read(&made(&bytes));
    assert_eq!(packets(&entries).len(), 1);
    assert!(errors[0].contains("invalid value 1 and -7"), "{errors:?}");
    // Metadata.
    for (text, said) in [
        ("", "`metaData.json` of the recording is invalid"),
        ("[]", "not a JSON object"),
        ("{}", "has no `protocol`, and its `fileFormatVersion` (missing)"),
        (r#"{"fileFormatVersion":99,"mcversion":"\u001b[31m"}"#, "99 does not tell it"),
    ] {
        let zip = archive(&[("metaData.json", text.as_bytes()), ("recording.tmcpr", &bytes)]);
        let (entries, errors) = self::read(&zip);
        assert!(entries.is_empty() && errors[0].contains(said), "{errors:?}");
        assert!(!errors[0].contains('\u{1b}'));
    }
    let long = format!("{{\"players\":\"{}\"}}", "x".repeat(5 << 20));
    let zip = archive(&[("metaData.json", long.as_bytes()), ("recording.tmcpr", &bytes)]);
    assert!(self::read(&zip).1[0].contains("longer than 4194304 bytes"));
}
