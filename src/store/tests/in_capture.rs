use std::fs::File;

use super::*;
use crate::store::InCapture;
use mitmcraft_engine::capture::{CreateOptions, PcapngReader, write_sink};

/// Returns entries as a pcapng capture in a file.
fn capture(entries: &[Entry]) -> File {
    let file = tempfile::tempfile().unwrap();
    let out = Box::new(file.try_clone().unwrap());
    let mut sink = write_sink(out, "pcapng".parse().unwrap(), &CreateOptions::default()).unwrap();
    entries.iter().for_each(|entry| sink.write(entry).unwrap());
    sink.finish().unwrap();
    file
}

/// Returns the entries of a capture, each with the place of its body.
fn located(file: &Arc<File>) -> Vec<(Entry, Option<InCapture>)> {
    use std::io::Seek as _;
    let mut handle = file.try_clone().unwrap();
    handle.rewind().unwrap();
    let mut reader = PcapngReader::new(handle, Catalog::embedded());
    let mut entries = Vec::new();
    while let Some(entry) = reader.next() {
        let entry = entry.unwrap();
        let size = entry.record().map_or(0, |record| record.packet.size()) as u64;
        let place = reader.body_end.map(|end| InCapture { file: Arc::clone(file), at: end - size });
        entries.push((entry, place));
    }
    entries
}

#[test]
fn bodies_that_are_left_in_a_capture_are_those_that_were_recorded() {
    let mut maker = Maker::new(1);
    let mut entries = vec![maker.event(EventKind::Open)];
    for number in 0..6000 {
        entries.push(match number % 600 {
            // More than a segment has, and compressed.
            0 => maker.chat(&"long".repeat(30_000)),
            1 => {
                let Entry::Packet(mut record) = maker.chat("wired") else { panic!("a packet") };
                record.packet.set_wire_size(4);
                record.comment = Some("a comment".into());
                Entry::Packet(record)
            }
            2 => {
                let bytes = Bytes::from_static(&[0x7f, 1]);
                let content = Content::Frame(Frame::from_body(bytes));
                Entry::Packet(Record::passed(maker.content(Direction::Clientbound, content)))
            }
            _ => maker.time(number),
        });
    }
    let file = Arc::new(capture(&entries));
    let (kept, left) = (store(), store());
    let mut places = 0;
    for (entry, place) in located(&file) {
        kept.push(&entry);
        left.push_from(&entry, place.as_ref());
        places += u32::from(place.is_some());
    }
    assert!((5980..=5990).contains(&places), "{places} of 6000 bodies are in one place");
    let (kept, left) = (kept.snapshot(), left.snapshot());
    assert_eq!((kept.end(), left.end()), (6000, 6000));
    for row in 0..6000 {
        let (one, other) = (kept.record(row).unwrap(), left.record(row).unwrap());
        assert_eq!(one.packet.body().unwrap(), other.packet.body().unwrap(), "{row}");
        assert_eq!(
            (one.packet.wire_size(), &one.comment),
            (other.packet.wire_size(), &other.comment)
        );
    }
    for text in ["age > 3000", "message contains \"longlong\"", "pkt.body matches \"wired\""] {
        let found = rows(&matches(left.clone(), text, 1000));
        assert_eq!(found, rows(&matches(kept.clone(), text, 1000)), "{text}");
        assert!(!found.is_empty(), "{text}");
    }
}

#[test]
fn facts_of_rows_are_decided_without_the_bodies() {
    let store = store();
    let mut maker = Maker::new(1);
    // Nothing can be read from it.
    let file = Arc::new(tempfile::tempfile().unwrap());
    for number in 0..100 {
        let Entry::Packet(mut record) = maker.chat("hi") else { panic!("a packet") };
        record.packet.set_wire_size(if number == 7 { 900 } else { 5 });
        record.outcome = if number == 8 { Outcome::Drop } else { Outcome::Pass };
        store
            .push_from(&Entry::Packet(record), Some(&InCapture { file: Arc::clone(&file), at: 0 }));
    }
    let found = |text| rows(&matches(store.snapshot(), text, 1000));
    assert_eq!(found("pkt.wire > 800"), [7]);
    assert_eq!(found("pkt.verdict == \"drop\" and chat"), [8]);
    assert_eq!(found("pkt.size > 3 and pkt.n > 98"), [98, 99]);
    assert_eq!(found("session.player == \"player1\" and pkt.time < 0.0015"), [0]);
    assert_eq!(found("message == \"hi\""), [0; 0]);
    assert_eq!(found("pkt.n == 5 or message == \"hi\""), [4]);
}
