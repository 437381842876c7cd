//! Changes to the payloads of plugin channels.

use super::*;
use crate::filter::rules::edit_path::EditPath;
use crate::filter::rules::payload_edit::rewrite;

/// A message of 1.8 on a plugin channel.
fn message(direction: Direction, channel: &str, data: &[u8]) -> Packet {
    let value =
        Value::map([("channel", channel.into()), ("data", Value::Bytes(data.to_vec().into()))]);
    packet_at(0, State::Play, direction, "custom_payload", &value)
}

/// Applies a rule with these actions; the data afterwards, and the comments.
fn applied(packet: &Packet, actions: &str) -> (Vec<u8>, Vec<String>) {
    let (mut pipeline, _) = rules(&format!("[[rule]]\nwhen = 'custom_payload'\n{actions}\n"));
    let judgement = pipeline.apply(packet);
    let Some(Value::Bytes(data)) = after(packet, &judgement).get("data").cloned() else { panic!() };
    (data.to_vec(), judgement.effects.notes.comments)
}

#[test]
fn fields_of_payloads_are_set_and_removed() {
    use Direction::{Clientbound, Serverbound};
    for (direction, channel, data, actions, after) in [
        (
            Serverbound,
            "MC|Brand",
            &b"\x07vanilla"[..],
            "set = { 'payload.brand' = 'mitmcraft' }",
            &b"\x09mitmcraft"[..],
        ),
        (
            Serverbound,
            "MC|Brand",
            b"\x07vanilla",
            "set = { 'payload.brand' = '=upper(payload.brand) + \"!\"' }",
            b"\x08VANILLA!",
        ),
        // Without a length, as some plugins send it.
        (Clientbound, "MC|Brand", b"Spigot", "set = { payload = { brand = 'x' } }", b"x"),
        (
            Clientbound,
            "REGISTER",
            b"FML|HS\0FML\0A",
            "set = { 'payload.channels[+]' = 'B' }\nremove = ['payload.channels[0]']",
            b"FML\0A\0B",
        ),
        (
            Clientbound,
            "BungeeCord",
            b"\0\x07Connect\0\x05lobby",
            "set = { 'payload.server' = 'arena1' }",
            b"\0\x07Connect\0\x06arena1",
        ),
        (
            Serverbound,
            "FML|HS",
            b"\x02\x01\x03FML\x038.0",
            "set = { 'payload.mods[0].version' = '9', 'payload.mods[+]' = { name = 'm', version = '1' } }",
            b"\x02\x02\x03FML\x019\x01m\x011",
        ),
        // The channel is set first, and with it the layout of the payload.
        (
            Serverbound,
            "REGISTER",
            b"\x01a",
            "set = { channel = 'MC|Brand', 'payload.brand' = 'b' }",
            b"\x01b",
        ),
    ] {
        let packet = message(direction, channel, data);
        let (data, comments) = applied(&packet, actions);
        assert_eq!(comments, Vec::<String>::new(), "{channel}: {actions}");
        assert_eq!(
            String::from_utf8_lossy(&data),
            String::from_utf8_lossy(after),
            "{channel}: {actions}"
        );
    }
}

#[test]
fn a_payload_that_cannot_be_changed_stays_with_the_reason() {
    for (channel, data, actions, reason) in [
        ("unknown", &b"\x07vanilla"[..], "set = { 'payload.brand' = 'x' }", "no layout that fits"),
        ("MC|Brand", b"\xff\xff", "set = { 'payload.brand' = 'x' }", "no layout that fits"),
        ("MC|Brand", b"\x01a", "set = { 'payload.brand' = \"\\u0007\" }", "no longer be decoded"),
        ("MC|Brand", b"\x01a", "set = { 'payload.channels[0]' = 'x' }", "`payload` of `MC|Brand`"),
    ] {
        let packet = message(Direction::Serverbound, channel, data);
        let (after, comments) = applied(&packet, actions);
        assert_eq!(after, data, "{channel}");
        assert!(comments.concat().contains(reason), "{channel}: {comments:?}");
    }
}

