//! What filters ask for besides a verdict.

use std::time::Duration;

use super::*;
use crate::filter::{Delay, Injection, RuleSet};

/// Does what the chat message says.
struct Obey;

impl Filter for Obey {
    fn name(&self) -> &str {
        "obey"
    }

    fn apply(&mut self, packet: &Packet, effects: &mut Effects) -> Verdict {
        let name = packet.kind().map(|packet| packet.name().to_string()).unwrap_or_default();
        if name == "login_start" || name == "set_compression" || name == "success" {
            return Verdict::Drop;
        }
        let Ok(value) = packet.value() else { return Verdict::Pass };
        let Some(text) = value.get("message").and_then(Value::as_text) else {
            return Verdict::Pass;
        };
        let delay = |millis, reorder| Delay { by: Duration::from_millis(millis), reorder };
        match text {
            "late" => effects.delay = Some(delay(100, false)),
            "overtake me" => effects.delay = Some(delay(100, true)),
            "twice" => effects.copies = 1,
            "close" => effects.close = Some("enough".into()),
            "answer" => {
                let chat = fields([("message", "pong".into()), ("position", 0.into())]);
                for before in [true, false] {
                    effects.sends.push(Injection {
                        direction: Direction::Clientbound,
                        before,
                        body: body(State::Play, Direction::Clientbound, "chat", &chat).into(),
                        framed: true,
                        rule: None,
                    });
                }
                effects.notes.comments.push("answered".into());
                effects.notes.tags.push("ping".into());
            }
            _ => {}
        }
        Verdict::Pass
    }
}

fn playing(size: usize) -> Pair {
    let mut pipeline = Pipeline::default();
    pipeline.push(Box::new(Obey));
    let mut pair = Pair::with(size, Config::default(), pipeline);
    pair.input(Input::Connected("127.0.0.1:25565".parse().unwrap()));
    pair.client_says(State::Handshaking, "set_protocol", handshake("localhost", 2));
    pair.server_says(State::Login, "success", success());
    pair
}

fn texts(bodies: &[Bytes]) -> Vec<String> {
    bodies.iter().map(|body| String::from_utf8_lossy(&body[2..]).into_owned()).collect()
}

/// Tells the session that the time has come that it asked for.
fn wait(pair: &mut Pair) {
    let at = pair.session.poll_timeout().unwrap();
    pair.clock = pair.clock.max(at.0);
    pair.session.handle(at, Input::Timeout);
    pair.run();
}

#[test]
fn delayed_packets_keep_their_order_and_later_ones_wait_behind_them() {
    for size in SIZES {
        let mut pair = playing(size);
        for text in ["one", "late", "two"] {
            pair.client_says(State::Play, "chat", chat(text));
        }
        assert_eq!(texts(&pair.server_got[1..]), ["one"]);
        pair.server_says(State::Play, "keep_alive", fields([("keepAliveId", 7.into())]));
        assert_eq!(pair.client_got.len(), 2, "the other direction does not wait");
        wait(&mut pair);
        assert_eq!(texts(&pair.server_got[1..]), ["one", "late", "two"]);
        assert_eq!(pair.session.poll_timeout(), None);
        assert!(!pair.outputs.contains(&Output::Shutdown(Side::Server)), "the client stays");
    }
}

#[test]
fn a_packet_that_may_be_overtaken_is() {
    let mut pair = playing(7);
    pair.client_says(State::Play, "chat", chat("overtake me"));
    pair.client_says(State::Play, "chat", chat("late"));
    wait(&mut pair);
    wait(&mut pair);
    assert_eq!(texts(&pair.server_got[1..]), ["overtake me", "late"]);
}

#[test]
fn a_side_that_closes_is_passed_on_when_the_delayed_packets_are_out() {
    let mut pair = playing(usize::MAX);
    pair.client_says(State::Play, "chat", chat("late"));
    pair.clock += 50_000_000;
    pair.client_says(State::Play, "chat", chat("late"));
    pair.input(Input::Closed(Side::Client));
    for sent in 1..=2 {
        assert!(!pair.outputs.contains(&Output::Shutdown(Side::Server)));
        wait(&mut pair);
        assert_eq!(texts(&pair.server_got[1..]), vec!["late"; sent]);
    }
    assert_eq!(pair.outputs.last(), Some(&Output::Shutdown(Side::Server)));
}

