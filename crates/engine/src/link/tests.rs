//! The path from a judgement to the wire and the records, step by step.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use super::*;
use crate::capture::{Entry, EventKind, Outcome, Record};
use crate::filter::{Delay, Effects, Filter, Injection, Judgement, Notes, Pipeline, Verdict};
use mitmcraft_protocol::codec::{Frame, Limits};
use mitmcraft_protocol::packet::{Content, Context, Origin, Packet, RawReason, Timestamp};
use mitmcraft_protocol::schema::{Catalog, Direction, Protocol, Role, State, Value};

use Direction::{Clientbound, Serverbound};

const START: Timestamp = Timestamp(1_000_000_000_000);

fn after(milliseconds: u64) -> Timestamp {
    START.plus(Duration::from_millis(milliseconds))
}

fn context(protocol: Arc<Protocol>) -> Context {
    Context {
        server: Some("127.0.0.1:25565".parse().unwrap()),
        upstream: "mc.example.org:25565".into(),
        version: Some(protocol.version()),
        ..Context::new(3, START, "127.0.0.1:50000".parse().unwrap(), protocol)
    }
}

/// Keeps what is written, as it is written.
#[derive(Default)]
struct Written(Vec<(Direction, Vec<u8>)>);

impl Wire for Written {
    fn write(&mut self, direction: Direction, emission: Emission) -> Option<Frame> {
        let (bytes, frame) = match emission {
            Emission::Body(body) => {
                let frame = Frame::from_body(body);
                (frame.wire().to_vec(), Some(frame))
            }
            other => (other.bytes().to_vec(), None),
        };
        self.0.push((direction, bytes));
        frame
    }
}

/// A record: number, direction, outcome, origin, `of` and body.
type RecordedPacket = (u64, Direction, Outcome, Origin, Option<u64>, Vec<u8>);

struct Path {
    delivery: Delivery,
    wire: Written,
}

impl Path {
    fn new(version: i32) -> Self {
        let protocol = Catalog::embedded().find(version).unwrap().protocol;
        let mut recorder = Recorder::new(context(protocol));
        recorder.enter(State::Play);
        let delivery = Delivery::new(recorder, Pipeline::default());
        Self { delivery, wire: Written::default() }
    }

    fn packet(&mut self, direction: Direction, body: &'static [u8]) -> Packet {
        let content = Content::Frame(Frame::from_body(Bytes::from_static(body)));
        self.delivery.recorder.packet(direction, content)
    }

    fn deliver(&mut self, packet: Packet, verdict: Verdict, effects: Effects) -> Option<String> {
        self.delivery.deliver(&mut self.wire, packet, Judgement { verdict, effects })
    }

    fn records(&mut self) -> Vec<Record> {
        let mut entries = Vec::new();
        self.delivery.recorder.take_entries(&mut entries);
        let record = |entry| match entry {
            Entry::Packet(record) => record,
            Entry::Event(event) => panic!("{event:?}"),
        };
        entries.into_iter().map(record).collect()
    }

    fn seen(&mut self) -> Vec<RecordedPacket> {
        let seen = |record: Record| {
            let packet = &record.packet;
            let body = packet.frame().map_or_else(
                || match packet.content() {
                    Content::Raw(bytes, _) => bytes.to_vec(),
                    Content::Frame(_) => Vec::new(),
                },
                |frame| frame.body().unwrap().to_vec(),
            );
            (packet.seq(), packet.direction(), record.outcome, packet.origin(), record.of, body)
        };
        self.records().into_iter().map(seen).collect()
    }
}

fn injection(direction: Direction, before: bool, body: &'static [u8], framed: bool) -> Injection {
    Injection { direction, before, body: Bytes::from_static(body), framed, rule: None }
}

