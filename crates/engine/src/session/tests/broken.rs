//! What is no frame, no packet, or none that is known: forwarded and recorded all the same.

use super::effects::rules;
use super::*;
use mitmcraft_protocol::codec::{Encoder, MemoryBudget};
use mitmcraft_protocol::packet::Cause;

#[test]
fn forwards_and_records_packets_that_do_not_decode() {
    for size in SIZES {
        let mut pair = Pair::playing(size, 64);
        for body in [
            &b"\x7f unknown id"[..],
            b"\x02\x05ab",
            b"\x00\x01 left over",
            b"\xff\xff\xff\xff\xff\x01",
        ] {
            pair.server.encoder.send(body);
            pair.client.encoder.send(body);
        }
        pair.run();
        assert_eq!(pair.client_got[2..], pair.server_got[2..]);
        let failed = pair.records().iter().filter(|it| it.packet.error().is_some()).count();
        assert_eq!(failed, 8);
        assert!(!pair.session.is_over());
    }
}

#[test]
fn a_length_that_is_no_varint_makes_only_that_direction_opaque() {
    for size in SIZES {
        let mut pair = Pair::playing(size, -1);
        pair.client.decoder.set_opaque();
        pair.server.encoder.put(b"\xff\xff\xff\xff\xff\xff garbage");
        pair.run();
        pair.client_says(State::Play, "chat", chat("still here"));
        assert_eq!(pair.client_got[2..].concat(), b"\xff\xff\xff\xff\xff\xff garbage");
        assert_eq!(pair.seen().iter().filter(|name| *name == "chat").count(), 1);
        assert!(!pair.session.is_over());
    }
}

#[test]
fn a_frame_beyond_the_limit_streams_through_in_pieces() {
    let limits = Limits::new(1000, Limits::default().inflated);
    for size in SIZES {
        let config = Config { limits, ..Config::default() };
        let mut pair = Pair::with(size, config, Pipeline::default());
        pair.input(Input::Connected("127.0.0.1:25565".parse().unwrap()));
        pair.client_says(State::Handshaking, "set_protocol", handshake("localhost", 2));
        let big = vec![0x5a; 5000];
        pair.client.encoder.send(&big);
        pair.client_says(State::Login, "login_start", fields([("username", "Steve".into())]));
        assert_eq!(pair.server_got[1], big);
        assert_eq!(pair.seen().last().unwrap(), "login_start");
        pair.input(Input::Stop(Cause::new("stopped")));
        let Some(Entry::Event(event)) = pair.entries.last() else { panic!() };
        let EventKind::Close(summary) = &event.kind else { panic!("{event:?}") };
        assert_eq!(summary.serverbound_packets, 3, "the pieces are one packet");
        let records = pair.records();
        // Behind the pieces: the login start, and the words for the player.
        let pieces: usize = records[2..records.len() - 2]
            .iter()
            .map(|record| match record.packet.content() {
                mitmcraft_protocol::packet::Content::Raw(
                    bytes,
                    RawReason::Oversize { frame: 5000, .. },
                ) => bytes.len(),
                content => panic!("{content:?}"),
            })
            .sum();
        assert_eq!(pieces, 5002);
    }
}

#[test]
fn a_frame_that_never_became_whole_is_forwarded_and_recorded() {
    for size in SIZES {
        let mut pair = Pair::playing(size, -1);
        pair.client.encoder.put(b"\x20\x01only a part");
        pair.run();
        pair.input(Input::Closed(Side::Client));
        pair.server.decoder.set_opaque();
        while let Some(unit) = pair.server.decoder.poll() {
            pair.server_got.push(unit.wire().clone());
        }
        assert_eq!(pair.server_got[2..].concat(), b"\x20\x01only a part");
        let records = pair.records();
        let last = records.last().unwrap().packet.content();
        assert!(
            matches!(last, mitmcraft_protocol::packet::Content::Raw(_, RawReason::CutOff)),
            "{last:?}"
        );
    }
}

#[test]
fn an_unknown_version_is_read_by_the_nearest_description_and_marked() {
    let mut pair = Pair::connected(usize::MAX);
    let value = fields([
        ("protocolVersion", 100_000.into()),
        ("serverHost", "localhost".into()),
        ("serverPort", 25566.into()),
        ("nextState", 1.into()),
    ]);
    pair.client_says(State::Handshaking, "set_protocol", value);
    assert!(pair.session.context().guess);
    assert_eq!(pair.session.context().version, Some(100_000));
    let warned = |it: &Output| matches!(it, Output::Notice(Notice::GuessedVersion { .. }));
    assert!(!pair.outputs.iter().any(warned), "a status is the same in all versions");
    let mut pair = Pair::connected(usize::MAX);
    let Value::Map(mut login) = handshake("localhost", 2) else { panic!() };
    login[0].1 = 100_000.into();
    pair.client_says(State::Handshaking, "set_protocol", Value::Map(login));
    assert!(pair.outputs.iter().any(warned));
    let known = Pair::playing(usize::MAX, -1);
    assert!(!known.outputs.iter().any(warned));
}

