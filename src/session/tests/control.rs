//! What people hold, edit and send in a running session, with a simulated clock.

use std::time::Duration;

use super::effects::rules;
use super::later::Game;
use super::*;
use crate::codec::MemoryBudget;
use crate::lang::Expr;
use crate::link::{
    Action, Breakpoint, Command, Decision, NetworkError, Payload, Release, Report, Transmission,
};
use crate::packet::Cause;

use Direction::{Clientbound, Serverbound};

/// A session in the game, and what a person who controls it is told.
struct Desk {
    game: Game,
    reports: Vec<Report>,
    commands: u64,
}

impl Desk {
    fn new(version: i32) -> Self {
        Self { game: Game::new(version, ""), reports: Vec::new(), commands: 0 }
    }

    /// A session that holds what matches.
    fn holding(version: i32, condition: &str) -> Self {
        let mut desk = Self::new(version);
        desk.hold(condition, false);
        desk
    }

    fn hold(&mut self, condition: &str, overtaken: bool) {
        let (condition, _) = Expr::parse(condition, Catalog::embedded()).unwrap();
        self.done(Action::Break(Some(Breakpoint { condition, overtaken })));
    }

    /// Carries out a command; returns why it was refused, if it was.
    fn order(&mut self, action: Action) -> Result<(), (String, String)> {
        self.commands += 1;
        let number = self.commands;
        self.game.pair.input(Input::Command(Command { number, action }));
        self.listen();
        let answer = self.reports.iter().find_map(|report| match report {
            Report::Done { command } if *command == number => Some(Ok(())),
            Report::Refused { command, path, reason } if *command == number => {
                Some(Err((path.clone(), reason.clone())))
            }
            _ => None,
        });
        answer.unwrap()
    }

    fn done(&mut self, action: Action) {
        assert_eq!(self.order(action), Ok(()));
    }

    fn decide(&mut self, held: u64, decision: Decision) {
        self.done(Action::Decide { held, decision });
    }

    fn listen(&mut self) {
        while let Some(report) = self.game.pair.session.poll_report() {
            self.reports.push(report);
        }
    }

    /// Lets time pass, and tells the session of each moment that it asks for.
    fn pass(&mut self, seconds: u64) {
        let end = Timestamp(self.game.pair.clock).plus(Duration::from_secs(seconds));
        while let Some(at) = self.game.pair.session.poll_timeout().filter(|at| *at <= end) {
            self.game.pair.clock = self.game.pair.clock.max(at.0);
            let now = Timestamp(self.game.pair.clock);
            self.game.pair.session.handle(now, Input::Timeout);
            self.game.pair.run();
        }
        self.game.pair.clock = end.0;
        self.listen();
    }

    /// Numbers of the packets that are held.
    fn held(&mut self) -> Vec<u64> {
        self.listen();
        let mut held = Vec::new();
        for report in &self.reports {
            match report {
                Report::Held { held: number, .. } => held.push(*number),
                Report::Released { held: number, .. } => held.retain(|it| it != number),
                Report::Done { .. } | Report::Refused { .. } => {}
            }
        }
        held
    }

    fn released(&mut self) -> Vec<Release> {
        self.listen();
        let how = |report: &Report| match report {
            Report::Released { how, .. } => Some(*how),
            _ => None,
        };
        self.reports.iter().filter_map(how).collect()
    }

    fn keep_alive(&mut self, direction: Direction, state: State, number: i64) {
        let value = fields([("keepAliveId", Value::Int(number))]);
        self.game.says(direction, state, "keep_alive", value);
    }

