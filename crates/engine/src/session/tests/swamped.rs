//! Peers that do not read what rules, scripts, programs and people have sent to them.

use std::time::Duration;

use super::*;
use crate::filter::{Delay, Injection, Moment};
use crate::link::{NetworkError, PerSide};
use mitmcraft_protocol::codec::MemoryBudget;
use mitmcraft_protocol::packet::Cause;

use Direction::{Clientbound, Serverbound};

fn shown(text: &str) -> Bytes {
    let value = fields([("message", text.into()), ("position", 0.into())]);
    body(State::Play, Clientbound, "chat", &value).into()
}

fn said(text: &str) -> Bytes {
    body(State::Play, Serverbound, "chat", &chat(text)).into()
}

fn injection(direction: Direction, body: Bytes) -> Injection {
    Injection { direction, before: false, body, framed: true, rule: Some("swamp".into()) }
}

/// The filter's reaction to each chat message of the client.
#[derive(Clone, Copy)]
enum Does {
    /// Sends text of this length.
    Sends(Direction, usize),
    Copies,
    CopiesLate,
}

struct Swamp(Does);

impl Filter for Swamp {
    fn name(&self) -> &str {
        "swamp"
    }

    fn apply(&mut self, packet: &Packet, effects: &mut Effects) -> Verdict {
        if packet.direction() == Clientbound || packet.state() != State::Play {
            return Verdict::Pass;
        }
        match self.0 {
            Does::Sends(Clientbound, size) => {
                effects.sends.push(injection(Clientbound, shown(&"a".repeat(size))));
            }
            Does::Sends(Serverbound, size) => {
                effects.sends.push(injection(Serverbound, said(&"a".repeat(size))));
            }
            Does::Copies => effects.copies = 1000,
            Does::CopiesLate => {
                effects.copies = 1000;
                effects.delay = Some(Delay { by: Duration::from_secs(3600), reorder: false });
            }
        }
        Verdict::Pass
    }
}

/// Sends 10 KiB every 10 ms.
struct Ticks(Option<Timestamp>);

impl Filter for Ticks {
    fn name(&self) -> &str {
        "ticks"
    }

    fn apply(&mut self, packet: &Packet, _: &mut Effects) -> Verdict {
        self.0.get_or_insert_with(|| packet.at());
        Verdict::Pass
    }

    fn is_active(&self) -> bool {
        true
    }

    fn poll_timeout(&self) -> Option<Timestamp> {
        self.0
    }

    fn on_timeout(&mut self, moment: &Moment<'_>, effects: &mut Effects) {
        self.0 = Some(moment.at.plus(Duration::from_millis(10)));
        effects.sends.push(injection(Clientbound, shown(&"t".repeat(10 << 10))));
    }
}

/// A session in the game whose peers on these sides read nothing.
fn deaf(config: Config, filter: Box<dyn Filter>, sides: &[Side]) -> Pair {
    let mut pipeline = Pipeline::default();
    pipeline.push(filter);
    let mut pair = Pair::with(1 << 16, config, pipeline);
    pair.input(Input::Connected("127.0.0.1:25565".parse().unwrap()));
    pair.client_says(State::Handshaking, "set_protocol", handshake("localhost", 2));
    pair.client_says(State::Login, "login_start", fields([("username", "Steve".into())]));
    pair.server_says(State::Login, "success", success());
    for side in sides {
        pair.deaf[*side] = true;
    }
    (pair.client_got, pair.server_got, pair.entries) = (Vec::new(), Vec::new(), Vec::new());
    pair
}

/// Bytes that the session keeps for its peers.
fn kept(pair: &Pair) -> usize {
    let delayed = pair.session.delivery.queues.values().map(|queue| queue.size()).sum::<usize>();
    let pending = Side::ALL.map(|side| pair.session.pending(side).len());
    pending.iter().sum::<usize>() + delayed
}

