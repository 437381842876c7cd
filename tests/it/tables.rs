//! The embedded tables of every version: their packets and the corrections to them.

use std::sync::Arc;

use hex_literal::hex;
use mitmcraft::schema::{Catalog, Direction, Match, Protocol, Role, State, Value};
use mitmcraft::wire::write_varint;

use Direction::{Clientbound, Serverbound};
use State::{Configuration, Handshaking, Login, Play, Status};

#[test]
fn every_version_has_the_packets_that_drive_a_connection() {
    for (version, names) in Catalog::embedded().versions() {
        let protocol = exact(version);
        let mut roles = vec![
            (Handshaking, Serverbound, Role::Handshake),
            (Status, Serverbound, Role::StatusRequest),
            (Status, Clientbound, Role::StatusResponse),
            (Status, Serverbound, Role::Ping),
            (Status, Clientbound, Role::Ping),
            (Login, Serverbound, Role::LoginStart),
            (Login, Clientbound, Role::EncryptionRequest),
            (Login, Serverbound, Role::EncryptionResponse),
            (Login, Clientbound, Role::LoginSuccess),
            (Login, Clientbound, Role::Disconnect),
            (Play, Clientbound, Role::Disconnect),
            (Play, Clientbound, Role::KeepAlive),
            (Play, Serverbound, Role::KeepAlive),
            (Play, Serverbound, Role::Chat),
            (Play, Clientbound, Role::Chat),
        ];
        let plain = version < 1 << 30;
        if version >= 47 {
            roles.push((Login, Clientbound, Role::SetCompression));
        }
        if plain && version >= 764 {
            roles.extend([
                (Login, Serverbound, Role::LoginAcknowledged),
                (Configuration, Clientbound, Role::FinishConfiguration),
                (Configuration, Serverbound, Role::FinishConfiguration),
                (Configuration, Clientbound, Role::Disconnect),
                (Play, Clientbound, Role::StartConfiguration),
                (Play, Serverbound, Role::ConfigurationAcknowledged),
            ]);
        }
        if plain && version >= 766 {
            roles.push((Configuration, Clientbound, Role::Transfer));
            roles.push((Play, Clientbound, Role::Transfer));
        }
        if plain && version >= 761 {
            roles.push((Play, Serverbound, Role::ChatSession));
            roles.push((Play, Clientbound, Role::PlayerChat));
        }
        if plain && version >= 762 {
            roles.push((Play, Clientbound, Role::BundleDelimiter));
        }
        for (state, direction, role) in roles {
            let found = protocol.role(state, direction, role);
            assert!(found.is_some(), "{version} {names:?}: {role:?} in {state} {direction}");
        }
    }
}

#[test]
fn a_slot_ends_with_an_id_below_zero() {
    for version in [4, 5, 47, 76, 107, 110, 210, 316, 340, 351, 393, 401] {
        let slot = decoded(version, "set_slot", &hex!("00 0005 fffe"));
        assert!(slot.get("item").unwrap().get("itemCount").is_none(), "{version}");
        let slot = decoded(version, "set_slot", &hex!("00 0005 ffff"));
        assert!(slot.get("item").unwrap().get("itemCount").is_none(), "{version}");
    }
}

#[test]
fn a_slot_with_components_ends_with_a_count_of_zero_or_less() {
    for version in 766..=775 {
        for empty in [&hex!("00")[..], &hex!("ffffffff0f")] {
            let bytes = [&hex!("00 00 0005"), empty].concat();
            let slot = decoded(version, "set_slot", &bytes);
            assert!(slot.get("item").unwrap().get("itemId").is_none(), "{version}");
        }
        let slot = decoded(version, "set_slot", &hex!("00 00 0005 c801 07 00 00"));
        let count = slot.get("item").unwrap().get("itemCount").unwrap().as_int();
        assert_eq!(count, Some(200), "{version}");
    }
}

#[test]
fn an_object_has_a_velocity_only_with_data_above_zero() {
    let place = hex!("01 02 00000003 00000004 00000005 06 07");
    for version in [4, 5, 47] {
        for (data, velocity) in
            [(&hex!("00000000")[..], 0), (&hex!("fffffffe"), 0), (&hex!("00000001"), 6)]
        {
            let bytes = [&place, data, &[8; 6][..velocity]].concat();
            decoded(version, "spawn_entity", &bytes);
        }
    }
    let uuid = [9; 16];
    let bytes = [&place[..1], &uuid, &place[1..], &hex!("00000000 0001 0002 0003")].concat();
    let speed = decoded(76, "spawn_entity", &bytes);
    assert_eq!(speed.get("velocity").unwrap().get("z").unwrap().as_int(), Some(3));
}

#[test]
fn a_debug_subscription_is_read_by_its_type() {
    for version in 773..=775 {
        let update = decoded(version, "debug_block_value", &hex!("0000000000000000 06 01 05"));
        let payload = update.get("update").unwrap().get("payload").unwrap();
        assert_eq!(payload.get("id").unwrap().as_int(), Some(5), "{version}");
        decoded(version, "debug_block_value", &hex!("0000000000000000 00"));
    }
}

#[test]
fn a_player_that_appears_has_no_properties_before_1_7_6() {
    let text = |text: &str| [&[text.len() as u8], text.as_bytes()].concat();
    let rest = hex!("00000001 00000002 00000003 04 05 0006 7f");
    let names = [text("id"), text("Notch")].concat();
    let old = [&hex!("01"), &names[..], &rest].concat();
    assert!(decoded(4, "named_entity_spawn", &old).get("data").is_none());
    let new = [&hex!("01"), &names[..], &hex!("00"), &rest].concat();
    assert!(decoded(5, "named_entity_spawn", &new).get("data").is_some());
}

/// Decodes the fields of a clientbound packet of the game, and encodes them again.
fn decoded(version: i32, name: &str, fields: &[u8]) -> Value {
    let protocol = exact(version);
    let packet = protocol.named(Play, Clientbound, name).unwrap();
    let mut body = Vec::new();
    write_varint(&mut body, packet.id());
    let start = body.len();
    body.extend_from_slice(fields);
    let value = protocol.decode(packet, &body, start);
    let value = value.unwrap_or_else(|error| panic!("{version} {name}: {error}"));
    assert_eq!(protocol.encode(packet, &value), Ok(body), "{version} {name}");
    value
}

fn exact(version: i32) -> Arc<Protocol> {
    let Match { protocol, exact, .. } = Catalog::embedded().find(version).unwrap();
    assert!(exact, "{version}");
    protocol
}