    /// The numbers of the keep-alives among what a peer got last.
    fn keep_alives(&self, side: Side, state: State, since: usize) -> Vec<i64> {
        let (got, direction) = match side {
            Side::Client => (&self.game.pair.client_got, Clientbound),
            Side::Server => (&self.game.pair.server_got, Serverbound),
        };
        let protocol = &self.game.protocol;
        let number = |body: &Bytes| {
            let (packet, start) = protocol.identify(state, direction, body).ok()?;
            let is_it = packet.role() == Some(crate::schema::Role::KeepAlive);
            let value = protocol.decode(packet, body, start).ok().filter(|_| is_it)?;
            value.get("keepAliveId")?.as_int()
        };
        got[since..].iter().filter_map(number).collect()
    }

    /// The outcomes of what is recorded of one packet type: `-` dropped, `~` rewritten, `+` sent.
    fn seen(&self, name: &str) -> String {
        let seen = self.game.pair.seen();
        let marks = seen.iter().filter(|it| it.trim_start_matches(['-', '~', '+']) == name);
        marks.map(|it| if it == name { "." } else { &it[..1] }).collect()
    }
}

/// A packet that says nothing, which every version has in both directions.
fn plain(desk: &mut Desk, direction: Direction, text: u8) {
    let name = match direction {
        Serverbound => "held_item_slot",
        Clientbound => "entity_destroy",
    };
    let value = match direction {
        Serverbound => fields([("slotId", i32::from(text).into())]),
        Clientbound => {
            let ids = Value::List(vec![i32::from(text).into()]);
            fields([("entityIds", ids)])
        }
    };
    desk.game.plays(direction, name, value);
}

fn number(body: &Bytes) -> u8 {
    *body.last().unwrap()
}

#[test]
fn later_packets_wait_behind_a_held_one_and_go_in_order() {
    for direction in Direction::ALL {
        let mut desk = Desk::holding(47, "held_item_slot or entity_destroy");
        let side = Side::from(direction).other();
        let got = |desk: &Desk| {
            let pair = &desk.game.pair;
            let got = if side == Side::Client { &pair.client_got } else { &pair.server_got };
            got.iter().rev().take(3).rev().map(number).collect::<Vec<_>>()
        };
        let before = got(&desk);
        for text in [1, 2, 3] {
            plain(&mut desk, direction, text);
        }
        desk.pass(60);
        assert_eq!(got(&desk), before);
        assert_eq!(desk.held(), [1, 2, 3]);
        // The third is decided before its turn, and again.
        desk.decide(3, Decision::Drop);
        desk.decide(1, Decision::Forward);
        desk.decide(3, Decision::Forward);
        assert_eq!(desk.held(), [2, 3]);
        desk.decide(2, Decision::Forward);
        assert_eq!(got(&desk), [1, 2, 3]);
        assert_eq!(desk.released(), [Release::Forwarded; 3]);
        let numbers: Vec<u64> = desk.game.pair.records().iter().map(|it| it.packet.seq).collect();
        assert!(numbers.windows(2).all(|pair| pair[0] + 1 == pair[1]), "{numbers:?}");
        assert!(desk.game.comments().starts_with("held for 60.0 s, then forwarded"));
        let refused = desk.order(Action::Decide { held: 2, decision: Decision::Drop });
        assert_eq!(refused.unwrap_err().1, "packet 2 is not held any more");
    }
}

#[test]
fn a_held_packet_is_dropped_or_edited_and_its_records_say_so() {
    let mut desk = Desk::holding(47, "chat");
    for text in ["one", "two", "three", "four"] {
        desk.game.plays(Serverbound, "chat", chat(text));
    }
    let edit = |json| Decision::Edit(Payload::Fields(json));
    let wrong = edit(serde_json::json!({ "message": 7 }));
    let (path, reason) = desk.order(Action::Decide { held: 1, decision: wrong }).unwrap_err();
    assert_eq!((path.as_str(), &*reason), ("message", "message: expected text, found an integer"));
    desk.decide(1, Decision::Drop);
    desk.decide(2, edit(serde_json::json!({ "message": "zwei" })));
    desk.decide(3, Decision::Edit(Payload::Body(Bytes::from_static(b"\x01\x01x"))));
    desk.decide(4, Decision::Forward);
    let got = &desk.game.pair.server_got;
    assert_eq!(got[got.len() - 3..], [&b"\x01\x04zwei"[..], b"\x01\x01x", b"\x01\x04four"]);
    assert_eq!(desk.seen("chat"), "-~+~+.");
    let records = desk.game.pair.records();
    assert!(
        records
            .iter()
            .filter(|it| it.outcome == Outcome::Send)
            .all(|it| { it.packet.origin == Origin::Proxy && it.of == Some(it.packet.seq - 1) })
    );
    assert_eq!(
        desk.released(),
        [Release::Dropped, Release::Edited, Release::Edited, Release::Forwarded]
    );
}

