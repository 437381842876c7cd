//! Entries as files and as text, and recordings of other programs.

use std::collections::HashMap;
use std::io::Cursor;
use std::net::SocketAddr;
use std::sync::LazyLock;

use mitmcraft_engine::analysis::{Redactor, Stats};
use mitmcraft_engine::capture::{
    Entry, EventKind, JsonlSink, McprSink, PcapSink, PcapngSink, Sink, Views, read_capture,
};
use mitmcraft_engine::decode::{PcapReader, Traffic, TrafficOptions};
use mitmcraft_engine::text::{LineOptions, Verbosity, write_info, write_line};
use mitmcraft_protocol::codec::KeyRing;
use mitmcraft_protocol::packet::Content;
use mitmcraft_protocol::schema::Catalog;
use serde_json::Value as Json;

use super::Features;
use super::bytes::Bytes;

/// Checks that entries can be printed, counted and written, and that what is written reads back.
pub fn check(entries: &[Entry], features: &mut Features) {
    static OPTIONS: LazyLock<LineOptions> =
        LazyLock::new(|| LineOptions { verbosity: Verbosity::Hex, ..LineOptions::default() });
    let mut stats = Stats::default();
    let mut redactor = Redactor::new(b"seed");
    let mut text = String::new();
    for entry in entries {
        see(entry, features);
        text.clear();
        write_line(&mut text, entry, &OPTIONS);
        write_info(&mut text, entry);
        let safe = |it: char| !it.is_control() || it == '\n';
        assert!(text.chars().all(safe), "{text:?}");
        stats.write(entry).unwrap();
        let redacted = redactor.redact(entry.clone());
        assert_eq!(redacted.record().is_some(), entry.record().is_some());
    }
    stats.finish().unwrap();
    let _ = (stats.report(mitmcraft_engine::analysis::Sort::default()).json(), stats.totals());

    let written = jsonl(entries);
    let read = read(&written);
    assert_eq!(read.len(), entries.len(), "{}", String::from_utf8_lossy(&written));
    // Where times contradict each other, files keep those of the entries.
    let timely = is_timely(entries);
    compare(&jsonl(&read), &written, timely);
    for views in [Views::PLAIN, "plain,json".parse().unwrap()] {
        let file = pcapng(entries, views);
        compare(&jsonl(&self::read(&file)), &written, timely);
    }
    let mut pcap = PcapSink::new(Vec::new()).unwrap();
    let written = entries.iter().try_for_each(|entry| pcap.write(entry));
    let late = entries.iter().any(|entry| entry.at().0 / 1_000_000_000 > u64::from(u32::MAX));
    assert!(written.is_ok() || late, "{written:?}");
    let mut mcpr = McprSink::new(Vec::new(), None).unwrap();
    let _ = entries.iter().try_for_each(|entry| mcpr.write(entry)).and_then(|()| mcpr.finish());
}

/// Returns whether each session begins with its `open`, and has nothing before that.
fn is_timely(entries: &[Entry]) -> bool {
    let mut opened = HashMap::new();
    entries.iter().all(|entry| {
        let context = entry.context();
        let is_open = matches!(entry, Entry::Event(event) if matches!(event.kind, EventKind::Open));
        let first = match opened.get(&context.session) {
            Some(first) => *first,
            None if is_open => entry.at(),
            None => return false,
        };
        opened.insert(context.session, first);
        // A session of centuries exceeds the digits of `t`.
        let short = entry.at().since(first).as_secs() < 1 << 32;
        first == context.opened && entry.at() >= first && short
    })
}

fn compare(again: &[u8], written: &[u8], timely: bool) {
    let lines = |bytes: &[u8]| -> Vec<Json> {
        let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        let lines = lines.map(|line| serde_json::from_slice(line).unwrap());
        lines.map(timeless).collect()
    };
    if again != written && (timely || lines(again) != lines(written)) {
        let pairs = again.split(|it| *it == b'\n').zip(written.split(|it| *it == b'\n'));
        let pair = pairs.into_iter().find(|(again, written)| again != written);
        let (again, written) = pair.unwrap_or((again, written));
        panic!("read and written again:\n{}\nfirst written:\n{}", lossy(again), lossy(written));
    }
}

fn timeless(mut line: Json) -> Json {
    if let Some(line) = line.as_object_mut() {
        line.remove("t");
        line.remove("duration");
    }
    line
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn read(file: &[u8]) -> Vec<Entry> {
    let read = read_capture(Cursor::new(file.to_vec()), Catalog::embedded()).unwrap();
    read.map(|entry| entry.unwrap_or_else(|error| panic!("{error}: {}", lossy(file)))).collect()
}

pub fn jsonl(entries: &[Entry]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut sink = JsonlSink::new(&mut bytes);
    entries.iter().for_each(|entry| sink.write(entry).unwrap());
    sink.finish().unwrap();
    drop(sink);
    bytes
}

pub fn pcapng(entries: &[Entry], views: Views) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut sink = PcapngSink::with_views(&mut bytes, views, |_, _| {}).unwrap();
    entries.iter().for_each(|entry| sink.write(entry).unwrap());
    sink.finish().unwrap();
    drop(sink);
    bytes
}

