//! Requests of user interfaces, and what becomes of them in a real session.

use std::sync::Arc;

use serde_json::{Value as Json, json};

use super::Controller;
use crate::view::protocol::{self, Query};
use crate::view::tests::checked_answer;
use mitmcraft_engine::filter::Pipeline;
use mitmcraft_engine::link::{Decision, Engine as _, Input, Side, Upstream};
use mitmcraft_engine::session::{Config, Session, Start};
use mitmcraft_protocol::codec::{Leg, Limits, Unit};
use mitmcraft_protocol::packet::Timestamp;
use mitmcraft_protocol::schema::{Catalog, Direction, State, Value};

use Direction::{Clientbound, Serverbound};

/// Two sessions of 1.8 in the game with their controller.
pub(crate) struct Room {
    controller: Controller,
    sessions: Vec<(Session, Leg)>,
    now: u64,
    /// Messages to each interface.
    messages: Vec<(u64, Json)>,
    /// The messages to each interface that `take_told` has not returned yet.
    told: Vec<(u64, protocol::Message)>,
    interfaces: Vec<u64>,
}

impl Room {
    pub(crate) fn new() -> Self {
        let controller = Controller::new(None);
        let mut room = Self {
            controller,
            sessions: Vec::new(),
            now: 1_000_000_000,
            messages: Vec::new(),
            told: Vec::new(),
            interfaces: Vec::new(),
        };
        for session in 1..=2 {
            room.join(session);
        }
        room
    }

    fn join(&mut self, number: u64) {
        let start = Start {
            session: number,
            at: Timestamp(self.now),
            client: ([127, 0, 0, 1], 50000).into(),
            upstream: Upstream { host: "mc.example.org".into(), port: 25565 },
        };
        let mut session =
            Session::new(Arc::new(Config::default()), start, Pipeline::default()).unwrap();
        session.handle(Timestamp(self.now), Input::Connected(([127, 0, 0, 1], 25565).into()));
        self.sessions.push((session, Leg::new(Limits::default())));
        self.controller.open(number);
        self.settle();
        let handshake = Value::map([
            ("protocolVersion", 47.into()),
            ("serverHost", "localhost".into()),
            ("serverPort", 25566.into()),
            ("nextState", 2.into()),
        ]);
        self.says(number, Serverbound, State::Handshaking, "set_protocol", handshake);
        let name = Value::map([("username", "Steve".into())]);
        self.says(number, Serverbound, State::Login, "login_start", name);
        let uuid = "b50ad385-829d-3141-a216-7e7d7539ba7f".into();
        let success = Value::map([("uuid", uuid), ("username", "Steve".into())]);
        self.says(number, Clientbound, State::Login, "success", success);
        self.got(number);
    }

    pub(crate) fn attach(&mut self) -> u64 {
        let interface = self.controller.attach();
        self.interfaces.push(interface);
        self.settle();
        interface
    }

    fn detach(&mut self, interface: u64) {
        self.interfaces.retain(|it| *it != interface);
        self.controller.detach(interface);
        self.settle();
    }

    /// Sends a request; returns the answer.
    pub(crate) fn ask(&mut self, interface: u64, mut request: Json) -> Json {
        request["id"] = 77.into();
        let read = Query::read(&request.to_string());
        let name = request.clone();
        let request = read.map_err(|(_, failure)| failure).and_then(|query| {
            query.request.for_controller(Catalog::embedded()).expect("a request to sessions")
        });
        match request {
            Ok(request) => self.controller.handle(interface, Some(77), request),
            Err(failure) => return as_json(&protocol::Message::answer(Some(77), Err(failure))),
        }
        self.settle();
        let mine = |(to, it): &&(u64, Json)| *to == interface && it["id"] == 77;
        let answer = self.messages.iter().rfind(mine).cloned();
        self.messages.retain(|(_, it)| it["id"] != 77);
        checked_answer(&name, answer.expect("every request is answered").1)
    }

    /// Carries out a request of an interface of this program.
    pub(crate) fn request(&mut self, interface: u64, id: u64, request: &protocol::Request) {
        let request = request.for_controller(Catalog::embedded()).unwrap().unwrap();
        self.controller.handle(interface, Some(id), request);
        self.settle();
    }

    /// Takes the messages to an interface since the last call.
    pub(crate) fn take_told(&mut self, interface: u64) -> Vec<protocol::Message> {
        let mine = self.told.extract_if(.., |(to, _)| *to == interface);
        mine.map(|(_, message)| message).collect()
    }

