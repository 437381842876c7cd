//! Unusual encodings that real packets hardly have, one by one. `properties.rs` found them.

use hex_literal::hex;
use serde_json::{Value as Json, json};

use crate::schema::{
    DecodeCause, Direction, EncodeCause, Exact, JsonVisitor, Protocol, SchemaError, State, Value,
};
use crate::wire::WireError;

#[test]
fn an_option_and_its_value_keep_their_unusual_bytes_apart() {
    let protocol = protocol(json!(["option", "bool"])).unwrap();
    for bytes in [hex!("01 01"), hex!("01 02"), hex!("02 01"), hex!("02 02"), hex!("01 00")] {
        comes_back(&protocol, &bytes);
    }
    assert_eq!(decoded(&protocol, &hex!("01 01")), Ok(Value::Bool(true)));
}

#[test]
fn an_empty_option_differs_from_an_absent_one() {
    let nbt = protocol(json!(["option", "nbt"])).unwrap();
    comes_back(&nbt, &hex!("01 00"));
    comes_back(&nbt, &hex!("00"));
    assert_eq!(decoded(&nbt, &hex!("00")), Ok(Value::Absent));
    let twice = protocol(json!(["option", ["option", "u8"]])).unwrap();
    for bytes in [&hex!("00")[..], &hex!("01 00"), &hex!("02 00"), &hex!("01 01 07")] {
        comes_back(&twice, bytes);
    }
    comes_back(&twice, &hex!("02 01 07"));
    comes_back(&twice, &hex!("01 02 07"));
}

#[test]
fn what_a_packet_may_end_without_keeps_its_unusual_bytes() {
    let protocol = protocol(json!(["ifMore", { "type": "bool" }])).unwrap();
    for bytes in [&hex!("")[..], &hex!("00"), &hex!("01"), &hex!("81")] {
        comes_back(&protocol, bytes);
    }
}

#[test]
fn a_case_of_a_switch_keeps_its_unusual_bytes() {
    let switch = json!(["switch", { "compareTo": "kind", "fields": { "1": "varint" } }]);
    let protocol = protocol(json!(["container", [
        { "name": "kind", "type": "u8" }, { "name": "value", "type": switch }
    ]]));
    comes_back(&protocol.unwrap(), &hex!("01 8500"));
}

#[test]
fn a_thing_that_is_there_and_absent_is_no_reference() {
    let inline = json!({ "name": "data", "type": "anonymousNbt" });
    let holder = json!(["registryEntryHolder", { "baseName": "id", "otherwise": inline }]);
    let protocol = protocol(holder).unwrap();
    comes_back(&protocol, &hex!("00 00"));
    comes_back(&protocol, &hex!("8000 00"));
    comes_back(&protocol, &hex!("05"));
    let packet = &protocol.packets()[0];
    let value = Value::from_json(&json!({}));
    assert_eq!(protocol.encode(packet, &value).unwrap(), hex!("00 00 00"));
}

#[test]
fn lists_of_single_bytes_are_base64_or_numbers_in_json() {
    let list = |element: &str| json!(["array", { "countType": "varint", "type": element }]);
    let lists = json!(["array", { "countType": "varint", "type": list("i8") }]);
    let protocol = protocol(json!(["container", [
        { "name": "u", "type": list("u8") },
        { "name": "i", "type": lists },
        { "name": "wide", "type": list("i16") },
    ]]))
    .unwrap();
    let bytes = hex!("02 00ff 02 00 01 80 01 ffff");
    comes_back(&protocol, &bytes);
    let json = |numbers: bool| {
        let (mut out, mut body) = (Vec::new(), vec![0]);
        body.extend_from_slice(&bytes);
        let visitor = JsonVisitor::new(&mut out);
        let mut visitor = if numbers { visitor.with_bytes_as_numbers() } else { visitor };
        protocol.walk(&protocol.packets()[0], &body, 1, &mut visitor).unwrap();
        serde_json::from_slice::<Json>(&out).unwrap()
    };
    assert_eq!(json(false), json!({ "u": "AP8=", "i": ["", "gA=="], "wide": [-1] }));
    assert_eq!(json(true), json!({ "u": [0, 255], "i": [[], [-128]], "wide": [-1] }));
    let packet = &protocol.packets()[0];
    for json in [json(false), json(true)] {
        let encoded = protocol.encode(packet, &Value::from_json(&json)).unwrap();
        assert_eq!(encoded[1..], bytes);
    }
    let unfit = json!({ "u": "AP8", "i": [], "wide": [] });
    let error = protocol.encode(packet, &Value::from_json(&unfit)).unwrap_err();
    assert_eq!(error.path, "u");
}

