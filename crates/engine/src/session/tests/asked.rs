//! Packets on which a program decides, with a simulated clock; the program is the test.

use std::time::Duration;

use serde_json::{Value as Json, json};

use super::desk::Desk;
use super::effects::rules;
use super::later::Game;
use super::*;
use crate::lang::Expr;
use crate::link::{Asking, Decision, NetworkError, Otherwise};
use crate::pipe::{Broker, BrokerAction};
use mitmcraft_protocol::codec::MemoryBudget;
use mitmcraft_protocol::packet::Cause;

use Direction::{Clientbound, Serverbound};

/// A session with a program that has been asked and reads lines.
struct Asked {
    desk: Desk,
    broker: Broker,
    /// The lines that the program has read.
    lines: Vec<Json>,
}

impl Asked {
    fn new(version: i32, condition: &str, otherwise: Otherwise) -> Self {
        Self::with(version, condition, otherwise, Config::default())
    }

    fn with(version: i32, condition: &str, otherwise: Otherwise, config: Config) -> Self {
        let (condition, _) = Expr::parse(condition, Catalog::embedded()).unwrap();
        let asking = Some(Asking { condition, otherwise });
        let config = Config { asking, ..config };
        let game = Game::with(version, "", config, fields([]));
        let mut broker = Broker::new(Duration::from_secs(1));
        broker.on_started(Timestamp(0));
        let mut asked = Self { desk: Desk::of(game), broker, lines: Vec::new() };
        asked.exchange();
        asked
    }

    /// The program reads what it is asked.
    fn exchange(&mut self) {
        let now = Timestamp(self.desk.game.pair.clock);
        while let Some(question) = self.desk.game.pair.session.poll_question() {
            self.broker.ask(now, 1, question);
        }
        let text = String::from_utf8(self.broker.pending().to_vec()).unwrap();
        self.broker.advance(now, text.len());
        self.lines.extend(text.lines().map(|line| serde_json::from_str::<Json>(line).unwrap()));
    }

    fn says(&mut self, text: &str) {
        self.desk.game.plays(Serverbound, "chat", chat(text));
        self.exchange();
    }

    /// The program writes a line.
    fn answers(&mut self, answer: Json) {
        let now = Timestamp(self.desk.game.pair.clock);
        self.broker.on_output(now, format!("{answer}\n").as_bytes());
        self.deliver();
    }

    /// A second passes without an answer.
    fn waits_in_vain(&mut self) {
        self.desk.pass(2);
        self.broker.on_timeout(Timestamp(self.desk.game.pair.clock));
        self.deliver();
    }

    fn deliver(&mut self) {
        while let Some(action) = self.broker.poll_action() {
            if let BrokerAction::Answer { number, ruling, .. } = action {
                self.desk.game.pair.input(Input::Ruled(number, ruling));
            }
        }
        self.exchange();
    }

    fn texts(&self) -> Vec<String> {
        let got = self.desk.game.pair.server_got.iter();
        let chats = got.filter(|body| body.first() == Some(&1) && body.len() > 2);
        chats.map(|body| String::from_utf8_lossy(&body[2..]).into_owned()).collect()
    }
}

#[test]
fn a_program_passes_drops_sets_and_replaces_and_the_records_say_so() {
    let mut asked = Asked::new(47, "chat and serverbound", Otherwise::Pass);
    for text in ["one", "two", "three", "four", "five"] {
        asked.says(text);
    }
    assert_eq!(asked.texts(), [""; 0]);
    let line = &asked.lines[0];
    let seen = ["id", "player", "packet", "packet_id", "dir", "state", "protocol", "session"];
    let seen: Vec<Json> = seen.iter().map(|key| line[*key].clone()).collect();
    let wanted = [json!(1), json!("Steve"), json!("chat"), json!(1), json!("serverbound")];
    assert_eq!(seen[..5], wanted);
    assert_eq!(seen[5..], [json!("play"), json!(47), json!(1)]);
    assert_eq!((&line["fields"], &line["body"]), (&json!({"message": "one"}), &json!("AQNvbmU=")));
    // In any order.
    asked.answers(json!({"id": 3, "set": {"message": "drei"}}));
    asked.answers(json!({"id": 2, "drop": true}));
    assert_eq!(asked.texts(), [""; 0], "the first is not decided yet");
    asked.answers(json!({"id": 1, "pass": true}));
    assert_eq!(asked.texts(), ["one", "drei"]);
    asked.answers(json!({"id": 4, "replace": {"fields": {"message": "vier"}}}));
    asked.answers(json!({"id": 5, "replace": {"hex": "01 01 35"}}));
    assert_eq!(asked.texts(), ["one", "drei", "vier", "5"]);
    assert_eq!(asked.desk.seen("chat"), ".-~+~+~+");
    let records = asked.desk.game.pair.records();
    let rules: Vec<_> = records.iter().filter_map(|it| it.comment.clone()).collect();
    assert!(rules.iter().all(|it| it == "rule `pipe`"), "{rules:?}");
    assert_eq!(rules.len(), 7, "all but the first, which passed as it was");
    assert!(records.windows(2).all(|pair| pair[0].packet.seq() + 1 == pair[1].packet.seq()));
}