#[test]
fn rules_see_what_is_forwarded_and_not_what_is_edited() {
    let mut desk = Desk::holding(47, "chat");
    let set = "[[rule]]\nwhen = 'chat and serverbound'\nset = { message = 'by rule' }\n";
    desk.game.pair.session.set_pipeline(rules(set));
    for text in ["one", "two"] {
        desk.game.plays(Serverbound, "chat", chat(text));
    }
    let edited = Payload::Fields(serde_json::json!({ "message": "mine" }));
    desk.decide(1, Decision::Forward);
    desk.decide(2, Decision::Edit(edited));
    let got = &desk.game.pair.server_got;
    assert_eq!(got[got.len() - 2..], [&b"\x01\x07by rule"[..], b"\x01\x04mine"]);
}

#[test]
fn a_player_is_paused_for_ten_minutes_in_every_generation() {
    let newest = Catalog::embedded().newest_release().unwrap();
    for (version, direction) in
        [47, 340, 765, newest].into_iter().flat_map(|it| Direction::ALL.map(|way| (it, way)))
    {
        let mut desk = Desk::holding(version, "held_item_slot or entity_destroy");
        plain(&mut desk, direction, 1);
        let interval = if version == 47 { 2 } else { 15 };
        for question in 1..=(600 / interval) as i64 {
            let (client, server) =
                (desk.game.pair.client_got.len(), desk.game.pair.server_got.len());
            desk.keep_alive(Clientbound, State::Play, question);
            let asked = desk.keep_alives(Side::Client, State::Play, client);
            assert_eq!(asked, [question], "{version} {direction}");
            desk.keep_alive(Serverbound, State::Play, question);
            let answered = desk.keep_alives(Side::Server, State::Play, server);
            assert_eq!(answered, [question], "{version} {direction}");
            plain(&mut desk, direction, 2);
            desk.pass(interval);
        }
        assert!(!desk.game.pair.session.is_over());
        assert_eq!(desk.seen("keep_alive").trim_matches('.'), "", "none was made or dropped");
        desk.done(Action::ForwardAll);
        desk.pass(10);
        assert_eq!(desk.held(), [0; 0]);
        let name = if direction == Serverbound { "held_item_slot" } else { "entity_destroy" };
        assert_eq!(desk.seen(name).len(), 1 + (600 / interval) as usize, "nothing is lost");
    }
}