#[test]
fn the_top_bit_of_a_wide_integer_is_lent_too() {
    let element = json!(["container", [{ "name": "slot", "type": "i16" }]]);
    let list = json!(["topBitSetTerminatedArray", { "type": element }]);
    let protocol = protocol(list).unwrap();
    comes_back(&protocol, &hex!("8102 7fff"));
    let slots = vec![0x102, 0x7fff].into_iter().map(|it| Value::map([("slot", Value::Int(it))]));
    assert_eq!(decoded(&protocol, &hex!("8102 7fff")), Ok(Value::List(slots.collect())));
}

#[test]
fn invalid_gzip_round_trips_through_json() {
    let protocol = protocol(json!("compressedNbt")).unwrap();
    let packet = &protocol.packets()[0];
    let value = Value::from_json(&json!("3q0="));
    assert_eq!(protocol.encode(packet, &value).unwrap(), hex!("00 0002 dead"));
    let exact = Exact {
        value: Value::Bytes(hex!("dead")[..].to_vec().into()),
        wire: hex!("0002 dead").to_vec().into(),
    };
    assert_eq!(decoded(&protocol, &hex!("0002 dead")), Ok(Value::Exact(exact.into())));
}

#[test]
fn elements_without_bytes_are_counted_over_the_whole_packet() {
    let grid = json!(["container", [
        { "name": "width", "type": "u16" },
        { "name": "cells", "type": ["array", { "count": "width", "type": "void" }] },
    ]]);
    let protocol = protocol(json!(["array", { "countType": "u8", "type": grid }])).unwrap();
    assert!(decoded(&protocol, &hex!("02 8000 7fff")).is_ok());
    let refused = decoded(&protocol, &hex!("03 8000 7fff 0002")).unwrap_err();
    assert!(matches!(refused, DecodeCause::Wire(WireError::Length { length: 2, limit: 1, .. })));
}

#[test]
fn a_description_whose_packets_would_not_round_trip_is_rejected() {
    let anonymous = json!(["container", [{ "anon": true, "type": ["option", "u8"] }]]);
    let refused = protocol(anonymous).unwrap_err();
    assert!(refused.cause.contains("without a name"), "{refused}");
    let list = json!(["topBitSetTerminatedArray", { "type": "varint" }]);
    let refused = protocol(list).unwrap_err();
    assert!(refused.cause.contains("fixed width"), "{refused}");
}

#[test]
fn a_packet_with_more_fields_than_anyone_can_read_is_an_error_and_not_endless() {
    // In a case that the first byte selects.
    let mut types = levels(40);
    let case = json!({ "1": "level40" });
    types["it"] = json!(["container", [
        { "name": "kind", "type": "u8" },
        { "name": "value", "type": ["switch", { "compareTo": "kind", "fields": case, "default": "void" }] },
    ]]);
    let protocol = with_types(json!("it"), types).unwrap();
    assert!(decoded(&protocol, &hex!("00")).is_ok());
    assert_eq!(decoded(&protocol, &hex!("01")), Err(DecodeCause::Fields));
    let packet = &protocol.packets()[0];
    let refused = protocol.decode(packet, &hex!("00 01"), 1).unwrap_err();
    assert_eq!(refused.at, 2);
    let message = refused.to_string();
    assert!(message.starts_with("value.a.a.a."), "{message}");
    assert!(message.ends_with(": too many fields for a packet of its size"), "{message}");
    let absent = Value::from_json(&json!({ "kind": 1 }));
    assert_eq!(protocol.encode(packet, &absent).unwrap_err().cause, EncodeCause::Fields);
}

#[test]
fn a_description_of_packets_that_no_one_can_read_is_rejected_with_its_place() {
    let refused = with_types(json!("level40"), levels(40)).unwrap_err();
    assert_eq!(refused.to_string(), "play.toClient.types.it: always has more than 65536 fields");
    let empty = protocol(json!(["array", { "count": 1u64 << 40, "type": "void" }])).unwrap_err();
    assert!(empty.cause.contains("more than 65536 fields"), "{empty}");
    let endless = json!({ "level": ["container", [{ "name": "a", "type": "level" }]] });
    let refused = with_types(json!("level"), endless).unwrap_err();
    assert!(refused.cause.contains("more than 65536 fields"), "{refused}");
    let inside = json!({ "level": ["container", [{ "anon": true, "type": "level" }]] });
    let refused = with_types(json!("level"), inside).unwrap_err();
    assert_eq!(refused.cause, "a field without a name contains itself");
    // A definition in a definition, 10,000 times.
    let refused = with_types(json!("level10000"), levels(10_000)).unwrap_err();
    assert_eq!(refused.cause, "description nested too deeply");
    let deep = json!({ "other": levels(150)["level0"] });
    assert!(with_types(json!("other"), deep).is_ok());
}