/// In the game, where the server's first keep-alive is delayed, and what changes the compression
/// comes behind it.
fn compressing(size: usize) -> Pair {
    let mut pair = Pair::playing(size, -1);
    let rules = rules(
        "[[rule]]\nwhen = 'keep_alive'\ndelay = '50ms'\n\
         [[rule]]\nwhen = 'chat'\nclose = 'enough'\n",
    );
    pair.session.set_pipeline(rules);
    pair.client_got.clear();
    pair.server_says(State::Play, "keep_alive", fields([("keepAliveId", 1.into())]));
    pair.server_says(State::Play, "set_compression", fields([("threshold", 1.into())]));
    pair.server.set_compression(Some(1));
    pair
}

#[test]
fn a_packet_that_changes_how_the_next_is_read_waits_for_the_delayed_ones_before_it() {
    for size in SIZES {
        let mut pair = compressing(size);
        pair.server_says(State::Play, "keep_alive", fields([("keepAliveId", 2.into())]));
        pair.input(Input::Closed(Side::Server));
        assert!(pair.client_got.is_empty());
        wait(&mut pair);
        assert_eq!(pair.client_got[..], [&b"\x00\x01"[..], b"\x46\x01"]);
        assert!(!pair.outputs.contains(&Output::Shutdown(Side::Client)), "more is delayed");
        pair.client.set_compression(Some(1));
        wait(&mut pair);
        assert_eq!(pair.client_got[2..], [&b"\x00\x02"[..]]);
        assert_eq!(pair.outputs.last(), Some(&Output::Shutdown(Side::Client)));
        assert!(pair.records().iter().all(|record| record.packet.error().is_none()));
    }
}

#[test]
fn a_rule_closes_a_session_whose_server_has_closed_when_the_packet_is_read() {
    let mut pair = compressing(7);
    let text = fields([("message", "{}".into()), ("position", 0.into())]);
    pair.server_says(State::Play, "chat", text);
    pair.input(Input::Closed(Side::Server));
    assert!(!pair.session.is_over());
    wait(&mut pair);
    assert_eq!(pair.reason(), Some("closed by a rule: enough"));
    assert_eq!(pair.outputs.last(), Some(&Output::Close(Side::Server)), "nothing more to do");
}

#[test]
fn a_direction_is_not_read_while_too_much_of_it_is_delayed() {
    let mut pair = Pair::playing(usize::MAX, -1);
    pair.session.set_pipeline(rules("[[rule]]\nwhen = 'serverbound'\ndelay = '50ms'\n"));
    let body = vec![0x70; 1 << 20];
    for _ in 0..8 {
        assert!(pair.session.wants_read(Side::Client));
        pair.client.encoder.send(&body);
        pair.run();
    }
    assert!(!pair.session.wants_read(Side::Client));
    assert!(pair.session.wants_read(Side::Server));
    wait(&mut pair);
    assert!(pair.session.wants_read(Side::Client));
}

#[test]
fn packets_of_a_filters_own_go_out_before_and_after_and_are_recorded() {
    let mut pair = playing(usize::MAX);
    pair.client_says(State::Play, "chat", chat("answer"));
    assert_eq!(pair.seen()[3..], ["+chat", "chat", "+chat"]);
    assert_eq!(texts(&pair.client_got[1..]), ["pong\0", "pong\0"]);
    let comments: Vec<_> = pair.records()[3..].iter().map(|it| it.comment.clone()).collect();
    assert_eq!(comments, [None, Some("answered; #ping".into()), None]);
}

#[test]
fn copies_are_sent_and_recorded() {
    let mut pair = playing(usize::MAX);
    pair.client_says(State::Play, "chat", chat("twice"));
    assert_eq!(texts(&pair.server_got[1..]), ["twice", "twice"]);
    assert_eq!(pair.seen()[3..], ["chat", "+chat"]);
}

#[test]
fn a_session_that_a_filter_closes_tells_the_player_why() {
    let mut pair = playing(usize::MAX);
    pair.client_says(State::Play, "chat", chat("close"));
    assert!(pair.session.is_over());
    assert_eq!(pair.client_got.last().unwrap()[..], *b"\x40\x11{\"text\":\"enough\"}");
    assert_eq!(pair.reason(), Some("closed by a rule: enough"));
}

