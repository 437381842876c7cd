//! How `ping` reads every answer in the Server List Ping documents.

use std::path::Path;

use mitmcraft_engine::ping::{Form, Ping, PingError, Status};
use mitmcraft_protocol::packet::Timestamp;
use mitmcraft_protocol::schema::{Catalog, Direction, State, Value};
use serde_json::{Value as Json, json};

use super::unhex;

#[test]
fn every_answer_before_1_7_reads_as_in_the_golden_file() {
    let mut count = 0;
    for (packet, case) in cases("kick_disconnect") {
        let form = match text(&packet, "generation") {
            "Beta 1.8-1.3" => Form::Beta,
            _ => Form::V1_4,
        };
        let at = format!("{form}: {}", text(&case, "about"));
        let Some(parsed) = case.get("parsed").and_then(toml::Value::as_str) else { continue };
        let expected: Json = serde_json::from_str(parsed).unwrap();
        let answer = unhex(text(&case, "hex"));
        let mut ping = Ping::new(Timestamp::default(), form, "localhost", 25565).unwrap();
        // Whichever bytes are missing, the answer is incomplete.
        for byte in &answer[..answer.len() - 1] {
            let received = ping.handle_received(Timestamp::default(), &[*byte]);
            assert_eq!(received, Ok(None), "{at}");
        }
        let last = &answer[answer.len() - 1..];
        let received = ping.handle_received(Timestamp::default(), last);
        count += 1;
        match received {
            Ok(Some(status)) => {
                let mut found = json!({ "motd": status.description });
                if let (Some(protocol), Some(version)) = (status.protocol, &status.version) {
                    found["protocol"] = protocol.into();
                    found["version"] = version.as_str().into();
                }
                found["online"] = status.online.into();
                found["max"] = status.max.into();
                assert_eq!(found, expected, "{at}");
            }
            Err(PingError::Kick(_)) => assert_eq!(expected, Json::Null, "{at}"),
            other => panic!("{at}: {other:?}"),
        }
    }
    assert!(count > 15, "{count}");
}

#[test]
fn the_parts_of_an_answer_make_its_text() {
    let protocol = Catalog::embedded().legacy_ping();
    let packet = protocol.named(State::Status, Direction::Clientbound, "kick_disconnect").unwrap();
    for (_, case) in cases("kick_disconnect") {
        let mut parts: Json = serde_json::from_str(text(&case, "json")).unwrap();
        parts.as_object_mut().unwrap().remove("reason");
        let is_status = case.get("parsed").is_some_and(|it| it.as_str() != Some("null"));
        assert_eq!(is_status, !parts.as_object().unwrap().is_empty(), "{parts}");
        match protocol.encode(packet, &Value::from_json(&parts)) {
            Ok(body) => assert_eq!(body, unhex(text(&case, "hex")), "{parts}"),
            Err(error) => assert!(!is_status, "{parts}: {error}"),
        }
    }
}

#[test]
fn parts_that_would_read_back_differently_are_rejected() {
    let protocol = Catalog::embedded().legacy_ping();
    let packet = protocol.named(State::Status, Direction::Clientbound, "kick_disconnect").unwrap();
    for (parts, path, cause) in [
        (json!({ "motd": "§1\0", "online": 1, "max": 2 }), "motd", "something else"),
        (json!({ "motd": "hi", "online": 1 }), "max", "neither"),
        (json!({ "motd": "hi", "online": "many", "max": 2 }), "online", "integer"),
        (
            json!({ "motd": "hi", "online": 1, "max": 2, "version": "1.6" }),
            "protocolVersion",
            "neither",
        ),
        (
            json!({ "protocolVersion": 1, "version": "a\0b", "motd": "", "online": 1, "max": 2 }),
            "protocolVersion",
            "something else",
        ),
        (json!({ "nothing": 1 }), "nothing", "no such field"),
    ] {
        let error = protocol.encode(packet, &Value::from_json(&parts)).unwrap_err();
        assert_eq!(error.path, path, "{parts}: {error}");
        assert!(error.cause.to_string().contains(cause), "{parts}: {error}");
    }
    let beta = json!({ "motd": "§1 and §2§", "online": 1, "max": -2 });
    let body = protocol.encode(packet, &Value::from_json(&beta)).unwrap();
    let (_, start) = protocol.identify(State::Status, Direction::Clientbound, &body).unwrap();
    let read = protocol.decode(packet, &body, start).unwrap();
    assert_eq!(read.get("motd").and_then(Value::as_text), Some("§1 and §2§"));
}

#[test]
fn every_status_is_read_or_refused_as_json() {
    for (_, case) in cases("server_info") {
        let json: Json = serde_json::from_str(text(&case, "json")).unwrap();
        let response = json["response"].as_str().unwrap();
        let about = text(&case, "about");
        let Ok(status) = Status::from_json(response) else {
            assert_eq!(response, "", "{about}");
            continue;
        };
        let answer: Json = serde_json::from_str(response).unwrap();
        assert_eq!(status.protocol, answer["version"]["protocol"].as_i64(), "{about}");
        assert_eq!(status.online, answer["players"]["online"].as_i64(), "{about}");
        assert_eq!(status.mods.is_some(), about.contains("Forge"), "{about}");
        assert_eq!(status.favicon.is_some(), about.contains("real icon"), "{about}");
        if let Some(icon) = &status.favicon {
            assert!(icon.starts_with(b"\x89PNG\r\n\x1a\n"), "{about}");
        }
        let again = Status::from_json(&status.to_json()).unwrap();
        assert_eq!(again.favicon, status.favicon, "{about}");
        assert_eq!(again.motd(), status.motd(), "{about}");
    }
}

fn cases(name: &str) -> Vec<(toml::Value, toml::Value)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/server-list-ping.toml");
    let file: toml::Table = std::fs::read_to_string(path).unwrap().parse().unwrap();
    let packets = file["packet"].as_array().unwrap().iter();
    let named = packets.filter(|packet| text(packet, "name") == name);
    let all = named.flat_map(|packet| {
        packet["case"].as_array().unwrap().iter().map(|case| (packet.clone(), case.clone()))
    });
    all.collect()
}

fn text<'a>(table: &'a toml::Value, key: &str) -> &'a str {
    table[key].as_str().unwrap()
}