#[test]
fn a_program_sends_packets_to_either_side() {
    let mut asked = Asked::new(47, "chat and serverbound", Otherwise::Pass);
    asked.says("!ping");
    asked.answers(json!({"id": 1, "drop": true, "send": [
        {"to": "client", "packet": "chat", "fields": {"message": "{\"text\":\"pong\"}", "position": 0}},
        {"to": "server", "packet": "chat", "fields": {"message": "first"}, "place": "before"},
    ]}));
    assert_eq!(asked.texts(), ["first"]);
    let got = asked.desk.game.pair.client_got.last().unwrap();
    assert!(String::from_utf8_lossy(got).contains("pong"), "{got:?}");
    assert_eq!(asked.desk.seen("chat"), "+-+");
    // What only sends leaves the packet as it is, in one message too.
    asked.says("hello");
    asked.answers(json!({"id": 2, "send": {"to": "server", "hex": "01 01 78"}}));
    assert_eq!(asked.texts(), ["first", "hello", "x"]);
}

#[test]
fn the_program_decides_before_the_rules_which_see_what_it_made_of_a_packet() {
    let mut asked = Asked::new(47, "chat and serverbound", Otherwise::Pass);
    let set = "[[rule]]\nname = 'r'\nwhen = 'chat and message matches \"^!\"'\nset = { message = 'by rule' }\n";
    asked.says("one");
    asked.says("two");
    asked.says("!three");
    // Reloaded while packets wait: the new rules judge them.
    asked.desk.game.pair.session.set_pipeline(rules(set));
    asked.answers(json!({"id": 1, "set": {"message": "!one"}}));
    asked.answers(json!({"id": 2, "set": {"message": "zwei"}}));
    asked.answers(json!({"id": 3, "pass": true}));
    assert_eq!(asked.texts(), ["by rule", "zwei", "by rule"]);
    let comments = asked.desk.game.comments();
    assert!(comments.starts_with("rules `pipe`, `r`; "), "{comments}");
    asked.says("!four");
    asked.answers(json!({"id": 4, "drop": true}));
    assert_eq!(asked.texts().len(), 3, "no rule is asked about what it drops");
}

#[test]
fn a_packet_that_a_person_holds_too_waits_for_both() {
    let mut asked = Asked::new(47, "chat and serverbound", Otherwise::Pass);
    asked.desk.hold("chat and serverbound", false);
    for text in ["one", "two", "three"] {
        asked.says(text);
    }
    asked.desk.decide(1, Decision::Forward);
    assert_eq!(asked.texts(), [""; 0]);
    asked.answers(json!({"id": 1, "set": {"message": "eins"}}));
    asked.answers(json!({"id": 2, "set": {"message": "zwei"}}));
    assert_eq!(asked.texts(), ["eins"]);
    let comments = asked.desk.game.comments();
    assert!(comments.contains("rule `pipe`; held for 0.0 s, then forwarded"), "{comments}");
    // A person who drops it has the last word.
    asked.desk.decide(2, Decision::Drop);
    asked.answers(json!({"id": 3, "pass": true}));
    assert_eq!(asked.texts(), ["eins"]);
    asked.desk.decide(3, Decision::Forward);
    assert_eq!(asked.texts(), ["eins", "three"]);
}

#[test]
fn without_a_decision_a_packet_passes_or_the_session_is_closed() {
    let mut asked = Asked::new(47, "chat and serverbound", Otherwise::Pass);
    asked.says("one");
    asked.desk.game.plays(Serverbound, "held_item_slot", fields([("slotId", 1.into())]));
    asked.waits_in_vain();
    assert_eq!(asked.texts(), ["one"]);
    let comment = "not decided by `pipe`: the program took longer than 1 s for a packet";
    assert_eq!(asked.desk.game.comments(), comment);
    // It is not asked while it is not running.
    asked.says("two");
    asked.deliver();
    assert_eq!(asked.texts(), ["one", "two"]);
    assert!(asked.desk.game.comments().ends_with("has failed and is not running again yet"));

    let mut asked = Asked::new(47, "chat and serverbound", Otherwise::Close);
    asked.says("one");
    asked.says("two");
    asked.waits_in_vain();
    assert_eq!(asked.texts(), [""; 0]);
    assert!(asked.desk.game.pair.session.is_over());
    assert_eq!(asked.desk.game.pair.reason(), Some(&*format!("closed at a packet {comment}")));
    let goodbye = asked.desk.game.pair.client_got.last().unwrap();
    assert!(String::from_utf8_lossy(goodbye).contains("a packet could not be checked"));
    assert_eq!(asked.desk.seen("chat"), "--");
}

