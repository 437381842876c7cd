//! The time and memory that 200 and 10,000 rules take until the first packet has been judged, and
//! the cost of 200 rules for packets that they cannot match, and for those that they can, compared
//! with no rules; and that of rules that ask for blocks of a chunk: `cargo bench --bench rules`.

#![allow(clippy::print_stdout, clippy::unwrap_used, missing_docs, unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::fmt::Write as _;
use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::json;

use mitmcraft_engine::filter::{Pipeline, RuleSet};
use mitmcraft_protocol::codec::Frame;
use mitmcraft_protocol::packet::{Content, Context, Packet, Timestamp};
use mitmcraft_protocol::schema::{Catalog, Direction, State, Value};

fn main() {
    let moves = packets(
        "rel_entity_move",
        Direction::Clientbound,
        &[
            ("entityId", 1.into()),
            ("dX", 1.into()),
            ("dY", 1.into()),
            ("dZ", 1.into()),
            ("onGround", Value::Bool(true)),
        ],
    );
    let chats = packets("chat", Direction::Serverbound, &[("message", "hello".into())]);

    // What all files share, such as the tables, is not counted.
    load(1, &chats[0]);
    for count in [200, 10_000] {
        let before = allocated();
        LARGEST.store(before, Relaxed);
        let begun = Instant::now();
        let pipeline = load(count, &chats[0]);
        let took = begun.elapsed();
        let (kept, peak) = (allocated() - before, LARGEST.load(Relaxed) - before);
        println!(
            "{count} rules are read, checked and asked once in {took:.1?}, {:.1} MB at most, {:.1} MB after",
            peak as f64 / 1e6,
            kept as f64 / 1e6,
        );
        drop(pipeline);
    }

    let mut none = Pipeline::default();
    let mut rules = Pipeline::default();
    rules.push(Box::new(set(200, chat_rule).filter()));
    for (what, packets) in [("no rule can match", &moves), ("all rules can match", &chats)] {
        run(&mut rules, packets);
        let times = (0..15).map(|_| (run(&mut none, packets), run(&mut rules, packets)));
        let (without, with): (Vec<_>, Vec<_>) = times.unzip();
        let (without, with) = (median(without), median(with));
        println!("{what}: {without:.1} ns a packet without rules, {with:.1} ns with 200");
    }

    let chunks = chunks();
    for count in [1, 20] {
        let mut rules = Pipeline::default();
        rules.push(Box::new(set(count, block_rule).filter()));
        run(&mut rules, &chunks);
        let times = (0..15).map(|_| run(&mut rules, &chunks)).collect();
        println!(
            "rules with a block(..) each, {count}: {:.1} us a chunk of 1.20.4",
            median(times) / 1e3
        );
    }
}

fn block_rule(number: usize) -> (String, &'static str) {
    (format!("map_chunk and block(0, {number}, 0) == \"bedrock\""), "drop = true")
}

/// Chunks of 24 sections with their light, each unlike the one before it.
fn chunks() -> Vec<Packet> {
    let mut all: Vec<Vec<Packet>> = Vec::new();
    for stone in [1, 2] {
        let mut data = Vec::new();
        for _ in 0..24 {
            // 4,096 blocks, a palette of two, and one biome.
            data.extend_from_slice(&[0x10, 0x00, 4, 2, stone, 9, 0x80, 0x02]);
            data.extend(std::iter::repeat_n([0x01, 0x10, 0x11, 0x00], 512).flatten());
            data.extend_from_slice(&[0, 0, 0]);
        }
        let light = json!(BASE64_STANDARD.encode([0xff; 2048]));
        let fields = json!({"x": 0, "z": 0, "heightmaps": {"type": "compound", "value": {}},
            "chunkData": BASE64_STANDARD.encode(&data), "blockEntities": [],
            "skyLightMask": [0x3ff_ffff], "blockLightMask": [0], "emptySkyLightMask": [0],
            "emptyBlockLightMask": [0x3ff_ffff], "skyLight": vec![light; 26], "blockLight": []});
        all.push(packets_of(
            765,
            "map_chunk",
            Direction::Clientbound,
            &Value::from_json(&fields),
            100,
        ));
    }
    let [first, second] = &all[..] else { unreachable!("two") };
    first.iter().zip(second).flat_map(|(a, b)| [a.clone(), b.clone()]).collect()
}