#[test]
fn the_proxy_answers_keep_alives_that_cannot_overtake_a_change_of_the_state() {
    for version in [765, 777] {
        let mut desk = Desk::holding(version, "start_configuration");
        desk.game.plays(Clientbound, "start_configuration", fields([]));
        let (client, server) = (desk.game.pair.client_got.len(), desk.game.pair.server_got.len());
        for question in 1..=40 {
            // The server speaks the configuration already, and still listens to the game.
            desk.keep_alive(Clientbound, State::Configuration, question);
            desk.keep_alive(Serverbound, State::Play, question);
            desk.pass(15);
        }
        let all: Vec<i64> = (1..=40).collect();
        assert_eq!(desk.keep_alives(Side::Server, State::Play, server), all, "{version}: once");
        assert_eq!(desk.keep_alives(Side::Client, State::Play, client), all, "{version}");
        assert_eq!(desk.seen("keep_alive"), "-++-".repeat(40));
        desk.decide(1, Decision::Forward);
        desk.keep_alive(Clientbound, State::Configuration, 41);
        assert_eq!(desk.keep_alives(Side::Client, State::Configuration, client + 41), [41]);
        // The client's side of the change.
        desk.hold("configuration_acknowledged", false);
        desk.game.plays(Serverbound, "configuration_acknowledged", fields([]));
        let server = desk.game.pair.server_got.len();
        desk.keep_alive(Serverbound, State::Configuration, 41);
        assert_eq!(desk.keep_alives(Side::Server, State::Play, server), [41]);
        desk.done(Action::ForwardAll);
        desk.keep_alive(Serverbound, State::Configuration, 42);
        assert_eq!(desk.keep_alives(Side::Server, State::Configuration, server + 2), [42]);
        assert!(desk.game.pair.records().iter().all(|it| it.packet.error().is_none()));
    }
}

#[test]
fn the_proxy_answers_keep_alives_while_a_bundle_is_open() {
    let mut desk = Desk::holding(765, "entity_destroy");
    desk.game.plays(Clientbound, "bundle_delimiter", fields([]));
    plain(&mut desk, Clientbound, 1);
    let server = desk.game.pair.server_got.len();
    for question in 1..=4 {
        desk.keep_alive(Clientbound, State::Play, question);
        desk.pass(15);
    }
    assert_eq!(desk.keep_alives(Side::Server, State::Play, server), [1, 2, 3, 4]);
    desk.done(Action::ForwardAll);
    desk.game.plays(Clientbound, "bundle_delimiter", fields([]));
    for answer in 1..=5 {
        desk.keep_alive(Serverbound, State::Play, answer);
    }
    let answered = desk.keep_alives(Side::Server, State::Play, server);
    assert_eq!(answered, [1, 2, 3, 4, 5], "the answers to the proxy's own are dropped");
}

#[test]
fn a_login_is_released_before_its_server_gives_up() {
    let mut desk = Desk { game: Game::new(47, ""), reports: Vec::new(), commands: 0 };
    desk.game.pair = Pair::connected(7);
    desk.hold("login_start or success", false);
    desk.game.pair.client_says(State::Handshaking, "set_protocol", handshake("localhost", 2));
    desk.pass(10);
    let name = fields([("username", "Steve".into())]);
    desk.game.pair.client_says(State::Login, "login_start", name);
    desk.pass(14);
    assert_eq!((desk.held(), desk.game.pair.server_got.len()), (vec![1], 1));
    desk.pass(1);
    assert_eq!((desk.held(), desk.game.pair.server_got.len()), (vec![], 2));
    assert_eq!(desk.released(), [Release::Impatience]);
    assert!(desk.game.comments().contains("peers wait no longer than 30 s"));
    desk.game.pair.server_says(State::Login, "success", success());
    assert_eq!(desk.game.pair.client_got.len(), 1, "nothing more of this login is held");
}

#[test]
fn a_long_backlog_to_the_server_is_released_slowly() {
    let mut desk = Desk::holding(340, "held_item_slot");
    plain(&mut desk, Serverbound, 0);
    desk.hold("clientbound and entity_destroy", false);
    for text in 0..250 {
        plain(&mut desk, Serverbound, text);
    }
    let before = desk.game.pair.server_got.len();
    desk.done(Action::ForwardAll);
    assert!(desk.game.pair.server_got.len() - before <= 2);
    desk.pass(1);
    let second = desk.game.pair.server_got.len() - before;
    assert!((95..=105).contains(&second), "{second}");
    desk.keep_alive(Serverbound, State::Play, 5);
    let last = desk.game.pair.server_got.len() - 1;
    assert_eq!(desk.keep_alives(Side::Server, State::Play, last), [5], "it overtakes");
    desk.pass(2);
    assert_eq!(desk.game.pair.server_got.len() - before, 252);
    let texts: Vec<u8> = desk.game.pair.server_got[before..].iter().map(number).collect();
    assert_eq!(texts.iter().filter(|it| **it == 249).count(), 1);
    plain(&mut desk, Serverbound, 1);
    assert_eq!(desk.game.pair.server_got.len() - before, 253, "at once again");
}

