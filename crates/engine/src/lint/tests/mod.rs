//! Faults of each rule, written as bytes by the documents of the protocol, and packets without one.

mod joins;
pub(crate) mod planted;

use std::path::Path;
use std::sync::Arc;

use serde_json::json;

use super::*;
use crate::capture::{Entry, Event, EventKind, Outcome, Record, Sink as _, Summary, open_capture};
use crate::report::{Finding, Report as _, junit};
use crate::text::LineOptions;
use mitmcraft_protocol::codec::Frame;
use mitmcraft_protocol::meaning::Grade;
use mitmcraft_protocol::packet::{
    Content, Context, Diagnostic, Packet, RawReason, SentRegistries, Timestamp,
};
use mitmcraft_protocol::schema::{Catalog, Direction, State, Value};

/// Returns the bytes of hex digits.
fn hex(digits: &str) -> Vec<u8> {
    let digits: Vec<u8> = digits.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    let digit = |byte: u8| char::from(byte).to_digit(16).unwrap() as u8;
    digits.chunks(2).map(|pair| digit(pair[0]) << 4 | digit(pair[1])).collect()
}

pub(crate) fn context(version: i32) -> Context {
    let catalog = Catalog::embedded();
    let protocol = match version {
        ..=6 => catalog.alpha(version).protocol,
        _ => catalog.find(version).unwrap().protocol,
    };
    Context {
        version: Some(version),
        ..Context::new(1, Timestamp(0), ([127, 0, 0, 1], 50000).into(), protocol)
    }
}

fn record(context: &Arc<Context>, seq: u64, body: Vec<u8>) -> Record {
    let content = Content::Frame(Frame::from_body(body.into()));
    let (direction, state) = (Direction::Clientbound, State::Play);
    let context = Arc::clone(context);
    Record::passed(Packet::new(context, seq, Timestamp(0), direction, state, content))
}

fn lint(records: impl IntoIterator<Item = Record>) -> LintReport {
    let mut linter = Linter::default();
    for record in records {
        linter.write(&Entry::Packet(record)).unwrap();
    }
    linter.finish().unwrap();
    linter.report()
}

pub(super) fn rule_of(finding: &Finding) -> LintRule {
    LintRule::all().find(|rule| finding.rule == rule.name()).unwrap()
}

/// Returns the number of the packet at fault.
fn seq(finding: &Finding) -> u64 {
    finding.packet().unwrap().seq()
}

fn text(report: &LintReport) -> String {
    let mut text = String::new();
    report.write_text(&mut text, &LineOptions::default());
    text
}

/// The length of a text and its bytes, in hex.
fn string(text: &str) -> String {
    let bytes: String = text.bytes().map(|byte| format!("{byte:02x}")).collect();
    format!("{:02x}{bytes}", text.len())
}

/// A server can invent as many ids as it likes.
#[test]
fn what_is_kept_of_faults_is_bounded() {
    let context = Arc::new(context(47));
    let (packets, size) = (300, 1 << 20);
    let records = (0..packets).map(|number| {
        let mut body = vec![0xff - (number % 0x40) as u8, 0x81 + (number / 0x40) as u8, 0x01];
        body.resize(size, 0);
        record(&context, number, body)
    });
    let report = lint(records);
    let counted: u64 = report.findings.iter().map(|it| it.count).sum();
    assert_eq!(counted, packets);
    let found = report.findings.len();
    assert!((50..=65).contains(&found), "{found}");
}

