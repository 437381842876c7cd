//! Every packet and payload of every version, generated from its type tree.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseResult, TestError, TestRng, TestRunner};
use serde_json::Value as Json;

use crate::schema::generate::Shapes;
use crate::schema::{
    Catalog, DecodeCause, JsonVisitor, Measure, PacketType, Protocol, SpanVisitor, Value,
};
use crate::wire::{Tag, VarInt};

#[test]
fn every_packet_of_every_version_round_trips() {
    each_packet(vec(any::<u8>(), 0..500), |protocol, shapes, packet, choices| {
        let made = shapes.make(packet.ty, choices);
        let (body, start) = body(packet, &made.bytes);
        let fault = |error: &dyn std::error::Error| {
            TestCaseError::fail(format!("{error} in {body:02x?} of {packet:?}"))
        };
        let end = protocol.measure(packet, &body, start).map_err(|error| fault(&error))?;
        prop_assert_eq!(end, body.len(), "{:02x?} of {:?}", body, packet);
        let value = protocol.decode(packet, &body, start).map_err(|error| fault(&error))?;
        let encoded = protocol.encode(packet, &value).map_err(|error| fault(&error))?;
        prop_assert_eq!(&encoded, &body, "{:?} of {:?}", value, packet);
        spans(protocol, packet, &body, start)?;
        json(protocol, packet, &body, start)?;
        Ok(())
    });
}

#[test]
fn the_json_of_a_packet_encodes_to_its_bytes() {
    each_packet(vec(any::<u8>(), 0..500), |protocol, shapes, packet, choices| {
        let made = shapes.make(packet.ty, choices);
        let (body, start) = body(packet, &made.bytes);
        let value = plain(protocol.decode(packet, &body, start).unwrap());
        let usual = protocol.encode(packet, &value);
        prop_assert!(usual.is_ok(), "{:?} of {:?} {:?}", usual, packet, value);
        let usual = usual.unwrap();
        for numbers in [false, true] {
            let mut out = Vec::new();
            let visitor = JsonVisitor::new(&mut out);
            let mut visitor = if numbers { visitor.with_bytes_as_numbers() } else { visitor };
            protocol.walk(packet, &usual, start, &mut visitor).unwrap();
            let text = String::from_utf8(out).unwrap();
            let value = Value::from_json(&serde_json::from_str(&text).unwrap());
            let encoded = protocol.encode(packet, &value);
            prop_assert_eq!(encoded.as_ref(), Ok(&usual), "{} of {:?}", text, packet);
        }
        Ok(())
    });
}

#[test]
fn a_truncated_packet_never_decodes() {
    each_packet(vec(any::<u8>(), 0..300), |protocol, shapes, packet, choices| {
        let made = shapes.make(packet.ty, choices);
        let (body, start) = body(packet, &made.bytes);
        let step = (body.len() - start) / 16 + 1;
        for cut in (start..body.len()).step_by(step) {
            match protocol.measure(packet, &body[..cut], start) {
                Ok(end) => {
                    prop_assert!(made.open && end == cut, "{cut} of {body:02x?}, {packet:?}")
                }
                Err(error) => {
                    let incomplete =
                        matches!(&error.cause, DecodeCause::Wire(it) if it.is_incomplete());
                    prop_assert!(incomplete, "{error} at {cut} of {body:02x?}, {packet:?}");
                }
            }
            json(protocol, packet, &body[..cut], start)?;
        }
        Ok(())
    });
}

#[test]
fn any_bytes_that_decode_encode_to_themselves_and_none_panic() {
    each_packet(vec(any::<u8>(), 0..60), |protocol, _, packet, bytes| {
        let (body, start) = body(packet, bytes);
        json(protocol, packet, &body, start)?;
        if let Ok(value) = protocol.decode(packet, &body, start) {
            let encoded = protocol.encode(packet, &value);
            prop_assert_eq!(encoded, Ok(body), "{:?} of {:?}", value, packet);
        }
        Ok(())
    });
}

#[test]
fn a_value_that_a_version_does_not_have_ends_the_decoding() {
    let tried = std::cell::Cell::new(0);
    each_packet(vec(any::<u8>(), 0..300), |protocol, shapes, packet, choices| {
        let mut choices = choices.to_vec();
        for _ in 0..8 {
            let turn = choices.len().min(3);
            choices.rotate_right(turn);
            let made = shapes.make_unknown(packet.ty, &choices);
            let Some((offset, unknown)) = made.unknown else { continue };
            tried.set(tried.get() + 1);
            let (body, start) = body(packet, &made.bytes);
            let mut visitor = SpanVisitor::default();
            let walked = protocol.walk(packet, &body, start, &mut visitor);
            let Err(error) = walked else {
                return Err(TestCaseError::fail(format!(
                    "{unknown} is read in {body:02x?} of {packet:?}"
                )));
            };
            // A number that was made before it can be one that the version does not have, too.
            let (at, text) = (error.at, error.to_string());
            let is_named = text.contains(&format!(": {unknown} is not known"));
            let is_before = at < start + offset && text.contains(" is not known in this version");
            prop_assert!(
                is_named || is_before,
                "{text}, not {unknown} in {body:02x?} of {packet:?}"
            );
            for span in visitor.finish() {
                let is_read =
                    span.bytes.end <= start + offset && (is_named || span.bytes.start <= at);
                prop_assert!(is_read, "{span:?} in {body:02x?} of {packet:?}");
            }
        }
        Ok(())
    });
    assert!(tried.get() > 500, "{}", tried.get());
}

#[test]
fn every_path_of_every_version_leads_to_a_field() {
    each_packet(vec(any::<u8>(), 300..900), |_, shapes, packet, choices| {
        shapes.make(packet.ty, choices);
        prop_assert_eq!(shapes.lost(), Vec::<String>::new(), "{:?}", packet);
        Ok(())
    });
}