#[test]
fn every_byte_that_came_is_in_the_records_whatever_the_bytes_are() {
    let mut seed = 1u64;
    let mut random = move || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as u8
    };
    for round in 0..200 {
        let mut pair = if round % 2 == 0 { Pair::connected(7) } else { Pair::playing(7, 16) };
        let before = pair.records().len();
        let garbage: Vec<u8> =
            (0..usize::from(random())).map(|_| random() >> (round % 5)).collect();
        pair.client.encoder.put(&garbage);
        pair.run();
        pair.input(Input::Closed(Side::Client));
        pair.input(Input::Closed(Side::Server));
        assert!(pair.session.is_over());
        let came: Vec<u8> = pair.records()[before..]
            .iter()
            .filter(|record| record.outcome.came())
            .flat_map(|record| match record.packet.content() {
                mitmcraft_protocol::packet::Content::Frame(frame) => frame.wire().to_vec(),
                mitmcraft_protocol::packet::Content::Raw(bytes, _) => bytes.to_vec(),
            })
            .collect();
        assert_eq!(came, garbage, "round {round}");
    }
}

#[test]
fn unfinished_frames_of_many_clients_stay_below_the_ceiling_and_arrive() {
    let memory = MemoryBudget::new(8 << 20);
    let config = Config { memory: memory.clone(), ..Config::default() };
    let mut pairs: Vec<Pair> = (0..40)
        .map(|number| {
            let mut pair = Pair::with(64 << 10, config.clone(), Pipeline::default());
            pair.input(Input::Connected("127.0.0.1:25565".parse().unwrap()));
            // Half of them before the login.
            pair.client_says(State::Handshaking, "set_protocol", handshake("localhost", 2));
            if number % 2 == 0 {
                pair.client_says(
                    State::Login,
                    "login_start",
                    fields([("username", "Steve".into())]),
                );
                pair.server_says(State::Login, "success", success());
            }
            pair
        })
        .collect();
    let mut encoder = Encoder::new();
    encoder.send(&[7; 2_000_000]);
    let frame = encoder.pending();
    let unfinished = &frame[..frame.len() - 1];
    for pair in &mut pairs {
        pair.client.encoder.put(unfinished);
        pair.run();
        assert!(memory.used() <= memory.limit() + (256 << 10), "{}", memory.used());
    }
    assert!(memory.streamed() > 0);
    for pair in &mut pairs {
        let before = pair.server_got.len();
        pair.client.encoder.put(&frame[frame.len() - 1..]);
        pair.client.encoder.send(b"the next one");
        pair.run();
        let got: usize = pair.server_got[before..].iter().map(Bytes::len).sum();
        assert!(got > 0);
        assert_eq!(pair.server_got.last().unwrap(), &b"the next one"[..]);
        let last = pair.entries.iter().rev().find_map(Entry::record).unwrap();
        assert!(last.packet.frame().is_some_and(|frame| frame.size() == 12));
    }
    drop(pairs);
    assert_eq!(memory.used(), 0);
}

#[test]
fn delayed_packets_and_those_not_written_yet_count_as_memory() {
    // Half of it, so that as much is left for others.
    let memory = MemoryBudget::new(2 << 20);
    let config = Config { memory: memory.clone(), ..Config::default() };
    let mut pair = Pair::with(64 << 10, config, rules("[[rule]]\ndelay = '1h'\n"));
    pair.input(Input::Connected("127.0.0.1:25565".parse().unwrap()));
    pair.client_says(State::Handshaking, "set_protocol", handshake("localhost", 2));
    for _ in 0..200 {
        pair.client.encoder.send(&[7; 30_000]);
    }
    pair.run();
    // Its own delayed packets hold the session up, and nothing else.
    assert!(memory.used() >= 1 << 20 && memory.used() < 2 << 20, "{}", memory.used());
    assert!(!pair.session.wants_read(Side::Client) && pair.session.wants_read(Side::Server));
}

#[test]
fn inflated_bodies_that_a_rule_looked_at_stay_below_the_ceiling_while_the_log_is_slow() {
    let memory = MemoryBudget::new(8 << 20);
    let config = Config { memory: memory.clone(), ..Config::default() };
    let rule = "[[rule]]\nwhen = 'custom_payload.channel == \"bomb\"'\ntag = 'seen'\n";
    let mut pair = Pair::with(64 << 10, config, rules(rule));
    pair.input(Input::Connected("127.0.0.1:25565".parse().unwrap()));
    pair.client_says(State::Handshaking, "set_protocol", handshake("localhost", 2));
    pair.client_says(State::Login, "login_start", fields([("username", "Steve".into())]));
    pair.server_says(State::Login, "compress", fields([("threshold", 64.into())]));
    pair.client.set_compression(Some(64));
    pair.server.set_compression(Some(64));
    pair.server_says(State::Login, "success", success());
    let data = Value::Bytes(vec![0; 1_000_000].into());
    for _ in 0..50 {
        let bomb = fields([("channel", "bomb".into()), ("data", data.clone())]);
        pair.server_says(State::Play, "custom_payload", bomb);
    }
    // The records are not written yet.
    assert!(memory.used() > 7 << 20 && memory.used() <= memory.limit(), "{}", memory.used());
    let tagged = pair.entries.iter().filter_map(Entry::record);
    let tagged =
        tagged.filter(|record| record.notes.as_ref().is_some_and(|it| !it.tags.is_empty()));
    assert_eq!(tagged.count(), 50);
    pair.entries.clear();
    assert_eq!(memory.used(), 0);
}
