//! Sessions live and offline, and the comparison of their records.

use std::io::Cursor;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use proptest::prelude::*;
use serde_json::Value as Json;

use super::scripts::{Act, Script};
use crate::capture::{Entry, JsonlSink, Sink as _, read_capture};
use crate::filter::{Pipeline, RuleSet};
use crate::link::{Engine as _, Input, KeyMaterial, Output, PerSide, Side, Upstream};
use crate::query::{Kind, Relay, RelayOptions, Request};
use crate::replay::FilterReplay;
use crate::session::tests::key;
use crate::session::{Config, Session, Start};
use mitmcraft_protocol::codec::{Leg, Limits};
use mitmcraft_protocol::packet::{Cause, Timestamp};
use mitmcraft_protocol::schema::Catalog;

impl Script {
    /// Runs the session live with these rules.
    pub(super) fn live(&self, rules: &str) -> Vec<Entry> {
        let mut live = Live::new(self, rules);
        for step in &self.steps {
            live.pass(step.after);
            live.act(&step.act);
        }
        live.pass(60_000);
        live.entries
    }
}

fn pipeline(rules: &str) -> Pipeline {
    let mut pipeline = Pipeline::default();
    pipeline.push(Box::new(set(rules).filter()));
    pipeline
}

fn set(rules: &str) -> RuleSet {
    let checked = RuleSet::parse(rules, Catalog::embedded());
    let faults: Vec<String> = checked.faults.iter().map(|fault| fault.render("f")).collect();
    checked.rules.unwrap_or_else(|| panic!("{}", faults.join("\n")))
}

fn start() -> Timestamp {
    Timestamp::parse("2026-01-01T00:00:00Z").unwrap()
}

struct Live {
    session: Session,
    peers: PerSide<Leg>,
    now: Timestamp,
    entries: Vec<Entry>,
}

impl Live {
    fn new(script: &Script, rules: &str) -> Self {
        let config = Config { keep_host: script.keep_host, ..Config::default() };
        let start = Start {
            session: 7,
            at: start(),
            client: "127.0.0.1:50000".parse().unwrap(),
            upstream: Upstream { host: "mc.example.org".into(), port: 25565 },
        };
        let now = start.at;
        let session = Session::new(Arc::new(config), start, pipeline(rules)).unwrap();
        let peers = PerSide::from_fn(|_| Leg::new(Limits::default()));
        let mut live = Self { session, peers, now, entries: Vec::new() };
        live.handle(if script.refused {
            Input::Refused(Cause::new("connection refused"))
        } else {
            Input::Connected("127.0.0.1:25565".parse().unwrap())
        });
        live
    }

    /// Advances the time to that of the next step.
    fn pass(&mut self, milliseconds: u64) {
        let until = self.now.plus(Duration::from_millis(milliseconds));
        while let Some(due) = self.session.poll_timeout().filter(|due| *due <= until) {
            self.now = self.now.max(due);
            self.handle(Input::Timeout);
        }
        self.now = until;
    }

    fn act(&mut self, act: &Act) {
        match act {
            Act::Say(side, body) => {
                self.peers[*side].encoder.send(body);
                let bytes = self.peers[*side].encoder.pending().to_vec();
                self.peers[*side].encoder.advance(bytes.len());
                self.handle(Input::Received(*side, &bytes));
            }
            Act::Put(side, bytes) => self.handle(Input::Received(*side, bytes)),
            Act::Compress(threshold) => {
                self.peers.client.set_compression(Some(*threshold));
                self.peers.server.set_compression(Some(*threshold));
            }
            Act::Encrypt(body) => {
                self.act(&Act::Say(Side::Client, body.clone()));
                self.peers.client.set_cipher(b"client's secret!");
                self.peers.server.set_cipher(b"client's secret!");
            }
            Act::Close(side) => self.handle(Input::Closed(*side)),
        }
    }

    fn handle(&mut self, input: Input<'_>) {
        self.session.handle(self.now, input);
        while let Some(output) = self.session.poll_output() {
            if output == Output::GenerateKey {
                let (key, secret) = (key(1), *b"upstream secret!");
                let material = KeyMaterial { key, secret, token: *b"ours", seed: [3; 32] };
                self.session.handle(self.now, Input::Key(Box::new(material)));
            }
        }
        for side in Side::ALL {
            let count = self.session.pending(side).len();
            self.session.advance(side, count);
        }
        self.session.take_entries(&mut self.entries);
    }
}

