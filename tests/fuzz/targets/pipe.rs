//! A program that decides on packets: whatever it writes, and whenever it ends, each question is answered once,
//! every byte of the peers is recorded once, packets stay in order, and the session ends.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use mitmcraft_engine::capture::{Entry, EventKind, Outcome};
use mitmcraft_engine::filter::Pipeline;
use mitmcraft_engine::lang::Expr;
use mitmcraft_engine::link::{
    Asking, Engine as _, Input, Otherwise, Output, PerSide, Side, Upstream,
};
use mitmcraft_engine::pipe::{Broker, BrokerAction};
use mitmcraft_engine::session::{Config, Session, Start};
use mitmcraft_protocol::codec::{Leg, Unit};
use mitmcraft_protocol::packet::{Cause, Timestamp};
use mitmcraft_protocol::schema::{Catalog, State, Value};

use super::Features;
use super::bytes::Bytes;

pub fn run(input: &[u8]) -> Features {
    let mut features = Features::default();
    let mut input = Bytes(input);
    let mut run = Run::new(input.u8());
    while !input.is_empty() && !run.session.is_over() {
        run.step(&mut input);
        run.settle(&mut features);
    }
    run.finish(&mut features);
    features
}

/// A session in the game, and its program.
struct Run {
    session: Session,
    broker: Broker,
    peers: PerSide<Leg>,
    sent: PerSide<usize>,
    closed: PerSide<bool>,
    now: Timestamp,
    /// Numbers the packets of the peers.
    number: i64,
    /// The questions of the session that have no answer.
    asked: HashSet<u64>,
    /// The ids of questions that the program has read.
    read: VecDeque<u64>,
    entries: Vec<Entry>,
}

impl Run {
    fn new(options: u8) -> Self {
        let otherwise = if options & 1 == 0 { Otherwise::Pass } else { Otherwise::Close };
        let condition = CONDITIONS[usize::from(options >> 1) % CONDITIONS.len()];
        let (condition, _) = Expr::parse(condition, Catalog::embedded()).unwrap();
        let mut config = Config::default();
        config.asking = Some(Asking { condition, otherwise });
        let now = Timestamp(1_700_000_000_000_000_000);
        let start = Start {
            session: 7,
            at: now,
            client: ([127, 0, 0, 1], 50_000).into(),
            upstream: Upstream { host: "mc.example.org".into(), port: 25_565 },
        };
        let session = Session::new(Arc::new(config), start, Pipeline::default()).unwrap();
        let mut run = Self {
            session,
            broker: Broker::new(Duration::from_secs(1)),
            peers: PerSide::from_fn(|_| Leg::default()),
            sent: PerSide::default(),
            closed: PerSide::default(),
            now,
            number: 0,
            asked: HashSet::new(),
            read: VecDeque::new(),
            entries: Vec::new(),
        };
        run.handle(Input::Connected(([127, 0, 0, 1], 25_565).into()));
        run.say(
            Side::Client,
            State::Handshaking,
            "set_protocol",
            &[
                ("protocolVersion", 47.into()),
                ("serverHost", "localhost".into()),
                ("serverPort", 25_565.into()),
                ("nextState", 2.into()),
            ],
        );
        run.say(Side::Client, State::Login, "login_start", &[("username", "Steve".into())]);
        let uuid = Value::from("b50ad385-829d-3141-a216-7e7d7539ba7f");
        let fields = [("uuid", uuid), ("username", "Steve".into())];
        run.say(Side::Server, State::Login, "success", &fields);
        run.settle(&mut Features::default());
        run
    }

