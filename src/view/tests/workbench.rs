//! Rewritten packets as one row, colours, charts, and what people have sent.

use std::sync::Arc;

use serde_json::json;

use crate::store::{Store, StoreOptions};
use crate::view::{
    Chart, Highlight, HighlightColor, HighlightError, Highlights, List, RoundTrip, replies,
    sent_packets,
};
use mitmcraft_engine::capture::{Entry, Record};
use mitmcraft_engine::lang::Expr;
use mitmcraft_protocol::codec::Frame;
use mitmcraft_protocol::packet::{Content, Context, Origin, Outcome, Packet, Timestamp};
use mitmcraft_protocol::schema::{Catalog, Direction, State, Value};

/// A store, and what is recorded in its session.
struct Recording {
    store: Arc<Store>,
    context: Arc<Context>,
    packets: u64,
}

impl Recording {
    fn new() -> Self {
        let protocol = Catalog::embedded().find(47).unwrap().protocol;
        let client = ([127, 0, 0, 1], 50000).into();
        let context = Arc::new(Context::new(1, Timestamp(0), client, protocol));
        Self { store: Arc::new(Store::new(StoreOptions::whole())), context, packets: 0 }
    }

    /// Records a packet at a time in milliseconds. Returns its row.
    fn record(
        &mut self,
        millis: u64,
        way: Direction,
        name: &str,
        fields: &serde_json::Value,
    ) -> u64 {
        self.put(millis, way, name, fields, |record| record)
    }

    fn put(
        &mut self,
        millis: u64,
        way: Direction,
        name: &str,
        fields: &serde_json::Value,
        change: impl FnOnce(Record) -> Record,
    ) -> u64 {
        let protocol = &self.context.protocol;
        let kind = protocol.named(State::Play, way, name).unwrap();
        let body = protocol.encode(kind, &Value::from_json(fields)).unwrap();
        let content = Content::Frame(Frame::from_body(body.into()));
        let (context, at) = (Arc::clone(&self.context), Timestamp(millis * 1_000_000));
        let packet = Packet::new(context, self.packets + 1, at, way, State::Play, content);
        self.store.push(&Entry::Packet(change(Record::passed(packet))));
        self.packets += 1;
        self.packets - 1
    }

    fn chat(&mut self, millis: u64, text: &str) -> u64 {
        self.record(millis, Direction::Serverbound, "chat", &json!({ "message": text }))
    }

    /// Records a packet that the proxy sends.
    fn sent(&mut self, millis: u64, text: &str, of: Option<u64>, comment: Option<&str>) -> u64 {
        let fields = json!({ "message": text });
        self.put(millis, Direction::Serverbound, "chat", &fields, |mut record| {
            record.packet.set_origin(Origin::Proxy);
            let comment = comment.map(str::to_owned);
            Record { outcome: Outcome::Send, of, comment, ..record }
        })
    }

    fn list(&self) -> List {
        let mut list = List::new(Arc::clone(&self.store));
        while list.advance(1000) {}
        list
    }
}

fn rows(list: &List) -> Vec<u64> {
    list.rows(0, 100).collect()
}

fn expr(text: &str) -> Expr {
    Expr::parse(text, Catalog::embedded()).unwrap().0
}

#[test]
fn a_rewritten_packet_and_what_was_sent_in_its_place_are_one_row_until_something_is_looked_for() {
    let mut recording = Recording::new();
    recording.chat(0, "before");
    let fields = json!({ "message": "as it came" });
    let way = Direction::Serverbound;
    let original = recording
        .put(1, way, "chat", &fields, |record| Record { outcome: Outcome::Rewrite, ..record });
    recording.chat(1, "another one in between");
    let sent = recording.sent(1, "as it went", Some(original + 1), None);
    let alone = recording.sent(2, "nothing came", None, Some("sent by hand"));
    let mut list = recording.list();
    let snapshot = list.snapshot();
    assert_eq!(snapshot.counterpart(original), Some(sent));
    assert_eq!(snapshot.counterpart(sent), Some(original));
    assert_eq!([snapshot.counterpart(0), snapshot.counterpart(alone)], [None, None]);
    list.fold(true);
    assert_eq!(rows(&list), [0, 1, 2, alone]);
    list.set_filter(Some(expr("chat.message contains \"went\"")));
    assert_eq!(rows(&list), [sent]);
    list.set_filter(None);
    assert_eq!(rows(&list), [0, 1, 2, alone]);
    assert_eq!(list.orders(), 0, "whoever sets a filter knows that there are other rows");
    list.search(Some(expr("chat.message contains \"went\"")));
    assert_eq!((rows(&list), list.orders()), (vec![0, 1, 2, sent, alone], 1));
    assert_eq!(list.search_matches().unwrap().count(), 1);
    list.search(None);
    assert_eq!((rows(&list), list.orders()), (vec![0, 1, 2, alone], 2));
    list.fold(false);
    assert_eq!(rows(&list), [0, 1, 2, sent, alone]);
}

