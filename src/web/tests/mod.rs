mod editing;
mod map;
mod server;
mod subscription;
mod viewer;

use std::path::Path;
use std::sync::Arc;

use serde_json::{Value as Json, json};

use crate::store::{Limit, Store, StoreOptions};
use crate::view::protocol::{Message, Push, Query};
use crate::view::tests::checked_answer;
use crate::view::words;
use crate::web::{Viewer, rules};
use mitmcraft_engine::capture::{Entry, Event, EventKind, LegState, Record, Summary, open_capture};
use mitmcraft_protocol::codec::Frame;
use mitmcraft_protocol::packet::{Content, Context, Packet, Timestamp};
use mitmcraft_protocol::schema::{Catalog, Direction, State, Value};

/// Asks as a page does, with requests and answers as JSON.
trait Ask {
    fn ask(&mut self, request: &Json) -> Json;

    /// Advances until everything is found, and returns what is pushed.
    fn settle(&mut self) -> Vec<Json>;
}

impl Ask for Viewer {
    fn ask(&mut self, request: &Json) -> Json {
        let message = match Query::read(&request.to_string()) {
            Ok(Query { id, request }) => Message::answer(id, self.handle(request)),
            Err((id, error)) => Message::Error { id, error },
        };
        checked_answer(request, as_json(&message))
    }

    fn settle(&mut self) -> Vec<Json> {
        let mut pushes: Vec<Push> = Vec::new();
        while self.advance(&mut pushes) {}
        pushes.into_iter().map(|push| as_json(&Message::Push(push))).collect()
    }
}

fn as_json(message: &Message) -> Json {
    serde_json::from_str(&message.to_json()).unwrap()
}

/// A store with packets of session 1: for every hundred, one chat message and 99 time updates.
fn store(packets: u64) -> Arc<Store> {
    let store = Store::new(StoreOptions::whole());
    fill(&store, 0, packets);
    store.set_complete();
    Arc::new(store)
}

/// A store with the packets of a sample capture.
fn captured(name: &str) -> Arc<Store> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("captures").join(name);
    let store = Store::new(StoreOptions::whole());
    for entry in open_capture(&path, Catalog::embedded()).unwrap() {
        store.push(&entry.unwrap());
    }
    store.set_complete();
    Arc::new(store)
}

fn fill(store: &Store, from: u64, to: u64) {
    let protocol = Catalog::embedded().find(47).unwrap().protocol;
    let context = Arc::new(Context {
        upstream: "mc.example.org:25565".to_owned(),
        player: Some("<b>Notch</b>".to_owned()),
        version: Some(47),
        ..Context::new(1, Timestamp(START), ([127, 0, 0, 1], 50000).into(), Arc::clone(&protocol))
    });
    for number in from..to {
        let (direction, name, fields) = match number % 100 {
            0 => (
                Direction::Clientbound,
                "chat",
                json!({ "message": format!("{{\"text\":\"Hello {number}\",\"color\":\"red\"}}"),
                    "position": 0 }),
            ),
            _ => (Direction::Clientbound, "update_time", json!({ "age": number, "time": 0 })),
        };
        let packet = protocol.named(State::Play, direction, name).unwrap();
        let body = protocol.encode(packet, &Value::from_json(&fields)).unwrap();
        let (context, at) = (Arc::clone(&context), Timestamp(START + number * 1_000_000));
        let content = Content::Frame(Frame::from_body(body.into()));
        let packet = Packet::new(context, number + 1, at, direction, State::Play, content);
        store.push(&Entry::Packet(Record::passed(packet)));
    }
}

/// 2026-11-20T12:00:00Z.
const START: u64 = 1_795_176_000_000_000_000;