/// At the end of a run, no packet causes thousands of others.
#[test]
fn a_session_that_is_stopped_sends_few_packets_of_its_own() {
    let mut pair = deaf(Config::default(), Box::new(Swamp(Does::Copies)), &[Side::Server]);
    for number in 0..10_000 {
        pair.client.encoder.send(&said(&format!("{number}")));
    }
    pair.run();
    let before = pair.entries.len();
    pair.input(Input::Stop(Cause::new("stopped by the user")));
    assert!(pair.session.is_over());
    assert!(pair.entries.len() - before < 6000, "{}", pair.entries.len() - before);
}

/// The client sends chats, and the peers read later: what waits in between, and everything arrives in order.
#[test]
fn a_client_is_not_read_while_a_peer_does_not_read_what_its_packets_have_caused() {
    let mib = 1 << 20;
    for (does, deaf_side, chats, bound) in [
        (Does::Sends(Clientbound, 1000), Side::Client, 20_000, 5 * mib),
        (Does::Sends(Clientbound, 20), Side::Client, 100_000, 5 * mib),
        (Does::Sends(Serverbound, 1000), Side::Server, 20_000, 5 * mib),
        (Does::Sends(Clientbound, 1_500_000), Side::Client, 200, 6 * mib),
        (Does::Copies, Side::Server, 1003, 5 * mib),
    ] {
        let mut pair = deaf(Config::default(), Box::new(Swamp(does)), &[deaf_side]);
        for number in 0..chats {
            pair.client.encoder.send(&said(&format!("{number}")));
        }
        pair.run();
        let decoder = &pair.session.ends.client.leg.decoder;
        let (waits, kept) = (pair.client.encoder.pending().len() + decoder.buffered(), kept(&pair));
        assert!(kept < bound && waits > 0, "{kept} {waits}");
        assert!(!pair.session.wants_read(Side::Client));
        // It costs nothing while it waits.
        assert!(pair.session.poll_timeout().is_none_or(|at| at.0 > pair.clock));
        pair.deaf = PerSide::default();
        pair.run();
        let firsts = pair.server_got.chunk_by(|one, next| one == next).map(|it| &it[0]);
        let own = said(&"a".repeat(1000));
        let firsts: Vec<_> = firsts.filter(|it| **it != own).collect();
        assert_eq!(firsts.len(), chats);
        assert!((0..chats).all(|number| *firsts[number] == said(&format!("{number}"))));
        let (client, server) = (pair.client_got.len(), pair.server_got.len());
        let wanted = match does {
            Does::Sends(Clientbound, _) => (chats, chats),
            Does::Sends(Serverbound, _) => (0, 2 * chats),
            Does::Copies | Does::CopiesLate => (0, 1001 * chats),
        };
        assert_eq!((client, server), wanted);
        assert!(pair.outputs.iter().all(|it| !matches!(it, Output::Notice(_))), "none refused");
    }
}

#[test]
fn copies_that_wait_for_a_delay_are_bounded_and_those_beyond_are_refused() {
    let mut pair = deaf(Config::default(), Box::new(Swamp(Does::CopiesLate)), &[]);
    for number in 0..10_000 {
        pair.client.encoder.send(&said(&format!("{number}")));
    }
    pair.run();
    assert!(pair.entries.len() < 300_000, "{}", pair.entries.len());
    assert!(!pair.session.wants_read(Side::Client) && pair.session.wants_read(Side::Server));
    assert!(!pair.client.encoder.pending().is_empty());
}