    fn done(&mut self, interface: u64, request: Json) {
        assert_eq!(self.ask(interface, request)["error"], Json::Null);
    }

    fn says(&mut self, session: u64, way: Direction, state: State, name: &str, value: Value) {
        let protocol = Catalog::embedded().find(47).unwrap().protocol;
        let body = protocol.encode(protocol.named(state, way, name).unwrap(), &value).unwrap();
        let mut leg = Leg::new(Limits::default());
        leg.encoder.send(&body);
        let bytes = leg.encoder.pending().to_vec();
        self.input(session, Input::Received(Side::from(way), &bytes));
    }

    pub(crate) fn chats(&mut self, session: u64, text: &str) {
        let value = Value::map([("message", text.into())]);
        self.says(session, Serverbound, State::Play, "chat", value);
    }

    fn input(&mut self, session: u64, input: Input<'_>) {
        self.now += 1_000_000;
        self.sessions[session as usize - 1].0.handle(Timestamp(self.now), input);
        self.settle();
    }

    /// Carries commands, reports and messages until nothing moves any more.
    fn settle(&mut self) {
        loop {
            let mut moved = false;
            while let Some((session, command)) = self.controller.poll_command() {
                moved = true;
                let session = &mut self.sessions[session as usize - 1].0;
                session.handle(Timestamp(self.now), Input::Command(command));
            }
            for (number, (session, _)) in (1..).zip(&mut self.sessions) {
                while let Some(report) = session.poll_report() {
                    moved = true;
                    self.controller.report(number, report);
                }
            }
            while let Some((to, message)) = self.controller.poll_message() {
                let message = protocol::Message::from(message);
                for interface in &self.interfaces {
                    if to.is_none_or(|it| it == *interface) {
                        self.messages.push((*interface, as_json(&message)));
                        self.told.push((*interface, message.clone()));
                    }
                }
            }
            if !moved {
                return;
            }
        }
    }

    /// Lists the packets that the server of a session got: chat messages, or the ids of others.
    pub(crate) fn got(&mut self, session: u64) -> Vec<String> {
        let (session, leg) = &mut self.sessions[session as usize - 1];
        let pending = session.pending(Side::Server).to_vec();
        session.advance(Side::Server, pending.len());
        leg.decoder.receive(&pending);
        let mut got = Vec::new();
        while let Some(Unit::Frame(frame)) = leg.decoder.poll() {
            let body = frame.body().unwrap();
            got.push(match body[0] {
                1 => String::from_utf8_lossy(&body[2..]).into_owned(),
                id => format!("{id:#x}"),
            });
        }
        got
    }

    /// The pushes of one kind that an interface got, in order.
    fn pushes(&self, interface: u64, kind: &str) -> Vec<&Json> {
        let mine = self.messages.iter().filter(|(to, it)| *to == interface && it["push"] == kind);
        mine.map(|(_, it)| it).collect()
    }
}

fn as_json(message: &protocol::Message) -> Json {
    serde_json::from_str(&message.to_json()).unwrap()
}

#[test]
fn all_interfaces_see_what_is_held_and_the_last_command_wins() {
    let mut room = Room::new();
    let (one, other) = (room.attach(), room.attach());
    room.done(one, json!({ "do": "break", "where": "chat" }));
    room.done(other, json!({ "do": "break", "where": "serverbound and chat", "overtaken": false }));
    for interface in [one, other] {
        let last = room.pushes(interface, "control").last().copied().cloned().unwrap();
        assert_eq!(last["break"]["where"], "serverbound and chat");
        assert_eq!((&last["by"], &last["interfaces"]), (&json!(other), &json!(2)));
    }
    for text in ["a", "b"] {
        room.chats(1, text);
    }
    room.chats(2, "c");
    assert!(room.got(1).is_empty() && room.got(2).is_empty());
    let held = room.pushes(other, "held");
    let expected = json!({
        "push": "held", "session": 1, "held": 1, "number": 1, "since": 1007, "dir": "serverbound",
        "state": "play", "packet": "chat", "size": 3, "summary": "message=\"a\"",
        "in_order": null, "decided": null,
    });
    assert_eq!((held.len(), held[0]), (3, &expected));
    room.done(one, json!({ "do": "drop", "session": 1, "held": 2 }));
    room.done(other, json!({ "do": "forward", "session": 1, "held": 2 }));
    let decided = room.pushes(one, "decided");
    assert_eq!((decided.len(), &decided[1]["decision"]), (2, &json!("forward")));
    room.done(one, json!({ "do": "forward", "session": 1, "held": 1 }));
    assert_eq!(room.got(1), ["a", "b"]);
    let released = room.pushes(other, "released");
    assert_eq!((released.len(), &released[0]["how"]), (2, &json!("forwarded")));
    // One that attaches later gets what is held.
    let late = room.attach();
    assert_eq!(room.pushes(late, "held")[0]["session"], 2);
}