/// Writes entries as a capture and reads them back, as `replay filters` receives them.
pub(in crate::replay::tests) fn recorded(entries: &[Entry]) -> Vec<Entry> {
    let read = read_capture(Cursor::new(jsonl(entries)), Catalog::embedded()).unwrap();
    read.map(Result::unwrap).collect()
}

fn jsonl(entries: &[Entry]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut sink = JsonlSink::new(&mut bytes);
    entries.iter().for_each(|entry| sink.write(entry).unwrap());
    sink.finish().unwrap();
    drop(sink);
    bytes
}

pub(in crate::replay::tests) fn offline(entries: Vec<Entry>, rules: &str) -> Vec<Entry> {
    let mut replay = FilterReplay::new(vec![set(rules)]);
    let mut result = Vec::new();
    for entry in entries {
        result.extend(replay.handle(entry).entries);
    }
    result.extend(replay.finish().entries);
    result
}

/// Returns the records without their times: an entry that waited for a delay is recorded when the
/// delay is over, and captures do not show that.
fn lines(entries: &[Entry]) -> Vec<String> {
    let bytes = jsonl(entries);
    let text = String::from_utf8(bytes).unwrap();
    let timeless = text.lines().zip(entries).map(|(line, entry)| {
        let mut line: Json = serde_json::from_str(line).unwrap();
        let object = line.as_object_mut().unwrap();
        object.remove("time");
        object.remove("t");
        object.remove("duration");
        let notes = entry.record().and_then(|record| record.notes.as_deref());
        format!("{line} {notes:?}")
    });
    timeless.collect()
}

pub(in crate::replay::tests) fn compare(
    live: &[Entry],
    offline: &[Entry],
    about: &str,
) -> Result<(), TestCaseError> {
    let (live, offline) = (lines(live), lines(offline));
    for (place, pair) in live.iter().zip(&offline).enumerate() {
        prop_assert_eq!(pair.0, pair.1, "entry {}, live and offline, with\n{}", place, about);
    }
    let more = live.get(offline.len()).or_else(|| offline.get(live.len()));
    prop_assert!(
        more.is_none(),
        "{} live, {} offline: {more:?} with\n{about}",
        live.len(),
        offline.len()
    );
    Ok(())
}

/// A session of Query: datagrams of both peers, at these times.
pub(super) fn query(datagrams: &[(bool, u8, u64)], rules: &str) -> Vec<Entry> {
    let server = "127.0.0.1:25565".parse().unwrap();
    let client = "127.0.0.1:50000".parse().unwrap();
    let (upstream, idle) = ("mc.example.org:25565".to_owned(), Duration::from_secs(60));
    let mut relay = Relay::new(RelayOptions { server, upstream, clients: 1, idle });
    let mut now = start();
    for (serverbound, kind, after) in datagrams {
        let until = now.plus(Duration::from_millis(*after));
        while let Some(due) = relay.poll_timeout().filter(|due| *due <= until) {
            relay.handle_timeout(due);
        }
        now = until;
        let request = match kind % 3 {
            0 => Request::Handshake { session: 1 }.encode().unwrap(),
            1 => Request::Stat { kind: Kind::Full, session: 1, token: 7 }.encode().unwrap(),
            _ => b"no query".to_vec(),
        };
        let answer: &[u8] = match kind % 3 {
            0 => b"\x09\0\0\0\x017\0",
            1 => b"\0\0\0\0\x01A\0SMP\0world\x001\x002\0\xdd\x63127.0.0.1\0",
            _ => b"no answer",
        };
        let open = || (7, pipeline(rules));
        // Without a request by the client there is no session.
        if *serverbound || relay.clients() == 0 {
            relay.handle_client(now, client, request.into(), open);
        } else {
            relay.handle_server(now, 7, Bytes::copy_from_slice(answer));
        }
    }
    relay.handle_stop(now.plus(Duration::from_secs(1)), &Cause::new("stopped"));
    relay.take_entries()
}
