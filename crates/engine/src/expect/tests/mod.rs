mod fields;
mod formats;
mod page;
mod sessions;

use std::sync::Arc;
use std::time::Duration;

use super::*;
use crate::capture::{Entry, Event, EventKind, Outcome as Fate, Record, Sink as _, Summary};
use crate::filter::RuleSet;
use crate::report::{Report as _, Verdict, github, junit};
use crate::text::LineOptions;
use mitmcraft_protocol::codec::Frame;
use mitmcraft_protocol::packet::{Content, Context, Origin, Packet, Timestamp};
use mitmcraft_protocol::schema::{Catalog, Direction, State, Value};

/// A session of 1.8 under construction.
struct Script {
    context: Arc<Context>,
    at: Timestamp,
    seq: u64,
    entries: Vec<Entry>,
}

impl Script {
    /// Opens a session at this many milliseconds.
    fn open(session: u64, millis: u64) -> Self {
        let at = Timestamp(millis * 1_000_000);
        let protocol = Catalog::embedded().find(47).unwrap().protocol;
        let context = Context {
            player: Some("Steve".into()),
            version: Some(47),
            ..Context::new(session, at, ([127, 0, 0, 1], 50000).into(), protocol)
        };
        let mut script = Self { context: Arc::new(context), at, seq: 0, entries: Vec::new() };
        script.event(EventKind::Open);
        script
    }

    fn event(&mut self, kind: EventKind) {
        let context = Arc::clone(&self.context);
        self.entries.push(Entry::Event(Event { context, at: self.at, kind }));
    }

    fn wait(&mut self, millis: u64) -> &mut Self {
        self.at = self.at.plus(Duration::from_millis(millis));
        self
    }

    fn packet(
        &mut self,
        direction: Direction,
        state: State,
        name: &str,
        fields: &Value,
    ) -> &mut Record {
        let protocol = &self.context.protocol;
        let kind = protocol.named(state, direction, name).unwrap();
        let body = protocol.encode(kind, fields).unwrap();
        self.seq += 1;
        let content = Content::Frame(Frame::from_body(body.into()));
        let context = Arc::clone(&self.context);
        let mut packet = Packet::new(context, self.seq, self.at, direction, state, content);
        packet.set_origin(Origin::of(direction));
        self.entries.push(Entry::Packet(Record::passed(packet)));
        let Some(Entry::Packet(record)) = self.entries.last_mut() else { unreachable!() };
        record
    }

    /// The server lets the player in.
    fn success(&mut self) -> &mut Self {
        let fields = Value::map([
            ("uuid", "069a79f4-44e9-4726-a5be-fca90e38aaf5".into()),
            ("username", "Steve".into()),
        ]);
        self.packet(Direction::Clientbound, State::Login, "success", &fields);
        self
    }

    /// The server sends a keep-alive.
    fn ask(&mut self, id: i64) -> &mut Self {
        let fields = Value::map([("keepAliveId", Value::Int(id))]);
        self.packet(Direction::Clientbound, State::Play, "keep_alive", &fields);
        self
    }

    /// The client answers a keep-alive.
    fn answer(&mut self, id: i64) -> &mut Self {
        let fields = Value::map([("keepAliveId", Value::Int(id))]);
        self.packet(Direction::Serverbound, State::Play, "keep_alive", &fields);
        self
    }

    /// The client writes; the body has 2 bytes more than the text.
    fn say(&mut self, text: &str) -> &mut Self {
        let fields = Value::map([("message", text.into())]);
        self.packet(Direction::Serverbound, State::Play, "chat", &fields);
        self
    }

    /// The session ends.
    fn close(&mut self) -> Vec<Entry> {
        let reason = "the client left".to_owned();
        self.event(EventKind::Close(Summary {
            reason,
            serverbound_packets: 0,
            clientbound_packets: 0,
            serverbound_bytes: 0,
            clientbound_bytes: 0,
        }));
        std::mem::take(&mut self.entries)
    }
}

fn set(text: &str) -> RuleSet {
    let checked = RuleSet::parse(text, Catalog::embedded());
    let faults: Vec<String> = checked.faults.iter().map(|fault| fault.render("f")).collect();
    checked.rules.unwrap_or_else(|| panic!("{}", faults.join("\n")))
}

/// Judges entries by a file.
fn report(text: &str, entries: &[Entry]) -> ExpectReport {
    let set = set(text);
    let mut judge = Judge::new([("tests.toml", &set)]);
    entries.iter().for_each(|entry| judge.write(entry).unwrap());
    judge.finish().unwrap();
    judge.report()
}

/// Judges entries by one expectation, given without its header. Returns the numbers of judgements that
/// passed and failed, and the reasons of failures.
fn judged(expect: &str, entries: &[Entry]) -> (u64, u64, Vec<String>) {
    let report = report(&format!("[[expect]]\n{expect}\n"), entries);
    let [outcome] = &report.outcomes[..] else { panic!("{report:?}") };
    let reasons = outcome.failures.iter().map(|it| it.reason.clone()).collect();
    (outcome.passed, outcome.failed, reasons)
}

fn passes(expect: &str, entries: &[Entry]) {
    let (passed, failed, reasons) = judged(expect, entries);
    assert!(passed > 0 && failed == 0, "{expect}: {reasons:?}");
}

fn fails(expect: &str, entries: &[Entry], reason: &str) {
    let (_, failed, reasons) = judged(expect, entries);
    assert_eq!((failed, &reasons[..]), (1, &[reason.to_owned()][..]), "{expect}");
}
