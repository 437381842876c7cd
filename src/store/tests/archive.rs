use std::fs::File;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

use super::super::{Stored, TemporaryFolder};
use super::window::{kept, records};
use super::*;
use crate::store::{Chunk, Disk, Row, Rows};
use mitmcraft_engine::capture::{CreateOptions, Sink, WhereSink, create_sink, write_sink};

/// A store with a small window, and the capture that is written at the same time.
struct Run {
    store: Store,
    sink: Box<dyn Sink>,
    _folder: tempfile::TempDir,
}

impl Run {
    fn new(name: &str, condition: Option<&str>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        let sink = create_sink(&path, &CreateOptions::default()).unwrap();
        let sink: Box<dyn Sink> = Box::new(WhereSink::new(sink, condition.map(expr)));
        let store = Store::new(StoreOptions { rows: 5000, ..StoreOptions::default() });
        store.set_capture(File::open(path).unwrap());
        Self { store, sink, _folder: folder }
    }

    fn take(&mut self, entries: &[Entry]) {
        let places = self.sink.body_places().unwrap();
        for entry in entries {
            self.sink.write(entry).unwrap();
            let mut of_entry = Vec::new();
            places.take(&mut of_entry);
            if self.store.push_all([(entry.clone(), &*of_entry)]) {
                self.store.write_waiting();
            }
        }
        self.sink.flush().unwrap();
    }
}

fn in_memory(chunk: &Chunk) -> usize {
    match &chunk.rows {
        Rows::Memory(rows) => rows.len(),
        Rows::Archived { .. } => 0,
    }
}

fn is_datagram(record: &Record) -> bool {
    let frame = record.packet.frame();
    frame.is_some_and(|frame| frame.is_bare() && frame.wire().len() > frame.size())
}

/// Entries of all forms, many of them small.
fn entries() -> Vec<Entry> {
    let mut maker = Maker::new(1);
    let mut others = records().into_iter().cycle();
    let mut entry = |number: i64| match number % 50 {
        // More than a segment of a pcapng capture has.
        0 if number % 5000 == 0 => maker.chat(&"long".repeat(40_000)),
        1 => {
            let mut record = others.next().unwrap();
            record.packet.set_seq(number.unsigned_abs());
            Entry::Packet(record)
        }
        2 => maker.event(EventKind::Open),
        3 => maker.chat("hello"),
        _ => maker.time(number),
    };
    (0..30_000).map(&mut entry).collect()
}

#[test]
fn packets_older_than_the_window_come_from_the_capture_as_they_were() {
    let entries = entries();
    let whole = store();
    entries.iter().for_each(|entry| whole.push(entry));
    let whole = whole.snapshot();
    for name in ["run.pcapng", "run.jsonl"] {
        let mut run = Run::new(name, None);
        run.take(&entries);
        let snapshot = run.store.snapshot();
        assert_eq!((snapshot.first(), snapshot.end()), (0, whole.end()), "{name}");
        let held: usize = snapshot.chunks.iter().map(in_memory).sum();
        assert!(held < 12_000, "{name}: {held} rows in memory");
        for row in 0..whole.end() {
            let (one, other) = (whole.record(row).unwrap(), snapshot.record(row));
            let facts = |row: Row| (row.at, row.size, row.wire, row.seq(), row.state());
            assert_eq!(facts(snapshot.row(row).unwrap()), facts(whole.row(row).unwrap()));
            assert_eq!(snapshot.kind(row).map(|it| it.id()), whole.kind(row).map(|it| it.id()));
            match other {
                Some(other) => assert_eq!(kept(&other), kept(&one), "{name}: {row}"),
                // A datagram begins with bytes that JSON lines do not have.
                None => assert!(name == "run.jsonl" && is_datagram(&one), "{name}: {row}"),
            }
        }
        for text in ["age > 12 and age < 9000", "message contains \"longlong\"", "pkt.wire == 1234"]
        {
            let found = rows(&matches(snapshot.clone(), text, 1000));
            assert_eq!(found, rows(&matches(whole.clone(), text, 1000)), "{name}: {text}");
            assert!(!found.is_empty(), "{text}");
        }
        assert!(run.store.losses().is_empty());
    }
}

#[test]
fn packets_that_the_capture_does_not_have_are_listed_without_their_bytes() {
    let mut run = Run::new("run.jsonl", Some("chat"));
    run.take(&entries());
    let snapshot = run.store.snapshot();
    assert_eq!(snapshot.first(), 0);
    let name = |row| snapshot.kind(row).map(|kind| kind.name().to_string());
    for row in 0..1000 {
        let is_chat = name(row).as_deref() == Some("chat");
        let has = snapshot.details(row).is_some();
        assert!(has == is_chat || row % 49 == 1, "{row}: {:?}, {has}", name(row));
    }
    assert!(snapshot.details(snapshot.end() - 1).is_some());
}