#[test]
fn a_held_packet_is_looked_at_and_edited_as_fields_or_bytes() {
    let mut room = Room::new();
    let me = room.attach();
    room.done(me, json!({ "do": "break", "where": "chat" }));
    for text in ["a", "b", "c"] {
        room.chats(1, text);
    }
    let content = room.ask(me, json!({ "do": "held", "session": 1, "held": 1 }));
    assert_eq!(content["fields"], json!({ "message": "a" }));
    assert_eq!(content["body"], "AQFh");
    let edit = |held: u64, key: &str, value: Json| json!({ "do": "edit", "session": 1, "held": held, key: value });
    let refused = room.ask(me, edit(1, "fields", json!({ "message": "x", "color": 1 })));
    let expected = json!({
        "message": "color: no such field", "hint": null, "start": null, "end": null,
        "path": "color",
    });
    assert_eq!(refused["error"], expected);
    room.done(me, edit(1, "fields", json!({ "message": "A" })));
    room.done(me, edit(2, "body", "AQFC".into()));
    room.done(me, edit(3, "body", "0x 01 01 43".into()));
    assert_eq!(room.got(1), ["A", "B", "C"]);
    for wrong in [json!("0x123"), json!("%"), json!("")] {
        assert_ne!(room.ask(me, edit(4, "body", wrong))["error"], Json::Null);
    }
}

#[test]
fn what_is_held_is_returned_in_windows_and_several_packets_are_decided_at_once() {
    let mut room = Room::new();
    let me = room.attach();
    room.done(me, json!({ "do": "break", "where": "chat" }));
    for (session, text) in [(2, "a"), (1, "b"), (2, "c"), (2, "d"), (1, "e")] {
        room.chats(session, text);
    }
    let window = |room: &mut Room, anchor: u64| {
        let asked = json!({ "do": "held_rows", "start": 1, "count": 3, "anchor": anchor });
        let rows = room.ask(me, asked);
        let packets = rows["packets"].as_array().unwrap().iter();
        let packets = packets.map(|it| (it["number"].clone(), it["decided"].clone()));
        (rows["total"].clone(), rows["anchor"].clone(), packets.collect::<Vec<_>>())
    };
    let before = window(&mut room, 4);
    let none = |numbers: [u64; 3]| numbers.map(|it| (json!(it), Json::Null)).to_vec();
    assert_eq!(before, (json!(5), json!(3), none([2, 3, 4])));
    let changes = room.controller.holding().changes;
    // In any order; what is not held any more is left out.
    let decide = |held: &[u64], what| json!({ "do": "decide", "session": 2, "held": held, "decision": what });
    room.done(me, decide(&[3, 2, 9], "drop"));
    assert!(room.controller.holding().changes > changes);
    let decided = window(&mut room, 4).2;
    assert_eq!(decided[1], (json!(3), json!("drop")));
    assert_eq!(decided[0], (json!(2), Json::Null), "it is another session's");
    let still = room.ask(me, json!({ "do": "still_held", "numbers": [1, 3, 5, 7] }));
    assert_eq!(still["numbers"], json!([1, 5]));
    room.done(me, decide(&[1], "forward"));
    assert_eq!(room.got(2), ["a"]);
    let after = room.ask(me, json!({ "do": "held_rows", "start": 0, "count": 9, "anchor": 4 }));
    assert_eq!((&after["total"], &after["anchor"]), (&json!(2), &json!(1)));
    assert_eq!(room.pushes(me, "released").len(), 3);
}

