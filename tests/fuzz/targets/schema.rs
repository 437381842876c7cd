//! Descriptions of packets: measuring, decoding, encoding, JSON and spans agree, for every version.

use std::sync::Arc;

use mitmcraft_protocol::schema::{
    Catalog, DecodeCause, DecodeError, Family, Flow, JsonVisitor, Leaf, PacketType, Protocol,
    Release, Role, Scalar, SpanVisitor, Value, Visitor,
};
use mitmcraft_protocol::wire::write_varint;
use serde_json::{Value as Json, json};

use super::Features;
use super::bytes::Bytes;

pub fn run(input: &[u8]) -> Features {
    let mut features = Features::default();
    let mut input = Bytes(input);
    let protocol = protocol(input.u8());
    let packets = protocol.packets();
    let packet = &packets[usize::from(input.u16()) % packets.len()];
    let edit = input.u8();
    let choice = input.u8();
    let mut body = Vec::new();
    match protocol.family() {
        Family::Java => write_varint(&mut body, packet.id()),
        _ => body.push(packet.id() as u8),
    }
    let start = body.len();
    body.extend_from_slice(input.rest());
    let found = protocol.identify(packet.state(), packet.direction(), &body);
    assert_eq!(found.map(|(found, start)| (found.id(), start)), Ok((packet.id(), start)));
    features.see((protocol.version(), packet.name()));

    let json = check(&protocol, packet, &body, start, &mut features);
    if let Some(mut json) = json.filter(|_| edit & 1 != 0) {
        replace(&mut json, &mut usize::from(edit >> 1), usize::from(choice));
        check_json(&protocol, packet, &json, &mut features);
    }
    features
}

/// The protocols that inputs choose from: all of them.
fn protocol(number: u8) -> Arc<Protocol> {
    let catalog = Catalog::embedded();
    let versions: Vec<i32> = catalog.versions().map(|(version, _)| version).collect();
    let number = usize::from(number);
    match versions.get(number) {
        Some(version) => catalog.find(*version).unwrap().protocol,
        None => match number - versions.len() {
            0 => catalog.legacy_ping(),
            1 => catalog.query(),
            more => unframed(more),
        },
    }
}

/// Returns one of the protocols without frames, by any number.
pub fn unframed(number: usize) -> Arc<Protocol> {
    let catalog = Catalog::embedded();
    let mut legacy = catalog.legacy_versions();
    let alpha = 6;
    match number % (alpha + legacy.clone().count()) {
        number if number < alpha => catalog.alpha(1 + i32::try_from(number).unwrap()).protocol,
        number => catalog.legacy(legacy.nth(number - alpha).unwrap()).protocol,
    }
}

/// Checks everything about one body, whether it decodes or not. Returns its JSON.
pub fn check(
    protocol: &Protocol,
    packet: &PacketType,
    body: &[u8],
    start: usize,
    features: &mut Features,
) -> Option<Json> {
    let mut out = Vec::new();
    let mut visitor = JsonVisitor::new(&mut out);
    let walked = protocol.walk(packet, body, start, &mut visitor);
    visitor.finish();
    let json = match serde_json::from_slice::<Json>(&out) {
        Ok(json) => Some(json),
        Err(_) if walked.is_err() && out.is_empty() => None,
        // The parser of this crate has a limit of depth that the writer has not.
        Err(error) if error.to_string().contains("recursion limit") => None,
        Err(error) => panic!("{error} in {}", String::from_utf8_lossy(&out)),
    };
    if let Err(error) = &walked {
        check_end(protocol, packet, body, start, error);
    }
    let measured = protocol.measure(packet, body, start);
    let decoded = protocol.decode(packet, body, start);
    let value = match (decoded, measured) {
        (Ok(value), Ok(end)) => {
            // Only in a packet that is whole is a longer dimension one of Forge.
            let wider = if is_login_with_byte(protocol, packet) { 3 } else { 0 };
            assert!(
                end == body.len() || end + wider == body.len(),
                "the measured end of a body that decodes is {end}, not {}",
                body.len()
            );
            value
        }
        (Ok(_), Err(error)) => panic!("decodes, but is not measured: {error}"),
        (Err(error), measured) => {
            assert!(error.at <= body.len(), "{error} beyond {}", body.len());
            assert!(walked.is_err(), "{error}, but walks");
            assert!(measured.is_err() || measured.is_ok_and(|end| end < body.len()), "{error}");
            features.say(error.cause);
            return None;
        }
    };
    assert!(walked.is_ok(), "decodes, but does not walk: {walked:?}");
    let encoded = protocol.encode(packet, &value);
    assert_eq!(encoded.as_deref(), Ok(body), "{packet:?}: {value:?}");

    let mut visitor = SpanVisitor::default();
    protocol.walk(packet, body, start, &mut visitor).unwrap();
    let mut before = start;
    for span in visitor.finish() {
        assert!(before <= span.bytes.start && span.bytes.start <= span.bytes.end, "{span:?}");
        assert!(span.bytes.end <= body.len(), "{span:?} of {}", body.len());
        before = span.bytes.start;
    }
    if let Some(json) = json.as_ref().filter(|_| is_usual(&value)) {
        let encoded = protocol.encode(packet, &Value::from_json(json));
        assert_eq!(encoded.as_deref(), Ok(body), "{packet:?}: {json}");
    }
    json
}