#[test]
fn later_packets_overtake_a_held_one_unless_the_game_would_notice() {
    let mut desk = Desk::new(765);
    desk.hold("entity_destroy or player_chat or start_configuration", true);
    let got = desk.game.pair.client_got.len();
    plain(&mut desk, Clientbound, 1);
    desk.keep_alive(Clientbound, State::Play, 3);
    assert_eq!(desk.keep_alives(Side::Client, State::Play, got), [3]);
    plain(&mut desk, Clientbound, 2);
    desk.game.plays(
        Clientbound,
        "unload_chunk",
        fields([("chunkX", 1.into()), ("chunkZ", 2.into())]),
    );
    assert_eq!(desk.game.pair.client_got.len() - got, 2, "the chunk overtakes");
    desk.decide(2, Decision::Forward);
    desk.decide(1, Decision::Drop);
    assert_eq!(desk.seen("entity_destroy"), ".-");
    for bundled in [false, true] {
        if bundled {
            desk.game.plays(Clientbound, "bundle_delimiter", fields([]));
            plain(&mut desk, Clientbound, 4);
        } else {
            let chat = desk.game.player_chat(Some(&[7; 256]));
            desk.game.sends(Clientbound, &chat);
        }
        let got = desk.game.pair.client_got.len();
        desk.game.sends(Clientbound, &[0x7f]);
        assert_eq!(desk.game.pair.client_got.len(), got, "{bundled}: it waits");
        desk.listen();
        let Some(Report::Held { in_order: Some(why), .. }) = desk.reports.last() else { panic!() };
        assert!(why.contains(if bundled { "bundle" } else { "signed" }), "{why}");
        desk.done(Action::ForwardAll);
    }
}

#[test]
fn what_was_overtaken_goes_before_the_state_changes() {
    let mut desk = Desk::new(765);
    desk.hold("entity_destroy", true);
    plain(&mut desk, Clientbound, 1);
    desk.game.plays(Clientbound, "start_configuration", fields([]));
    assert_eq!(desk.released(), [Release::StateChange]);
    let seen = desk.game.pair.seen();
    assert_eq!(seen[seen.len() - 2..], ["entity_destroy", "start_configuration"]);
}

#[test]
fn what_would_end_the_session_is_refused_with_the_reason() {
    let mut desk = Desk::holding(765, "bundle_delimiter or player_chat");
    desk.game.plays(Clientbound, "bundle_delimiter", fields([]));
    let dropped = desk.order(Action::Decide { held: 1, decision: Decision::Drop });
    assert!(dropped.unwrap_err().1.contains("the connection needs it"));
    let chat = desk.game.player_chat(Some(&[7; 256]));
    desk.game.sends(Clientbound, &chat);
    let dropped = desk.order(Action::Decide { held: 2, decision: Decision::Drop });
    assert!(dropped.unwrap_err().1.contains("counted"));
    assert_eq!(desk.held(), [1, 2]);
    let body = desk.game.encode(Clientbound, State::Play, "start_configuration", fields([]));
    let change = Decision::Edit(Payload::Body(body.into()));
    plain(&mut desk, Clientbound, 1);
    let refused = desk.order(Action::Decide { held: 1, decision: change });
    assert!(refused.unwrap_err().1.contains("changes the connection"));
}

/// Sends a chat message to the server.
fn transmission(packet: &str, fields: serde_json::Value) -> Transmission {
    Transmission {
        direction: Serverbound,
        packet: Some(packet.into()),
        payload: Payload::Fields(fields),
        times: 1,
        interval: Duration::ZERO,
        resent: None,
    }
}