    fn step(&mut self, input: &mut Bytes<'_>) {
        self.number += 1;
        let number = self.number;
        match input.u8() % 9 {
            0 => self.say(Side::Client, State::Play, "chat", &[("message", text(number))]),
            1 => {
                let fields = [("message", text(number)), ("position", 0.into())];
                self.say(Side::Server, State::Play, "chat", &fields);
            }
            2 => {
                let side = if input.u8() & 1 == 0 { Side::Client } else { Side::Server };
                let fields = [("keepAliveId", Value::Int(number))];
                self.say(side, State::Play, "keep_alive", &fields);
            }
            3 => self.broker.on_output(self.now, input.chunk()),
            4 => {
                // An answer to a question that it has read.
                let place = usize::from(input.u8());
                let id = self.read.remove(place.min(self.read.len().saturating_sub(1)));
                let mut line = format!("{{\"id\":{},", id.unwrap_or(number as u64)).into_bytes();
                line.extend_from_slice(input.chunk());
                line.extend_from_slice(b"}\n");
                self.broker.on_output(self.now, &line);
            }
            5 => {
                self.now = self.now.plus(Duration::from_millis(10 * u64::from(input.u8())));
                if self.broker.poll_timeout().is_some_and(|due| due <= self.now) {
                    self.broker.on_timeout(self.now);
                }
                if self.session.poll_timeout().is_some_and(|due| due <= self.now) {
                    self.handle(Input::Timeout);
                }
            }
            6 => self.broker.on_errors(self.now, input.chunk()),
            7 => self.broker.on_end(self.now, "exit status: 1".to_owned()),
            _ => {
                let side = if input.u8() & 1 == 0 { Side::Client } else { Side::Server };
                if !std::mem::replace(&mut self.closed[side], true) {
                    self.handle(Input::Closed(side));
                }
            }
        }
    }

    /// A peer sends a packet, unless it has closed.
    fn say(&mut self, side: Side, state: State, name: &str, fields: &[(&str, Value)]) {
        if self.closed[side] || self.session.is_over() {
            return;
        }
        let protocol = Catalog::embedded().find(47).unwrap().protocol;
        let packet = protocol.named(state, side.sends(), name).unwrap();
        let body = protocol.encode(packet, &Value::map(fields.iter().cloned())).unwrap();
        let encoder = &mut self.peers[side].encoder;
        encoder.send(&body);
        let bytes = encoder.pending().to_vec();
        encoder.advance(bytes.len());
        self.sent[side] += bytes.len();
        self.handle(Input::Received(side, &bytes));
    }

    fn handle(&mut self, input: Input<'_>) {
        self.session.handle(self.now, input);
    }

    /// Does what the session and the broker want.
    fn settle(&mut self, features: &mut Features) {
        loop {
            while let Some(output) = self.session.poll_output() {
                if let Output::Notice(notice) = output {
                    features.say(format!("{notice:?}"));
                }
            }
            while let Some(question) = self.session.poll_question() {
                assert!(self.asked.insert(question.number), "asked twice");
                self.broker.ask(self.now, 7, question);
            }
            let lines = String::from_utf8(self.broker.pending().to_vec()).unwrap();
            self.broker.advance(self.now, lines.len());
            for line in lines.lines() {
                let line: serde_json::Value = serde_json::from_str(line).unwrap();
                self.read.push_back(line["id"].as_u64().unwrap());
            }
            let Some(action) = self.broker.poll_action() else { break };
            match action {
                BrokerAction::Start => self.broker.on_started(self.now),
                BrokerAction::Kill => self.read.clear(),
                BrokerAction::Answer { session, number, ruling } => {
                    assert_eq!(session, 7);
                    assert!(self.asked.remove(&number), "{number} was answered twice");
                    features.see(("ruled", ruling.is_ok()));
                    self.handle(Input::Ruled(number, ruling));
                }
                BrokerAction::Report { fault, .. } => features.say(fault),
                BrokerAction::Say(line) => {
                    assert!(!line.contains('\n'), "{line:?}");
                }
                action => panic!("{action:?}"),
            }
        }
        assert_eq!(self.broker.outstanding(), self.asked.len());
        for side in Side::ALL {
            let pending = self.session.pending(side);
            let decoder = &mut self.peers[side].decoder;
            decoder.receive(pending);
            while let Some(unit) = decoder.poll() {
                assert!(matches!(unit, Unit::Frame(_)), "a peer cannot read {unit:?}");
            }
            let count = pending.len();
            self.session.advance(side, count);
        }
        self.session.take_entries(&mut self.entries);
    }