#[test]
fn what_no_payload_has_is_a_fault_of_the_file() {
    for (set, fault) in [
        ("'payload.brnd' = 'x'", "did you mean `brand`?"),
        ("'payload.brand' = 5", "`payload.brand`: expected text"),
    ] {
        let file = format!("[[rule]]\nwhen = 'custom_payload'\nset = {{ {set} }}\n");
        let checked = RuleSet::parse(&file, &Catalog::embedded().only(&[47]));
        let faults: Vec<String> = checked.faults.iter().map(|it| it.render("f")).collect();
        assert!(faults.concat().contains(fault), "{set}: {faults:?}");
        assert!(checked.rules.is_none());
    }
}

#[test]
fn lengths_around_a_payload_follow_it() {
    let protocol = Catalog::embedded().find(754).unwrap().protocol;
    let name = "login_plugin_request";
    let packet = protocol.named(State::Login, Direction::Clientbound, name).unwrap();
    // fml:loginwrapper: the inner channel, its length, then message 5, S2CModData, with one mod.
    let data = b"\x0dfml:handshake\x08\x05\x01\x01a\x01b\x011";
    let value = Value::map([
        ("messageId", Value::Int(1)),
        ("channel", "fml:loginwrapper".into()),
        ("data", Value::Bytes(data.to_vec().into())),
    ]);
    let body = protocol.encode(packet, &value).unwrap();
    let path = EditPath::parse("mods[0].name").unwrap();
    let change = (path, Some("longer".into()));
    let body = rewrite(&protocol, packet, (&body, 1), &[&change]).unwrap();
    let after = protocol.decode(packet, &body, 1).unwrap();
    let Some(Value::Bytes(data)) = after.get("data") else { panic!("{after:?}") };
    assert_eq!(**data, *b"\x0dfml:handshake\x0d\x05\x01\x01a\x06longer\x011");
}

#[test]
fn parts_of_a_handshakes_host_are_set() {
    let shielded = "play.example.com///203.0.113.7:54321///1///c2ln";
    for (host, actions, after_host) in [
        ("play.example.com\0FML2\0", "set = { 'payload.host' = 'lobby' }", "lobby\0FML2\0"),
        (
            "play.example.com",
            "set = { 'payload.host' = '=upper(payload.host)' }",
            "PLAY.EXAMPLE.COM",
        ),
        ("play.example.com\0FORGE", "set = { 'payload.host' = 'a' }", "a\0FORGE"),
        (
            shielded,
            "set = { 'payload.shield.time' = '2' }",
            "play.example.com///203.0.113.7:54321///2///c2ln",
        ),
        (
            "a\x00203.0.113.7\0b50ad385829d3141a2167e7d7539ba7f",
            "set = { 'payload.forwarded.address' = '198.51.100.9' }",
            "a\x00198.51.100.9\0b50ad385829d3141a2167e7d7539ba7f",
        ),
        // The text would end there.
        (
            "play.example.com",
            "set = { 'payload.host' = '=payload.host + \"/x\"' }",
            "play.example.com",
        ),
    ] {
        let value = Value::map([
            ("protocolVersion", 47.into()),
            ("serverHost", host.into()),
            ("serverPort", 25565.into()),
            ("nextState", 2.into()),
        ]);
        let packet =
            packet_at(0, State::Handshaking, Direction::Serverbound, "set_protocol", &value);
        let (mut pipeline, _) = rules(&format!("[[rule]]\nwhen = 'set_protocol'\n{actions}\n"));
        let judgement = pipeline.apply(&packet);
        let value = after(&packet, &judgement);
        assert_eq!(value.get("serverHost").and_then(Value::as_text), Some(after_host), "{actions}");
    }
}