#[test]
fn packets_are_sent_by_hand_once_or_at_an_interval() {
    let mut desk = Desk::new(47);
    let hi = transmission("chat", serde_json::json!({ "message": "hi" }));
    desk.done(Action::Send(hi.clone()));
    assert_eq!(desk.game.pair.server_got.last().unwrap(), &b"\x01\x02hi"[..]);
    let before = desk.game.pair.server_got.len();
    let interval = Duration::from_secs(2);
    desk.done(Action::Send(Transmission { times: 5, interval, ..hi.clone() }));
    for sent in 1..=5 {
        assert_eq!(desk.game.pair.server_got.len() - before, sent);
        desk.pass(2);
    }
    assert_eq!(
        (desk.seen("chat").as_str(), desk.game.pair.session.poll_timeout()),
        ("++++++", None)
    );
    let again = Transmission {
        packet: None,
        payload: Payload::Body(Bytes::from_static(b"\x01\x03old")),
        resent: Some(4),
        ..hi.clone()
    };
    desk.done(Action::Send(again));
    assert!(desk.game.comments().ends_with("packet 4 again, sent by hand"));
    let record = desk.game.pair.records()[6].clone();
    assert_eq!((record.packet.origin, record.of), (Origin::Proxy, None));
    for (packet, fields, path, reason) in [
        ("chat", serde_json::json!({}), "message", "expected text, found nothing"),
        ("chad", serde_json::json!({}), "", "no serverbound packet `chad` in state play"),
    ] {
        let (at, why) = desk.order(Action::Send(transmission(packet, fields))).unwrap_err();
        assert!(at == path && why.contains(reason), "{at}: {why}");
    }
    let compress = Transmission {
        direction: Clientbound,
        ..transmission("set_compression", serde_json::json!({ "threshold": 5 }))
    };
    let (_, why) = desk.order(Action::Send(compress)).unwrap_err();
    assert!(why.contains("compression"), "{why}");
    assert!(desk.order(Action::Send(Transmission { times: 0, ..hi })).is_err());
}

#[test]
fn packets_that_are_repeated_stop_with_their_state() {
    let mut desk = Desk::new(765);
    let slot = transmission("held_item_slot", serde_json::json!({ "slotId": 3 }));
    let interval = Duration::from_secs(1);
    desk.done(Action::Send(Transmission { times: 9, interval, ..slot }));
    desk.game.plays(Clientbound, "start_configuration", fields([]));
    desk.game.plays(Serverbound, "configuration_acknowledged", fields([]));
    let before = desk.game.pair.server_got.len();
    desk.pass(5);
    assert_eq!(desk.game.pair.server_got.len(), before);
    let Some(Report::Refused { command: 1, reason, .. }) = desk.reports.last() else { panic!() };
    assert_eq!(reason, "the state changed: 8 packets were not sent");
}

#[test]
fn a_player_is_kicked_with_a_text() {
    for version in [47, 765] {
        let mut desk = Desk::holding(version, "held_item_slot");
        plain(&mut desk, Serverbound, 1);
        desk.done(Action::Kick("go away".into()));
        assert!(desk.game.pair.session.is_over());
        assert_eq!(desk.game.pair.reason(), Some("ended by hand: go away"));
        let last = desk.game.pair.client_got.last().unwrap();
        assert!(last.windows(7).any(|it| it == b"go away"));
        assert_eq!((desk.seen("held_item_slot").as_str(), desk.held()), ("-", vec![]));
    }
}