#[test]
fn a_capture_that_cannot_be_read_loses_bytes_and_nothing_else() {
    let store = Store::new(StoreOptions { rows: 5000, ..StoreOptions::default() });
    store.set_capture(tempfile::tempfile().unwrap());
    let mut maker = Maker::new(1);
    let place = mitmcraft_engine::capture::BodyPlace { at: 100, length: 17, base64: false };
    for age in 0..30_000 {
        if store.push_all([(maker.time(age), std::slice::from_ref(&place))]) {
            store.write_waiting();
        }
    }
    let snapshot = store.snapshot();
    assert_eq!((snapshot.first(), snapshot.end()), (0, 30_000));
    assert_eq!(snapshot.row(7).unwrap().seq(), 8);
    assert!(snapshot.record(7).is_none());
    assert_eq!(rows(&matches(snapshot, "age == 29999 or age == 7", 1000)), [29_999]);
}

/// A disk that fails until it is released.
#[derive(Debug, Default)]
struct FailingDisk(AtomicBool);

impl Disk for FailingDisk {
    fn write(&self, file: &File, bytes: &[u8], at: u64) -> io::Result<()> {
        match self.0.load(Ordering::Relaxed) {
            true => TemporaryFolder.write(file, bytes, at),
            false => Err(io::ErrorKind::StorageFull.into()),
        }
    }
}

#[test]
fn rows_that_the_disk_does_not_take_are_counted_and_later_ones_are_kept_again() {
    let disk = Arc::new(FailingDisk::default());
    let options = StoreOptions { rows: 5000, ..StoreOptions::default() };
    let store = Store::on_disk(options, &(Arc::clone(&disk) as Arc<dyn Disk>));
    store.set_capture(tempfile::tempfile().unwrap());
    let mut maker = Maker::new(1);
    (0..20_000).for_each(|age| store.push(&maker.time(age)));
    let losses = store.losses();
    assert_eq!(losses.error.unwrap().kind(), io::ErrorKind::StorageFull);
    assert_eq!((losses.packets, losses.bodies), (3 * 4096, 4 * 4096));
    disk.0.store(true, Ordering::Relaxed);
    (20_000..40_000).for_each(|age| store.push(&maker.time(age)));
    let (snapshot, losses) = (store.snapshot(), store.losses());
    assert_eq!((losses.packets, losses.bodies), (3 * 4096, 4 * 4096));
    assert_eq!((snapshot.first(), snapshot.end()), (0, 40_000));
    let listed = (0..40_000).filter(|row| snapshot.row(*row).is_some()).count();
    assert_eq!(listed, 40_000 - 3 * 4096);
    assert_eq!(rows(&matches(snapshot, "age == 7 or age == 39999", 1000)), [39_999]);
}

#[test]
fn what_waits_for_the_disk_is_bounded() {
    let store = Store::new(StoreOptions { rows: 5000, ..StoreOptions::default() });
    store.set_capture(tempfile::tempfile().unwrap());
    let entry = Maker::new(1).chat(&"x".repeat(100));
    for _ in 0..100_000 {
        let _ = store.push_all([(entry.clone(), &[][..])]);
    }
    let (snapshot, losses) = (store.snapshot(), store.losses());
    assert_eq!((snapshot.first(), snapshot.end()), (0, 100_000));
    let held: usize = snapshot.chunks.iter().map(in_memory).sum();
    assert!(held < 5000 + 18 * 4096, "{held} rows in memory");
    assert_eq!(losses.packets + held as u64, 100_000);
    let bytes = snapshot.chunks.iter().filter_map(|chunk| match &chunk.stored {
        Stored::Memory(bytes) => Some(bytes.len()),
        _ => None,
    });
    let bytes: usize = bytes.sum();
    assert!(bytes < 6 << 20, "{bytes} bytes in memory");
    // Late is not never.
    store.write_waiting();
    let losses = store.losses();
    assert!(losses.error.is_none());
    (0..20_000).for_each(|_| store.push(&entry));
    assert_eq!((store.losses().packets, store.losses().bodies), (losses.packets, losses.bodies));
    let snapshot = store.snapshot();
    assert!((119_000..120_000).all(|row| snapshot.record(row).is_some()));
}

#[test]
fn only_captures_that_have_everything_as_it_was_tell_where_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let tells = |name: &str, options: &CreateOptions| {
        create_sink(&folder.path().join(name), options).unwrap().body_places().is_some()
    };
    let plain = CreateOptions::default();
    let with = |change: &dyn Fn(&mut CreateOptions)| {
        let mut options = plain;
        change(&mut options);
        options
    };
    assert!(tells("a.pcapng", &plain) && tells("a.jsonl", &plain));
    assert!(!tells("a.pcap", &plain));
    assert!(!tells("a.jsonl.zst", &plain) && !tells("a.pcapng.gz", &plain));
    assert!(!tells("{session}.jsonl", &plain));
    assert!(!tells("b.jsonl", &with(&|it| it.bodies = false)));
    let rotate = Some("1M".parse().unwrap());
    assert!(!tells("b.pcapng", &with(&|it| it.rotate = rotate)));
    let redacted = write_sink(Box::new(Vec::new()), "jsonl".parse().unwrap(), &plain).unwrap();
    let redactor = mitmcraft_engine::analysis::Redactor::new(b"seed");
    assert!(
        mitmcraft_engine::analysis::RedactSink::new(redacted, redactor).body_places().is_none()
    );
}