fn see(entry: &Entry, features: &mut Features) {
    match entry {
        Entry::Event(event) => match &event.kind {
            EventKind::Close(summary) => features.say(&summary.reason),
            EventKind::State(state) => features.see((state.state, state.client_encrypted)),
            kind => features.see(kind.name()),
        },
        Entry::Packet(record) => {
            let packet = &record.packet;
            let version = packet.context().version;
            features.see((packet.kind().map(|kind| kind.name()), version, record.outcome.name()));
            features.see((packet.state(), packet.direction(), packet.origin().name()));
            if let Some(comment) = &record.comment {
                features.say(comment);
            }
            match (packet.content(), packet.error()) {
                (Content::Raw(_, reason), _) => features.say(format!("{reason:?}")),
                (_, Some(error)) => features.say(error),
                _ => {}
            }
        }
    }
}

/// Decodes a recording of another program.
pub fn recording(input: &[u8]) -> Features {
    let mut features = Features::default();
    let mut input = Bytes(input);
    let flags = input.u8();
    let bytes = input.rest();
    let ports = if flags & 1 != 0 { vec![25565] } else { Vec::new() };
    let keys = KeyRing::default();
    let mut options = TrafficOptions::default();
    options.keys = keys;
    options.ports = ports;
    let mut traffic = Traffic::new(options);
    let mut entries = Vec::new();
    for (count, packet) in PcapReader::new(Cursor::new(bytes.to_vec())).enumerate() {
        assert!(count <= bytes.len(), "more packets than bytes");
        match packet {
            Ok(packet) => traffic.handle(&packet),
            Err(error) => features.say(error),
        }
        traffic.take_entries(&mut entries);
    }
    traffic.finish();
    traffic.take_entries(&mut entries);
    for notice in traffic.take_notices() {
        features.say(format!("{notice:?}"));
    }
    check(&entries, &mut features);
    features
}

pub fn seeds() -> Vec<Vec<u8>> {
    let entries: Vec<Entry> = super::seeds::entries()
        .into_iter()
        .filter(|entry| entry.record().is_none_or(|record| record.packet.size() < 300))
        .collect();
    let mut seeds = Vec::new();
    for (count, six) in [(4, false), (10, false), (30, false), (8, true)] {
        let entries = entries.iter().take(count).cloned();
        let entries: Vec<Entry> =
            if six { entries.map(over_ipv6).collect() } else { entries.collect() };
        let entries = &entries[..];
        let mut pcap = Vec::new();
        let mut sink = PcapSink::new(&mut pcap).unwrap();
        entries.iter().for_each(|entry| sink.write(entry).unwrap());
        sink.finish().unwrap();
        drop(sink);
        for file in [pcap, pcapng(entries, Views::PLAIN)] {
            seeds.push([&[0], &file[..]].concat());
            seeds.push([&[1], &file[..]].concat());
        }
    }
    seeds
}

fn over_ipv6(mut entry: Entry) -> Entry {
    let mut context = (**entry.context()).clone();
    context.client = SocketAddr::from(([0x2001, 0xdb8, 0, 0, 0, 0, 0, 7], 50000));
    context.server = Some(SocketAddr::from(([0x2001, 0xdb8, 0, 0, 0, 0, 0, 1], 25565)));
    entry.set_context(context.into());
    entry
}

pub const WORDS: &[&str] = &[
    "\"type\":\"packet\"",
    "\"event\"",
    "\"event\":\"table\"",
    "\"event\":\"capture\"",
    "\"table\":\"",
    "\"description\":\"",
    "\"raw_bytes\":\"",
    "\"v\":1",
    "\"v\":2",
    "\"address\":",
    "\"session\":",
    "\"seq\":",
    "\"time\":",
    "\"dir\":\"C\"",
    "\"state\":\"play\"",
    "\"verdict\":\"drop\"",
    "\"raw\":",
    "\"body\":\"",
    "\"fields\":{",
    "\"id\":",
    "\"name\":",
    "\"of\":",
    "\"comment\":",
    "\"protocol\":47",
    "\"version\":",
    "null",
    "\"threshold\":",
    "-1",
    "1e400",
    "18446744073709551615",
    "\\ud800",
    "\\u0000",
    "}\n{",
    "\n",
];