#[test]
fn an_answer_that_cannot_be_carried_out_is_reported_and_no_decision() {
    for (answer, wanted) in [
        (json!({"set": {"mesage": "x"}}), "mesage"),
        (json!({"set": {"message": 7}}), "expected text, found an integer"),
        (json!({"replace": {"packet": "chta", "fields": {}}}), "no serverbound packet `chta`"),
        (json!({"replace": {"fields": {"message": "x", "other": 1}}}), "other"),
        (json!({"send": {"to": "client", "packet": "nothing"}}), "no clientbound packet `nothing`"),
        (json!({"send": {"to": "client", "hex": "46 00"}}), "a packet to send would change"),
    ] {
        for otherwise in [Otherwise::Pass, Otherwise::Close] {
            let mut asked = Asked::new(47, "chat and serverbound", otherwise);
            asked.says("one");
            let mut answer = answer.clone();
            answer["id"] = json!(1);
            asked.answers(answer.clone());
            let comments = asked.desk.game.comments();
            let begins = "not decided by `pipe`: its answer cannot be carried out: ";
            assert!(
                comments.starts_with(begins) && comments.contains(wanted),
                "{answer}: {comments}"
            );
            let told = asked.desk.game.pair.outputs.iter().any(
                |it| matches!(it, Output::Notice(Notice::Unapplied { reason }) if reason.to_string().contains(wanted)),
            );
            assert!(told, "{answer}");
            let passes = otherwise == Otherwise::Pass;
            assert_eq!(asked.texts().len(), usize::from(passes), "{answer}");
            assert_eq!(asked.desk.game.pair.session.is_over(), !passes, "{answer}");
        }
    }
}

#[test]
fn keep_alives_overtake_and_packets_that_change_the_state_keep_their_place() {
    let mut asked = Asked::new(765, "start_configuration or chat_message", Otherwise::Pass);
    asked.desk.game.plays(Clientbound, "start_configuration", fields([]));
    asked.exchange();
    let (client, server) =
        (asked.desk.game.pair.client_got.len(), asked.desk.game.pair.server_got.len());
    asked.desk.keep_alive(Clientbound, State::Configuration, 5);
    assert_eq!(asked.desk.keep_alives(Side::Server, State::Play, server), [5]);
    assert_eq!(asked.desk.keep_alives(Side::Client, State::Play, client), [5]);
    // The guard keeps what the connection needs, whatever the program says.
    asked.answers(json!({"id": 1, "drop": true}));
    asked.desk.keep_alive(Clientbound, State::Configuration, 6);
    assert_eq!(asked.desk.keep_alives(Side::Client, State::Configuration, client), [6]);
    let comments = asked.desk.game.comments();
    assert!(comments.contains("connection"), "{comments}");
}

#[test]
fn signed_chat_and_bundles_stay_whole_whatever_the_program_says() {
    let mut asked = Asked::new(766, "chat_message or bundle_delimiter", Otherwise::Pass);
    asked.desk.game.chat_session();
    asked.desk.game.chat("hello", Some(&[7; 256]), 0);
    for _ in 0..2 {
        asked.desk.game.plays(Clientbound, "bundle_delimiter", fields([]));
    }
    asked.exchange();
    let got = asked.desk.game.pair.client_got.len();
    asked.answers(json!({"id": 1, "set": {"message": "bye"}}));
    for id in [2, 3] {
        asked.answers(json!({"id": id, "drop": true}));
    }
    assert_eq!(asked.desk.seen("chat_message"), ".");
    assert_eq!(asked.desk.game.pair.client_got.len(), got + 2);
    let comments = asked.desk.game.comments();
    assert!(comments.contains("sign"), "{comments}");
    assert!(comments.contains("`bundle_delimiter` was not changed"), "{comments}");
}