#[test]
fn what_fits_is_what_a_walk_decodes_to_the_end() {
    let outlined = std::cell::Cell::new(0);
    each_packet(vec(any::<u8>(), 0..300), |protocol, shapes, packet, choices| {
        let made = shapes.make(packet.ty, choices);
        let (whole, start) = body(packet, &made.bytes);
        outlined.set(outlined.get() + usize::from(protocol.fits(packet, &whole, start)));
        let walks = |body: &[u8]| protocol.walk(packet, body, start, &mut Measure).is_ok();
        let long = [&whole[..], &[0x80]].concat();
        let random = body(packet, choices).0;
        let cut = &whole[..whole.len().saturating_sub(1).max(start)];
        for body in [&whole[..], &long, &random, cut, &random[..start]] {
            let fits = protocol.fits(packet, body, start);
            prop_assert!(!fits || walks(body), "{body:02x?} of {packet:?}");
            // A packet with an outline that does not fit must not decode either.
            let has_outline = protocol.fits(packet, &whole, start);
            prop_assert!(!has_outline || fits == walks(body), "{body:02x?} of {packet:?}");
        }
        Ok(())
    });
    assert!(outlined.get() > 1000, "{}", outlined.get());
}

/// Checks a property on every packet of every version, with the same cases each time. For more:
/// `PROPTEST_CASES=100 cargo test`.
fn each_packet(
    strategy: impl Strategy<Value = Vec<u8>>,
    property: impl for<'a> Fn(&'a Protocol, &'a Shapes<'a>, &PacketType, &[u8]) -> TestCaseResult,
) {
    let given = std::env::var_os("PROPTEST_CASES").is_some();
    let cases = if given { Config::default().cases } else { 2 };
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut seeds = TestRunner::new_with_rng(config.clone(), rng);
    let mut failures = Vec::new();
    for (version, _) in Catalog::embedded().versions() {
        let protocol = Catalog::embedded().find(version).unwrap().protocol;
        let shapes = Shapes::new(&protocol.types);
        for packet in protocol.packets().iter().chain(protocol.channels()) {
            let run = |choices: Vec<u8>| property(&protocol, &shapes, packet, &choices);
            // A runner counts its cases over all its runs, so each packet needs its own.
            let mut runner = TestRunner::new_with_rng(config.clone(), seeds.new_rng());
            match runner.run(&strategy, run) {
                Ok(()) => {}
                Err(TestError::Fail(reason, _)) => failures.push(format!("{version}: {reason}")),
                Err(error) => panic!("{version}, {packet:?}: {error}"),
            }
        }
    }
    let (count, first) = (failures.len(), failures.iter().take(12).cloned().collect::<Vec<_>>());
    assert!(failures.is_empty(), "{count} packets, among them\n{}", first.join("\n"));
}

fn body(packet: &PacketType, fields: &[u8]) -> (Vec<u8>, usize) {
    let mut body = Vec::new();
    crate::wire::write_varint(&mut body, packet.id());
    body.extend_from_slice(fields);
    (body, VarInt::size(packet.id()))
}

/// The visitor writes valid JSON, even if the packet does not decode to its end.
fn json(protocol: &Protocol, packet: &PacketType, body: &[u8], start: usize) -> TestCaseResult {
    let mut out = Vec::new();
    let mut visitor = JsonVisitor::new(&mut out);
    let end = protocol.walk(packet, body, start, &mut visitor);
    visitor.finish();
    if end.is_err() && out.is_empty() {
        return Ok(());
    }
    let parsed = serde_json::from_slice::<Json>(&out);
    prop_assert!(parsed.is_ok(), "{:?} in {}", parsed, String::from_utf8_lossy(&out));
    Ok(())
}

/// The value in its usual form, without the three things that NBT in JSON cannot express.
fn plain(value: Value) -> Value {
    match value {
        Value::Exact(exact) => plain(exact.value),
        Value::List(items) => Value::List(items.into_iter().map(plain).collect()),
        Value::Map(fields) => {
            Value::Map(fields.into_iter().map(|(name, value)| (name, plain(value))).collect())
        }
        Value::Float32(float) if float.is_nan() => Value::Float32(f32::NAN),
        Value::Float64(float) if float.is_nan() => Value::Float64(f64::NAN),
        Value::Nbt(mut nbt) => {
            plain_tag(&mut nbt.root);
            Value::Nbt(nbt)
        }
        value => value,
    }
}

fn plain_tag(tag: &mut Tag) {
    match tag {
        Tag::Float(float) if float.is_nan() => *float = f32::NAN,
        Tag::Double(float) if float.is_nan() => *float = f64::NAN,
        Tag::List(list) => list.items.iter_mut().for_each(plain_tag),
        Tag::Compound(compound) => {
            for (index, (name, tag)) in compound.entries.iter_mut().enumerate() {
                *name = format!("key {index}").into();
                plain_tag(tag);
            }
        }
        _ => {}
    }
}

/// Spans lie within the body and are ordered by their start.
fn spans(protocol: &Protocol, packet: &PacketType, body: &[u8], start: usize) -> TestCaseResult {
    let mut visitor = SpanVisitor::default();
    protocol.walk(packet, body, start, &mut visitor).unwrap();
    let mut before = start;
    for span in visitor.finish() {
        let bytes = &span.bytes;
        prop_assert!(before <= bytes.start && bytes.end <= body.len(), "{:?} {:?}", span, packet);
        prop_assert!(bytes.start <= bytes.end, "{:?} {:?}", span, packet);
        before = bytes.start;
    }
    Ok(())
}
