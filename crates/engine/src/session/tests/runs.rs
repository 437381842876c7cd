//! Sessions that count instead of recording, against the same sessions recorded.

use std::collections::BTreeMap;
use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::lang::Expr;
use crate::link::{
    Action, Asking, Breakpoint, Command, NetworkError, Otherwise, Payload, RuledVerdict, Ruling,
    Transmission,
};
use mitmcraft_protocol::codec::Frame;
use mitmcraft_protocol::packet::{Cause, TypeCounts};

/// A step of a session in the game.
#[derive(Debug, Clone)]
enum Step {
    /// Packets of types without a role, by size.
    Packets(Side, Vec<u16>),
    /// A chat message, which has a role, or matches a rule.
    Chat(Side),
    /// A packet of an unassigned id.
    Unknown(Side),
    /// The server changes the compression.
    Compression(i32),
    /// A frame that announces a size that it does not inflate to.
    Corrupt(Side),
    /// A frame without a body.
    Empty(Side),
    /// Bytes that are not cut at frames.
    Bytes(Side, Vec<u8>),
    /// A person holds chat from now on.
    Hold,
    /// A person forwards what is held, and goes on to hold.
    ForwardAll,
}

/// How a session ends.
#[derive(Debug, Clone, Copy)]
enum End {
    /// That side closes, and then the other.
    Closed(Side),
    Lost(Side),
    Stopped,
}

fn end() -> impl Strategy<Value = End> {
    prop_oneof![side().prop_map(End::Closed), side().prop_map(End::Lost), Just(End::Stopped)]
}

fn side() -> impl Strategy<Value = Side> {
    prop::sample::select(Side::ALL.to_vec())
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => (side(), prop::collection::vec(0u16..600, 1..40))
            .prop_map(|(side, sizes)| Step::Packets(side, sizes)),
        2 => side().prop_map(Step::Chat),
        1 => side().prop_map(Step::Unknown),
        1 => prop::sample::select(vec![-1, 0, 64, 256]).prop_map(Step::Compression),
        1 => side().prop_map(Step::Corrupt),
        1 => side().prop_map(Step::Empty),
        1 => (side(), prop::collection::vec(any::<u8>(), 1..20))
            .prop_map(|(side, bytes)| Step::Bytes(side, bytes)),
        1 => prop::sample::select(vec![Step::Hold, Step::ForwardAll]),
    ]
}

fn play(pair: &mut Pair, step: &Step) {
    answer(pair);
    let (side, bodies) = match step {
        Step::Packets(side, sizes) => {
            (*side, sizes.iter().map(|size| packet(*side, *size)).collect())
        }
        Step::Chat(side) => (*side, vec![say(*side)]),
        Step::Unknown(side) => (*side, vec![vec![0x7f, 1, 2]]),
        Step::Empty(side) => (*side, vec![vec![]]),
        Step::Compression(threshold) => {
            // Both ends change with the packet, which must not wait.
            release(pair);
            let value = fields([("threshold", (*threshold).into())]);
            pair.server_says(State::Play, "set_compression", value);
            pair.client.set_compression(usize::try_from(*threshold).ok());
            pair.server.set_compression(usize::try_from(*threshold).ok());
            return;
        }
        Step::Corrupt(side) => {
            let frame = [&[8, 0x80, 0x04, 0x78, 0x9c][..], &[0xff; 4]].concat();
            leg(pair, *side).encoder.put(&frame);
            return pair.run();
        }
        Step::Bytes(side, bytes) => {
            leg(pair, *side).encoder.put(bytes);
            return pair.run();
        }
        Step::Hold => return order(pair, break_at("chat")),
        Step::ForwardAll => return order(pair, Action::ForwardAll),
    };
    for body in bodies {
        leg(pair, side).encoder.send(&body);
    }
    pair.run();
}

fn break_at(condition: &str) -> Action {
    let (condition, _) = Expr::parse(condition, Catalog::embedded()).unwrap();
    Action::Break(Some(Breakpoint { condition, overtaken: false }))
}

fn send(direction: Direction, body: Vec<u8>) -> Action {
    Action::Send(Transmission {
        direction,
        packet: None,
        payload: Payload::Body(body.into()),
        times: 1,
        interval: Duration::ZERO,
        resent: None,
    })
}

fn order(pair: &mut Pair, action: Action) {
    pair.input(Input::Command(Command { number: 1, action }));
}

/// Answers what a program was asked: it passes and drops by turns.
fn answer(pair: &mut Pair) {
    while let Some(question) = pair.session.poll_question() {
        let passes = question.number % 2 == 0;
        let verdict = if passes { RuledVerdict::Pass } else { RuledVerdict::Drop };
        let ruling = Ruling { verdict, sends: Vec::new(), size: 0 };
        pair.input(Input::Ruled(question.number, Ok(ruling)));
    }
}

/// Lets out what people hold, what a program has to decide, and what rules delay.
fn release(pair: &mut Pair) {
    answer(pair);
    if pair.session.control.engaged {
        order(pair, Action::ForwardAll);
    }
    pair.clock += 1_000_000_000;
    pair.input(Input::Timeout);
}