#[test]
fn two_fields_of_the_same_name_are_rejected_with_their_place() {
    let field = |name: &str| json!({ "name": name, "type": "u8" });
    let merged = |ty: Json| json!({ "anon": true, "type": ty });
    let switch = |cases: Json| json!(["switch", { "compareTo": "a", "fields": cases }]);
    let bits = |name: &str| json!({ "name": name, "size": 4, "signed": false });
    let one = json!(["container", [field("b")]]);
    let text = json!({
        "name": "b", "countType": "u8", "forms": [{ "separator": ";", "parts": [{ "name": "b", "type": "text" }] }]
    });
    for (ty, kind) in [
        (json!(["container", [field("b"), field("b")]]), "container"),
        (json!(["container", [field("b"), merged(one.clone())]]), "container"),
        (
            json!(["container", [field("a"), field("b"), merged(switch(json!({ "1": one })))]]),
            "container",
        ),
        (
            json!(["container", [field("a"), merged(switch(json!({ "1": one }))), field("b")]]),
            "container",
        ),
        (json!(["bitfield", [bits("b"), bits("b")]]), "bitfield"),
        (json!(["bitflags", { "type": "u8", "flags": ["b", "b"] }]), "bitflags"),
        (json!(["textForms", text]), "textForms"),
        (
            json!(["registryEntryHolder", { "baseName": "b", "otherwise": field("b") }]),
            "registryEntryHolder",
        ),
        (
            json!(["registryEntryHolderSet", { "base": field("b"), "otherwise": field("b") }]),
            "registryEntryHolderSet",
        ),
    ] {
        let refused = protocol(ty).unwrap_err().to_string();
        assert!(refused.ends_with(&format!(".{kind}: two fields of the name `b`")), "{refused}");
    }
    // Only one of the cases is there.
    let cases = switch(json!({ "1": one, "2": ["container", [field("b"), field("c")]] }));
    let either = protocol(json!(["container", [field("a"), merged(cases)]])).unwrap();
    comes_back(&either, &hex!("01 07"));
    comes_back(&either, &hex!("02 07 08"));
}

#[test]
fn a_description_without_packets_or_of_another_form_is_rejected() {
    for (description, why) in [
        (json!([1, 2, 3]), "description: expected an object"),
        (json!({}), "description: no packets: expected states with `toClient` or `toServer`"),
        (json!({ "types": {} }), "description: no packets: expected"),
        (json!({ "types": [] }), "types: expected an object"),
        (json!({ "about": "a test" }), "description: no packets: expected"),
        (json!({ "plai": {} }), "description: unknown key `plai`, not one of types, channels"),
        (json!({ "play": 1 }), "play: expected an object"),
        (json!({ "play": { "client": {} } }), "play: unknown key `client`, not one of"),
        (json!({ "play": { "toClient": {} } }), "play.toClient.types: expected an object"),
        (json!({ "play": { "toClient": { "types": {} } } }), "`packet` must be a mapper"),
    ] {
        let refused = Protocol::from_json(47, "test", &description).unwrap_err().to_string();
        assert!(refused.contains(why), "{description}: {refused}");
    }
}

/// Definitions `level0`, a type without bytes, to `level<count>`, each a pair of the one before.
fn levels(count: usize) -> Json {
    let mut types = json!({ "level0": ["container", []] });
    for level in 1..=count {
        let below = format!("level{}", level - 1);
        let pair = ["a", "b"].map(|name| json!({ "name": name, "type": below }));
        types[format!("level{level}")] = json!(["container", pair]);
    }
    types
}

fn comes_back(protocol: &Protocol, fields: &[u8]) {
    let body = [&[0], fields].concat();
    let packet = &protocol.packets()[0];
    assert_eq!(protocol.measure(packet, &body, 1), Ok(body.len()));
    let value = protocol.decode(packet, &body, 1).unwrap();
    assert_eq!(protocol.encode(packet, &value), Ok(body), "{value:?}");
}

fn decoded(protocol: &Protocol, fields: &[u8]) -> Result<Value, DecodeCause> {
    let body = [&[0], fields].concat();
    protocol.decode(&protocol.packets()[0], &body, 1).map_err(|error| error.cause)
}

/// A protocol with a single packet of that type, with id 0.
pub(super) fn protocol(ty: Json) -> Result<Protocol, SchemaError> {
    with_types(ty, json!({}))
}

/// A protocol with a single packet of type `ty`, with id 0, and the definitions `types`.
fn with_types(ty: Json, mut types: Json) -> Result<Protocol, SchemaError> {
    let packet = json!(["container", [
        { "name": "name", "type": ["mapper", { "type": "varint", "mappings": { "0x00": "it" } }] },
        { "name": "params", "type": ["switch", { "compareTo": "name", "fields": { "it": ty } }] },
    ]]);
    types["packet"] = packet;
    let protocol =
        Protocol::from_json(0, "test", &json!({ "play": { "toClient": { "types": types } } }))?;
    assert!(protocol.packet(State::Play, Direction::Clientbound, 0).is_some());
    Ok(protocol)
}