/// Ten clients take what they can get; the eleventh needs little.
#[test]
fn all_that_is_sent_to_peers_that_do_not_read_stays_within_the_memory() {
    let memory = MemoryBudget::new(8 << 20);
    let config = || Config { memory: memory.clone(), ..Config::default() };
    let swamp = || Box::new(Swamp(Does::Sends(Clientbound, 10_000)));
    let mut pairs: Vec<_> = (0..10).map(|_| deaf(config(), swamp(), &[Side::Client])).collect();
    for _ in 0..100 {
        for pair in &mut pairs {
            for number in 0..100 {
                pair.client.encoder.send(&said(&format!("{number}")));
            }
            pair.run();
        }
        // The buffer that grew last has some room.
        assert!(memory.used() <= memory.limit() + (1 << 20), "{}", memory.used());
    }
    assert!(pairs.iter().all(|pair| !pair.session.wants_read(Side::Client)));
    let mut good = deaf(config(), swamp(), &[]);
    for _ in 0..100 {
        good.client_says(State::Play, "chat", chat("hello"));
    }
    assert_eq!((good.client_got.len(), good.server_got.len()), (100, 100));
}

#[test]
fn timers_of_filters_send_nothing_more_to_a_peer_that_does_not_read_and_say_so() {
    let mut pair = deaf(Config::default(), Box::new(Ticks(None)), &[Side::Client]);
    pair.client_says(State::Play, "chat", chat("go"));
    let ticks = |pair: &mut Pair, count: usize| {
        for _ in 0..count {
            pair.clock += 10_000_000;
            pair.session.handle(Timestamp(pair.clock), Input::Timeout);
            pair.run();
        }
    };
    ticks(&mut pair, 10_000);
    assert!(kept(&pair) < 300 << 10, "{}", kept(&pair));
    let mut said: Vec<_> = pair.outputs.iter().map(|output| format!("{output:?}")).collect();
    said.retain(|it| it.contains("not sent to the client, which has not read"));
    said.dedup();
    assert_eq!(said.len(), 1, "{said:?}");
    pair.client_says(State::Play, "chat", chat("on"));
    assert_eq!(pair.server_got.len(), 1, "what the client sends waits until it reads");
    pair.deaf = PerSide::default();
    pair.run();
    assert_eq!(pair.server_got.len(), 2);
    let got = pair.client_got.len();
    ticks(&mut pair, 5);
    assert_eq!(pair.client_got.len(), got + 5);
}

/// No packet passes a rule because its sender closes, and the end comes.
#[test]
fn what_waits_for_a_peer_to_read_is_judged_or_goes_nowhere_at_the_end() {
    let swamp = || Box::new(Swamp(Does::Sends(Clientbound, 100_000)));
    let begin = || {
        let mut pair = deaf(Config::default(), swamp(), &[Side::Client]);
        for number in 0..1000 {
            pair.client.encoder.send(&said(&format!("{number}")));
        }
        pair.run();
        pair
    };
    let mut pair = begin();
    pair.input(Input::Closed(Side::Client));
    assert!(!pair.session.is_over() && kept(&pair) < 5 << 20);
    pair.deaf = PerSide::default();
    pair.run();
    assert_eq!((pair.client_got.len(), pair.server_got.len()), (1000, 1000));
    assert!(pair.outputs.contains(&Output::Shutdown(Side::Server)));

    let error = || NetworkError(std::io::Error::from(std::io::ErrorKind::ConnectionReset).into());
    let ends: [&dyn Fn(&mut Pair); 3] = [
        &|pair| pair.input(Input::Stop(Cause::new("stopped by the user"))),
        &|pair| pair.input(Input::Lost(Side::Client, error())),
        &|pair| pair.input(Input::Lost(Side::Server, error())),
    ];
    for end in ends {
        let mut pair = begin();
        end(&mut pair);
        assert!(pair.session.is_over());
        let came = pair.records().into_iter().filter(|record| record.outcome.came());
        let came: usize = came.map(|record| record.packet.wire_size()).sum();
        let sent: usize = (0..1000).map(|number| said(&format!("{number}")).len() + 1).sum();
        assert_eq!(came + pair.client.encoder.pending().len(), sent, "every byte is recorded");
        assert!(kept(&pair) < 6 << 20);
        let judged = pair.server_got.iter().all(|body| body.len() < 10);
        assert!(judged, "no bytes that no filter has seen");
    }
}