#[test]
fn every_fault_is_found_in_its_packet_and_at_its_place() {
    use Diagnostic::{
        DimensionInvalid, HeldItemInvalid, JsonInvalid, MetadataMissing, PackHashInvalid,
        PaintingTitleTooLong, TeamMemberTooLong,
    };
    use LintRule::{
        BytesLeft, BytesMissing, ChunkInvalid, Diagnosed, EntryUnknown, FieldInvalid, IdUnknown,
        TextInvalid,
    };
    let mut failures = Vec::new();
    let player = "0c 01 b50ad385829d3141a2167e7d7539ba7f 00000000 00000000 00000000 00 00";
    for (version, body, rule, certain, place) in [
        // 1.8: no packet 0x7f; a keep-alive with a byte too many, without its number, and with a number
        // that does not end.
        (47, "7f 01".to_owned(), IdUnknown, true, Some(0..1)),
        (47, "00 05 c0".to_owned(), BytesLeft, true, Some(2..3)),
        (47, "00".to_owned(), BytesMissing, true, Some(1..2)),
        (47, "00 ff ff ff ff ff 01".to_owned(), FieldInvalid, true, Some(1..2)),
        // Chat whose text is cut off, and chat that is no JSON.
        (47, "02 05 22 61".to_owned(), BytesMissing, true, Some(1..2)),
        (47, format!("02 {} 00", string("{a")), Diagnosed(JsonInvalid), false, Some(1..4)),
        // Join Game in dimension 5; a player with item -1, and one without metadata.
        (
            47,
            format!("01 00000001 00 05 01 08 {} 00", string("flat")),
            Diagnosed(DimensionInvalid),
            true,
            Some(6..7),
        ),
        (47, format!("{player} ffff 00 00 7f"), Diagnosed(HeldItemInvalid), true, Some(32..34)),
        (47, format!("{player} 0001 7f"), Diagnosed(MetadataMissing), true, Some(34..35)),
        (
            47,
            format!("10 01 {} 0000000000000000 00", string("ABCDEFGHIJKLMN")),
            Diagnosed(PaintingTitleTooLong),
            true,
            Some(2..17),
        ),
        // A member of a team with a name of 41 characters, and a hash of three digits.
        (
            47,
            format!("3e {} 03 01 {}", string("a"), string(&"x".repeat(41))),
            Diagnosed(TeamMemberTooLong),
            true,
            Some(5..47),
        ),
        (
            47,
            format!("48 {} {}", string("a"), string("abc")),
            Diagnosed(PackHashInvalid),
            false,
            Some(3..7),
        ),
        // A chunk with a section whose data is 3 bytes.
        (47, "21 00000000 00000000 01 0001 03 000000".to_owned(), ChunkInvalid, true, Some(12..16)),
        // 1.16.5: a section without a palette and without numbers, as PicoLimbo writes one of air.
        (
            754,
            format!(
                "20 00000000 00000000 01 01 0a000000 8008 {} 05 0000 00 00 00 00",
                "00".repeat(1024)
            ),
            ChunkInvalid,
            false,
            Some(1041..1047),
        ),
        // A mob of type 200; the highest of 1.8 is 120.
        (
            47,
            "0f 01 c8 00000000 00000000 00000000 00 00 00 0000 0000 0000 00 00 7f".to_owned(),
            EntryUnknown,
            false,
            Some(2..3),
        ),
        // 1.21.4: entity type 9999, effect 999, chat that is a number, an empty list, or has no contents.
        (
            769,
            format!("01 01 {} 8f4e {} 00 00 00 00 000000000000", "00".repeat(16), "00".repeat(24)),
            EntryUnknown,
            true,
            Some(18..20),
        ),
        (769, "7d 01 e707 00 01 00".to_owned(), EntryUnknown, true, Some(2..4)),
        (769, "73 03 00000005 00".to_owned(), TextInvalid, true, Some(1..6)),
        (769, "73 09 00 00000000 00".to_owned(), TextInvalid, true, Some(1..7)),
        (769, "73 0a 01 0001 61 01 00 00".to_owned(), TextInvalid, false, Some(1..8)),
        (769, "73 63 00 00".to_owned(), FieldInvalid, true, Some(1..2)),
        // Metadata of type 102 (1.16.5), a parser of a mod (1.16.5), a particle beyond the registry (1.20.1 and
        // 1.21.4): what follows cannot be read.
        (754, "44 05 08 66 01 09 00 01 ff".to_owned(), EntryUnknown, false, Some(3..4)),
        (
            754,
            format!("10 02 00 01 01 06 00 {} {} 00", string("a"), string("forge:enum")),
            EntryUnknown,
            false,
            Some(9..10),
        ),
        (763, format!("26 ac02 00 {} 00000001", "00".repeat(40)), EntryUnknown, false, Some(1..2)),
        (
            769,
            format!("2a 00 00 {} 00000001 ac02", "00".repeat(40)),
            EntryUnknown,
            true,
            Some(47..48),
        ),
        // Alpha: a chat packet without its text.
        (6, "03".to_owned(), BytesMissing, true, Some(1..2)),
    ] {
        let context = Arc::new(context(version));
        let report = lint([record(&context, 1, hex(&body))]);
        let found = report.findings.iter();
        let found: Vec<_> = found.map(|it| (rule_of(it), it.certain, it.span.clone())).collect();
        if found != [(rule, certain, place.clone())] {
            failures.push(format!("{rule:?} {certain} {place:?} in {body}: {found:?}"));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn valid_packets_have_no_finding() {
    for (version, body) in [
        (47, format!("02 {} 00", string("{\"text\":\"a\"}"))),
        (47, "0f 01 32 00000000 00000000 00000000 00 00 00 0000 0000 0000 00 00 7f".to_owned()),
        (769, "73 08 0001 61 00".to_owned()),
        (769, "73 0a 08 0004 74657874 0001 61 00 00".to_owned()),
        (769, "7d 01 00 00 01 00".to_owned()),
        // Chat of Alpha is no JSON.
        (6, "03 0001 61".to_owned()),
        // 21w07a: a chunk with a section of stone.
        (
            Catalog::FIRST_SNAPSHOT + 15,
            format!(
                "21 00000000 00000000 01 0000000000000001 0a000000 8008 {} 8710 1000 04 0101 8002 {} 00",
                "00".repeat(1024),
                "00".repeat(2048)
            ),
        ),
    ] {
        let context = Arc::new(context(version));
        let report = lint([record(&context, 1, hex(&body))]);
        assert!(report.findings.is_empty(), "{body}: {}", text(&report));
        assert_eq!(report.versions().map(|(_, packets)| packets).sum::<u64>(), 1);
    }
}

#[test]
fn entries_that_the_server_never_sent_are_found() {
    let base = Arc::new(context(769));
    let registry =
        format!("07 {} 01 {} 00", string("minecraft:damage_type"), string("minecraft:in_fire"));
    let mut sent = record(&base, 1, hex(&registry)).packet;
    sent.set_state(State::Configuration);
    let registries = Arc::new(SentRegistries::default().with(&sent));
    let context = Arc::new(Context { registries, ..(*base).clone() });
    for (number, findings) in [("00", 0), ("01", 1), ("7f", 1)] {
        let body = format!("1a 01 {number} 00 00 00");
        let report = lint([record(&context, 2, hex(&body))]);
        assert_eq!(report.findings.len(), findings, "{number}: {}", text(&report));
        let rules: Vec<_> =
            report.findings.iter().map(|it| (rule_of(it), it.span.clone())).collect();
        assert!(rules.iter().all(|it| *it == (LintRule::EntryUnsent, Some(2..3))));
    }
    // If it has sent none, the game has its own.
    assert!(lint([record(&base, 2, hex("1a 01 7f 00 00 00"))]).findings.is_empty());
}

#[test]
fn bundles_that_are_too_long_or_left_open_are_found() {
    let context = Arc::new(context(769));
    let bundle = |packets: usize, ends: bool| {
        let delimiter = vec![0];
        let inner = std::iter::repeat_n(hex("7d 01 00 00 01 00"), packets);
        let end = ends.then(|| delimiter.clone());
        let bodies = std::iter::once(delimiter.clone()).chain(inner).chain(end);
        let report = lint((1..).zip(bodies).map(|(seq, body)| record(&context, seq, body)));
        let found = report.findings.iter().map(|it| (rule_of(it), seq(it)));
        found.collect::<Vec<_>>()
    };
    assert_eq!(bundle(4096, true), []);
    assert_eq!(bundle(4097, true), [(LintRule::BundleTooLong, 4098)]);
    assert_eq!(bundle(2, false), [(LintRule::BundleOpen, 1)]);
}

#[test]
fn what_earlier_packets_and_the_wire_show_is_found() {
    let context = Arc::new(context(47));
    let mut record = record(&context, 1, hex("00 05"));
    record.packet.note([Diagnostic::CompressedBelowThreshold].into_iter().collect());
    let report = lint([record]);
    assert_eq!(
        rule_of(&report.findings[0]),
        LintRule::Diagnosed(Diagnostic::CompressedBelowThreshold)
    );
}

/// A packet of the client is judged if it is asked for, and counts for its own side.
#[test]
fn what_a_client_sends_is_judged_if_its_side_is() {
    let context = Arc::new(context(763));
    // A plugin's message of 32,768 bytes; the limit is 32,767.
    let body = [&hex("0d 03 613a62")[..], &vec![7; 32_768]].concat();
    let content = Content::Frame(Frame::from_body(body.into()));
    let packet =
        Packet::new(context, 1, Timestamp(0), Direction::Serverbound, State::Play, content);
    for (side, is_found) in
        [(LintSide::Server, false), (LintSide::Client, true), (LintSide::Both, true)]
    {
        let mut linter = Linter::new(side);
        linter.write(&Entry::Packet(Record::passed(packet.clone()))).unwrap();
        linter.finish().unwrap();
        let report = linter.report();
        let found: Vec<_> = report.findings.iter().map(|it| (rule_of(it), it.certain)).collect();
        let rule = LintRule::Diagnosed(Diagnostic::LengthInvalid);
        assert_eq!(found, Vec::from_iter(is_found.then_some((rule, true))), "{side:?}");
        assert_eq!(report.count("1.20.1", rule), u64::from(is_found));
    }
}

#[test]
fn a_finding_that_ends_the_session_is_not_counted_with_a_milder_one() {
    let context = Arc::new(context(767));
    let kind = context.protocol.named(State::Play, Direction::Serverbound, "name_item").unwrap();
    let mut linter = Linter::new(LintSide::Client);
    for (seq, length) in [(1, 51), (2, 32_768), (3, 52)] {
        let value = Value::from_json(&json!({ "name": "x".repeat(length) }));
        let body = context.protocol.encode(kind, &value).unwrap();
        let content = Content::Frame(Frame::from_body(body.into()));
        let (direction, state) = (Direction::Serverbound, State::Play);
        let packet =
            Packet::new(Arc::clone(&context), seq, Timestamp(0), direction, state, content);
        linter.write(&Entry::Packet(Record::passed(packet))).unwrap();
    }
    linter.finish().unwrap();
    let report = linter.report();
    let found: Vec<_> = report.findings.iter().map(|it| (it.grade, seq(it), it.count)).collect();
    assert_eq!(found, [(Some(Grade::Ends), 2, 1), (Some(Grade::Corrects), 1, 2)]);
    assert!(!report.passed());
}

/// The first part of a frame has its length; a stream can end within a frame because its reader left.
#[test]
fn frames_that_cannot_be_read_are_found_once() {
    let raw = |version: i32, bytes: Vec<u8>, reason: RawReason| {
        let content = Content::Raw(bytes.into(), reason);
        let (way, context) = (Direction::Clientbound, Arc::new(context(version)));
        Record::passed(Packet::new(context, 1, Timestamp(0), way, State::Play, content))
    };
    let oversize = |frame, left| RawReason::Oversize { frame, left };
    let opaque = |why: &str| RawReason::Opaque(why.to_owned());
    let prefix = hex("80808001 00000000 00000000");
    for (record, expected) in [
        (raw(47, prefix.clone(), oversize(2_097_152, 2_097_144)), Some(true)),
        (raw(47, vec![0; 8], oversize(2_097_152, 2_097_136)), None),
        // The proxy's own limit can be lower.
        (raw(47, hex("808040 00000000"), oversize(1 << 20, (1 << 20) - 4)), None),
        (raw(765, hex("05 00"), RawReason::CutOff), Some(false)),
        (
            raw(765, hex("05 00"), opaque("frame length -1 at byte 7 of the stream is negative")),
            Some(true),
        ),
        (raw(765, hex("05 00"), opaque("12 bytes are missing at byte 7 of the stream")), None),
        (
            raw(765, hex("05 00"), opaque("encrypted, and no key log has the verify token `00`")),
            None,
        ),
        (raw(765, hex("05 00"), RawReason::Injected), None),
    ] {
        let report = lint([record]);
        let found: Vec<_> = report.findings.iter().map(|it| (rule_of(it), it.certain)).collect();
        let expected = expected.map(|certain| (LintRule::FrameInvalid, certain));
        assert_eq!(found, Vec::from_iter(expected));
    }
}

/// A server that sends nothing more, and one that sends everything but keep-alives.
#[test]
fn silence_up_to_the_end_of_a_session_is_found() {
    let context = Arc::new(context(769));
    let join = |seconds: u64, body: &str| {
        let content = Content::Frame(Frame::from_body(hex(body).into()));
        let at = Timestamp(seconds * 1_000_000_000);
        let (way, context) = (Direction::Clientbound, Arc::clone(&context));
        let packet = Packet::new(context, seconds + 1, at, way, State::Play, content);
        Entry::Packet(Record::passed(packet))
    };
    let (begin, keep_alive) = (join(0, "62 41a00000 14 40a00000"), join(1, "27 0000000000000005"));
    let silent = (LintRule::ServerSilent, true);
    let overdue = (LintRule::Diagnosed(Diagnostic::KeepAliveOverdue), false);
    for (entries, end, expected) in [
        (vec![begin.clone()], 19, vec![]),
        (vec![begin.clone()], 21, vec![overdue]),
        (vec![begin.clone()], 31, vec![silent, overdue]),
        (vec![begin.clone(), keep_alive.clone()], 30, vec![]),
        (vec![begin, keep_alive], 32, vec![silent]),
    ] {
        let mut linter = Linter::default();
        entries.iter().for_each(|entry| linter.write(entry).unwrap());
        let kind = EventKind::Close(Summary::default());
        let (at, context) = (Timestamp(end * 1_000_000_000), Arc::clone(&context));
        linter.write(&Entry::Event(Event { context, at, kind })).unwrap();
        let report = linter.report();
        let found: Vec<_> = report.findings.iter().map(|it| (rule_of(it), it.certain)).collect();
        assert_eq!(found, expected, "{end} s");
    }
}

/// As a plugin of 1.20.4 with a typo in its channel, and one of 1.8.
#[test]
fn messages_on_channels_that_the_client_has_not_registered_are_found() {
    let hexed = |text: &str| text.bytes().map(|byte| format!("{byte:02x}")).collect::<String>();
    for (version, serverbound, clientbound, register) in
        [(765, "10", "18", "minecraft:register"), (47, "17", "3f", "REGISTER")]
    {
        let context = Arc::new(context(version));
        let sent =
            |id: &str, channel: &str, data: &str| hex(&format!("{id} {} {data}", string(channel)));
        let message = |channel: &str| record(&context, 1, sent(clientbound, channel, "01"));
        let client = |channel: &str, names: &str| {
            let body = sent(serverbound, channel, &hexed(names));
            let content = Content::Frame(Frame::from_body(body.into()));
            let (direction, state) = (Direction::Serverbound, State::Play);
            let context = Arc::clone(&context);
            Record::passed(Packet::new(context, 1, Timestamp(0), direction, state, content))
        };
        let reasons = |records: Vec<Record>| {
            let report = lint(records);
            let findings = report.findings.iter();
            let found = findings.map(|it| (rule_of(it), it.certain, it.reason.clone()));
            found.collect::<Vec<_>>()
        };
        let registered = || client(register, "mymod:hello\0other:x");
        assert_eq!(reasons(vec![message("mymod:helo")]), [], "the client registers nothing");
        assert_eq!(reasons(vec![registered(), message("mymod:hello"), message("other:x")]), []);
        let own = message(if version == 47 { "MC|Brand" } else { "minecraft:brand" });
        assert_eq!(reasons(vec![registered(), own]), []);
        let wanted = "the client has not registered the channel `mymod:helo`, but `mymod:hello`";
        let finding = (LintRule::ChannelUnregistered, false, wanted.to_owned());
        assert_eq!(reasons(vec![registered(), message("mymod:helo")]), [finding]);
        let unregistered =
            client(&register.replace("reg", "unreg").replace("REG", "UNREG"), "other:x");
        let found = reasons(vec![registered(), unregistered, message("other:x")]);
        assert_eq!(found[0].2, "the client has not registered the channel `other:x`");
    }
}

#[test]
fn only_what_the_server_sent_is_judged() {
    let context = Arc::new(context(47));
    let mut made = record(&context, 1, hex("7f 01"));
    made.outcome = Outcome::Send;
    let report = lint([made]);
    assert!(report.findings.is_empty() && report.versions().next().is_none());
    // By the description of another version, nothing is certain.
    let guess = Arc::new(Context { guess: true, ..(*context).clone() });
    assert!(!lint([record(&guess, 1, hex("7f 01"))]).findings[0].certain);
}

/// The server of the captures of 1.8 (`tests/real/server.js`) fills the inventory with items of all numbers,
/// among them 11, which is a block (lava) and no item, and gives a player metadata with every type, among it
/// an item under the key 8, where the game reads whether effects are ambient.
#[test]
fn captures_of_real_servers_have_no_finding_but_true_ones() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../captures");
    let mut judged = 0;
    for file in std::fs::read_dir(folder).unwrap().map(|it| it.unwrap().path()) {
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        if !name.ends_with(".jsonl") && !name.ends_with(".pcapng") {
            continue;
        }
        let entries = open_capture(&file, Catalog::embedded()).unwrap().map(Result::unwrap);
        let mut linter = Linter::default();
        entries.for_each(|entry| linter.write(&entry).unwrap());
        linter.finish().unwrap();
        let report = linter.report();
        judged += report.versions().map(|(_, packets)| packets).sum::<u64>();
        let reasons: Vec<_> = report.findings.iter().map(|it| it.reason.as_str()).collect();
        let expected: &[&str] = match name.as_str() {
            "session-1.8.jsonl" | "session-1.8-encrypted.pcapng" => &[
                "the version has no item with the number 11",
                "`effect_ambience` is of type item_stack, the game reads byte",
            ],
            _ => &[],
        };
        assert_eq!(reasons, expected, "{name}: {}", text(&report));
    }
    assert!(judged > 900, "{judged}");
}

#[test]
fn findings_are_shown_with_their_place_and_counted_in_a_matrix() {
    let context = Arc::new(context(47));
    let bodies = ["00 05 c0ffee", "00 06 c0", "00 07", "7f"];
    let records: Vec<Record> =
        (1..).zip(bodies).map(|(seq, body)| record(&context, seq, hex(body))).collect();
    let mut linter = Linter::default();
    linter.begin("a.jsonl");
    records.into_iter().for_each(|it| linter.write(&Entry::Packet(it)).unwrap());
    linter.finish().unwrap();
    let report = linter.report();
    assert_eq!(
        text(&report),
        "\
id-unknown in 1.8.9: no clientbound packet 0x7f in state play
  a.jsonl, session 1, packet 4
  ! 00:00:00.000 #1 ← play      0x7f (unknown)            ! no clientbound packet 0x7f in state play, at byte 0
    0000  7f
          ^^
  the player sees: the connection is lost: `Bad packet id`

bytes-left in 1.8.9, 2 packets: 3 bytes left after the last field
  a.jsonl, session 1, packet 1
  ! 00:00:00.000 #1 ← play      0x00 keep_alive           keepAliveId=5 ! 3 bytes left after the last field, at byte 2
    0000  00 05 c0 ff ee
                ^^^^^^^^
  the player sees: the connection is lost: `.. was larger than I expected, found .. bytes extra`

version         packets   at fault  id-unknown  bytes-left
1.8.9                 4          3           1           2
2 findings
"
    );
    let xml = junit(&report.suites(&LineOptions::default()));
    assert!(
        xml.contains(
            "<testsuite name=\"1.8.9\" tests=\"97\" failures=\"2\" errors=\"0\" skipped=\"0\">"
        ),
        "{xml}"
    );
    assert!(xml.contains("<testcase classname=\"1.8.9\" name=\"chunk-invalid\"/>"), "{xml}");
    assert!(xml.contains("<failure message=\"3 bytes left after the last field\">"), "{xml}");
    let json = report.json();
    assert_eq!(json["versions"][0]["rules"]["bytes-left"], 2);
    let left = &json["findings"][1];
    assert_eq!(
        (&left["rule"], &left["at"], &left["bytes"]),
        (&"bytes-left".into(), &2.into(), &3.into())
    );
    assert_eq!(left["capture"], "a.jsonl");
    // The packet as in a capture, without fields and bytes.
    let packet = &left["packets"][usize::try_from(left["broken_by"].as_u64().unwrap()).unwrap()];
    assert_eq!((&packet["packet"], &packet["dir"]), (&left["packet"], &"clientbound".into()));
    assert_eq!((&packet["seq"], &packet["id"]), (&left["seq"], &left["id"]));
    assert!(packet.get("fields").is_none() && packet.get("body").is_none(), "{packet}");
}

/// A proxy tells findings while they happen, and its captures have them as comments.
#[test]
fn findings_are_told_with_their_packets_and_once_for_each_kind() {
    let context = Arc::new(context(47));
    let mut linter = Linter::live();
    let mut told = |seq: u64, body: &str| {
        let mut entry = Entry::Packet(record(&context, seq, hex(body)));
        let found = linter.take_live(&mut entry);
        let found: Vec<_> = found.iter().map(|it| (it.is_new, it.to_string())).collect();
        (found, entry.record().unwrap().comment.clone())
    };
    let reason = "1 byte left after the last field";
    let line = |seq| format!("bytes-left in session 1, packet {seq} (play keep_alive): {reason}");
    let comment = Some(format!("bytes-left: {reason}"));
    assert_eq!(told(1, "00 05"), (vec![], None));
    assert_eq!(told(2, "00 05 c0"), (vec![(true, line(2))], comment.clone()));
    assert_eq!(told(3, "00 06 c0"), (vec![(false, line(3))], comment));
    assert_eq!(told(4, "00 05"), (vec![], None));
    // Nobody reads their packets, and nobody reads what may be meant by them.
    let report = linter.report();
    assert_eq!((report.findings[0].count, report.findings[0].around.records.len()), (2, 0));
    assert_eq!(report.findings[0].reason, reason);
}

#[test]
fn faults_that_are_too_many_to_keep_apart_are_told_once_for_each_rule() {
    let context = Arc::new(context(47));
    let mut linter = Linter::live();
    let mut is_new = |seq: u64| {
        // Each has another id, which has no packet.
        let (low, high) = (0x80 | (seq & 0x7f) as u8, 0x80 | (seq >> 7 & 0x7f) as u8);
        let body = vec![low, high, 1 + (seq >> 14) as u8];
        let found = linter.take_live(&mut Entry::Packet(record(&context, seq, body)));
        found[0].is_new
    };
    let kept = (8 << 20) / size_of::<Finding>() as u64;
    assert!((1..=kept + 1).all(&mut is_new));
    assert!(!(kept + 2..kept + 9).any(is_new));
}

#[test]
fn a_large_packet_is_not_kept_as_the_first_of_its_session() {
    let (context, mut session) = (Arc::new(context(47)), LintSession::default());
    for (seq, len) in [(1, 5000), (2, 4)] {
        session.take_join(&record(&context, seq, vec![0x21; len]));
    }
    assert_eq!(session.first_heard.unwrap().packet.seq(), 2);
}

#[test]
fn the_page_documents_every_rule() {
    let page = concat!(
        include_str!("../../../../../docs/lint.md"),
        include_str!("../../../../../docs/protocols/clients.md")
    );
    for rule in LintRule::all() {
        let name = format!("`{}`", rule.name());
        let mut rows = page.lines().filter_map(|line| line.strip_prefix("| ")?.split(" | ").next());
        assert!(rows.any(|names| names.split(", ").any(|it| it == name)), "{name}");
    }
}
