//! One table of cases for all user interfaces: each shows the same packets and finds the same ones.

mod cases;
mod combining;
mod keys;
mod workbench;

use std::sync::Arc;

use cases::{CASES, CasePacket, HELD_CASES, SENT_CASES, TRIP_CASES};
use serde_json::{Value as Json, json};

use crate::control::tests::Room;
use crate::store::{Store, StoreOptions};
use crate::view::{Combination, HighlightColor, List, SLICE, Statistics};
use mitmcraft_engine::capture::{Entry, Event, EventKind, Record};
use mitmcraft_protocol::codec::Frame;
use mitmcraft_protocol::packet::{Content, Context, Origin, Outcome, Packet, Timestamp};
use mitmcraft_protocol::schema::{Catalog, Direction, State, Value};

/// Asserts that a request is answered under its own name, or as done: the page's types rely on it. Returns the
/// answer, which may be an error.
pub(crate) fn checked_answer(request: &Json, answer: Json) -> Json {
    let name = &answer["answer"];
    let named = answer.get("error").is_some() || *name == "done" || *name == request["do"];
    assert!(named, "{request} is answered by {answer}");
    answer
}

/// Drives a user interface as a person does.
pub(crate) trait Driver {
    fn filter(&mut self, text: &str);

    /// Shows one session, or all.
    fn session(&mut self, session: Option<u64>);

    /// Selects a packet of the list.
    fn select(&mut self, row: u64);

    /// Hides the selected packet.
    fn hide(&mut self);

    fn show_hidden(&mut self);

    /// Searches text, from the selected packet on.
    fn search(&mut self, text: &str) -> Option<u64>;

    /// Goes to the next match, or to the previous one.
    fn find(&mut self, back: bool) -> Option<u64>;

    /// Sorts the list by a column, `-` before it for the greatest first; empty for the order of the recording.
    fn sort(&mut self, by: &str);

    /// Goes to the answer to the selected packet, or to what it answers.
    fn answer(&mut self) -> Option<u64>;

    /// Goes to a packet by its number or a time.
    fn go_to(&mut self, text: &str) -> Option<u64>;

    /// Leaves out all packets so far.
    fn clear(&mut self);

    /// Marks the selected packet, or unmarks it.
    fn mark(&mut self);

    /// Goes to the next marked packet, or to the previous one.
    fn next_mark(&mut self, back: bool) -> Option<u64>;

    /// Hides the packets of the selected packet's type, or lists only those.
    fn filter_type(&mut self, only: bool);

    /// Filters by a field of the selected packet. Returns the filter.
    fn filter_by(&mut self, path: &str, how: Combination) -> String;

    /// The numbers of the rows that are listed.
    fn rows(&mut self) -> Vec<u64>;

    /// The lines of the conversation, each with the text at its end.
    fn conversation(&mut self) -> Vec<String>;

    /// The rows of the packets that people have sent.
    fn sent(&mut self) -> Vec<u64>;

    /// The rows of what came back for one of them.
    fn replies(&mut self, row: u64) -> Vec<u64>;

    /// Chooses the series of the timeline, with `;` between them.
    fn series(&mut self, text: &str);

    /// The series of the timeline, and how many packets each has.
    fn chart(&mut self) -> Vec<(String, u64)>;

    /// Chooses the colours of packets, with `;` between them.
    fn colors(&mut self, text: &str);

    /// The name of the colour that a packet of the list has.
    fn color_of(&mut self, row: u64) -> Option<&'static str>;
}

/// Returns the name of the colour for which `has` is true.
pub(crate) fn color_name(has: impl Fn(HighlightColor) -> bool) -> Option<&'static str> {
    HighlightColor::ALL.into_iter().find(|color| has(*color)).map(HighlightColor::name)
}