#[test]
fn packets_that_drive_the_connection_go_through_whatever_a_filter_says() {
    let mut pair = playing(usize::MAX);
    assert_eq!(pair.seen()[2], "success");
    pair.server_says(State::Play, "set_compression", fields([("threshold", 16.into())]));
    pair.client.set_compression(Some(16));
    pair.server.set_compression(Some(16));
    pair.client_says(State::Play, "chat", chat("longer than sixteen"));
    assert_eq!(texts(&pair.server_got[1..]), ["longer than sixteen"]);
    let comment = pair.records()[3].comment.clone().unwrap();
    assert!(comment.contains("`set_compression` was not changed"), "{comment}");
}

pub(super) fn rules(text: &str) -> Pipeline {
    let mut pipeline = Pipeline::default();
    let set = RuleSet::parse(text, Catalog::embedded()).rules.unwrap();
    pipeline.push(Box::new(set.filter()));
    pipeline
}

#[test]
fn changed_rules_take_effect_between_two_packets() {
    for size in SIZES {
        let mut pair = playing(size);
        let text = "[[rule]]\nwhen = 'chat'\nset = { message = 'NEW' }\n";
        pair.session.set_pipeline(rules(&text.replace("NEW", "first")));
        pair.client_says(State::Play, "chat", chat("one"));
        pair.session.set_pipeline(rules(&text.replace("NEW", "second")));
        pair.client_says(State::Play, "chat", chat("two"));
        assert_eq!(texts(&pair.server_got[1..]), ["first", "second"]);
        assert_eq!(pair.seen()[3..], ["~chat", "+chat", "~chat", "+chat"]);
    }
}

#[test]
fn a_rule_throttles_and_closes_without_a_clock_of_its_own() {
    let mut pair = playing(usize::MAX);
    let text = "[[rule]]\nwhen = 'chat and serverbound'\ndelay = '50ms'\n\
                [[rule]]\nwhen = 'chat and message == \"!quit\"'\nclose = 'enough'\n";
    pair.session.set_pipeline(rules(text));
    pair.client_says(State::Play, "chat", chat("one"));
    assert_eq!(texts(&pair.server_got[1..]), [""; 0]);
    wait(&mut pair);
    assert_eq!(texts(&pair.server_got[1..]), ["one"]);
    pair.client_says(State::Play, "chat", chat("!quit"));
    assert_eq!(pair.reason(), Some("closed by a rule: enough"));
    assert_eq!(texts(&pair.server_got[1..]), ["one"], "the server does not see how it ended");
}

pub(super) struct Shout;

impl Filter for Shout {
    fn name(&self) -> &str {
        "shout"
    }

    fn apply(&mut self, packet: &Packet, _effects: &mut Effects) -> Verdict {
        let Some(ty) = packet.kind().filter(|it| **it.name() == *"chat") else {
            return Verdict::Pass;
        };
        let value = packet.value().unwrap();
        let text = value.get("message").unwrap().as_text().unwrap();
        match text {
            "drop me" => Verdict::Drop,
            text => {
                let value = chat(&text.to_uppercase());
                Verdict::Replace(packet.context().protocol.encode(ty, &value).unwrap().into())
            }
        }
    }
}

#[test]
fn filters_drop_and_rewrite_and_both_versions_are_recorded() {
    for size in SIZES {
        let mut pipeline = Pipeline::default();
        pipeline.push(Box::new(Shout));
        let mut pair = Pair::with(size, Config::default(), pipeline);
        pair.input(Input::Connected("127.0.0.1:25565".parse().unwrap()));
        pair.client_says(State::Handshaking, "set_protocol", handshake("localhost", 2));
        pair.client_says(State::Login, "login_start", fields([("username", "Steve".into())]));
        pair.server_says(State::Login, "success", success());
        pair.client_says(State::Play, "chat", chat("hello"));
        pair.client_says(State::Play, "chat", chat("drop me"));
        assert_eq!(pair.server_got.last().unwrap()[..], *b"\x01\x05HELLO");
        assert_eq!(pair.seen()[4..], ["~chat", "+chat", "-chat"]);
        let records = pair.records();
        let [came, went] = [records[4], records[5]];
        assert_eq!(went.of, Some(came.packet.seq()));
        assert_eq!(came.packet.origin(), Origin::Client);
        assert_eq!(went.packet.origin(), Origin::Proxy);
    }
}