#[test]
fn spans_of_held_packets_are_decided_at_once_in_all_sessions_and_counted() {
    let mut room = Room::new();
    let me = room.attach();
    room.done(me, json!({ "do": "break", "where": "chat" }));
    for (session, text) in [(2, "a"), (1, "b"), (2, "c"), (2, "d"), (1, "e")] {
        room.chats(session, text);
    }
    assert_eq!(room.controller.holding().last, 5);
    let decide = |spans: Json, what| json!({ "do": "decide", "spans": spans, "decision": what });
    let asked = json!({ "do": "still_held", "spans": [[2, 4], [3, 9], [8, 7]] });
    assert_eq!(room.ask(me, asked.clone())["count"], 4);
    // Each packet counts once, whatever spans it is in.
    let dropped = room.ask(me, decide(json!([[2, 3], [3, 4]]), "drop"));
    assert_eq!((&dropped["answer"], &dropped["decided"]), (&json!("decide"), &json!(3)));
    assert_eq!(room.ask(me, asked)["count"], 1, "those that are decided on are left out");
    assert_eq!(room.ask(me, decide(json!([[0, 999]]), "forward"))["decided"], 2);
    assert_eq!((room.got(1), room.got(2)), (vec!["e".to_owned()], vec!["a".to_owned()]));
    assert_eq!(room.ask(me, decide(json!([[0, 999]]), "drop"))["decided"], 0);
    // A session that has ended decides nothing, and the other's are counted.
    room.chats(1, "f");
    room.chats(2, "g");
    let both = super::Request::DecideSpans(vec![(6, 7)], Decision::Drop);
    room.controller.handle(me, Some(78), both);
    room.controller.close(1);
    room.settle();
    let answer = room.messages.iter().find(|(_, it)| it["id"] == 78).unwrap();
    assert_eq!(answer.1["decided"], 1);
    for wrong in [json!({ "session": 1, "spans": [[1, 2]] }), json!({ "held": [1] })] {
        let mut wrong = wrong;
        wrong["do"] = json!("decide");
        wrong["decision"] = json!("drop");
        assert_ne!(room.ask(me, wrong)["error"], Json::Null);
    }
    let many = vec![[1, 1]; 1001];
    assert_ne!(room.ask(me, decide(json!(many), "drop"))["error"], Json::Null);
}

#[test]
fn packets_are_sent_and_players_kicked_in_the_session_that_is_named() {
    let mut room = Room::new();
    let me = room.attach();
    let fields = json!({ "message": "hi" });
    let send =
        json!({ "do": "send", "session": 2, "to": "server", "packet": "chat", "fields": fields });
    room.done(me, send);
    let again = json!({ "do": "send", "session": 2, "to": "server", "body": "AQFh", "resent": 4, "times": 2, "interval": "2s" });
    room.done(me, again);
    assert_eq!((room.got(1).len(), room.got(2)), (0, vec!["hi".to_owned(), "a".to_owned()]));
    let progress = |room: &Room| -> Vec<(Json, Json)> {
        let pushes = room.pushes(me, "sending").into_iter();
        pushes.map(|it| (it["left"].clone(), it["over"].clone())).collect()
    };
    assert_eq!(progress(&room), [(json!(1), json!(false))]);
    let late = room.attach();
    let told = room.pushes(late, "sending")[0].clone();
    let expected = json!({
        "push": "sending", "number": told["number"], "session": 2, "dir": "serverbound", "packet": null,
        "times": 2, "left": 1, "interval": 2000.0, "over": false,
    });
    assert_eq!(told, expected);
    room.now += 2_000_000_000;
    room.input(2, Input::Timeout);
    assert_eq!(room.got(2), ["a"]);
    assert_eq!(progress(&room)[1..], [(json!(0), json!(true))]);
    room.done(me, json!({ "do": "kick", "session": 2, "text": "bye" }));
    assert!(room.sessions[1].0.is_over() && !room.sessions[0].0.is_over());
    room.controller.close(2);
    let gone = room.ask(me, json!({ "do": "kick", "session": 2 }));
    assert_eq!(gone["error"]["message"], "session 2 is not open");
}

#[test]
fn everything_goes_on_in_order_when_the_last_interface_detaches() {
    let mut room = Room::new();
    let (one, other) = (room.attach(), room.attach());
    room.done(one, json!({ "do": "break", "where": "chat" }));
    for text in ["a", "b"] {
        room.chats(1, text);
    }
    room.detach(one);
    room.chats(1, "c");
    assert_eq!(room.got(1), Vec::<String>::new(), "one is still there");
    room.detach(other);
    room.chats(1, "c2");
    assert_eq!(room.got(1), Vec::<String>::new(), "a page that is loaded again comes back");
    let again = room.attach();
    room.controller.abandon();
    room.settle();
    assert_eq!(room.got(1), Vec::<String>::new(), "somebody is there");
    room.detach(again);
    room.controller.abandon();
    room.settle();
    assert_eq!(room.got(1), ["a", "b", "c", "c2"]);
    room.chats(1, "d");
    assert_eq!(room.got(1), ["d"], "nothing is held without anybody to decide");
    let back = room.attach();
    let told = room.pushes(back, "control")[0].clone();
    assert_eq!((&told["break"], &told["earlier"]["where"]), (&Json::Null, &json!("chat")));
    room.chats(1, "e");
    assert_eq!(room.got(1), ["e"], "nothing is held before somebody wants that again");
    room.done(back, json!({ "do": "break", "where": "chat" }));
    let told = room.pushes(back, "control")[1].clone();
    assert_eq!((&told["break"]["where"], &told["earlier"]), (&json!("chat"), &Json::Null));
    room.chats(1, "f");
    assert!(room.got(1).is_empty());
    room.done(back, json!({ "do": "forward_all", "session": 1 }));
    assert_eq!(room.got(1), ["f"]);
}