#[test]
fn packets_have_the_colour_of_the_first_expression_that_they_match() {
    let catalog = Catalog::embedded();
    let mut recording = Recording::new();
    let chat = recording.chat(0, "hello");
    let sent = recording.sent(0, "made", None, Some("sent by hand"));
    let health = json!({ "health": 20.0, "food": 20, "foodSaturation": 5.0 });
    let other = recording.record(0, Direction::Clientbound, "update_health", &health);
    let snapshot = recording.store.snapshot();
    let of = |highlights: &Highlights| {
        [chat, sent, other].map(|row| highlights.of(&snapshot.record(row).unwrap()))
    };
    let (green, purple) = (Some(HighlightColor::Green), Some(HighlightColor::Purple));
    assert_eq!(of(&Highlights::usual(catalog)), [green, purple, None]);
    let own = ["yellow: update_health", "blue : chat or update_health"];
    let own = own.map(|text| Highlight::parse(text, catalog).unwrap());
    let own = Highlights::new(own.into(), catalog).unwrap();
    let (blue, yellow) = (Some(HighlightColor::Blue), Some(HighlightColor::Yellow));
    assert_eq!(of(&own), [blue, blue, yellow]);
    let wrong = |text| Highlight::parse(text, catalog).unwrap_err();
    assert_eq!(wrong("chat"), HighlightError::Form);
    assert_eq!(wrong("pink: chat"), HighlightError::Color("pink".to_owned()));
    assert!(matches!(wrong("red: chta"), HighlightError::Condition(_)));
}

#[test]
fn a_chart_counts_expressions_and_measures_round_trips_in_slices() {
    let catalog = Catalog::embedded();
    let mut recording = Recording::new();
    for number in 0..100 {
        recording.chat(number * 100, "every 100 ms");
    }
    for (asked, answered) in [(1000, 1040), (6000, 6020), (6010, 6050), (6051, 6052)] {
        let fields = json!({ "keepAliveId": asked });
        recording.record(asked, Direction::Clientbound, "keep_alive", &fields);
        recording.record(answered, Direction::Serverbound, "keep_alive", &fields);
    }
    let list = recording.list();
    let mut chart = Chart::new(&list, vec![expr("chat"), expr("clientbound")], catalog);
    let mut slices = 0;
    while !chart.advance(10) {
        slices += 1;
    }
    assert!(slices > 10, "{slices}");
    let data = chart.data();
    assert_eq!((data.begin, data.step), (Some(0.0), 0.05));
    let [chats, clientbound] = &data.series[..] else { panic!("two series") };
    assert_eq!((&*chats.name, chats.packets.len()), ("chat", 199));
    assert_eq!(chats.packets.iter().sum::<u64>(), 100);
    assert_eq!(chats.packets[..4], [1, 0, 1, 0]);
    assert_eq!(clientbound.packets.iter().sum::<u64>(), 4);
    assert!(clientbound.wire[20] > 0);
    // Two were answered from 6050 ms on: the slowest counts.
    let near =
        |place: usize, took: f64| data.trips[place].is_some_and(|it| (it - took).abs() < 1e-6);
    assert!(near(20, 0.04) && near(120, 0.02) && near(121, 0.04), "{:?}", data.trips);
    assert_eq!(data.trips.iter().flatten().count(), 3);
    // Of nothing.
    let mut none = Chart::new(&Recording::new().list(), vec![expr("chat")], catalog);
    while !none.advance(10) {}
    assert_eq!((none.data().begin, none.data().trips.len()), (None, 0));
}

#[test]
fn what_people_have_sent_is_listed_with_what_came_back_within_a_second() {
    let mut recording = Recording::new();
    recording.sent(0, "by a rule", None, Some("rule `x`"));
    let sent = recording.sent(1000, "by a person", None, Some("packet 3 again, sent by hand"));
    recording.chat(1100, "the other way");
    let fields = json!({ "message": "{\"text\":\"yes\"}", "position": 0 });
    let reply = recording.record(1900, Direction::Clientbound, "chat", &fields);
    recording.record(2001, Direction::Clientbound, "chat", &fields);
    // A person edits one that is held.
    let edited = recording.put(
        2002,
        Direction::Serverbound,
        "chat",
        &json!({ "message": "held" }),
        |record| {
            let comment = Some("held for 1.5 s, then edited".to_owned());
            Record { outcome: Outcome::Rewrite, comment, ..record }
        },
    );
    let own = recording.sent(2003, "edited", Some(edited + 1), None);
    let mut all = sent_packets(Arc::clone(&recording.store), Catalog::embedded());
    while all.advance(1000) {}
    assert_eq!(rows(&all), [sent, edited]);
    assert_eq!(recording.store.snapshot().counterpart(edited), Some(own));
    assert_eq!(replies(&recording.store.snapshot(), sent), [reply]);
}

#[test]
fn a_peer_that_asks_without_an_end_does_not_hold_up_the_details_of_a_packet() {
    for (others, found) in [(999, true), (1000, false)] {
        let mut recording = Recording::new();
        let ask = |recording: &mut Recording, way, id: i32| {
            recording.record(1, way, "keep_alive", &json!({ "keepAliveId": id }))
        };
        let row = ask(&mut recording, Direction::Clientbound, 1);
        for other in 0..others {
            ask(&mut recording, Direction::Clientbound, 2 + other);
        }
        let answer = ask(&mut recording, Direction::Serverbound, 1);
        let trip = RoundTrip::of(&recording.store.snapshot(), row);
        assert_eq!(trip.map(|it| it.row), found.then_some(answer), "{others}");
    }
}