#[test]
fn packets_that_a_rule_sends_go_before_and_after_the_packet_and_are_recorded_so() {
    let mut path = Path::new(47);
    let packet = path.packet(Clientbound, &[0x70, 1]);
    let sends = vec![
        injection(Serverbound, false, &[0x71, 2], true),
        injection(Clientbound, true, &[0x72, 3], true),
        injection(Clientbound, false, &[0xfe, 0xfd], false),
    ];
    let close = path.deliver(packet, Verdict::Pass, Effects { sends, ..Effects::default() });
    assert_eq!(close, None);
    assert_eq!(
        path.wire.0,
        [
            (Clientbound, vec![2, 0x72, 3]),
            (Clientbound, vec![2, 0x70, 1]),
            (Serverbound, vec![2, 0x71, 2]),
            (Clientbound, vec![0xfe, 0xfd]),
        ]
    );
    assert_eq!(
        path.seen(),
        [
            (2, Clientbound, Outcome::Send, Origin::Proxy, None, vec![0x72, 3]),
            (1, Clientbound, Outcome::Pass, Origin::Server, None, vec![0x70, 1]),
            (3, Serverbound, Outcome::Send, Origin::Proxy, None, vec![0x71, 2]),
            (4, Clientbound, Outcome::Send, Origin::Proxy, None, vec![0xfe, 0xfd]),
        ]
    );
}

#[test]
fn bytes_that_a_rule_sends_without_a_frame_say_so_in_their_record() {
    let mut path = Path::new(47);
    path.delivery.inject(&mut path.wire, vec![injection(Clientbound, false, &[1, 2, 3], false)]);
    let record = path.records().remove(0);
    assert!(matches!(record.packet.content(), Content::Raw(_, RawReason::Injected)));
    assert_eq!((record.packet.state(), record.packet.wire_size()), (State::Play, 3));
}

#[test]
fn a_replaced_packet_is_two_records_and_the_second_names_the_first() {
    let mut path = Path::new(47);
    let packet = path.packet(Serverbound, &[0x70, 1]);
    let notes = Notes { comments: vec!["because".into()], ..Notes::default() };
    let verdict = Verdict::Replace(Bytes::from_static(&[0x70, 2]));
    path.deliver(packet, verdict, Effects { notes, copies: 2, ..Effects::default() });
    let wire = (Serverbound, vec![2, 0x70, 2]);
    assert_eq!(path.wire.0, [wire.clone(), wire.clone(), wire]);
    let records = path.records();
    let comments: Vec<_> = records.iter().map(|record| record.comment.as_deref()).collect();
    assert_eq!(comments, [Some("because"), Some("because"), None, None]);
    let of: Vec<_> = records.iter().map(|record| (record.outcome, record.of)).collect();
    let copy = (Outcome::Send, None);
    assert_eq!(of, [(Outcome::Rewrite, None), (Outcome::Send, Some(1)), copy, copy]);
}

#[test]
fn records_name_the_rules_that_dropped_rewrote_or_made_a_packet() {
    let mut path = Path::new(47);
    let notes = |rules: &[&str]| Notes::made_by(rules.iter().map(|it| (*it).to_owned()).collect());
    let packet = path.packet(Serverbound, &[0x70, 1]);
    let effects = Effects { notes: notes(&["a"]), ..Effects::default() };
    path.deliver(packet, Verdict::Drop, effects);
    let packet = path.packet(Serverbound, &[0x70, 1]);
    let comments = vec!["because".into()];
    let notes = Notes { comments, ..notes(&["a", "b"]) };
    let made = |framed| Injection {
        rule: Some("d".into()),
        ..injection(Clientbound, false, &[1, 2], framed)
    };
    let effects = Effects {
        notes,
        copies: 1,
        copied_by: vec!["c".into()],
        sends: vec![made(true), made(false)],
        ..Effects::default()
    };
    path.deliver(packet, Verdict::Replace(Bytes::from_static(&[0x70, 2])), effects);
    let comments: Vec<_> =
        path.records().into_iter().map(|record| record.comment.unwrap_or_default()).collect();
    let both = "rules `a`, `b`; because";
    assert_eq!(comments, ["rule `a`", both, both, "rule `c`", "rule `d`", "rule `d`"]);
}