#[test]
fn packets_that_do_not_decode_are_asked_about_with_their_bytes_and_the_error() {
    let mut asked = Asked::new(47, "serverbound and pkt.size == 4", Otherwise::Pass);
    for _ in 0..2 {
        asked.desk.game.sends(Serverbound, b"\x01\x09ab");
    }
    asked.exchange();
    let line = &asked.lines[0];
    assert_eq!((&line["packet"], &line["body"]), (&json!("chat"), &json!("AQlhYg==")));
    assert!(line["error"].is_string(), "{line}");
    let before = asked.desk.game.pair.server_got.len();
    asked.answers(json!({"id": 1, "drop": true}));
    asked.answers(json!({"id": 2, "pass": true}));
    assert_eq!(asked.desk.game.pair.server_got[before..], [&b"\x01\x09ab"[..]]);
    // An id that no packet has: only bytes can replace it.
    let mut asked = Asked::new(47, "serverbound and pkt.size == 3", Otherwise::Pass);
    asked.desk.game.sends(Serverbound, b"\x7f\x01\x02");
    asked.exchange();
    let line = &asked.lines[0];
    assert!(line["packet"].is_null() && line["error"].is_string(), "{line}");
    asked.answers(json!({"id": 1, "replace": {"hex": "7f 03"}}));
    assert_eq!(asked.desk.game.pair.server_got.last().unwrap(), &b"\x7f\x03"[..]);
}

#[test]
fn frames_that_do_not_inflate_are_asked_about_with_raw_bytes() {
    let mut asked = Asked::new(47, "serverbound and pkt.state == \"play\"", Otherwise::Pass);
    let threshold = fields([("threshold", 64.into())]);
    asked.desk.game.plays(Clientbound, "set_compression", threshold);
    // A size of 100, and bytes that are not deflated.
    asked.desk.game.pair.client.encoder.put(&[4, 100, 1, 2, 3]);
    asked.desk.game.pair.run();
    asked.exchange();
    let line = &asked.lines[0];
    assert!(line["raw"] == "frame" && line["error"].is_string(), "{line}");
    assert!(line["body"].is_null(), "{line}");
    let before = asked.desk.game.pair.server_got.len();
    asked.answers(json!({"id": 1, "pass": true}));
    assert_eq!(asked.desk.game.pair.server_got.len(), before + 1);
}

/// They stream through in pieces, behind what is held.
#[test]
fn frames_beyond_the_limit_keep_their_place_and_are_not_asked_about() {
    let limits = Limits::new(1000, 1 << 20);
    let config = Config { limits, ..Config::default() };
    let mut asked =
        Asked::with(47, "serverbound and pkt.state == \"play\"", Otherwise::Close, config);
    let (questions, before) = (asked.lines.len(), asked.desk.game.pair.server_got.len());
    asked.says("one");
    asked.desk.game.sends(Serverbound, &[&b"\x17"[..], &[0; 5000]].concat());
    asked.says("two");
    assert_eq!(asked.lines.len(), questions + 2);
    assert_eq!(asked.desk.game.pair.server_got.len(), before);
    let ids: Vec<Json> = asked.lines[questions..].iter().map(|it| it["id"].clone()).collect();
    for id in ids {
        asked.answers(json!({"id": id, "pass": true}));
    }
    let got = &asked.desk.game.pair.server_got[before..];
    let sizes: Vec<_> = got.iter().map(Bytes::len).collect();
    assert_eq!(sizes, [5, 5001, 5]);
}

#[test]
fn a_session_that_ends_while_a_packet_waits_lets_it_pass_or_drops_it() {
    for otherwise in [Otherwise::Pass, Otherwise::Close] {
        let seen = if otherwise == Otherwise::Pass { "." } else { "-" };
        let ends: [fn(&mut Asked); 3] = [
            |asked| {
                Side::ALL.into_iter().for_each(|it| asked.desk.game.pair.input(Input::Closed(it)))
            },
            |asked| asked.desk.game.pair.input(Input::Stop(Cause::new("stopped by the user"))),
            |asked| {
                let error = std::io::Error::from(std::io::ErrorKind::ConnectionReset);
                let error = NetworkError(error.into());
                asked.desk.game.pair.input(Input::Lost(Side::Client, error));
            },
        ];
        for end in ends {
            let mut asked = Asked::new(47, "chat and serverbound", otherwise);
            asked.says("one");
            end(&mut asked);
            assert!(asked.desk.game.pair.session.is_over());
            assert_eq!(asked.desk.seen("chat"), seen);
            assert_eq!(asked.desk.game.comments(), "not decided by `pipe`: the session ended");
            assert!(!asked.desk.game.pair.reason().unwrap().contains("pipe"));
            // The answer comes too late, and hurts nobody.
            asked.answers(json!({"id": 1, "drop": true}));
        }
        // One side that closes waits: the other gets what is decided.
        let mut asked = Asked::new(47, "chat and serverbound", otherwise);
        asked.says("one");
        asked.desk.game.pair.input(Input::Closed(Side::Client));
        assert!(!asked.desk.game.pair.outputs.contains(&Output::Shutdown(Side::Server)));
        asked.answers(json!({"id": 1, "set": {"message": "eins"}}));
        assert_eq!(asked.texts(), ["eins"]);
        assert!(asked.desk.game.pair.outputs.contains(&Output::Shutdown(Side::Server)));
    }
}