    /// Ends the session and then the program, and checks what was recorded.
    fn finish(&mut self, features: &mut Features) {
        self.handle(Input::Stop(Cause::new("stopped")));
        self.settle(features);
        assert!(self.session.is_over());
        self.broker.on_end(self.now, "exit status: 0".to_owned());
        self.settle(features);
        assert!(self.asked.is_empty(), "without an answer: {:?}", self.asked);
        let mut came = PerSide::<usize>::default();
        let mut passed = PerSide::<i64>::default();
        let (mut last, mut closes) = (0, 0);
        for entry in &self.entries {
            let record = match entry {
                Entry::Packet(record) => record,
                Entry::Event(event) => {
                    closes += usize::from(matches!(event.kind, EventKind::Close(_)));
                    continue;
                }
            };
            let packet = &record.packet;
            let side = Side::from(packet.direction());
            assert!(packet.seq() > last, "numbers rise");
            last = packet.seq();
            if record.outcome.came() {
                came[side] += packet.wire_size();
            }
            features.see((side.name(), record.outcome.name(), record.notes.is_some()));
            if let Some(comment) = &record.comment {
                features.say(comment);
            }
            // Keep-alives overtake; nothing else does.
            let chat = packet.kind().is_some_and(|kind| &**kind.name() == "chat");
            if chat && record.outcome == Outcome::Pass {
                let number = number(&packet.value().unwrap());
                assert!(number > passed[side], "{number} after {}", passed[side]);
                passed[side] = number;
            }
        }
        assert_eq!(closes, 1);
        for side in Side::ALL {
            assert_eq!(came[side], self.sent[side], "bytes of the {}", side.name());
        }
    }
}

fn text(number: i64) -> Value {
    Value::from(format!("{{\"text\":\"{number}\"}}").as_str())
}

fn number(chat: &Value) -> i64 {
    let text = chat.get("message").and_then(Value::as_text).unwrap();
    text.split('"').nth(3).and_then(|number| number.parse().ok()).unwrap()
}

/// Which packets the program is asked about.
const CONDITIONS: [&str; 4] = ["chat", "chat and serverbound", "play", "pkt.size > 0"];

pub fn seeds() -> Vec<Vec<u8>> {
    let chunk = |bytes: &[u8]| [&[0, bytes.len() as u8][..], bytes].concat();
    let answers = |answers: &[&str]| {
        let answer = |answer: &&str| [&[0, 4, 0][..], &chunk(answer.as_bytes())].concat();
        answers.iter().flat_map(answer).collect::<Vec<u8>>()
    };
    vec![
        [&[0][..], &answers(&["\"pass\":true", "\"drop\":true"])].concat(),
        [&[0][..], &answers(&["\"set\":{\"message\":\"hi\"}", "\"set\":{\"x\":1}"])].concat(),
        [
            &[2][..],
            &answers(&[
                "\"replace\":{\"fields\":{\"message\":\"a\"}}",
                "\"replace\":{\"hex\":\"01 02 6869\"}",
                "\"send\":[{\"to\":\"client\",\"packet\":\"chat\",\"fields\":{\"message\":\"b\",\"position\":0}}]",
            ]),
        ]
        .concat(),
        // Several wait, are answered the other way round, and one is too slow.
        [&[0, 0, 1, 0, 2, 1, 4, 2][..], &chunk(b"\"pass\":true"), &[5, 200, 5, 200, 0, 1]].concat(),
        // It ends, with something on stderr, and is started again.
        [&[1, 0, 6][..], &chunk(b"oh no\n"), &[7, 0, 5, 100, 0]].concat(),
        // Not an answer, a line in two pieces, and a peer that closes.
        [&[0, 0, 3][..], &chunk(b"hello\n"), &[0, 3], &chunk(b"{\"id\":"), &[3], &chunk(b"1}\n")]
            .concat(),
        [&[4, 0, 8, 0, 1, 8, 1, 4, 0][..], &chunk(b"\"drop\":true")].concat(),
    ]
}

pub const WORDS: &[&str] = &[
    "\"pass\":true",
    "\"drop\":true",
    "\"set\":{\"message\":\"x\"}",
    "\"replace\":{\"packet\":\"chat\",\"fields\":{}}",
    "\"hex\":\"00\"",
    "\"send\":[",
    "{\"to\":\"server\",",
    "\"place\":\"before\"",
    "\"keep_alive\"",
    "\"id\":",
    "\n",
    "null",
];
