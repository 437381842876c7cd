use super::*;

/// 10,000 packets of two sessions; every 100th is chat.
fn filled() -> Store {
    let store = store();
    let mut makers = [Maker::new(1), Maker::new(2)];
    for number in 0..10_000 {
        let maker = &mut makers[number % 2];
        let entry = match number % 100 {
            99 => maker.chat(&format!("message {number}")),
            _ => maker.time(number as i64),
        };
        store.push(&entry);
    }
    store
}

#[test]
fn what_is_found_is_what_the_expression_selects_however_it_is_sliced() {
    let store = filled();
    let snapshot = store.snapshot();
    for text in [
        "chat",
        "update_time",
        "not chat",
        "age == 5002",
        "message contains \"message 1\"",
        "session.player == \"player2\"",
        "chat or age in {3, 4, 5}",
        "pkt.n > 4990",
        "pkt.size < 10",
        "pkt.body contains 0b:6d",
        "map_chunk",
    ] {
        let expr = expr(text);
        let expected: Vec<u64> = (0..snapshot.end())
            .filter(|number| expr.matches(&snapshot.record(*number).unwrap()))
            .collect();
        for slice in [1, 5000, usize::MAX] {
            let found = matches(snapshot.clone(), text, slice);
            assert_eq!(rows(&found), expected, "{text} in slices of {slice}");
            assert_eq!(found.progress(), (10_000, 10_000));
        }
    }
    assert_eq!(matches(snapshot, "chat", usize::MAX).count(), 100);
}

#[test]
fn the_newest_packets_are_found_first_and_a_row_has_one_index() {
    let store = filled();
    let selection =
        Selection { filter: Some(expr("chat")), sessions: vec![2], ..Selection::default() };
    let mut found = Matches::new(selection, store.snapshot());
    assert_eq!((found.count(), found.nth(0)), (0, None));
    assert!(!found.advance(1));
    let some = rows(&found);
    assert!(some.len() < 100 && some.last() == Some(&9_999), "{some:?}");
    while !found.advance(1) {}
    let all = rows(&found);
    assert_eq!(all.len(), 100);
    for (index, row) in all.iter().enumerate() {
        assert!(found.has(*row));
        assert!(!found.has(*row + 1));
        assert_eq!(found.index_of(*row), index as u64);
        assert_eq!(found.index_of(*row + 1), index as u64 + 1);
        assert_eq!(found.after(*row), all.get(index + 1).copied());
        assert_eq!(found.before(*row), index.checked_sub(1).map(|index| all[index]));
    }
    assert_eq!(found.after(0), Some(99));
    assert_eq!(found.before(10_000), Some(9_999));
}

#[test]
fn later_packets_are_found_and_forgotten_ones_are_not() {
    let store = Store::new(StoreOptions { rows: 8192, ..StoreOptions::default() });
    let mut maker = Maker::new(1);
    store.push(&maker.chat("one"));
    let mut found = matches(store.snapshot(), "chat", usize::MAX);
    assert_eq!(rows(&found), [0]);
    store.push(&maker.time(1));
    store.push(&maker.chat("two"));
    found.update(store.snapshot());
    assert!(found.advance(usize::MAX));
    assert_eq!(rows(&found), [0, 2]);
    (0..30_000).for_each(|age| store.push(&maker.time(age)));
    store.push(&maker.chat("three"));
    found.update(store.snapshot());
    assert!(found.advance(usize::MAX));
    assert_eq!(rows(&found), [30_003]);
    let (done, all) = found.progress();
    assert_eq!(done, all);
}

#[test]
fn packets_decided_by_their_type_are_found_without_their_bytes() {
    let store = filled();
    let mut snapshot = store.snapshot();
    for chunk in &mut snapshot.chunks {
        chunk.stored = super::super::Stored::Lost;
    }
    assert_eq!(matches(snapshot.clone(), "chat and serverbound", 100).count(), 100);
    assert_eq!(matches(snapshot.clone(), "clientbound", 100).count(), 9_900);
    assert_eq!(matches(snapshot, "message contains \"1\"", 100).count(), 0);
}

#[test]
fn text_is_found_in_any_case_in_both_encodings_and_bytes_are_found_exactly() {
    let store = store();
    let mut maker = Maker::new(1);
    store.push(&maker.chat("Hello \"World\" (a+b)\\c"));
    store.push(&maker.chat("ä\u{1b}:0a:0b"));
    let wide: Vec<u8> = "\x02Notch".encode_utf16().flat_map(u16::to_be_bytes).collect();
    let wide = Content::Frame(Frame::bare(wide.into()));
    store.push(&Entry::Packet(Record::passed(maker.content(Direction::Clientbound, wide))));
    for (text, expected) in [
        ("hello", &[0][..]),
        ("\"world\" (A+B)\\C", &[0]),
        ("Ä", &[1]),
        ("a.b", &[]),
        ("Notch", &[2]),
        ("c3:a4:1b", &[1]),
        ("0xC3A41B", &[1]),
        ("0a:0b", &[]),
        ("00:4e:00:6f", &[2]),
        ("o", &[0, 2]),
    ] {
        let expr = search_expression(text, Catalog::embedded()).unwrap();
        let selection = Selection { filter: Some(expr), ..Selection::default() };
        let mut found = Matches::new(selection, store.snapshot());
        while !found.advance(1) {}
        assert_eq!(rows(&found), expected, "{text}");
    }
    assert!(search_expression(&"x".repeat(1 << 17), Catalog::embedded()).is_err());
}

#[test]
fn a_span_of_time_is_selected_and_its_records_are_read_in_order_and_in_parts() {
    let store = filled();
    let times = Some(Timestamp(3_000_000)..Timestamp(4_000_000_000));
    let selection = Selection { filter: Some(expr("chat")), times, ..Selection::default() };
    let mut found = Matches::new(selection, store.snapshot());
    while !found.advance(1000) {}
    let expected: Vec<u64> = (0..80).map(|index| 99 + 100 * index).collect();
    assert_eq!(rows(&found)[..79], expected[..79]);
    assert_eq!(found.count(), 79);
    let (mut read, mut from, mut calls) = (Vec::new(), Some(0), 0);
    while let Some(next) = from {
        from = found.records(next, 1, |row, record| {
            assert_eq!(&**record.packet.kind().unwrap().name(), "chat");
            read.push(row);
        });
        calls += 1;
    }
    assert_eq!(read, expected[..79]);
    assert!(calls > 1, "{calls}");
    let mut last = Vec::new();
    assert_eq!(found.records(7899, usize::MAX, |row, _| last.push(row)), None);
    assert_eq!(last, [7899]);
}