#[test]
fn copies_of_a_packet_follow_it_at_most_a_thousand() {
    let mut path = Path::new(47);
    let packet = path.packet(Clientbound, &[0x70, 1]);
    path.deliver(packet, Verdict::Pass, Effects { copies: u32::MAX, ..Effects::default() });
    assert_eq!(path.wire.0.len(), 1001);
    assert!(path.wire.0.iter().all(|(_, bytes)| *bytes == [2, 0x70, 1]));
    assert_eq!(path.records().len(), 1001);

    let mut query = Path::new(47);
    let protocol = Catalog::embedded().query();
    query.delivery.recorder.update_context(|context| context.protocol = protocol);
    let packet = query.packet(Clientbound, &[0x70, 1]);
    query.deliver(packet, Verdict::Pass, Effects { copies: u32::MAX, ..Effects::default() });
    assert_eq!(query.wire.0.len(), 101, "no rule makes the relay a weapon");
}

#[test]
fn a_dropped_packet_is_recorded_and_neither_written_nor_copied() {
    let mut path = Path::new(47);
    let packet = path.packet(Clientbound, &[0x70, 1]);
    let effects = Effects { copies: 3, close: Some("enough".into()), ..Effects::default() };
    assert_eq!(path.deliver(packet, Verdict::Drop, effects).as_deref(), Some("enough"));
    assert_eq!(path.wire.0, []);
    assert_eq!(path.seen(), [(1, Clientbound, Outcome::Drop, Origin::Server, None, vec![0x70, 1])]);
}

#[test]
fn a_delayed_packet_holds_what_comes_after_it_in_its_direction_only() {
    let mut path = Path::new(47);
    let delay = Some(Delay { by: Duration::from_millis(20), reorder: false });
    let packet = path.packet(Clientbound, &[0x70, 1]);
    path.deliver(packet, Verdict::Pass, Effects { delay, ..Effects::default() });
    let packet = path.packet(Clientbound, &[0x70, 2]);
    path.delivery.forward(&mut path.wire, packet);
    let packet = path.packet(Serverbound, &[0x70, 3]);
    path.delivery.forward(&mut path.wire, packet);
    assert_eq!(path.wire.0, [(Serverbound, vec![2, 0x70, 3])]);
    assert_eq!(path.records().len(), 3, "records do not wait");
    assert_eq!(path.delivery.queues.clientbound.next(), Some(after(20)));

    path.delivery.release(&mut path.wire, Clientbound, Some(after(19)));
    assert_eq!(path.wire.0.len(), 1);
    path.delivery.release(&mut path.wire, Clientbound, Some(after(20)));
    assert_eq!(
        path.wire.0[1..],
        [(Clientbound, vec![2, 0x70, 1]), (Clientbound, vec![2, 0x70, 2])]
    );

    let packet = path.packet(Clientbound, &[0x70, 4]);
    path.deliver(packet, Verdict::Pass, Effects { delay, ..Effects::default() });
    path.delivery.release(&mut path.wire, Clientbound, None);
    assert_eq!(path.wire.0[3], (Clientbound, vec![2, 0x70, 4]), "at the end nothing waits");
}

#[test]
fn what_is_sent_in_the_place_of_a_packet_waits_as_the_packet_would() {
    let mut path = Path::new(47);
    let delay = Some(Delay { by: Duration::from_millis(20), reorder: false });
    let packet = path.packet(Serverbound, &[0x70, 1]);
    let verdict = Verdict::Replace(Bytes::from_static(&[0x70, 2]));
    path.deliver(packet, verdict, Effects { delay, copies: 1, ..Effects::default() });
    assert_eq!(path.wire.0, []);
    let sent = path.records().remove(1);
    assert_eq!(sent.packet.frame().unwrap().wire()[..], [2, 0x70, 2], "it has a frame already");
    path.delivery.release(&mut path.wire, Serverbound, Some(after(20)));
    assert_eq!(path.wire.0.len(), 2);
}

