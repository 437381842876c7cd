//! A replayed server with clients that deviate from the recording.

use hex_literal::hex;

use super::pair::{SIZES, game, material, reason, server, server_options};
use super::*;
use crate::filter::Pipeline;
use crate::link::{Engine, Input, Side};
use crate::replay::{Extra, Pace, PlayOptions, Point, ServerOptions, Tally};
use mitmcraft_protocol::codec::{Leg, MemoryBudget, Unit};
use mitmcraft_protocol::packet::{Cause, Timestamp};
use mitmcraft_protocol::schema::{Direction, Role, State, Value};

/// A client whose packets the test sends, connected to a replayed server.
struct Hand {
    server: Box<dyn Engine>,
    leg: Leg,
    entries: Vec<Entry>,
    clock: Timestamp,
    size: usize,
    /// States and bodies of the packets received.
    got: Vec<(State, Vec<u8>)>,
    /// State of the packets sent.
    state: State,
    /// State of the packets received.
    heard: State,
}

impl Hand {
    /// Connects to the server; with `between`, there is a session without filters before it.
    fn new(between: bool, options: ServerOptions, size: usize) -> Self {
        Self {
            server: engine(between, options),
            leg: Leg::default(),
            entries: Vec::new(),
            clock: Timestamp(1_800_000_000_000_000_000),
            size,
            got: Vec::new(),
            state: State::Handshaking,
            heard: State::Handshaking,
        }
    }

    /// Logs in, without compression.
    fn playing(between: bool, options: ServerOptions) -> Self {
        let mut hand = Self::new(between, ServerOptions { threshold: None, ..options }, usize::MAX);
        hand.shake(47, 2);
        hand.say("login_start", &[("username", "Hand".into())]);
        hand.state = State::Play;
        hand
    }

    fn shake(&mut self, version: i32, next: i32) {
        self.say(
            "set_protocol",
            &[
                ("protocolVersion", version.into()),
                ("serverHost", "localhost".into()),
                ("serverPort", 25_565.into()),
                ("nextState", next.into()),
            ],
        );
        self.state = if next == 1 { State::Status } else { State::Login };
        self.heard = self.state;
    }

    fn say(&mut self, name: &str, fields: &[(&str, Value)]) {
        let protocol = Catalog::embedded().find(47).unwrap().protocol;
        let packet = protocol.named(self.state, Direction::Serverbound, name).unwrap();
        let body = protocol.encode(packet, &Value::map(fields.iter().cloned())).unwrap();
        self.leg.encoder.send(&body);
        self.carry();
    }

    fn put(&mut self, bytes: &[u8]) {
        self.leg.encoder.put(bytes);
        self.carry();
    }

    fn carry(&mut self) {
        while !self.leg.encoder.pending().is_empty() {
            let count = self.leg.encoder.pending().len().min(self.size);
            let bytes = self.leg.encoder.pending()[..count].to_vec();
            self.server.handle(self.clock, Input::Received(Side::Client, &bytes));
            self.leg.encoder.advance(count);
            self.read();
        }
    }

    fn read(&mut self) {
        while !self.server.pending(Side::Client).is_empty() {
            let count = self.server.pending(Side::Client).len().min(self.size);
            self.leg.decoder.receive(&self.server.pending(Side::Client)[..count]);
            self.server.advance(Side::Client, count);
            if self.server.poll_timeout().is_some_and(|due| due <= self.clock) {
                self.server.handle(self.clock, Input::Timeout);
            }
        }
        while let Some(unit) = self.leg.decoder.poll() {
            let body = match unit {
                Unit::Frame(frame) => frame.body().unwrap().to_vec(),
                unit => unit.wire().to_vec(),
            };
            let begins = self.heard == State::Login && body.first() == Some(&2);
            self.got.push((self.heard, body));
            if begins {
                self.heard = State::Play;
            }
        }
        self.server.take_entries(&mut self.entries);
    }

    /// Advances the clock, and handles all timeouts on the way.
    fn wait(&mut self, seconds: u64) {
        let until = self.clock.0 + seconds * 1_000_000_000;
        while let Some(due) = self.server.poll_timeout().filter(|due| due.0 <= until) {
            self.clock = self.clock.max(due);
            self.server.handle(self.clock, Input::Timeout);
            self.read();
        }
        self.clock = Timestamp(until);
    }

