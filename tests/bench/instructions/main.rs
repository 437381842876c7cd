//! The hot paths on small fixed work, for callgrind to count: `tests/bench/instructions/run`.
//!
//! Each path is a function whose name begins with `path_`. It must do the same in every run: no clock, no
//! random number, no thread.

#![allow(clippy::unwrap_used, missing_docs, unreachable_pub)]

#[path = "../shared/playing.rs"]
mod playing;
#[path = "../shared/traffic.rs"]
mod traffic;

use std::fmt::Write as _;
use std::hint::black_box;
use std::io::{Cursor, Write};
use std::sync::{Arc, Mutex};

use mitmcraft_engine::analysis::Stats;
use mitmcraft_engine::capture::{CreateOptions, Entry, Sink as _, read_capture, write_sink};
use mitmcraft_engine::filter::{Pipeline, RuleSet};
use mitmcraft_engine::link::{Engine as _, Input, Side};
use mitmcraft_engine::session::Session;
use mitmcraft_protocol::codec::Leg;
use mitmcraft_protocol::packet::{Packet, Timestamp};
use mitmcraft_protocol::schema::{Catalog, Measure, Value};
use playing::playing;
use traffic::{THRESHOLD, Traffic};

fn main() {
    let (play, chunks) = (Traffic::play_of(4000), Traffic::chunks_of(200));
    let threshold = i32::try_from(THRESHOLD).unwrap();
    let counting = || {
        let mut session = playing(threshold);
        session.start_tally();
        session
    };
    path_forward_unrecorded(&mut counting(), &play);
    path_forward_unrecorded_chunks(&mut counting(), &chunks);
    let mut ruled = counting();
    ruled.set_pipeline(rules());
    // The index of the rules is made for the first packet.
    forward(&mut ruled, &play, &mut Vec::new());
    path_forward_unrecorded_with_rules(&mut ruled, &play);

    let mut entries = Vec::new();
    path_forward_recorded(&mut playing(threshold), &play, &mut entries);
    let (jsonl, pcapng) = (Memory::default(), Memory::default());
    path_write_jsonl(&entries, &jsonl);
    path_write_pcapng(&entries, &pcapng);
    let (jsonl, pcapng) = (jsonl.take(), pcapng.take());
    // The names of what values mean are read for the first packet.
    read(&jsonl);
    path_read_jsonl_for_stats(&jsonl);
    path_read_pcapng_for_stats(&pcapng);
    path_measure(&entries);
    path_decode_values(&entries);
    path_encode_values(&values(&entries));
    path_encrypt_and_decrypt(&play);

    let mut entries = Vec::new();
    forward(&mut playing(threshold), &chunks, &mut entries);
    path_write_jsonl_chunks(&entries, &Memory::default());
    path_write_pcapng_chunks(&entries, &Memory::default());
}

#[inline(never)]
fn path_forward_unrecorded(session: &mut Session, traffic: &Traffic) {
    forward(session, traffic, &mut Vec::new());
}

#[inline(never)]
fn path_forward_unrecorded_chunks(session: &mut Session, traffic: &Traffic) {
    // Another body than that of the other functions, which the compiler would otherwise merge.
    forward(black_box(session), traffic, &mut Vec::new());
}

#[inline(never)]
fn path_forward_unrecorded_with_rules(session: &mut Session, traffic: &Traffic) {
    forward(session, black_box(traffic), &mut Vec::new());
}

#[inline(never)]
fn path_forward_recorded(session: &mut Session, traffic: &Traffic, entries: &mut Vec<Entry>) {
    forward(session, traffic, entries);
}

#[inline(never)]
fn path_write_jsonl(entries: &[Entry], out: &Memory) {
    write("jsonl", entries, out);
}

#[inline(never)]
fn path_write_jsonl_chunks(entries: &[Entry], out: &Memory) {
    write("jsonl", black_box(entries), out);
}

#[inline(never)]
fn path_write_pcapng(entries: &[Entry], out: &Memory) {
    write("pcapng", entries, out);
}

