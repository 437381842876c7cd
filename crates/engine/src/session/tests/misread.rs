//! What packets read as that do not decode: compressed, plain, or those of another version.

use super::*;
use crate::analysis::{MismatchCause, VersionCheck, VersionMismatch};
use crate::capture::Sink as _;
use crate::explain::Explainer;
use crate::lint::{LintSide, Linter};
use mitmcraft_protocol::packet::Reading;

/// A session of 1.8 in the game, without compression.
fn plain_game(size: usize) -> Pair {
    let mut pair = Pair::connected(size);
    pair.client_says(State::Handshaking, "set_protocol", handshake("localhost", 2));
    pair.client_says(State::Login, "login_start", fields([("username", "Steve".into())]));
    pair.server_says(State::Login, "success", success());
    pair
}

/// Packets of a server of a version, with texts of several lengths.
fn packets(version: i32) -> Vec<Vec<u8>> {
    let protocol = Catalog::embedded().find(version).unwrap().protocol;
    let say = |name: &str, value: Value| {
        let packet = protocol.named(State::Play, Direction::Clientbound, name).unwrap();
        protocol.encode(packet, &value).unwrap()
    };
    let message = |length: usize| {
        let text = format!(r#"{{"text":"{}"}}"#, "hello ".repeat(length));
        say("chat", fields([("message", Value::from(text.as_str())), ("position", 0.into())]))
    };
    let mut all: Vec<Vec<u8>> = (1..12).map(message).collect();
    all.extend((1..4).map(|number| {
        let health = Value::Float64(f64::from(number));
        let fields =
            [("health", health), ("food", 20.into()), ("foodSaturation", Value::Float64(1.0))];
        say("update_health", Value::map(fields))
    }));
    all
}

fn send(pair: &mut Pair, bodies: &[Vec<u8>]) {
    for body in bodies {
        pair.server.encoder.send(body);
        pair.run();
    }
    pair.input(Input::Closed(Side::Client));
    pair.input(Input::Closed(Side::Server));
}

fn mismatch(pair: &Pair) -> Option<VersionMismatch> {
    let mut check = VersionCheck::default();
    pair.entries.iter().filter_map(|entry| check.take(entry)).last()
}

/// What a capture of the session tells.
fn recorded(pair: &Pair) -> Option<VersionMismatch> {
    let mut check = VersionCheck::default();
    pair.captured().iter().filter_map(|entry| check.take(entry)).last()
}

/// The first evidence for a cause of the end: its rule.
fn first_rule(pair: &Pair) -> Option<String> {
    let mut explainer = Explainer::default();
    pair.entries.iter().for_each(|entry| explainer.write(entry).unwrap());
    let report = explainer.into_report();
    let evidence = report.sessions.first()?.evidence.first()?;
    assert!(evidence.packet().is_some());
    Some(evidence.finding.rule.to_string())
}

/// The reasons that the linter gives.
fn reasons(pair: &Pair) -> Vec<String> {
    let mut linter = Linter::default();
    pair.entries.iter().for_each(|entry| linter.write(entry).unwrap());
    linter.finish().unwrap();
    linter.report().findings.into_iter().map(|it| it.reason).collect()
}

#[test]
fn compressed_frames_without_set_compression_are_said_to_be() {
    for size in SIZES {
        let mut pair = plain_game(size);
        pair.server.encoder.set_compression(Some(64));
        send(&mut pair, &packets(47));
        let found = mismatch(&pair).unwrap();
        assert_eq!(found.cause, MismatchCause::Compressed, "{found}");
        assert_eq!(recorded(&pair).as_ref(), Some(&found));
        let sentence = found.to_string();
        let expected = "the server of session 1 compresses without Set Compression: ";
        assert!(sentence.starts_with(expected), "{sentence}");
        assert!(sentence.ends_with(", but read as compressed packets"), "{sentence}");
        assert_eq!(first_rule(&pair).as_deref(), Some("compression-differs"));
        let reasons = reasons(&pair);
        let reading = "; it reads as `chat` compressed, though no Set Compression came";
        assert!(reasons.iter().any(|it| it.ends_with(reading)), "{reasons:?}");
        let mut brief = Linter::brief(LintSide::Server);
        pair.entries.iter().for_each(|entry| brief.write(entry).unwrap());
        let found = brief.report().findings;
        assert!(found.iter().any(|it| it.certain), "{found:?}");
        assert!(found.iter().all(|it| !it.reason.contains("reads as")), "{found:?}");
    }
}

#[test]
fn plain_frames_after_set_compression_are_said_to_be() {
    for size in SIZES {
        let mut pair = Pair::playing(size, 64);
        pair.server.encoder.set_compression(None);
        send(&mut pair, &packets(47));
        let found = mismatch(&pair).unwrap();
        assert_eq!(found.cause, MismatchCause::Uncompressed, "{found}");
        assert_eq!(recorded(&pair).as_ref(), Some(&found));
        assert_eq!(first_rule(&pair).as_deref(), Some("compression-differs"));
        let reasons = reasons(&pair);
        let reading = "it reads as `chat` uncompressed, though Set Compression came";
        assert!(reasons.iter().any(|it| it.contains(reading)), "{reasons:?}");
    }
}

#[test]
fn packets_of_another_version_are_said_to_be() {
    for (version, name) in [(107, "1.9"), (340, "1.12.2")] {
        let mut pair = plain_game(usize::MAX);
        send(&mut pair, &packets(version));
        let found = mismatch(&pair).unwrap();
        let MismatchCause::Version(read) = &found.cause else { panic!("{found}") };
        // Chat and health are the same in all versions between.
        let protocol = Catalog::embedded().by_name(read).unwrap();
        assert!((107..=340).contains(&protocol.version()), "{name}: {found}");
        assert!(found.to_string().contains("seems to speak another version"), "{found}");
        assert_eq!(first_rule(&pair).as_deref(), Some("version-differs"));
    }
}

#[test]
fn no_cause_is_guessed_for_what_reads_as_nothing() {
    let mut pair = plain_game(usize::MAX);
    let garbage: Vec<Vec<u8>> = (0..14).map(|it| vec![0x7f, it, 0xff, 0xfe, it, 0xff]).collect();
    send(&mut pair, &garbage);
    let found = mismatch(&pair).unwrap();
    assert_eq!(found.cause, MismatchCause::Unknown);
    assert!(found.to_string().contains(" sends what cannot be read: 11 of "), "{found}");
    assert_eq!(first_rule(&pair).as_deref(), Some("id-unknown"));
    assert!(reasons(&pair).iter().all(|it| !it.contains("reads as")));
}

#[test]
fn a_healthy_session_reads_as_nothing_else() {
    let mut pair = plain_game(usize::MAX);
    send(&mut pair, &packets(47));
    assert_eq!(mismatch(&pair), None);
    assert!(pair.records().iter().all(|it| Reading::of(&it.packet).is_none()));
}

#[test]
fn a_packet_of_another_state_is_said_to_be() {
    let protocol = Catalog::embedded().find(765).unwrap().protocol;
    let packet = protocol.named(State::Play, Direction::Clientbound, "teams").unwrap();
    let team = serde_json::json!({
        "team": "red", "mode": 4, "players": ["Steve", "Alex"],
    });
    let body = protocol.encode(packet, &Value::from_json(&team)).unwrap();
    let context = crate::lint::tests::context(765);
    let content = mitmcraft_protocol::codec::Frame::from_body(body.into());
    let content = mitmcraft_protocol::packet::Content::Frame(content);
    let (direction, state) = (Direction::Clientbound, State::Configuration);
    let packet = Packet::new(Arc::new(context), 1, Timestamp(0), direction, state, content);
    let reading = Reading::of(&packet).unwrap().to_string();
    assert_eq!(reading, "reads as `teams` of the state play");
}