fn leg(pair: &mut Pair, side: Side) -> &mut Leg {
    match side {
        Side::Client => &mut pair.client,
        Side::Server => &mut pair.server,
    }
}

/// A packet of the game with so many bytes after its id, whether they decode or not.
fn packet(side: Side, size: u16) -> Vec<u8> {
    let id = match side {
        Side::Client => [0x03, 0x04, 0x0a][usize::from(size) % 3],
        Side::Server => [0x15, 0x17, 0x21, 0x03][usize::from(size) % 4],
    };
    [id].into_iter().chain((0..size).map(|byte| byte as u8)).collect()
}

fn say(side: Side) -> Vec<u8> {
    match side {
        Side::Client => body(State::Play, Direction::Serverbound, "chat", &chat("hello")),
        Side::Server => {
            let value = fields([("message", "{}".into()), ("position", 0.into())]);
            body(State::Play, Direction::Clientbound, "chat", &value)
        }
    }
}

/// Counts by type, of what was recorded and of what was not.
type Counts = BTreeMap<(Direction, String), TypeCounts>;

fn add(counts: &mut Counts, key: (Direction, String), new: TypeCounts) {
    let entry = counts.entry(key);
    let before = entry.or_insert(TypeCounts { packets: 0, bytes: 0, wire: 0, ..new });
    before.packets += new.packets;
    before.bytes += new.bytes;
    before.wire += new.wire;
    before.smallest = before.smallest.min(new.smallest);
    before.largest = before.largest.max(new.largest);
}

fn counts(pair: &mut Pair) -> Counts {
    let mut counts = Counts::new();
    for record in pair.records() {
        let packet = &record.packet;
        let name = packet.kind().map_or("?", |kind| kind.name()).to_owned();
        let (size, wire) = (packet.size() as u64, packet.wire_size() as u64);
        let new = TypeCounts { packets: 1, bytes: size, wire, smallest: size, largest: size };
        add(&mut counts, (packet.direction(), format!("{name} {}", record.outcome.name())), new);
    }
    if let Some(tally) = pair.session.tally() {
        tally.drain(|kind, passed| {
            add(&mut counts, (kind.direction(), format!("{} pass", kind.name())), *passed);
        });
    }
    counts
}

/// Plays the steps with records, without, and with records once more. If they are `encrypted`, the first session
/// encrypts everything, and the others send the ciphertext that came where they can. Returns how many records
/// the second session made.
fn compare(
    steps: &[Step],
    size: usize,
    threshold: i32,
    rules: &str,
    encrypted: bool,
    asks: bool,
    end: End,
) -> usize {
    let sessions = [(false, false), (true, true), (false, true)];
    let [mut recorded, mut counted, mut kept] = sessions.map(|(counts, keeps)| {
        let (condition, _) = Expr::parse("chat", Catalog::embedded()).unwrap();
        let asking = asks.then_some(Asking { condition, otherwise: Otherwise::Pass });
        let config = Config { asking, ..Config::default() };
        let mut pair = Pair::playing_with(size, threshold, config);
        if encrypted {
            for side in Side::ALL {
                if keeps {
                    pair.session.ends[side].leg.decoder.keep_ciphertext();
                }
                pair.session.ends[side].set_cipher(b"0123456789abcdef");
                leg(&mut pair, side).set_cipher(b"0123456789abcdef");
            }
        }
        if !rules.is_empty() {
            let checked = RuleSet::parse(rules, Catalog::embedded());
            let mut pipeline = Pipeline::default();
            pipeline.push(Box::new(checked.rules.expect("the rules are right").filter()));
            pair.session.set_pipeline(pipeline);
        }
        if counts {
            pair.session.start_tally();
        }
        for step in steps {
            play(&mut pair, step);
        }
        match end {
            End::Closed(side) => {
                release(&mut pair);
                pair.input(Input::Closed(side));
                pair.input(Input::Closed(side.other()));
                release(&mut pair);
            }
            End::Lost(side) => {
                let error = std::io::Error::from(std::io::ErrorKind::ConnectionReset);
                pair.input(Input::Lost(side, NetworkError(error.into())));
            }
            End::Stopped => pair.input(Input::Stop(Cause::new("stopped"))),
        }
        pair
    });
    let close = |pair: &Pair| match pair.entries.last() {
        Some(Entry::Event(event)) => format!("{:?}", event.kind),
        _ => panic!("the last entry is not the close"),
    };
    assert!(recorded.session.is_over() && counted.session.is_over());
    assert_eq!(recorded.outputs, counted.outputs);
    assert_eq!(recorded.client_got, counted.client_got);
    assert_eq!(recorded.server_got, counted.server_got);
    assert!(recorded.arrived == counted.arrived, "other bytes on the wire");
    assert_eq!(counts(&mut recorded), counts(&mut counted));
    assert!(recorded.arrived == kept.arrived, "other bytes on the wire");
    assert_eq!(counts(&mut recorded), counts(&mut kept));
    assert_eq!(close(&recorded), close(&kept));
    assert_eq!(close(&recorded), close(&counted), "of the recorded and of the counted session");
    // Those that are still recorded have the numbers that they have among all.
    let all: BTreeMap<u64, &Record> =
        recorded.records().into_iter().map(|record| (record.packet.seq(), record)).collect();
    for record in counted.records() {
        let same = all[&record.packet.seq()];
        assert_eq!(same.outcome, record.outcome);
        assert_eq!(same.packet.body().ok(), record.packet.body().ok());
    }
    counted.records().len() - Pair::playing(size, threshold).records().len()
}

