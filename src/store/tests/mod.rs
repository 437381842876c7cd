mod archive;
mod details;
mod in_capture;
mod matches;
mod notes;
mod window;

use std::sync::Arc;

use bytes::Bytes;
use serde_json::{Value as Json, json};

use super::{Matches, Selection, Snapshot, Store, StoreOptions, search_expression};
use mitmcraft_engine::capture::{
    Entry, Event, EventKind, LegState, Outcome, Record, Sink as _, Summary,
};
use mitmcraft_engine::lang::Expr;
use mitmcraft_protocol::codec::Frame;
use mitmcraft_protocol::packet::{Content, Context, Origin, Packet, RawReason, Timestamp};
use mitmcraft_protocol::schema::{Catalog, Direction, Protocol, State, Value};

/// Makes the entries of sessions.
struct Maker {
    protocol: Arc<Protocol>,
    context: Arc<Context>,
    seq: u64,
}

impl Maker {
    fn new(session: u64) -> Self {
        let protocol = Catalog::embedded().find(47).unwrap().protocol;
        let context = Context {
            upstream: "localhost:25565".to_owned(),
            player: Some(format!("player{session}")),
            version: Some(47),
            ..Context::new(
                session,
                Timestamp(0),
                ([127, 0, 0, 1], 50000).into(),
                Arc::clone(&protocol),
            )
        };
        Self { protocol, context: Arc::new(context), seq: 0 }
    }

    fn packet(&mut self, direction: Direction, name: &str, fields: &Json) -> Packet {
        let packet = self.protocol.named(State::Play, direction, name).unwrap();
        let body = self.protocol.encode(packet, &Value::from_json(fields)).unwrap();
        self.content(direction, Content::Frame(Frame::from_body(body.into())))
    }

    fn content(&mut self, direction: Direction, content: Content) -> Packet {
        self.seq += 1;
        let (context, at) = (Arc::clone(&self.context), Timestamp(self.seq * 1_000_000));
        Packet::new(context, self.seq, at, direction, State::Play, content)
    }

    fn chat(&mut self, message: &str) -> Entry {
        let fields = json!({ "message": message });
        Entry::Packet(Record::passed(self.packet(Direction::Serverbound, "chat", &fields)))
    }

    fn time(&mut self, age: i64) -> Entry {
        let fields = json!({ "age": age, "time": age });
        Entry::Packet(Record::passed(self.packet(Direction::Clientbound, "update_time", &fields)))
    }

    fn event(&self, kind: EventKind) -> Entry {
        let at = Timestamp(self.seq * 1_000_000);
        Entry::Event(Event { context: Arc::clone(&self.context), at, kind })
    }
}

fn store() -> Store {
    Store::new(StoreOptions::whole())
}

fn expr(text: &str) -> Expr {
    Expr::parse(text, Catalog::embedded()).unwrap().0
}

/// Finds all matches, in slices of `rows`.
fn matches(snapshot: Snapshot, text: &str, rows: usize) -> Matches {
    let selection = Selection { filter: Some(expr(text)), ..Selection::default() };
    let mut matches = Matches::new(selection, snapshot);
    while !matches.advance(rows) {}
    matches
}

/// Returns the numbers of all rows found.
fn rows(matches: &Matches) -> Vec<u64> {
    (0..matches.count()).map(|index| matches.nth(index).unwrap()).collect()
}