#[test]
fn what_is_sent_repeatedly_stops_when_a_person_says_so_or_the_last_interface_has_gone() {
    let mut room = Room::new();
    let me = room.attach();
    let send = |session: u64| {
        json!({
            "do": "send", "session": session, "to": "server", "body": "AQFh", "times": 1000,
            "interval": "200ms",
        })
    };
    let number = |room: &Room| room.pushes(me, "sending").last().unwrap()["number"].clone();
    let passes = |room: &mut Room| {
        room.now += 1_000_000_000;
        room.input(1, Input::Timeout);
        room.input(2, Input::Timeout);
        [room.got(1).len(), room.got(2).len()]
    };
    room.done(me, send(1));
    let first = number(&room);
    room.done(me, send(2));
    assert_eq!(passes(&mut room), [2, 2]);
    room.done(me, json!({ "do": "stop", "number": first }));
    let told = room.pushes(me, "sending").last().copied().cloned().unwrap();
    assert_eq!(
        (&told["number"], &told["left"], &told["over"]),
        (&first, &json!(998), &json!(true))
    );
    assert_eq!(passes(&mut room), [0, 1]);
    room.done(me, json!({ "do": "stop", "number": first }));
    room.done(me, json!({ "do": "stop" }));
    assert_eq!(passes(&mut room), [0, 0]);
    // A page that is loaded again still has it; nobody has it once the last one has gone.
    room.done(me, send(1));
    room.detach(me);
    assert_eq!(passes(&mut room), [2, 0]);
    let again = room.attach();
    assert_eq!(room.pushes(again, "sending").len(), 1);
    room.detach(again);
    room.controller.abandon();
    room.settle();
    assert_eq!(passes(&mut room), [0, 0]);
    // The session of another one ends.
    let back = room.attach();
    assert!(room.pushes(back, "sending").is_empty());
    room.done(back, send(2));
    room.controller.close(2);
    room.settle();
    assert_eq!(room.pushes(back, "sending").last().unwrap()["over"], true);
}

#[test]
fn a_break_condition_from_the_start_holds_before_anybody_is_there() {
    let catalog = Catalog::embedded();
    let (condition, _) = mitmcraft_engine::lang::Expr::parse("chat", catalog).unwrap();
    let breakpoint = mitmcraft_engine::link::Breakpoint { condition, overtaken: false };
    let mut room = Room::new();
    room.controller = Controller::new(Some(breakpoint));
    room.sessions.clear();
    room.join(1);
    room.chats(1, "a");
    assert!(room.got(1).is_empty());
    let me = room.attach();
    assert_eq!(room.pushes(me, "held").len(), 1);
    room.controller.close(1);
    room.settle();
    assert_eq!(room.pushes(me, "released").len(), 1, "a session that is gone holds nothing");
}

#[test]
fn requests_that_make_no_sense_are_refused_with_the_reason() {
    let mut room = Room::new();
    let me = room.attach();
    for (request, reason) in [
        (json!({ "do": "drop", "session": 1, "held": 9 }), "packet 9 is not held any more"),
        (json!({ "do": "held", "session": 1, "held": 9 }), "the packet is not held any more"),
        (
            json!({ "do": "send", "session": 1, "to": "server", "packet": "chat" }),
            "there must be `fields` or a `body`",
        ),
        (
            json!({ "do": "send", "session": 1, "to": "server", "body": "AQFh", "interval": "5x" }),
            "invalid duration",
        ),
        (
            json!({ "do": "send", "session": 1, "to": "server", "body": "AQFh", "times": 0 }),
            "1 to 100000 times",
        ),
    ] {
        let answer = room.ask(me, request);
        let message = answer["error"]["message"].as_str().unwrap();
        assert!(message.contains(reason), "{message}");
    }
    let answer = room.ask(me, json!({ "do": "break", "where": "chat and mesage == 1" }));
    assert_eq!(
        answer["error"],
        json!({
            "message": answer["error"]["message"], "start": 9, "end": 15,
            "hint": "did you mean `message`?", "path": null,
        })
    );
}
