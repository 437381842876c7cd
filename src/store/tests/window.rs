use super::*;

/// Records of all forms: framed, of an unframed stream, a datagram, broken, raw; with comments.
pub(super) fn records() -> Vec<Record> {
    let mut maker = Maker::new(1);
    let chat = maker.packet(Direction::Serverbound, "chat", &json!({ "message": "hi" }));
    let mut wired = chat.clone();
    wired.set_wire_size(1234);
    let mut rewritten = Record::passed(wired);
    (rewritten.outcome, rewritten.comment) = (Outcome::Rewrite, Some("rule `a`; \"b\"".into()));
    let mut sent = Record::passed(chat.clone());
    (sent.outcome, sent.of) = (Outcome::Send, Some(7));
    sent.packet.set_origin(Origin::Proxy);
    let mut dropped = Record::passed(chat);
    dropped.outcome = Outcome::Drop;
    let mut raw = |content| Record::passed(maker.content(Direction::Clientbound, content));
    let bytes = Bytes::from_static(b"\x03\x02\x01\x00 bytes");
    vec![
        rewritten,
        sent,
        dropped,
        raw(Content::Frame(Frame::bare(bytes.clone()))),
        raw(Content::Frame(Frame::datagram(bytes.clone(), 2))),
        raw(Content::Frame(Frame::from_body(Bytes::from_static(&[0x7f, 1])))),
        raw(Content::Frame(Frame::from_body(Bytes::new()))),
        raw(Content::Raw(bytes.clone(), RawReason::NotMinecraft)),
        raw(Content::Raw(bytes.clone(), RawReason::Opaque("no \"key\"".into()))),
        raw(Content::Raw(bytes.clone(), RawReason::Oversize { frame: 3_000_000, left: 7 })),
        raw(Content::Raw(bytes.clone(), RawReason::CutOff)),
        raw(Content::Raw(bytes, RawReason::Injected)),
    ]
}

/// What captures keep of a record.
pub(super) fn kept(record: &Record) -> String {
    let Record { packet, outcome, of, comment, .. } = record;
    let bytes = match packet.content() {
        Content::Frame(frame) => (frame.wire().clone(), frame.size(), frame.is_bare()),
        Content::Raw(bytes, reason) => (Bytes::from(format!("{bytes:?} {reason:?}")), 0, false),
    };
    let facts = (packet.seq(), packet.at(), packet.direction(), packet.state(), packet.origin());
    format!(
        "{facts:?} {} {} {outcome:?} {of:?} {comment:?} {bytes:?} {:?}",
        packet.wire_size(),
        packet.size(),
        packet.kind().map(|kind| kind.name().to_string())
    )
}

#[test]
fn records_of_all_forms_come_back_as_they_were_from_memory_and_from_the_spool() {
    let records = records();
    let store = store();
    // More than one chunk, so that all but the last are in the spool.
    for record in records.iter().cycle().take(records.len() * 1000) {
        store.push(&Entry::Packet(record.clone()));
    }
    let snapshot = store.snapshot();
    assert_eq!((snapshot.first(), snapshot.end()), (0, 12_000));
    assert!(snapshot.chunks.len() > 2, "{} chunks", snapshot.chunks.len());
    for number in (0..24).chain(11_976..12_000) {
        let record = &records[number as usize % records.len()];
        assert_eq!(kept(&snapshot.record(number).unwrap()), kept(record), "{number}");
        let row = snapshot.row(number).unwrap();
        assert_eq!(row.direction(), record.packet.direction());
        assert_eq!(row.state(), record.packet.state());
        assert_eq!(row.origin(), record.packet.origin());
        assert_eq!(row.outcome(), record.outcome);
        assert_eq!(row.size as usize, record.packet.size());
    }
    assert!(snapshot.record(12_000).is_none());
    assert!(store.losses().is_empty());
}

#[test]
fn a_frame_that_does_not_inflate_keeps_its_bytes_and_the_reason() {
    // Compressed, it says, with 9 bytes of body; but there is no zlib.
    let bytes = b"\x04\x09\x01\x02\x03";
    let mut decoder =
        mitmcraft_protocol::codec::Decoder::new(mitmcraft_protocol::codec::Limits::default());
    decoder.set_compression(Some(2));
    decoder.receive(bytes);
    let Some(mitmcraft_protocol::codec::Unit::Frame(frame)) = decoder.poll() else {
        panic!("a frame")
    };
    let mut maker = Maker::new(1);
    let packet = maker.content(Direction::Clientbound, Content::Frame(frame));
    let error = packet.error().unwrap();
    let store = store();
    store.push(&Entry::Packet(Record::passed(packet)));
    let record = store.snapshot().record(0).unwrap();
    assert_eq!(record.packet.error().unwrap(), error);
    assert_eq!(record.packet.frame().unwrap().wire(), &bytes[..]);
}

#[test]
fn a_live_store_forgets_the_oldest_rows_and_snapshots_keep_theirs() {
    let store = Store::new(StoreOptions { rows: 10_000, ..StoreOptions::default() });
    let mut maker = Maker::new(1);
    (0..9000).for_each(|age| store.push(&maker.time(age)));
    let early = store.snapshot();
    (9000..60_000).for_each(|age| store.push(&maker.time(age)));
    let late = store.snapshot();
    assert_eq!(late.end(), 60_000);
    let held = late.end() - late.first();
    assert!((10_000 - 4096..=10_000 + 4096).contains(&held), "{held} rows");
    assert!(late.record(0).is_none());
    assert_eq!(late.record(late.first()).unwrap().packet.seq(), late.first() + 1);
    assert_eq!(early.record(0).unwrap().packet.seq(), 1);
    assert_eq!(store.range(), (late.first(), 60_000));

    let bytes = Store::new(StoreOptions { spool: 3 << 20, ..StoreOptions::default() });
    let text = "x".repeat(90);
    (0..200_000).for_each(|_| bytes.push(&maker.chat(&text)));
    let kept = bytes.snapshot();
    let held = kept.end() - kept.first();
    assert!((20_000..50_000).contains(&held), "{held} rows of 100 bytes in 3 MiB");
}