#[test]
fn a_packet_that_may_be_overtaken_holds_nothing_back() {
    let mut queue = DelayQueue::default();
    let mut push = |by: Option<(u64, bool)>, name: &'static [u8]| {
        let delay =
            by.map(|(millis, reorder)| Delay { by: Duration::from_millis(millis), reorder });
        let now = queue.push(START, delay, Emission::Bytes(Bytes::from_static(name)));
        now.map(|it| it.bytes().to_vec())
    };
    assert_eq!(push(Some((100, true)), b"overtaken"), None);
    assert_eq!(push(None, b"at once"), Some(b"at once".to_vec()));
    assert_eq!(push(Some((20, false)), b"kept"), None);
    assert_eq!(push(None, b"behind"), None);
    assert_eq!(push(Some((10, true)), b"overtakes"), None);
    let order = std::iter::from_fn(|| Some((queue.next()?, queue.pop(None)?.bytes().to_vec())));
    let names = [(10, "overtakes"), (20, "kept"), (20, "behind"), (100, "overtaken")];
    let names = names.map(|(at, name)| (after(at), name.as_bytes().to_vec()));
    assert_eq!(order.collect::<Vec<_>>(), names);
}

#[test]
fn a_queue_is_full_once_it_holds_more_than_8_mib() {
    let delay = Some(Delay { by: Duration::from_millis(20), reorder: false });
    let mut queue = DelayQueue::default();
    for (size, full) in [(8 << 20, false), (1, true)] {
        let held = queue.push(START, delay, Emission::Bytes(vec![0; size].into()));
        assert!(held.is_none());
        assert_eq!(queue.is_full(), full);
    }
    assert_eq!(queue.size(), (8 << 20) + 1);
    assert_eq!(queue.pop(None).unwrap().bytes().len(), 8 << 20);
    assert_eq!((queue.size(), queue.is_full()), (1, false));
    queue.pop(None);
    assert_eq!(queue.size(), 0);
}

#[test]
fn a_packet_that_the_proxy_keeps_or_replaces_says_why_in_its_record() {
    let mut path = Path::new(47);
    let packet = path.packet(Clientbound, &[0x70, 1]);
    path.delivery.swallow(packet, "for the proxy");
    let packet = path.packet(Serverbound, &[0x70, 2]);
    path.delivery.replace(&mut path.wire, packet, vec![0x70, 3], "key and token are the proxy's");
    assert_eq!(path.wire.0, [(Serverbound, vec![2, 0x70, 3])]);
    let said = |it: &Record| (it.packet.seq(), it.outcome, it.of, it.comment.clone());
    assert_eq!(
        path.records().iter().map(said).collect::<Vec<_>>(),
        [
            (1, Outcome::Drop, None, Some("for the proxy".into())),
            (2, Outcome::Rewrite, None, Some("key and token are the proxy's".into())),
            (3, Outcome::Send, Some(2), None),
        ]
    );
}

/// Drops everything.
struct Nothing;

impl Filter for Nothing {
    fn name(&self) -> &'static str {
        "nothing"
    }

    fn apply(&mut self, _packet: &Packet, effects: &mut Effects) -> Verdict {
        effects.delay = Some(Delay { by: Duration::from_secs(1), reorder: true });
        Verdict::Drop
    }
}