/// Returns whether a packet is the login of 1.3 to 1.6, whose dimension is a byte, and an int between peers with Forge.
pub fn is_login_with_byte(protocol: &Protocol, packet: &PacketType) -> bool {
    let release = protocol.release();
    packet.role() == Some(Role::JoinGame)
        && release.family() == Family::Legacy
        && release >= Release::V1_3
}

/// Checks that each value that is shown of a body that does not decode has bytes, and that a value which the
/// version does not have ends the decoding: other bytes after what was read change nothing.
fn check_end(
    protocol: &Protocol,
    packet: &PacketType,
    body: &[u8],
    start: usize,
    error: &DecodeError,
) {
    let shown = |body: &[u8]| {
        let mut shown = Shown { end: start, size: body.len(), leaves: Vec::new() };
        let walked = protocol.walk(packet, body, start, &mut shown);
        (walked, shown)
    };
    let (walked, before) = shown(body);
    assert_eq!(walked.as_ref(), Err(error), "{packet:?}");
    assert!(before.end <= body.len(), "{packet:?}");
    if !matches!(error.cause, DecodeCause::UnknownNumber(_) | DecodeCause::UnknownName(_)) {
        return;
    }
    assert!(error.at < before.end, "{error} at {} of {packet:?}", error.at);
    let mut other = body.to_vec();
    // The byte of an option, which no leaf has, still says that a value is there.
    let read = before.end..;
    other[read].iter_mut().filter(|byte| !matches!(byte, 0 | 1 | 0x54)).for_each(|it| *it ^= 0x54);
    let (walked, after) = shown(&other);
    assert_eq!(walked.as_ref(), Err(error), "{packet:?}");
    assert_eq!(before.leaves, after.leaves, "{packet:?}");
}

/// What a walk shows: the leaves, and the end of their bytes.
struct Shown {
    end: usize,
    /// Bytes of the body.
    size: usize,
    leaves: Vec<String>,
}

impl Visitor for Shown {
    fn leaf(&mut self, leaf: &Leaf<'_>) -> Flow {
        let may_be_empty = match leaf.value {
            Scalar::Absent => true,
            Scalar::Bytes(bytes) | Scalar::Text(bytes, _) => bytes.is_empty(),
            _ => false,
        };
        assert!(may_be_empty || !leaf.wire.is_empty(), "{leaf:?} has no bytes");
        self.end = self.end.max(leaf.span().end);
        self.leaves.push(format!("{leaf:?}"));
        Flow::Continue(())
    }

    fn open_list(&mut self, at: usize, _count: Option<usize>) -> Flow {
        // The count of the list, in any form.
        self.end = self.end.max((at + 5).min(self.size));
        Flow::Continue(())
    }
}