/// Answers whatever the program has been asked, until it is asked no more: words are masked.
fn mask_all(asked: &mut Asked) {
    let mut answered = 0;
    while let Some(line) = asked.lines.get(answered) {
        let text = line["fields"]["message"].as_str().unwrap().replace("bad", "***");
        let answer = json!({"id": line["id"], "set": {"message": text}});
        answered += 1;
        asked.answers(answer);
    }
}

/// Its packets stay in order, and none goes unfiltered, however fast they come.
#[test]
fn a_client_that_asks_too_much_is_not_read_until_the_program_has_answered() {
    let mut asked = Asked::new(47, "chat and serverbound", Otherwise::Pass);
    asked.desk.game.pair.size = 1 << 16;
    let said = |number: usize| {
        asked.desk.game.encode(Serverbound, State::Play, "chat", chat(&format!("bad {number}")))
    };
    let bodies: Vec<_> = (0..100_000).map(said).collect();
    for body in &bodies {
        asked.desk.game.pair.client.encoder.send(body);
    }
    asked.desk.game.pair.run();
    asked.exchange();
    assert_eq!(asked.lines.len(), 64);
    let (session, client) = (&asked.desk.game.pair.session, &asked.desk.game.pair.client);
    assert!(!session.wants_read(Side::Client) && session.wants_read(Side::Server));
    assert!(client.encoder.pending().len() > 1_000_000, "what was not read is still there");
    // Nobody else waits for it.
    let got = asked.desk.game.pair.client_got.len();
    let hello = fields([("message", "hello".into()), ("position", 0.into())]);
    asked.desk.game.plays(Clientbound, "chat", hello);
    assert_eq!(asked.desk.game.pair.client_got.len(), got + 1);
    mask_all(&mut asked);
    let texts = asked.texts();
    assert_eq!(texts.len(), bodies.len());
    assert!(texts.iter().enumerate().all(|(number, text)| *text == format!("*** {number}")));
}

#[test]
fn without_memory_for_packets_behind_it_a_client_is_not_read_until_its_packet_is_decided() {
    for otherwise in [Otherwise::Pass, Otherwise::Close] {
        let config = Config { memory: MemoryBudget::new(1), ..Config::default() };
        let mut asked = Asked::with(47, "chat and message == \"bad\"", otherwise, config);
        asked.says("bad");
        for _ in 0..3000 {
            asked.says(&"b".repeat(100));
        }
        let pair = &asked.desk.game.pair;
        assert!(!pair.session.wants_read(Side::Client));
        assert!(!pair.client.encoder.pending().is_empty());
        assert_eq!(asked.texts(), [""; 0]);
        mask_all(&mut asked);
        assert_eq!((asked.texts().len(), &*asked.texts()[0]), (3001, "***"));
        assert!(!asked.desk.game.comments().contains("not decided"));
    }
}

#[test]
fn packets_that_nobody_records_are_forwarded_where_they_lie_unless_a_program_decides() {
    let mut asked = Asked::new(47, "chat and serverbound", Otherwise::Pass);
    asked.desk.game.pair.session.start_tally();
    let slot = |asked: &mut Asked, slot: i32| {
        asked.desk.game.plays(Serverbound, "held_item_slot", fields([("slotId", slot.into())]));
    };
    slot(&mut asked, 1);
    asked.says("one");
    slot(&mut asked, 2);
    let got = asked.desk.game.pair.server_got.len();
    asked.answers(json!({"id": 1, "set": {"message": "eins"}}));
    assert_eq!(asked.desk.game.pair.server_got[got..].len(), 2, "in order");
    assert_eq!(asked.texts(), ["eins"]);
    slot(&mut asked, 3);
    asked.says("two");
    asked.answers(json!({"id": 2, "pass": true}));
    assert_eq!(asked.texts(), ["eins", "two"]);
    let records = asked.desk.game.pair.records().len();
    assert_eq!(records, 2, "the packet that was changed, and what went instead");
}