/// What a person does.
#[derive(Debug)]
pub(super) enum Step {
    Filter(&'static str),
    Session(Option<u64>),
    Select(u64),
    Hide(u64),
    ShowHidden,
    /// From a row, what is searched, and the match.
    Search(u64, &'static str, Option<u64>),
    Next(Option<u64>),
    Previous(Option<u64>),
    Sort(&'static str),
    GoTo(&'static str, Option<u64>),
    /// A packet, and the other one of a request and its answer.
    Answer(u64, Option<u64>),
    Clear,
    Mark(u64),
    NextMark(Option<u64>),
    PreviousMark(Option<u64>),
    /// The packet, the path of its field, how it becomes part of the filter, and the filter then.
    FilterBy(u64, &'static str, Combination, &'static str),
    /// The rows that are listed now.
    Rows(&'static [u64]),
    Conversation(&'static [&'static str]),
    Sent(&'static [u64]),
    /// The row of a packet that a person has sent, and the rows of the packets that count as its replies.
    Replies(u64, &'static [u64]),
    Series(&'static str),
    /// The series, and how many packets each has.
    Chart(&'static [(&'static str, u64)]),
    Colors(&'static str),
    ColorOf(u64, Option<&'static str>),
}

/// Runs all cases with an interface.
pub(crate) fn run<I: Driver>(create: impl Fn(Arc<Store>, Arc<Catalog>) -> I) {
    let catalog = Arc::new(Catalog::embedded().clone());
    let of = |packets: &[CasePacket]| {
        let packets = packets.iter().enumerate();
        store(packets.map(|(row, packet)| (row as u64, *packet, None)))
    };
    let plain = || of(cases::PACKETS);
    let trips = || of(cases::TRIP_PACKETS);
    let sent = || store(cases::SENT_PACKETS.iter().copied());
    let all = CASES.iter().map(|it| (it, plain())).chain(SENT_CASES.iter().map(|it| (it, sent())));
    let all = all.chain(TRIP_CASES.iter().map(|it| (it, trips())));
    for ((name, steps), store) in all {
        let mut interface = create(store, Arc::clone(&catalog));
        for (place, step) in steps.iter().enumerate() {
            let at = format!("{name}, step {place}: {step:?}");
            match *step {
                Step::Filter(text) => interface.filter(text),
                Step::Session(session) => interface.session(session),
                Step::Select(row) => interface.select(row),
                Step::Hide(row) => {
                    interface.select(row);
                    interface.hide();
                }
                Step::ShowHidden => interface.show_hidden(),
                Step::Sort(by) => interface.sort(by),
                Step::Answer(row, other) => {
                    interface.select(row);
                    assert_eq!(interface.answer(), other, "{at}");
                }
                Step::GoTo(text, row) => assert_eq!(interface.go_to(text), row, "{at}"),
                Step::Clear => interface.clear(),
                Step::Mark(row) => {
                    interface.select(row);
                    interface.mark();
                }
                Step::NextMark(found) => assert_eq!(interface.next_mark(false), found, "{at}"),
                Step::PreviousMark(found) => assert_eq!(interface.next_mark(true), found, "{at}"),
                Step::FilterBy(row, path, how, filter) => {
                    interface.select(row);
                    assert_eq!(interface.filter_by(path, how), filter, "{at}");
                }
                Step::Search(from, text, found) => {
                    interface.select(from);
                    assert_eq!(interface.search(text), found, "{at}");
                }
                Step::Next(found) => assert_eq!(interface.find(false), found, "{at}"),
                Step::Previous(found) => assert_eq!(interface.find(true), found, "{at}"),
                Step::Rows(rows) => assert_eq!(interface.rows(), rows, "{at}"),
                Step::Conversation(texts) => {
                    let lines = interface.conversation();
                    let same = lines.iter().zip(texts).all(|(line, text)| line.ends_with(text));
                    assert!(same && lines.len() == texts.len(), "{at}: {lines:#?}");
                }
                Step::Sent(rows) => assert_eq!(interface.sent(), rows, "{at}"),
                Step::Replies(row, rows) => assert_eq!(interface.replies(row), rows, "{at}"),
                Step::Series(text) => interface.series(text),
                Step::Chart(series) => {
                    let series: Vec<_> =
                        series.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect();
                    assert_eq!(interface.chart(), series, "{at}");
                }
                Step::Colors(text) => interface.colors(text),
                Step::ColorOf(row, color) => assert_eq!(interface.color_of(row), color, "{at}"),
            }
        }
    }
}

/// Adds random conditions to random filters in an interface, and compares what it lists with what the parts match.
pub(crate) fn run_combinations<I: Driver>(create: impl Fn(Arc<Store>, Arc<Catalog>) -> I) {
    combining::run(create);
}

/// Drives the part of a user interface that holds packets, as a person does.
pub(crate) trait HeldDriver {
    /// The sessions, and what decides about them.
    fn room(&mut self) -> &mut Room;

    /// Holds packets that match; none if empty.
    fn hold(&mut self, condition: &str);

    /// The session, the fields and the decision of each held packet, as they are listed.
    fn held(&mut self) -> Vec<(u64, String, String)>;

    /// Forwards or drops the packet at a place of the list.
    fn decide(&mut self, place: usize, forward: bool);

    fn forward_all(&mut self);
}

/// What a person does with held packets.
#[derive(Debug)]
pub(super) enum HeldStep {
    Hold(&'static str),
    /// A player says something.
    Say(u64, &'static str),
    /// The packets that are held: their sessions, texts and decisions.
    Held(&'static [(u64, &'static str, &'static str)]),
    Forward(usize),
    Drop(usize),
    ForwardAll,
    /// What the server of a session has got since the last time.
    Got(u64, &'static [&'static str]),
}

/// Runs all cases of held packets with an interface.
pub(crate) fn run_held<I: HeldDriver>(create: impl Fn(Room) -> I) {
    for (name, steps) in HELD_CASES {
        let mut interface = create(Room::new());
        for (place, step) in steps.iter().enumerate() {
            let at = format!("{name}, step {place}: {step:?}");
            match *step {
                HeldStep::Hold(condition) => interface.hold(condition),
                HeldStep::Say(session, text) => interface.room().chats(session, text),
                HeldStep::Forward(place) => interface.decide(place, true),
                HeldStep::Drop(place) => interface.decide(place, false),
                HeldStep::ForwardAll => interface.forward_all(),
                HeldStep::Got(session, texts) => {
                    assert_eq!(interface.room().got(session), texts, "{at}");
                }
                HeldStep::Held(packets) => {
                    let held = interface.held();
                    let same = held.iter().zip(packets).all(|(is, wanted)| {
                        let text = format!("message=\"{}\"", wanted.1);
                        is.0 == wanted.0 && is.1.contains(&text) && is.2 == wanted.2
                    });
                    assert!(same && held.len() == packets.len(), "{at}: {held:#?}");
                }
            }
        }
    }
}

/// A store with packets, whose numbers are one more than their rows: their milliseconds, and the comments of those that
/// the proxy has sent.
fn store(packets: impl IntoIterator<Item = (u64, CasePacket, Option<&'static str>)>) -> Arc<Store> {
    let store = Store::new(StoreOptions::whole());
    let context = |session, version| {
        Arc::new(Context {
            upstream: "mc.example.org:25565".to_owned(),
            player: Some("Steve".to_owned()),
            version: Some(version),
            ..Context::new(
                session,
                Timestamp(1_000_000_000),
                ([127, 0, 0, 1], 50000).into(),
                Catalog::embedded().find(version).unwrap().protocol,
            )
        })
    };
    let contexts = [context(1, 47), context(2, 766)];
    for context in &contexts {
        let (context, at) = (Arc::clone(context), context.opened);
        store.push(&Entry::Event(Event { context, at, kind: EventKind::Open }));
    }
    for (row, (millis, (session, direction, name, text), comment)) in (0..).zip(packets) {
        let context = Arc::clone(&contexts[session - 1]);
        let protocol = Arc::clone(&context.protocol);
        let kind = protocol.named(State::Play, direction, name).unwrap();
        let fields = fields(name, direction, text);
        let body = protocol.encode(kind, &Value::from_json(&fields)).unwrap();
        let (number, at) = (row + 1, Timestamp(1_000_000_000 + millis * 1_000_000));
        let content = Content::Frame(Frame::from_body(body.into()));
        let packet = Packet::new(context, number, at, direction, State::Play, content);
        let mut record = Record::passed(packet);
        if comment.is_some() {
            record.packet.set_origin(Origin::Proxy);
            (record.outcome, record.comment) = (Outcome::Send, comment.map(str::to_owned));
        }
        store.push(&Entry::Packet(record));
    }
    store.set_complete();
    Arc::new(store)
}

fn fields(name: &str, direction: Direction, text: &str) -> Json {
    match (name, direction) {
        ("chat", Direction::Serverbound) => json!({ "message": text }),
        ("chat", Direction::Clientbound) => {
            json!({ "message": json!({ "text": text }).to_string(), "position": 0 })
        }
        ("settings", _) => json!({
            "locale": text, "viewDistance": 8, "chatFlags": 0, "chatColors": true, "skinParts": 0,
        }),
        ("keep_alive", _) => json!({ "keepAliveId": text.parse::<i64>().unwrap() }),
        ("chat_command", _) => json!({ "command": text }),
        ("update_health", _) => json!({ "health": 20.0, "food": 20, "foodSaturation": 5.0 }),
        other => panic!("{other:?} has no fields here"),
    }
}

#[test]
fn statistics_are_counted_in_slices_once_the_list_is_complete() {
    let (store, catalog) = (Arc::new(Store::new(StoreOptions::default())), Catalog::embedded());
    let protocol = catalog.find(47).unwrap().protocol;
    let kind = protocol.named(State::Play, Direction::Serverbound, "chat").unwrap();
    let body = protocol.encode(kind, &Value::map([("message", "hello".into())])).unwrap();
    let client = ([127, 0, 0, 1], 50000).into();
    let context = Arc::new(Context::new(1, Timestamp(0), client, Arc::clone(&protocol)));
    let fill = |numbers: std::ops::Range<u64>| {
        for number in numbers {
            let content = Content::Frame(Frame::from_body(body.clone().into()));
            let (context, way) = (Arc::clone(&context), Direction::Serverbound);
            let packet = Packet::new(context, number, Timestamp(number), way, State::Play, content);
            store.push(&Entry::Packet(Record::passed(packet)));
        }
    };
    fill(0..10_000);
    let mut list = List::new(Arc::clone(&store));
    assert!(!list.advance(1));
    let (mut statistics, mut slices) = (Statistics::default(), 1);
    while !statistics.advance(&list, 1) {
        slices += 1;
        assert!(statistics.stats().totals().total().packets < 10_000);
    }
    assert!(slices >= 3, "{slices}");
    assert_eq!(statistics.stats().totals().total().packets, 10_000);
    // Those that come later are counted once.
    fill(10_000..10_007);
    while list.advance(SLICE) {}
    while !statistics.advance(&list, 1) {}
    assert!(statistics.advance(&list, 1));
    assert_eq!(statistics.stats().totals().total().packets, 10_007);
}