#[test]
fn nothing_that_is_held_is_lost_when_a_side_closes() {
    for (version, direction) in [47, 765].into_iter().flat_map(|it| Direction::ALL.map(|d| (it, d)))
    {
        let mut desk = Desk::holding(version, "held_item_slot or entity_destroy");
        let from = Side::from(direction);
        for text in [1, 2] {
            plain(&mut desk, direction, text);
        }
        // The front of a packet that never becomes whole.
        let leg = if from == Side::Client {
            &mut desk.game.pair.client
        } else {
            &mut desk.game.pair.server
        };
        leg.encoder.put(&[9, 1]);
        desk.game.pair.run();
        desk.game.pair.input(Input::Closed(from));
        assert!(!desk.game.pair.outputs.contains(&Output::Shutdown(from.other())));
        desk.decide(1, Decision::Forward);
        assert!(!desk.game.pair.outputs.contains(&Output::Shutdown(from.other())));
        desk.decide(2, Decision::Forward);
        assert_eq!(desk.game.pair.outputs.last(), Some(&Output::Shutdown(from.other())));
        let seen = desk.game.pair.seen();
        assert_eq!(seen[seen.len() - 1], "?", "what was not whole comes last: {seen:?}");
        // Held when both are closed: nobody waits any longer.
        let mut desk = Desk::holding(version, "held_item_slot or entity_destroy");
        plain(&mut desk, direction, 1);
        for side in Side::ALL {
            desk.game.pair.input(Input::Closed(side));
        }
        assert!(desk.game.pair.session.is_over());
        assert_eq!(desk.released(), [Release::Ended]);
        assert!(desk.game.pair.seen().iter().all(|it| !it.starts_with('-')));
    }
}

#[test]
fn what_is_held_for_a_peer_that_is_lost_is_recorded_as_dropped() {
    for lost in Side::ALL {
        let mut desk = Desk::holding(765, "held_item_slot or entity_destroy");
        for direction in Direction::ALL {
            plain(&mut desk, direction, 1);
            plain(&mut desk, direction, 2);
        }
        desk.hold("chat_message", false);
        let error = std::io::Error::from(std::io::ErrorKind::ConnectionReset);
        desk.game.pair.input(Input::Lost(lost, NetworkError(error.into())));
        assert!(desk.game.pair.session.is_over());
        let (dropped, passed) = match lost {
            Side::Client => ("entity_destroy", "held_item_slot"),
            Side::Server => ("held_item_slot", "entity_destroy"),
        };
        assert_eq!((desk.seen(dropped).as_str(), desk.seen(passed).as_str()), ("--", ".."));
        assert_eq!(desk.held(), [0; 0]);
    }
}

#[test]
fn what_is_held_goes_before_the_proxy_says_goodbye() {
    let mut desk = Desk::holding(765, "entity_destroy or held_item_slot or start_configuration");
    plain(&mut desk, Serverbound, 1);
    plain(&mut desk, Clientbound, 2);
    desk.game.plays(Clientbound, "start_configuration", fields([]));
    desk.game.pair.input(Input::Stop(Cause::new("stopped by hand")));
    let seen = desk.game.pair.seen();
    assert!(desk.game.pair.session.is_over());
    assert_eq!(seen, ["held_item_slot", "entity_destroy", "start_configuration", "+disconnect"]);
}

#[test]
fn a_rule_that_closes_drops_what_is_held() {
    let mut desk = Desk::holding(47, "held_item_slot");
    plain(&mut desk, Serverbound, 1);
    let close = "[[rule]]\nwhen = 'keep_alive'\nclose = 'enough'\n";
    desk.game.pair.session.set_pipeline(rules(close));
    desk.keep_alive(Clientbound, State::Play, 1);
    assert_eq!(desk.game.pair.reason(), Some("closed by a rule: enough"));
    assert_eq!(desk.seen("held_item_slot"), "-");
}