    /// Names of the packets received after the handshake.
    fn names(&self) -> Vec<String> {
        let protocol = Catalog::embedded().find(47).unwrap().protocol;
        let came = self.got.iter().filter(|(state, _)| *state != State::Handshaking);
        came.map(|(state, body)| {
            let found = protocol.identify(*state, Direction::Clientbound, body);
            found.map_or_else(|_| "?".to_owned(), |(packet, _)| packet.name().to_string())
        })
        .collect()
    }

    fn count(&self, name: &str) -> usize {
        self.names().iter().filter(|it| *it == name).count()
    }

    fn last(&self) -> String {
        String::from_utf8_lossy(&self.got.last().unwrap().1).into_owned()
    }
}

fn engine(between: bool, options: ServerOptions) -> Box<dyn Engine> {
    let server = server(options, &Tally::default());
    if between { Box::new(server.filtered(Pipeline::default())) } else { Box::new(server) }
}

fn options(pace: Pace) -> ServerOptions {
    server_options(recording("session-1.8.jsonl"), pace)
}

#[test]
fn the_status_is_recorded_or_generated_and_legacy_pings_are_answered() {
    for between in [false, true] {
        for size in SIZES {
            let mut hand = Hand::new(between, options(Pace::ASAP), size);
            hand.shake(47, 1);
            hand.say("ping_start", &[]);
            assert!(hand.last().contains("a recorded session of Tester"), "{}", hand.last());
            hand.say("ping", &[("time", Value::Int(7))]);
            assert_eq!(hand.got.last().unwrap().1, hex!("01 0000000000000007"));

            let recorded = Arc::new(Recording {
                status: Some(r#"{"description":"hi","players":{"max":9,"online":8}}"#.into()),
                ..(*recording("session-1.8.jsonl")).clone()
            });
            let options = server_options(recorded, Pace::ASAP);
            let mut hand = Hand::new(between, options.clone(), size);
            hand.shake(340, 1);
            hand.say("ping_start", &[]);
            assert!(
                hand.last().ends_with(r#"{"description":"hi","players":{"max":9,"online":8}}"#)
            );

            let mut hand = Hand::new(between, options, size);
            hand.leg.decoder.set_opaque();
            hand.put(&hex!("fe"));
            assert!(hand.got.is_empty(), "more may come");
            hand.wait(1);
            let answer: Vec<u8> = hand.got.iter().flat_map(|(_, bytes)| bytes.clone()).collect();
            assert_eq!(answer, hex!("ff 0006 0068 0069 00a7 0038 00a7 0039"));
            hand.server.handle(hand.clock, Input::Closed(Side::Client));
            hand.read();
            let names: Vec<String> =
                hand.entries.iter().filter_map(Entry::record).map(marked).collect();
            assert_eq!(names, ["legacy_server_list_ping", "kick_disconnect"]);
        }
    }
}

#[test]
fn a_silent_client_is_disconnected() {
    for between in [false, true] {
        for bytes in [&hex!("")[..], &hex!("0f 00"), &hex!("fe 01 00"), &hex!("02")] {
            let mut hand = Hand::new(between, options(Pace::ASAP), usize::MAX);
            hand.put(bytes);
            hand.wait(29);
            assert!(!hand.server.is_over(), "{bytes:02x?}");
            hand.wait(2);
            assert!(hand.server.is_over(), "{bytes:02x?}");
            assert_eq!(reason(&hand.entries), "the client did not log in within 30 s");
        }
    }
}

#[test]
fn clients_of_other_versions_are_rejected_with_the_recorded_version() {
    for between in [false, true] {
        let mut hand = Hand::new(between, options(Pace::ASAP), 1);
        hand.shake(340, 2);
        hand.say("login_start", &[("username", "Hand".into())]);
        let message = hand.last();
        assert!(message.contains("this is a recording of 1.8.9 (protocol 47)"), "{message}");
        assert!(message.contains("your client speaks 1.12.2 (protocol 340)"), "{message}");
        hand.wait(10);
        assert!(hand.server.is_over(), "it does not wait for ever");

        // Alpha, Beta 1.8, 1.6.
        for bytes in [
            &hex!("02 0005 5374657665")[..],
            &hex!("02 0003 0061 0062 0063"),
            &hex!("02 4e 0001 0061 0001 0061 00006363"),
        ] {
            let mut hand = Hand::new(between, options(Pace::ASAP), 7);
            hand.leg.decoder.set_opaque();
            hand.put(bytes);
            let answer: Vec<u8> = hand.got.iter().flat_map(|(_, bytes)| bytes.clone()).collect();
            assert_eq!(answer.first(), Some(&0xff), "{bytes:02x?}: a kick");
            let text: String =
                answer.iter().filter(|byte| **byte != 0).map(|it| *it as char).collect();
            assert!(text.contains("this is a recording of 1.8"), "{text}");
        }
        let mut hand = Hand::new(between, options(Pace::ASAP), 7);
        hand.put(b"GET / HTTP/1.1\r\n\r\n");
        assert!(hand.server.is_over());
        assert_eq!(reason(&hand.entries), "the client does not speak Minecraft");
    }
}

#[test]
fn a_passive_client_sees_everything_at_the_recorded_pace_and_the_recorded_disconnect() {
    for between in [false, true] {
        let mut hand = Hand::playing(between, options(Pace::RECORDED));
        assert_eq!(hand.names(), ["success", "login"], "the game begins");
        hand.wait(1);
        assert_eq!(hand.names().last().unwrap(), "kick_disconnect");
        let recorded = game(&capture("session-1.8.jsonl"), Direction::Clientbound);
        assert_eq!(hand.names().len(), recorded.len() + 2, "and a keep-alive");
        hand.server.handle(hand.clock, Input::Closed(Side::Client));
        hand.read();
        assert_eq!(game(&hand.entries, Direction::Clientbound), recorded);
        assert_eq!(reason(&hand.entries), "the recording has ended, as it did then");
    }
}

#[test]
fn a_partial_replay_ends_with_an_explanation() {
    for between in [false, true] {
        let play = PlayOptions { to: Some(Point::Packet(100)), ..PlayOptions::default() };
        let mut hand = Hand::playing(between, ServerOptions { play, ..options(Pace::RECORDED) });
        hand.wait(1);
        assert!(hand.last().contains("the recording has ended"), "{}", hand.last());
        assert_eq!(hand.names().last().unwrap(), "kick_disconnect");
    }
}

#[test]
fn a_client_that_is_held_stays_and_gets_live_keep_alives() {
    for between in [false, true] {
        let mut hand = Hand::playing(between, ServerOptions { hold: true, ..options(Pace::ASAP) });
        assert_eq!((hand.count("kick_disconnect"), hand.count("keep_alive")), (0, 1));
        hand.wait(61);
        assert_eq!(hand.count("keep_alive"), 13);
        let mut numbers: Vec<Vec<u8>> = hand
            .names()
            .iter()
            .zip(&hand.got)
            .filter(|(name, _)| *name == "keep_alive")
            .map(|(_, (_, body))| body.clone())
            .collect();
        numbers.dedup();
        assert_eq!(numbers.len(), 13, "each has its own number");
        hand.server.handle(hand.clock, Input::Stop(Cause::new("stopped by the user")));
        hand.read();
        assert!(hand.last().contains("The proxy is shutting down"));
        assert!(hand.server.is_over());
    }
}

#[test]
fn without_refresh_keep_alives_are_the_recorded_ones() {
    for between in [false, true] {
        let play = PlayOptions { refresh: false, pace: Pace::ASAP, ..PlayOptions::default() };
        let hand = Hand::playing(between, ServerOptions { play, ..options(Pace::ASAP) });
        let names = hand.names();
        let place = names.iter().position(|name| name == "keep_alive").unwrap();
        let recorded = capture("session-1.8.jsonl");
        let recorded =
            recorded.iter().filter_map(Entry::record).find(|it| name(it) == "keep_alive").unwrap();
        assert_eq!(hand.got[place].1, recorded.packet.body().unwrap());
    }
}

#[test]
fn a_loop_begins_again_and_never_sends_the_client_away() {
    for between in [false, true] {
        let mut hand =
            Hand::playing(between, ServerOptions { repeat: true, ..options(Pace::RECORDED) });
        hand.wait(1);
        let rounds = hand.count("login");
        assert!((3..8).contains(&rounds), "{rounds} rounds of 152 ms in a second");
        assert_eq!(hand.count("kick_disconnect"), 0);
        assert!(!hand.server.is_over());
    }
}

#[test]
fn packets_not_in_the_recording_are_ignored_reported_or_end_the_replay() {
    for between in [false, true] {
        for extra in [Extra::Ignore, Extra::Log, Extra::Close] {
            let mut hand =
                Hand::playing(between, ServerOptions { extra, hold: true, ..options(Pace::ASAP) });
            hand.say("keep_alive", &[("keepAliveId", Value::Int(4))]);
            hand.say("flying", &[("onGround", Value::Bool(true))]);
            hand.say("chat", &[("message", "one of the three".into())]);
            assert!(!hand.server.is_over());
            hand.say("spectate", &[("target", Value::Uuid(1))]);
            let logged =
                hand.entries.iter().filter_map(Entry::record).filter(|it| it.comment.is_some());
            let logged: Vec<String> = logged.map(marked).collect();
            match extra {
                Extra::Ignore => assert!(logged.is_empty(), "{logged:?}"),
                Extra::Log => assert_eq!(logged, ["spectate"]),
                Extra::Close => {
                    let message = hand.last();
                    assert!(message.contains("the recording has no such `spectate`"), "{message}");
                }
            }
        }
    }
}

#[test]
fn output_for_a_slow_reader_is_bounded() {
    for between in [false, true] {
        let mut big = (*recording("session-1.8.jsonl")).clone();
        let chunk = big.steps.iter().position(|step| step.body.len() > 10_000).unwrap();
        let chunk = big.steps[chunk].clone();
        big.steps.splice(3..3, std::iter::repeat_n(chunk, 200));
        let options = server_options(Arc::new(big), Pace::ASAP);
        let mut server = engine(between, ServerOptions { threshold: None, ..options });
        let mut leg = Leg::default();
        leg.encoder.put(&hex!("0f 00 2f 09 6c6f63616c686f7374 63dd 02  06 00 04 48616e64"));
        let at = Timestamp(1_800_000_000_000_000_000);
        server.handle(at, Input::Received(Side::Client, leg.encoder.pending()));
        let mut total = 0;
        loop {
            let pending = server.pending(Side::Client).len();
            assert!(pending < 300_000, "{pending}");
            if pending == 0 {
                break;
            }
            server.advance(Side::Client, pending.min(50_000));
            total += pending.min(50_000);
            if server.poll_timeout().is_some_and(|due| due <= at) {
                server.handle(at, Input::Timeout);
            }
        }
        assert!(total > 200 * 12_000, "all came: {total}");
    }
}

#[test]
fn a_wrong_verify_token_ends_the_login() {
    let mut hand =
        Hand::new(false, ServerOptions { encrypt: true, ..options(Pace::ASAP) }, usize::MAX);
    hand.shake(47, 2);
    hand.say("login_start", &[("username", "Hand".into())]);
    assert!(!hand.server.wants_read(Side::Client), "it waits for the key");
    hand.server.handle(hand.clock, Input::Key(material()));
    hand.read();
    assert_eq!(hand.names(), ["encryption_begin"]);
    let junk = Value::Bytes(vec![1; 128].into());
    hand.say("encryption_begin", &[("sharedSecret", junk.clone()), ("verifyToken", junk)]);
    assert!(hand.last().contains("does not fit"), "{}", hand.last());
    let role = hand.entries.iter().filter_map(Entry::record).last().unwrap();
    assert_eq!(role.packet.kind().unwrap().role(), Some(Role::Disconnect));
}

#[test]
fn an_unfinished_packet_for_which_there_is_no_memory_is_not_kept() {
    let memory = MemoryBudget::new(0);
    let mut hand = Hand::playing(
        false,
        ServerOptions { memory: memory.clone(), hold: true, ..options(Pace::ASAP) },
    );
    // A frame of 2,000,000 bytes less the last.
    hand.put(&[&[0x80, 0x89, 0x7a][..], &[7; 1_999_999]].concat());
    assert_eq!(memory.streamed(), 1);
}
