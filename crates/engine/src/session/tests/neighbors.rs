//! Versions without a description, which are read by that of the version before or after them.

use super::*;
use serde_json::json;

/// A session that says `number` and speaks `version`, in the game; with the configuration, if it has one.
fn playing(number: i32, version: i32) -> Pair {
    let mut pair = Pair::connected(usize::MAX);
    let Value::Map(mut hello) = handshake("localhost", 2) else { panic!() };
    hello[0].1 = number.into();
    pair.client_says(State::Handshaking, "set_protocol", Value::Map(hello));
    let id = "11111111-2222-3333-4444-555555555555";
    let (mut start, mut success) =
        (json!({ "username": "Steve" }), json!({ "username": "Steve", "uuid": id }));
    if (763..Catalog::FIRST_SNAPSHOT).contains(&version) {
        start["playerUUID"] = json!(id);
        success["properties"] = json!([]);
    }
    client(&mut pair, version, State::Login, "login_start", &start);
    server(&mut pair, version, State::Login, "success", &success);
    if protocol(version).named(State::Login, Direction::Serverbound, "login_acknowledged").is_some()
    {
        client(&mut pair, version, State::Login, "login_acknowledged", &json!({}));
        let brand = json!({ "channel": "minecraft:brand", "data": "0776616e696c6c61" });
        server(&mut pair, version, State::Configuration, "custom_payload", &brand);
        server(&mut pair, version, State::Configuration, "finish_configuration", &json!({}));
        client(&mut pair, version, State::Configuration, "finish_configuration", &json!({}));
    }
    pair
}

fn protocol(version: i32) -> Arc<mitmcraft_protocol::schema::Protocol> {
    Catalog::embedded().find(version).unwrap().protocol
}

fn encoded(
    version: i32,
    state: State,
    direction: Direction,
    name: &str,
    value: &serde_json::Value,
) -> Vec<u8> {
    let protocol = protocol(version);
    let packet = protocol.named(state, direction, name).unwrap();
    protocol.encode(packet, &Value::from_json(value)).unwrap()
}

fn client(pair: &mut Pair, version: i32, state: State, name: &str, value: &serde_json::Value) {
    pair.client.encoder.send(&encoded(version, state, Direction::Serverbound, name, value));
    pair.run();
}

fn server(pair: &mut Pair, version: i32, state: State, name: &str, value: &serde_json::Value) {
    pair.server.encoder.send(&encoded(version, state, Direction::Clientbound, name, value));
    pair.run();
}

/// What both peers of a game say.
fn converse(pair: &mut Pair, version: i32) {
    for number in 0..4 {
        server(
            pair,
            version,
            State::Play,
            "update_health",
            &json!({
                "health": 20.0, "food": number, "foodSaturation": 1.0,
            }),
        );
        client(pair, version, State::Play, "held_item_slot", &json!({ "slotId": number }));
        server(
            pair,
            version,
            State::Play,
            "playerlist_header",
            &json!({
                "header": "{\"text\":\"hello\"}", "footer": "{\"text\":\"bye\"}",
            }),
        );
    }
}

/// The version by which each packet is read, and how many decode.
fn read(entries: &[Entry]) -> (Vec<i32>, usize) {
    let packets = entries.iter().filter_map(|entry| match entry {
        Entry::Packet(record) => Some(record),
        Entry::Event(_) => None,
    });
    let versions = packets.clone().map(|it| it.packet.context().protocol.version());
    let whole = packets.clone().filter(|it| it.packet.error().is_none()).count();
    assert!(packets.clone().skip(1).all(|it| it.packet.context().guess));
    (versions.collect(), whole)
}

#[test]
fn a_version_without_a_description_is_read_by_the_one_around_it_that_its_packets_fit() {
    // Snapshots of 1.9, 1.13, 1.17 and 1.20.2, as of the release before and as of the one after.
    let snapshot = Catalog::FIRST_SNAPSHOT;
    for (number, versions) in [
        (50, [47, 76]),
        (90, [76, 107]),
        (345, [340, 351]),
        (360, [351, 393]),
        (snapshot + 30, [snapshot + 15, 755]),
        (snapshot + 146, [763, 764]),
    ] {
        for version in versions {
            let mut pair = playing(number, version);
            converse(&mut pair, version);
            let last = pair.session.context().protocol.version();
            assert_eq!(last, version, "{number} as of {version}");
            let (used, whole) = read(&pair.entries);
            let misread = used.len() - whole;
            assert!(misread <= 3, "{number} as of {version}: {misread} of {used:?}");
            let notices = pair.outputs.iter();
            let used = notices.filter_map(|it| match it {
                Output::Notice(Notice::GuessedVersion { used, .. }) => Some(*used),
                _ => None,
            });
            let expected = &versions[..if version == versions[0] { 1 } else { 2 }];
            assert_eq!(used.collect::<Vec<_>>(), expected, "{number} as of {version}");
            // Nothing but the handshake's host is changed, which is recorded before and after.
            let changed = pair.records().iter().filter(|it| it.outcome != Outcome::Pass).count();
            assert_eq!(changed, 2);
            assert_eq!(pair.client_got.len() + pair.server_got.len() + 1, pair.records().len());
            assert_eq!(read(&pair.captured()), read(&pair.entries));
        }
    }
}

#[test]
fn packets_that_fit_neither_version_change_nothing() {
    let mut pair = playing(50, 47);
    for number in 0..300_u16 {
        let [high, low] = number.to_be_bytes();
        pair.server.encoder.send(&[0x7f, high, low, 0xff, 0xfe]);
        pair.run();
    }
    assert_eq!(pair.session.context().protocol.version(), 47);
    // Only so many are compared.
    converse(&mut pair, 76);
    assert_eq!(pair.session.context().protocol.version(), 47);
}