#[test]
fn packets_that_drive_the_connection_bear_only_what_it_bears() {
    let drives = [
        Role::SetCompression,
        Role::LoginAcknowledged,
        Role::StartConfiguration,
        Role::ConfigurationAcknowledged,
        Role::FinishConfiguration,
        Role::BundleDelimiter,
    ];
    for role in drives {
        let mut path = Path::new(766);
        path.delivery.pipeline.push(Box::new(Nothing));
        let packet = path.packet(Clientbound, &[0x70, 1]);
        let judgement = path.delivery.judge(&packet, Some(role), None);
        assert_eq!(judgement.verdict, Verdict::Pass, "{role:?}");
        assert_eq!(judgement.effects.delay, None, "{role:?}");
        let comments = judgement.effects.notes.comments.join(" ");
        assert!(comments.contains("because the connection depends on it"), "{role:?}: {comments}");
    }
    for (role, delayed) in [(Role::Handshake, true), (Role::LoginSuccess, false)] {
        let mut path = Path::new(766);
        path.delivery.pipeline.push(Box::new(Nothing));
        let packet = path.packet(Clientbound, &[0x70, 1]);
        let judgement = path.delivery.judge(&packet, Some(role), None);
        assert_eq!(judgement.verdict, Verdict::Pass, "{role:?}");
        assert_eq!(judgement.effects.delay.is_some(), delayed, "{role:?}");
    }
    let mut path = Path::new(766);
    path.delivery.pipeline.push(Box::new(Nothing));
    let packet = path.packet(Clientbound, &[0x70, 1]);
    assert_eq!(path.delivery.judge(&packet, Some(Role::KeepAlive), None).verdict, Verdict::Drop);
}

#[test]
fn each_transition_leads_to_its_state() {
    use State::{Configuration, Login, Play};
    let cases = [
        (47, Login, Clientbound, Role::LoginSuccess, [Play, Play]),
        (766, Login, Clientbound, Role::LoginSuccess, [Configuration, Login]),
        (766, Login, Serverbound, Role::LoginAcknowledged, [Login, Configuration]),
        (766, Configuration, Clientbound, Role::FinishConfiguration, [Play, Configuration]),
        (766, Configuration, Serverbound, Role::FinishConfiguration, [Configuration, Play]),
        (766, Play, Clientbound, Role::StartConfiguration, [Configuration, Play]),
        (766, Play, Serverbound, Role::ConfigurationAcknowledged, [Play, Configuration]),
    ];
    for (version, from, direction, role, to) in cases {
        let mut path = Path::new(version);
        path.delivery.recorder.enter(from);
        path.delivery.on_transition(direction, role);
        let states = path.delivery.recorder.states;
        assert_eq!([states.clientbound, states.serverbound], to, "{version} {role:?}");
    }
}

#[test]
fn a_farewell_closes_the_open_bundle_first() {
    let mut path = Path::new(766);
    let protocol = Arc::clone(&path.delivery.recorder.context.protocol);
    let delimiter = protocol.role(State::Play, Clientbound, Role::BundleDelimiter).unwrap();
    let body = protocol.encode(delimiter, &Value::Map(Vec::new())).unwrap();
    let content = Content::Frame(Frame::from_body(body.clone().into()));
    let packet = path.delivery.recorder.packet(Clientbound, content);
    path.delivery.judge_and_deliver(&mut path.wire, packet, Some(Role::BundleDelimiter), None);
    path.delivery.say_goodbye(&mut path.wire, "enough");
    let names: Vec<String> =
        path.records().iter().map(|it| it.packet.kind().unwrap().name().to_string()).collect();
    assert_eq!(names, ["bundle_delimiter", "bundle_delimiter", "kick_disconnect"]);
    path.delivery.say_goodbye(&mut path.wire, "again");
    assert_eq!(path.records().len(), 1, "the bundle is closed once");

    path.delivery.judge_and_deliver(
        &mut path.wire,
        Packet::new(
            Arc::clone(&path.delivery.recorder.context),
            9,
            START,
            Clientbound,
            State::Play,
            Content::Frame(Frame::from_body(body.into())),
        ),
        Some(Role::BundleDelimiter),
        None,
    );
    path.delivery.on_transition(Clientbound, Role::StartConfiguration);
    path.delivery.say_goodbye(&mut path.wire, "enough");
    assert_eq!(path.records().len(), 2, "another state has no open bundle");
}

