//! The cost of scripts beside that of rules: a packet that matches nothing, a callback that reads two
//! fields and changes one, and the time and memory of 1,000 sessions with a script of 100 lines:
//! `cargo bench --bench scripts`. Fails if a figure exceeds its limit.

#![allow(clippy::print_stdout, clippy::unwrap_used, missing_docs)]

use std::fmt::Write as _;
use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use mitmcraft_engine::filter::{Moment, Pipeline, RuleSet, SessionEvent};
use mitmcraft_engine::script::Script;
use mitmcraft_protocol::codec::Frame;
use mitmcraft_protocol::packet::{Content, Context, Packet, Timestamp};
use mitmcraft_protocol::schema::{Catalog, Direction, PerDirection, State, Value};

fn main() {
    let moves = packets("rel_entity_move", Direction::Clientbound, &MOVE);
    let chats = packets("chat", Direction::Serverbound, &[("message", "hello".into())]);
    let positions = packets("position", Direction::Serverbound, &POSITION);
    let never = "chat and serverbound and message == \"never\"";

    let mut rule = pipeline(&rules(&format!("[[rule]]\nwhen = '{never}'\ndrop = true\n")));
    let mut script = pipeline(&lua(&format!("on('{never}', function(packet) packet:drop() end)")));
    for (what, packets) in [("another packet", &moves), ("another message", &chats)] {
        let [rule, script] = medians([&mut rule, &mut script], packets);
        println!(
            "{what}: {rule:.0} ns with a rule that does not match, {script:.0} ns with a script"
        );
        assert!(script < 1.3 * rule + 20.0, "a script that does not match costs what a rule does");
    }

    let mut rule = pipeline(&rules("[[rule]]\nwhen = 'position'\nset = { y = '=x + z' }\n"));
    let mut script =
        pipeline(&lua("on('position', function(packet) packet.y = packet.x + packet.z end)"));
    let [rule, script] = medians([&mut rule, &mut script], &positions);
    let coding = median((0..ROUNDS).map(|_| recode(&positions)).collect());
    println!(
        "two fields read and one changed: {rule:.0} ns with a rule, {script:.0} ns with a script, of which \
         decoding and encoding take {coding:.0}"
    );
    assert!(script - coding < 3000.0, "less than 3 µs beyond decoding and encoding");

    let mut text = String::new();
    for example in EXAMPLES {
        text.push_str(example);
    }
    for line in text.lines().count()..100 {
        let _ = writeln!(text, "local unused{line} = {line}");
    }
    let set = lua(&text);
    let context = context();
    let states = PerDirection::from_fn(|_| State::Play);
    let moment = Moment { at: Timestamp(0), context: &context, states };
    black_box(pipeline(&set).on_event(SessionEvent::Open, &moment));
    let (before, begun) = (resident(), Instant::now());
    let sessions: Vec<Pipeline> = (0..SESSIONS)
        .map(|_| {
            let mut pipeline = pipeline(&set);
            assert!(pipeline.on_event(SessionEvent::Open, &moment).messages.is_empty());
            pipeline
        })
        .collect();
    let took = begun.elapsed().as_secs_f64() * 1e3 / SESSIONS as f64;
    let mebibytes = resident().saturating_sub(before) as f64 / f64::from(1 << 20);
    println!(
        "{SESSIONS} sessions with a script of 100 lines: {mebibytes:.0} MiB more, {took:.2} ms to load each"
    );
    assert!(took < 2.0 && mebibytes < 150.0);
    drop(sessions);
}

fn lua(text: &str) -> RuleSet {
    let checked = Script::parse_set("bench.lua", text, Catalog::embedded());
    checked.rules.unwrap_or_else(|| panic!("{:?}", checked.faults.first()))
}

fn rules(text: &str) -> RuleSet {
    let checked = RuleSet::parse(text, Catalog::embedded());
    checked.rules.unwrap_or_else(|| panic!("{:?}", checked.faults.first()))
}

fn pipeline(set: &RuleSet) -> Pipeline {
    let mut pipeline = Pipeline::default();
    pipeline.push(set.session_filter());
    pipeline
}

/// Returns the medians of several rounds, in nanoseconds per packet; the pipelines take turns.
fn medians(mut pipelines: [&mut Pipeline; 2], packets: &[Packet]) -> [f64; 2] {
    let mut times = [Vec::new(), Vec::new()];
    for pipeline in &mut pipelines {
        run(pipeline, packets);
    }
    for _ in 0..ROUNDS {
        for (times, pipeline) in times.iter_mut().zip(&mut pipelines) {
            times.push(run(pipeline, packets));
        }
    }
    times.map(median)
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
    begun.elapsed().as_nanos() as f64 / packets.len() as f64
}

/// Decodes, changes and encodes the packets; nanoseconds per packet.
fn recode(packets: &[Packet]) -> f64 {
    let fresh: Vec<Packet> = packets.to_vec();
    let begun = Instant::now();
    for packet in &fresh {
        let protocol = &packet.context().protocol;
        let value = packet.value().unwrap().with_field("y", Value::Float64(3.0));
        black_box(protocol.encode(packet.kind().unwrap(), &value).unwrap());
    }
    begun.elapsed().as_nanos() as f64 / packets.len() as f64
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn context() -> Arc<Context> {
    let protocol = Catalog::embedded().find(47).unwrap().protocol;
    Arc::new(Context {
        version: Some(47),
        ..Context::new(1, Timestamp(0), ([127, 0, 0, 1], 1).into(), protocol)
    })
}

fn packets(name: &str, direction: Direction, fields: &[(&str, Value)]) -> Vec<Packet> {
    let context = context();
    let protocol = &context.protocol;
    let packet = protocol.named(State::Play, direction, name).unwrap();
    let body = protocol.encode(packet, &Value::map(fields.iter().cloned())).unwrap();
    let frame = Frame::from_body(body.into());
    let packet = |seq| {
        let content = Content::Frame(frame.clone());
        Packet::new(Arc::clone(&context), seq, Timestamp(seq), direction, State::Play, content)
    };
    (0..20_000).map(packet).collect()
}

/// Returns the memory of this process, in bytes; 0 where the system does not tell it in this form.
fn resident() -> usize {
    let Ok(text) = std::fs::read_to_string("/proc/self/statm") else { return 0 };
    let pages = text.split_ascii_whitespace().nth(1).and_then(|pages| pages.parse().ok());
    pages.unwrap_or(0) * 4096
}

const MOVE: [(&str, Value); 5] = [
    ("entityId", Value::Int(1)),
    ("dX", Value::Int(1)),
    ("dY", Value::Int(1)),
    ("dZ", Value::Int(1)),
    ("onGround", Value::Bool(true)),
];

const POSITION: [(&str, Value); 4] = [
    ("x", Value::Float64(1.0)),
    ("y", Value::Float64(64.0)),
    ("z", Value::Float64(2.0)),
    ("onGround", Value::Bool(true)),
];

const EXAMPLES: [&str; 6] = [
    include_str!("../../examples/scripts/answer.lua"),
    include_str!("../../examples/scripts/anti-spam.lua"),
    include_str!("../../examples/scripts/brand.lua"),
    include_str!("../../examples/scripts/home.lua"),
    include_str!("../../examples/scripts/jitter.lua"),
    include_str!("../../examples/scripts/tab-list.lua"),
];

const SESSIONS: usize = 1000;

const ROUNDS: usize = 15;