/// Whatever encodes must decode to a body that encodes to itself.
fn check_json(protocol: &Protocol, packet: &PacketType, json: &Json, features: &mut Features) {
    match protocol.encode(packet, &Value::from_json(json)) {
        Ok(body) => {
            let place = (packet.state(), packet.direction());
            let (found, start) = protocol.identify(place.0, place.1, &body).unwrap();
            assert_eq!(found.id(), packet.id());
            if let Ok(value) = protocol.decode(packet, &body, start) {
                let again = protocol.encode(packet, &value);
                assert_eq!(again, Ok(body), "{packet:?}: {json}");
            }
            features.see("encodes");
        }
        Err(error) => features.say(error.cause),
    }
}

/// Replaces the `place`th leaf.
fn replace(json: &mut Json, place: &mut usize, choice: usize) {
    match json {
        Json::Array(items) if !items.is_empty() => {
            items.iter_mut().for_each(|item| replace(item, place, choice));
        }
        Json::Object(fields) if !fields.is_empty() => {
            fields.iter_mut().for_each(|(_, field)| replace(field, place, choice));
        }
        leaf => {
            if *place == 0 {
                let leaves = leaves();
                *leaf = leaves[choice % leaves.len()].clone();
            }
            *place = place.wrapping_sub(1);
        }
    }
}

fn leaves() -> Vec<Json> {
    vec![
        Json::Null,
        json!(true),
        json!(0),
        json!(-1),
        json!(255),
        json!(65536),
        json!(1_u64 << 40),
        json!(u64::MAX),
        json!(1.5),
        json!(1e300),
        json!(""),
        json!("AAAA"),
        json!("x\u{0}\u{1f600}"),
        json!("NaN"),
        json!([]),
        json!([[], 1]),
        json!({}),
        json!({"type": "compound", "name": "", "value": {}}),
        json!({"base64": "/w=="}),
        json!("y".repeat(70_000)),
    ]
}

/// Returns whether JSON expresses all of a value.
fn is_usual(value: &Value) -> bool {
    match value {
        Value::Exact(_) => false,
        Value::List(items) => items.iter().all(is_usual),
        Value::Map(fields) => fields.iter().all(|(_, field)| is_usual(field)),
        Value::Float32(float) => !float.is_nan(),
        Value::Float64(float) => !float.is_nan(),
        _ => true,
    }
}

pub fn seeds() -> Vec<Vec<u8>> {
    let catalog = Catalog::embedded();
    let versions: Vec<i32> = catalog.versions().map(|(version, _)| version).collect();
    let at = |version: i32| versions.iter().position(|it| *it == version).unwrap();
    let java_47 = catalog.find(47).unwrap().protocol;
    let mut seeds = Vec::new();
    for (state, direction, body) in super::seeds::bodies(3000) {
        let Ok((packet, start)) = java_47.identify(state, direction, &body) else { continue };
        let place = |protocol: &Protocol, packet: &PacketType| {
            let same = |it: &PacketType| {
                it.id() == packet.id()
                    && (it.state(), it.direction()) == (packet.state(), packet.direction())
            };
            u16::try_from(protocol.packets().iter().position(same).unwrap()).unwrap()
        };
        seeds.push(seed(at(47), place(&java_47, packet), &body[start..]));
        // The packet of the same name in other versions begins alike.
        for version in [5, 340, 765, 777] {
            let other = catalog.find(version).unwrap().protocol;
            if let Some(named) = other.named(state, direction, packet.name()) {
                seeds.push(seed(at(version), place(&other, named), &body[start..]));
            }
        }
    }
    seeds.sort();
    seeds.dedup_by(|one, other| one[..3] == other[..3] && one.len() == other.len());
    // Packets of every version, from nothing.
    for version in 0..versions.len() + 8 {
        for place in (0..200).step_by(23) {
            let zeros = [0; 64];
            seeds.push(seed(version, place, &zeros[..usize::from(place) % 64]));
        }
    }
    seeds
}

fn seed(version: usize, place: u16, fields: &[u8]) -> Vec<u8> {
    let [high, low] = place.to_be_bytes();
    [&[version as u8, high, low, 3, 5][..], fields].concat()
}