#[inline(never)]
fn path_write_pcapng_chunks(entries: &[Entry], out: &Memory) {
    write("pcapng", black_box(entries), out);
}

#[inline(never)]
fn path_read_jsonl_for_stats(file: &[u8]) {
    read(file);
}

#[inline(never)]
fn path_read_pcapng_for_stats(file: &[u8]) {
    read(black_box(file));
}

#[inline(never)]
fn path_measure(entries: &[Entry]) {
    for record in entries.iter().filter_map(Entry::record) {
        black_box(record.packet.walk(&mut Measure)).unwrap();
    }
}

#[inline(never)]
fn path_decode_values(entries: &[Entry]) {
    for record in entries.iter().filter_map(Entry::record) {
        black_box(record.packet.value()).unwrap();
    }
}

#[inline(never)]
fn path_encode_values(values: &[(&Packet, Value)]) {
    for (packet, value) in values {
        let protocol = &packet.context().protocol;
        black_box(protocol.encode(packet.kind().unwrap(), value)).unwrap();
    }
}

#[inline(never)]
fn path_encrypt_and_decrypt(traffic: &Traffic) {
    let mut leg = Leg::default();
    leg.set_cipher(b"0123456789abcdef");
    leg.decoder.set_opaque();
    for read in traffic.bytes().chunks(64 << 10) {
        leg.encoder.put(read);
        leg.encoder.advance(black_box(read).len());
        leg.decoder.receive(read);
        black_box(leg.decoder.poll());
    }
}

/// Decodes all packets.
fn values(entries: &[Entry]) -> Vec<(&Packet, Value)> {
    let packets = entries.iter().filter_map(Entry::record).map(|record| &record.packet);
    packets.map(|packet| (packet, packet.value().unwrap())).collect()
}

fn forward(session: &mut Session, traffic: &Traffic, entries: &mut Vec<Entry>) {
    for read in traffic.bytes().chunks(64 << 10) {
        session.handle(Timestamp(START), Input::Received(Side::Server, read));
        let count = black_box(session.pending(Side::Client)).len();
        session.advance(Side::Client, count);
        session.take_entries(entries);
        if let Some(tally) = session.tally() {
            tally.drain(|kind, counts| _ = black_box((kind, counts)));
        }
    }
}

fn write(format: &str, entries: &[Entry], out: &Memory) {
    let options = CreateOptions::default();
    let mut sink = write_sink(Box::new(out.clone()), format.parse().unwrap(), &options).unwrap();
    entries.iter().for_each(|entry| sink.write(entry).unwrap());
    sink.finish().unwrap();
}

fn read(file: &[u8]) {
    let mut stats = Stats::default();
    stats.begin();
    let entries = read_capture(Cursor::new(file.to_vec()), Catalog::embedded()).unwrap();
    entries.for_each(|entry| stats.write(&entry.unwrap()).unwrap());
    black_box(&stats);
}

/// Rules of which none matches a packet of the traffic.
fn rules() -> Pipeline {
    let mut text = String::new();
    for number in 0..200 {
        let when = format!("open_window and windowId == {number}");
        writeln!(text, "[[rule]]\nname = '{number}'\nwhen = '{when}'\ndrop = true").unwrap();
    }
    let rules = RuleSet::parse(&text, Catalog::embedded()).rules.expect("the rules are right");
    let mut pipeline = Pipeline::default();
    pipeline.push(Box::new(rules.filter()));
    pipeline
}

/// A file in memory.
#[derive(Clone)]
struct Memory(Arc<Mutex<Vec<u8>>>);

impl Default for Memory {
    /// Has room for every file: whether growing copies is a matter of the heap.
    fn default() -> Self {
        Self(Arc::new(Mutex::new(Vec::with_capacity(32 << 20))))
    }
}

impl Memory {
    fn take(&self) -> Vec<u8> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }
}

impl Write for Memory {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// 2026-11-20T12:31:04Z.
const START: u64 = 1_795_177_864_000_000_000;
