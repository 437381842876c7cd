//! Protocol descriptions as `--protocol` loads them: what compiles decodes any bytes in bounded time.

use mitmcraft_protocol::schema::{Catalog, Protocol};
use mitmcraft_protocol::wire::write_varint;
use serde_json::{Value as Json, json};

use super::Features;
use super::bytes::Bytes;

pub fn run(input: &[u8]) -> Features {
    let mut features = Features::default();
    let mut input = Bytes(input);
    let fields = input.chunk();
    let Ok(description) = serde_json::from_slice::<Json>(input.rest()) else {
        features.see("no JSON");
        return features;
    };
    let protocol = match Protocol::from_json(901, "mine", &description) {
        Ok(protocol) => protocol,
        Err(error) => {
            features.say(error);
            return features;
        }
    };
    for packet in protocol.packets().iter().take(20) {
        let mut body = Vec::new();
        write_varint(&mut body, packet.id());
        body.extend_from_slice(fields);
        let place = (packet.state(), packet.direction());
        let Ok((found, start)) = protocol.identify(place.0, place.1, &body) else { continue };
        assert_eq!(found.id(), packet.id());
        super::schema::check(&protocol, packet, &body, start, &mut features);
    }
    features.see(protocol.packets().len().min(9));
    let mut catalog = Catalog::default();
    catalog.insert(protocol);
    assert!(catalog.find(901).is_some_and(|found| found.exact));
    features
}

/// Types of fields, each in a packet of its own.
fn types() -> Vec<Json> {
    vec![
        json!("varint"),
        json!(["option", ["option", "u8"]]),
        json!(["pstring", { "countType": "varint" }]),
        json!(["buffer", { "countType": "i16" }]),
        json!(["array", { "countType": "varint", "type": "f64" }]),
        json!(["array", { "count": 3, "type": "void" }]),
        json!(["bitfield", [
            { "name": "a", "size": 3, "signed": true }, { "name": "b", "size": 13, "signed": false }
        ]]),
        json!(["bitflags", { "type": "u8", "flags": ["one", "two"] }]),
        json!(["mapper", { "type": "varint", "mappings": { "0": "zero", "1": "one" } }]),
        json!(["switch", { "compareTo": "before", "fields": { "1": "u8" }, "default": "void" }]),
        json!(["topBitSetTerminatedArray", { "type": "u8" }]),
        json!(["entityMetadataLoop", { "endVal": 127, "type": "u8" }]),
        json!(["registryEntryHolder", { "baseName": "id", "otherwise": { "name": "data", "type": "u8" } }]),
        json!("anonymousNbt"),
        json!("optionalNbt"),
        json!("restBuffer"),
        json!("UUID"),
        json!(["container", [{ "anon": true, "type": ["container", [{ "name": "x", "type": "i8" }]] }]]),
        json!("recursive"),
    ]
}

pub fn seeds() -> Vec<Vec<u8>> {
    let mut seeds = Vec::new();
    let natives = [
        "varint",
        "varlong",
        "u8",
        "i8",
        "i16",
        "u16",
        "i32",
        "i64",
        "f32",
        "f64",
        "bool",
        "void",
        "option",
        "pstring",
        "buffer",
        "array",
        "container",
        "switch",
        "mapper",
        "bitfield",
        "bitflags",
        "topBitSetTerminatedArray",
        "entityMetadataLoop",
        "anonymousNbt",
        "optionalNbt",
        "nbt",
        "restBuffer",
        "UUID",
        "registryEntryHolder",
    ];
    let mut shared: serde_json::Map<String, Json> =
        natives.iter().map(|name| ((*name).to_owned(), json!("native"))).collect();
    shared.insert("recursive".into(), json!(["option", "recursive"]));
    for ty in types() {
        let packet = json!(["container", [
            { "name": "before", "type": "u8" }, { "name": "it", "type": ty }
        ]]);
        let mapper = json!(["mapper", { "type": "varint", "mappings": { "0x00": "it" } }]);
        let switch = json!(["switch", { "compareTo": "name", "fields": { "it": "packet_it" } }]);
        let root = json!(["container", [
            { "name": "name", "type": mapper }, { "name": "params", "type": switch }
        ]]);
        let sides = json!({ "toClient": { "types": { "packet_it": packet, "packet": root } } });
        let description = json!({ "types": shared, "play": sides });
        let fields = [0, 8, 1, 2, 3, 0x80, 5, 0, 1, 0xff];
        seeds.push([&fields[..], description.to_string().as_bytes()].concat());
    }
    seeds
}

pub const WORDS: &[&str] = &[
    "\"native\"",
    "\"varint\"",
    "\"container\"",
    "\"array\"",
    "\"count\":",
    "\"countType\":",
    "\"type\":",
    "\"name\":",
    "\"switch\"",
    "\"compareTo\":\"../before\"",
    "\"fields\":",
    "\"default\":",
    "\"option\"",
    "\"mapper\"",
    "\"mappings\":",
    "\"bitfield\"",
    "\"size\":",
    "\"signed\":true",
    "\"void\"",
    "\"anon\":true",
    "\"recursive\"",
    "\"it\"",
    "1099511627776",
    "-1",
    "65",
    "0.5",
    "[\"option\",",
    "\"topBitSetTerminatedArray\"",
    "\"toServer\"",
    "\"login\"",
    "\"pstring\"",
    "$",
];