/// Reads a file of so many rules of several kinds, and judges a packet by it.
fn load(count: usize, packet: &Packet) -> Pipeline {
    let rule = |number: usize| match number % 5 {
        0 => chat_rule(number),
        1 => ("keep_alive".to_owned(), "log = false"),
        2 => (format!("clientbound and (map_chunk* or chunkX == {number})"), "tag = 'chunk'"),
        3 => (format!("entity_* and entityId == {number}"), "delay = '50ms'"),
        _ => (format!("(system_chat or chat_message) and message == \"{number}\""), "log = 'full'"),
    };
    let mut pipeline = Pipeline::default();
    pipeline.push(Box::new(set(count, rule).filter()));
    black_box(pipeline.apply(packet));
    pipeline
}

fn chat_rule(number: usize) -> (String, &'static str) {
    (format!("chat and serverbound and message == \"{number}\""), "drop = true")
}

/// Parses a file of so many rules, each a condition and an action.
fn set(count: usize, rule: impl Fn(usize) -> (String, &'static str)) -> RuleSet {
    let mut text = String::new();
    for number in 0..count {
        let (when, action) = rule(number);
        let _ = writeln!(text, "[[rule]]\nname = 'r{number}'\nwhen = '{when}'\n{action}");
    }
    let checked = RuleSet::parse(&text, Catalog::embedded());
    checked.rules.unwrap_or_else(|| panic!("{:?}", checked.faults.first()))
}

/// Identifies the packets and applies the filters, as a session does; nanoseconds per packet.
fn run(pipeline: &mut Pipeline, packets: &[Packet]) -> f64 {
    let fresh: Vec<Packet> = packets.to_vec();
    let begun = Instant::now();
    for packet in &fresh {
        black_box(packet.kind().and_then(|packet| packet.role()));
        if pipeline.wants(packet) {
            black_box(pipeline.apply(packet));
        }
    }
    let elapsed: Duration = begun.elapsed();
    elapsed.as_nanos() as f64 / packets.len() as f64
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn packets(name: &str, direction: Direction, fields: &[(&str, Value)]) -> Vec<Packet> {
    packets_of(47, name, direction, &Value::map(fields.iter().cloned()), 20_000)
}

fn packets_of(
    version: i32,
    name: &str,
    direction: Direction,
    fields: &Value,
    count: u64,
) -> Vec<Packet> {
    let protocol = Catalog::embedded().find(version).unwrap().protocol;
    let context = Arc::new(Context {
        version: Some(version),
        ..Context::new(1, Timestamp(0), ([127, 0, 0, 1], 1).into(), Arc::clone(&protocol))
    });
    let packet = protocol.named(State::Play, direction, name).unwrap();
    let body = protocol.encode(packet, fields).unwrap();
    let frame = Frame::from_body(body.into());
    let packet = |seq| {
        let content = Content::Frame(frame.clone());
        Packet::new(Arc::clone(&context), seq, Timestamp(seq), direction, State::Play, content)
    };
    (0..count).map(packet).collect()
}

/// Counts the bytes in use, and the most there ever were.
struct Counting;

static ALLOCATED: AtomicUsize = AtomicUsize::new(0);
static LARGEST: AtomicUsize = AtomicUsize::new(0);

fn allocated() -> usize {
    ALLOCATED.load(Relaxed)
}

// SAFETY: every call is passed on to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let now = ALLOCATED.fetch_add(layout.size(), Relaxed) + layout.size();
        LARGEST.fetch_max(now, Relaxed);
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        ALLOCATED.fetch_sub(layout.size(), Relaxed);
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;