#[test]
fn what_is_held_counts_against_the_memory_and_goes_on_when_none_is_left() {
    let memory = MemoryBudget::new(1 << 20);
    let config = Config { memory: memory.clone(), ..Config::default() };
    let mut desk = Desk::new(47);
    desk.game = Game::with(47, "", config, fields([]));
    desk.hold("serverbound and chat", false);
    desk.game.plays(Serverbound, "chat", chat("stop"));
    let body = vec![0x70; 100_000];
    for _ in 0..8 {
        desk.game.sends(Serverbound, &body);
    }
    assert!(memory.used() > 800_000 && desk.held() == [1]);
    for _ in 0..4 {
        desk.game.sends(Serverbound, &body);
    }
    assert_eq!(desk.released(), [Release::Memory]);
    assert_eq!(desk.game.pair.server_got.iter().filter(|it| it.len() == 100_000).count(), 12);
    assert_eq!(memory.used(), 0);
}

#[test]
fn rules_delay_what_was_held_and_a_change_of_compression_waits_for_it() {
    let mut desk = Desk::holding(47, "entity_destroy or set_compression");
    let delay = "[[rule]]\nwhen = 'entity_destroy'\ndelay = '50ms'\n";
    desk.game.pair.session.set_pipeline(rules(delay));
    plain(&mut desk, Clientbound, 1);
    desk.game.plays(Clientbound, "set_compression", fields([("threshold", 1.into())]));
    desk.game.pair.server.set_compression(Some(1));
    plain(&mut desk, Clientbound, 2);
    let got = desk.game.pair.client_got.len();
    desk.done(Action::ForwardAll);
    assert_eq!(desk.game.pair.client_got.len(), got);
    let at = desk.game.pair.session.poll_timeout().unwrap();
    desk.game.pair.clock = at.0;
    desk.game.pair.session.handle(at, Input::Timeout);
    desk.game.pair.client.set_compression(None);
    desk.game.pair.run();
    assert_eq!(desk.game.pair.client_got.len(), got + 2);
    desk.game.pair.client.set_compression(Some(1));
    assert_eq!(desk.held(), [3], "only now it can be read");
    desk.pass(60);
    assert_eq!(desk.released()[2..], [Release::Forwarded; 0], "keep-alives overtake it");
    desk.done(Action::ForwardAll);
    desk.pass(1);
    assert_eq!(desk.game.pair.client_got.len(), got + 3);
}

#[test]
fn a_held_change_of_the_compression_in_the_game_is_released_in_time() {
    let mut desk = Desk::holding(47, "set_compression");
    desk.game.plays(Clientbound, "set_compression", fields([("threshold", 1.into())]));
    desk.pass(24);
    assert_eq!(desk.held(), [1]);
    desk.pass(1);
    assert_eq!(desk.released(), [Release::Impatience]);
}

#[test]
fn a_login_is_held_at_every_packet_and_goes_through() {
    for size in SIZES {
        let mut desk = Desk::new(47);
        desk.game.pair = Pair::connected(size);
        desk.hold("serverbound or clientbound", false);
        let pair = &mut desk.game.pair;
        pair.client_says(State::Handshaking, "set_protocol", handshake("localhost", 2));
        pair.client_says(State::Login, "login_start", fields([("username", "Steve".into())]));
        assert_eq!((desk.held(), desk.game.pair.server_got.len()), (vec![1], 0));
        desk.decide(1, Decision::Forward);
        desk.decide(2, Decision::Forward);
        assert_eq!(desk.game.pair.server_got.len(), 2);
        let threshold = fields([("threshold", 64.into())]);
        desk.game.pair.server_says(State::Login, "compress", threshold);
        desk.game.pair.server.set_compression(Some(64));
        desk.game.pair.server_says(State::Login, "success", success());
        assert_eq!(desk.held(), [3]);
        desk.decide(3, Decision::Forward);
        desk.game.pair.client.set_compression(Some(64));
        desk.decide(4, Decision::Forward);
        assert_eq!(desk.game.pair.client_got.len(), 2);
        plain(&mut desk, Clientbound, 3);
        assert_eq!(desk.held(), [5]);
        assert!(desk.game.pair.records().iter().all(|it| it.packet.error().is_none()));
    }
}