#[test]
fn sessions_have_counts_states_and_ends_and_hidden_packets_are_left_out() {
    let store = store();
    let (mut first, mut second) = (Maker::new(1), Maker::new(2));
    let legs = LegState {
        state: State::Play,
        client_threshold: Some(256),
        server_threshold: None,
        client_encrypted: true,
        server_encrypted: false,
    };
    store.push(&first.event(EventKind::Open));
    store.push(&first.time(1));
    store.push(&first.event(EventKind::State(legs)));
    store.push(&first.time(2));
    store.push(&second.chat("hi"));
    let mut hidden = second.chat("hidden");
    if let Entry::Packet(record) = &mut hidden {
        let mut notes = mitmcraft_engine::filter::Notes::default();
        notes.hidden = true;
        record.notes = Some(Box::new(notes));
    }
    store.push(&hidden);
    let summary = Summary {
        reason: "the client has left".into(),
        serverbound_packets: 1,
        clientbound_packets: 0,
        serverbound_bytes: 4,
        clientbound_bytes: 0,
    };
    store.push(&second.event(EventKind::Close(summary.clone())));
    let sessions = store.sessions();
    let numbers: Vec<_> = sessions.iter().map(|it| (it.context.session, it.packets)).collect();
    assert_eq!(numbers, [(1, 2), (2, 1)]);
    assert_eq!(sessions[0].legs, Some(legs));
    assert_eq!(sessions[1].closed.as_ref().map(|(_, it)| it), Some(&summary));
    assert_eq!(sessions[0].closed, None);
    let snapshot = store.snapshot();
    assert_eq!(snapshot.end(), 3);
    assert_eq!(snapshot.legs_at(0), None);
    assert_eq!(snapshot.legs_at(1), Some(legs));
    assert_eq!(snapshot.legs_at(2), None);
    assert!(!store.is_complete());
    store.set_complete();
    assert!(store.is_complete());
}

#[test]
fn the_state_of_every_listed_session_is_known_and_of_no_others() {
    let store = store();
    let legs = |state| LegState {
        state,
        client_threshold: None,
        server_threshold: None,
        client_encrypted: false,
        server_encrypted: false,
    };
    let begin = |session, state| {
        let maker = Maker::new(session);
        store.push(&maker.event(EventKind::Open));
        store.push(&maker.event(EventKind::State(legs(state))));
        maker
    };
    // It stays open, while others come and go.
    let first = begin(1, State::Login);
    for session in 2..15_000 {
        let reason = "the client has left".into();
        let summary = Summary {
            reason,
            serverbound_packets: 0,
            clientbound_packets: 0,
            serverbound_bytes: 0,
            clientbound_bytes: 0,
        };
        store.push(&begin(session, State::Status).event(EventKind::Close(summary)));
    }
    store.push(&first.event(EventKind::State(legs(State::Play))));
    let sessions = store.sessions();
    assert_eq!((sessions.len(), sessions[0].legs), (10_000, Some(legs(State::Play))));
    assert!(sessions[1..].iter().all(|it| it.legs == Some(legs(State::Status))));
    assert!(store.snapshot().legs.len() <= 11_000);
}

#[test]
fn sessions_of_several_captures_get_numbers_of_their_own() {
    let store = store();
    for name in ["a.jsonl", "b.jsonl"] {
        store.begin(name);
        for session in 1..=2 {
            store.push(&Maker::new(session).time(1));
        }
    }
    let sessions = store.sessions();
    let named: Vec<_> = sessions
        .iter()
        .map(|it| (it.context.session, it.capture.as_deref().unwrap(), it.packets))
        .collect();
    let expected = [(1, "a.jsonl", 1), (2, "a.jsonl", 1), (3, "b.jsonl", 1), (4, "b.jsonl", 1)];
    assert_eq!(named, expected);
    let snapshot = store.snapshot();
    assert_eq!(snapshot.context(2).unwrap().session, 3);
    assert_eq!(snapshot.record(3).unwrap().packet.context().session, 4);
}

#[test]
fn sessions_of_a_few_packets_leave_the_window_before_they_fill_the_memory() {
    let options = StoreOptions { contexts: 10_000, ..StoreOptions::default() };
    let contexts = |store: &Store| {
        let mut seen = std::collections::HashSet::new();
        for chunk in &store.snapshot().chunks {
            seen.extend(chunk.contexts.iter().map(Arc::as_ptr));
        }
        seen.len()
    };
    let store = Store::new(options);
    for session in 1..=50_000 {
        let mut maker = Maker::new(session);
        store.push(&maker.time(1));
        store.push(&maker.time(2));
        assert!(session % 10_000 != 0 || contexts(&store) < 13_000, "{}", contexts(&store));
    }
    assert!(store.snapshot().first() > 0);
    // What a few long sessions have sent remains.
    let store = Store::new(options);
    let mut maker = Maker::new(1);
    (0..50_000).for_each(|number| store.push(&maker.time(number)));
    assert_eq!(store.snapshot().first(), 0);
}