#[test]
fn a_farewell_before_the_login_is_a_status() {
    let mut path = Path::new(47);
    path.delivery.recorder.enter(State::Status);
    path.delivery.say_goodbye(&mut path.wire, "enough");
    let record = path.records().remove(0);
    assert_eq!(**record.packet.kind().unwrap().name(), *"server_info");
    let status = record.packet.value().unwrap().get("response").unwrap().clone();
    assert!(status.as_text().unwrap().contains(r#""description":{"text":"enough"}"#));
}

#[test]
fn the_close_event_has_what_was_counted() {
    let protocol = Catalog::embedded().find(47).unwrap().protocol;
    let mut recorder = Recorder::new(context(protocol));
    recorder.count_packet(Clientbound);
    recorder.count_packet(Clientbound);
    recorder.count_packet(Serverbound);
    recorder.count_bytes(Clientbound, 100);
    recorder.count_bytes(Clientbound, 23);
    recorder.count_bytes(Serverbound, 7);
    recorder.now = after(5);
    recorder.close_event("over".into());
    let mut entries = Vec::new();
    recorder.take_entries(&mut entries);
    let [Entry::Event(event)] = &entries[..] else { panic!("{entries:?}") };
    let EventKind::Close(summary) = &event.kind else { panic!("{event:?}") };
    assert_eq!((event.at, summary.reason.as_str()), (after(5), "over"));
    assert_eq!((summary.clientbound_packets, summary.clientbound_bytes), (2, 123));
    assert_eq!((summary.serverbound_packets, summary.serverbound_bytes), (1, 7));
}

#[test]
fn the_state_event_has_both_legs() {
    let protocol = Catalog::embedded().find(47).unwrap().protocol;
    let mut recorder = Recorder::new(context(protocol));
    let mut ends = PerSide::from_fn(|_| End::new(Limits::default()));
    ends[Side::Client].set_compression(Some(64));
    ends[Side::Server].set_cipher(b"0123456789abcdef");
    recorder.states.clientbound = State::Login;
    recorder.state_event(recorder.now, &ends.client, &ends.server);
    let mut entries = Vec::new();
    recorder.take_entries(&mut entries);
    let [Entry::Event(event)] = &entries[..] else { panic!("{entries:?}") };
    let EventKind::State(legs) = &event.kind else { panic!("{event:?}") };
    assert_eq!(legs.state, State::Login);
    assert_eq!((legs.client_threshold, legs.server_threshold), (Some(64), None));
    assert_eq!((legs.client_encrypted, legs.server_encrypted), (false, true));
}

#[test]
fn bytes_that_were_sent_early_are_not_sent_again() {
    let mut end = End::new(Limits::default());
    end.send_ahead(&[0xfe]);
    assert_eq!((end.ahead, end.leg.encoder.pending()), (1, &[0xfe][..]));
    assert!(end.write(Emission::Bytes(Bytes::from_static(&[0xfe, 0x01, 0xfa]))).is_none());
    assert_eq!((end.ahead, end.leg.encoder.pending()), (0, &[0xfe, 0x01, 0xfa][..]));
    end.send_ahead(&[1, 2, 3]);
    end.forward(&Frame::bare(Bytes::from_static(&[1])));
    assert_eq!(end.ahead, 2);
    let frame = end.write(Emission::Body(Bytes::from_static(&[2, 3])));
    assert!(frame.is_none() && end.ahead == 0);
    assert_eq!(end.leg.encoder.pending(), [0xfe, 0x01, 0xfa, 1, 2, 3]);
    let frame = end.write(Emission::Body(Bytes::from_static(&[7]))).unwrap();
    assert_eq!(frame.wire()[..], [1, 7]);
    assert_eq!(end.leg.encoder.pending(), [0xfe, 0x01, 0xfa, 1, 2, 3, 1, 7]);
}

#[test]
fn a_frame_is_forwarded_in_the_form_of_the_leg() {
    let mut end = End::new(Limits::default());
    let frame = Frame::from_body(Bytes::from_static(&[7]));
    end.forward(&frame);
    end.set_compression(Some(64));
    end.forward(&frame);
    assert_eq!(end.leg.encoder.pending(), [1, 7, 2, 0, 7]);
}

fn endpoint(peer: Side) -> Endpoint {
    let protocol = Catalog::embedded().find(47).unwrap().protocol;
    let mut endpoint = Endpoint::new(peer, context(protocol), Limits::default());
    endpoint.take_entries(&mut Vec::new());
    endpoint
}

#[test]
fn an_endpoint_records_each_change_of_its_leg() {
    let mut endpoint = endpoint(Side::Client);
    endpoint.enter(State::Login);
    endpoint.set_compression(Some(64));
    endpoint.set_cipher(b"0123456789abcdef");
    let mut entries = Vec::new();
    endpoint.take_entries(&mut entries);
    let leg = |entry: &Entry| {
        let Entry::Event(event) = entry else { panic!("{entry:?}") };
        let EventKind::State(legs) = &event.kind else { panic!("{event:?}") };
        assert_eq!(legs.client_threshold, legs.server_threshold);
        assert_eq!(legs.client_encrypted, legs.server_encrypted);
        (legs.state, legs.client_threshold, legs.client_encrypted)
    };
    assert_eq!(
        entries.iter().map(leg).collect::<Vec<_>>(),
        [
            (State::Login, None, false),
            (State::Login, Some(64), false),
            (State::Login, Some(64), true)
        ]
    );
}

#[test]
fn an_endpoint_reads_its_peer_until_the_end_and_records_what_was_cut_off() {
    let mut endpoint = endpoint(Side::Server);
    endpoint.receive(&[5, 1, 2]);
    assert!(endpoint.poll().is_none());
    assert!(endpoint.wants_read(Side::Server));
    assert!(!endpoint.wants_read(Side::Client), "it has no client");
    endpoint.end("over");
    assert!(!endpoint.wants_read(Side::Server));
    let mut entries = Vec::new();
    endpoint.take_entries(&mut entries);
    let [Entry::Packet(rest), Entry::Event(_)] = &entries[..] else { panic!("{entries:?}") };
    let Content::Raw(bytes, RawReason::CutOff) = rest.packet.content() else { panic!("{rest:?}") };
    assert_eq!((rest.packet.direction(), &bytes[..]), (Clientbound, &[5, 1, 2][..]));
}

#[test]
fn an_endpoint_is_full_once_more_than_256_kib_wait() {
    let mut endpoint = endpoint(Side::Client);
    endpoint.send(&vec![0; (256 << 10) - 3]);
    assert_eq!((endpoint.pending(Side::Client).len(), endpoint.is_full()), (256 << 10, false));
    endpoint.send(&[0]);
    assert!(endpoint.is_full());
}

#[test]
fn the_greeting_of_alpha_is_explained_in_its_record() {
    let protocol = Catalog::embedded().alpha(5).protocol;
    for (hash, meaning) in [
        ("-", "no authentication"),
        ("+", "the server asks for a password"),
        ("1f2f", "authentication at minecraft.net: this is the server's hash"),
    ] {
        let packet = protocol.named(State::Play, Clientbound, "handshake").unwrap();
        let value = Value::map([("connectionHash", hash.into())]);
        let body = protocol.encode(packet, &value).unwrap();
        let mut recorder = Recorder::new(context(Arc::clone(&protocol)));
        recorder.enter(State::Play);
        let content = Content::Frame(Frame::bare(body.into()));
        let packet = recorder.packet(Clientbound, content);
        let mut path = Path::new(47);
        path.delivery.recorder = recorder;
        path.delivery.judge_and_deliver(&mut path.wire, packet, Some(Role::Greeting), None);
        assert_eq!(path.records()[0].comment.as_deref(), Some(meaning));
    }
}
