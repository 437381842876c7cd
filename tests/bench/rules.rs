//! The cost of 200 rules for packets that they cannot match, and for those that they can, compared
//! with no rules: `cargo bench --bench rules`.

#![allow(clippy::print_stdout, clippy::unwrap_used, missing_docs)]

use std::fmt::Write as _;
use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mitmcraft::codec::Frame;
use mitmcraft::filter::{Pipeline, RuleSet};
use mitmcraft::packet::{Content, Context, Packet, Timestamp};
use mitmcraft::schema::{Catalog, Direction, State, Value};

fn main() {
    let mut text = String::new();
    for number in 0..200 {
        let _ = writeln!(
            text,
            "[[rule]]\nname = 'r{number}'\nwhen = 'chat and serverbound and message == \"{number}\"'\ndrop = true"
        );
    }
    let begun = Instant::now();
    let set = RuleSet::parse(&text, Catalog::embedded()).rules.unwrap();
    println!("200 rules are read and checked in {:?}", begun.elapsed());
    let mut none = Pipeline::default();
    let mut rules = Pipeline::default();
    rules.push(Box::new(set.filter()));

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
    for (what, packets) in [("no rule can match", &moves), ("all rules can match", &chats)] {
        run(&mut rules, packets);
        let times = (0..15).map(|_| (run(&mut none, packets), run(&mut rules, packets)));
        let (without, with): (Vec<_>, Vec<_>) = times.unzip();
        let (without, with) = (median(without), median(with));
        println!("{what}: {without:.1} ns a packet without rules, {with:.1} ns with 200");
    }
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
    let protocol = Catalog::embedded().find(47).unwrap().protocol;
    let context = Arc::new(Context {
        session: 1,
        opened: Timestamp(0),
        client: ([127, 0, 0, 1], 1).into(),
        server: None,
        upstream: String::new(),
        player: None,
        protocol: Arc::clone(&protocol),
        version: Some(47),
        guess: false,
    });
    let packet = protocol.named(State::Play, direction, name).unwrap();
    let body = protocol.encode(packet, &Value::map(fields.iter().cloned())).unwrap();
    let frame = Frame::from_body(body.into());
    let packet = |seq| {
        let content = Content::Frame(frame.clone());
        Packet::new(Arc::clone(&context), seq, Timestamp(seq), direction, State::Play, content)
    };
    (0..20_000).map(packet).collect()
}