proptest! {
    #[test]
    fn a_session_that_counts_forwards_and_counts_what_one_that_records_does(
        steps in prop::collection::vec(step(), 1..12),
        size in prop::sample::select(vec![1, 7, 300, usize::MAX]),
        threshold in prop::sample::select(vec![-1, 0, 64, 256]),
        rules in prop::sample::select(vec![
            "",
            "[[rule]]\nname = 'no chat'\nwhen = 'chat and clientbound'\ndrop = true",
            "[[rule]]\nname = 'slow'\nwhen = 'entity_move_look'\ndelay = '1ms'",
            "[[rule]]\nname = 'gaps'\nwhen = 'serverbound'\ndrop = true\nevery = 7",
            "[[rule]]\nname = 'twice'\nwhen = 'clientbound and pkt.size > 9'\ncopy = 1\nevery = 5",
            "[[rule]]\nname = 'new'\nwhen = 'play'\nreplace = { hex = '0a' }\nevery = 9",
            "[[rule]]\nname = 'more'\nwhen = 'chat'\nsend = [{ to = 'client', raw = '0102' }, \
             { to = 'server', raw = '0102', place = 'before' }]",
            "[[rule]]\nname = 'end'\nwhen = 'chat and serverbound'\nclose = 'enough'",
        ]),
        encrypted: bool,
        asks: bool,
        end in end(),
    ) {
        compare(&steps, size, threshold, rules, encrypted, asks, end);
    }
}

#[test]
fn a_session_that_counts_makes_no_records_of_packets_that_pass() {
    for threshold in [-1, 0, 256] {
        for size in SIZES {
            let sizes = Vec::from_iter(0..500);
            let steps = Side::ALL.map(|side| Step::Packets(side, sizes.clone()));
            for (encrypted, asks) in [(false, false), (true, false), (false, true)] {
                let end = End::Closed(Side::Client);
                assert_eq!(compare(&steps, size, threshold, "", encrypted, asks, end), 0);
            }
        }
    }
}

#[test]
fn an_encrypted_session_that_changes_nothing_encrypts_nothing() {
    for (size, counts) in
        [1, 7, 300, usize::MAX].into_iter().flat_map(|it| [(it, true), (it, false)])
    {
        let mut pair = Pair::playing(size, 64);
        for side in Side::ALL {
            pair.session.ends[side].leg.decoder.keep_ciphertext();
            pair.session.ends[side].set_cipher(b"0123456789abcdef");
            leg(&mut pair, side).set_cipher(b"0123456789abcdef");
        }
        if counts {
            pair.session.start_tally();
        }
        let encrypted = |pair: &Pair| {
            Side::ALL.map(|side| pair.session.ends[side].leg.encoder.encrypted_bytes())
        };
        let sizes = Vec::from_iter(0..500);
        for side in Side::ALL {
            play(&mut pair, &Step::Packets(side, sizes.clone()));
            play(&mut pair, &Step::Chat(side));
        }
        assert_eq!(encrypted(&pair), [0, 0], "size {size}");
        // What is held is encrypted when it goes, and what follows is not.
        order(&mut pair, break_at("chat"));
        play(&mut pair, &Step::Chat(Side::Client));
        play(&mut pair, &Step::Packets(Side::Client, vec![40]));
        release(&mut pair);
        order(&mut pair, Action::Break(None));
        play(&mut pair, &Step::Packets(Side::Client, sizes.clone()));
        assert_eq!(encrypted(&pair), [0, 9 + 43], "size {size}");
        // What the proxy sends itself takes one direction out of step.
        let own = say(Side::Server);
        let more = own.len() + 2 + 100 * 43;
        order(&mut pair, send(Direction::Clientbound, own));
        play(&mut pair, &Step::Packets(Side::Server, vec![40; 100]));
        play(&mut pair, &Step::Packets(Side::Client, sizes.clone()));
        assert_eq!(encrypted(&pair), [more, 9 + 43], "size {size}");
    }
}

#[test]
fn a_frame_larger_than_a_read_is_not_received_byte_by_byte() {
    let mut pair = Pair::playing(4096, -1);
    pair.session.start_tally();
    let large = [&[0x21][..], &[7; 100_000]].concat();
    let frames = Frame::from_body(large.into()).wire().repeat(3);
    pair.server.encoder.put(&frames);
    pair.run();
    assert_eq!(pair.client_got.len(), 5, "with the login");
    assert_eq!(pair.session.ends.server.leg.decoder.buffered(), 0);
}
