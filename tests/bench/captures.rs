//! The cost of capture formats: `cargo bench --bench captures`.
//!
//! The same session is written and read in each format, in memory. For comparison, serde_json
//! prints and parses the same lines (as `Value`), and tcpdump copies the same packets from
//! file to file. Rounds of all are interleaved and the medians are printed with their ratio
//! to serde_json: on a busy machine only ratios are meaningful.

#![allow(clippy::print_stdout, clippy::unwrap_used)]

use std::fs;
use std::hint::black_box;
use std::io::{Cursor, Write};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use bytes::Bytes;
use mitmcraft_engine::capture::{
    CreateOptions, Entry, Event, EventKind, FileType, Record, Views, read_capture, write_sink,
};
use mitmcraft_protocol::codec::Frame;
use mitmcraft_protocol::packet::{Content, Context, Packet, Timestamp};
use mitmcraft_protocol::schema::{Catalog, Direction, State, Value};
use serde_json::{Value as Json, json};

const ROUNDS: usize = 7;

/// Number of packets in the session.
const PACKETS: u64 = 20_000;

fn main() {
    let entries = session();
    let jsonl = written("jsonl", Views::PLAIN, &entries);
    let lines: Vec<Json> = jsonl
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
        .map(|line| serde_json::from_slice(line).unwrap())
        .collect();
    let formats = [
        ("jsonl", Views::PLAIN),
        ("jsonl.zst", Views::PLAIN),
        ("jsonl.gz", Views::PLAIN),
        ("pcapng", Views::PLAIN),
        ("pcapng", "plain,json".parse().unwrap()),
        ("pcapng.zst", Views::PLAIN),
        ("pcap", Views::PLAIN),
    ];
    let files = formats.map(|(name, views)| written(name, views, &entries));
    let mut print = Vec::new();
    let mut parse = Vec::new();
    let mut write = formats.map(|_| Vec::new());
    let mut read = formats.map(|_| Vec::new());
    for _ in 0..ROUNDS {
        print.push(timed(|| {
            let mut out = Vec::new();
            for line in &lines {
                serde_json::to_writer(&mut out, line).unwrap();
                out.push(b'\n');
            }
            black_box(out);
        }));
        parse.push(timed(|| {
            for line in jsonl.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
                black_box(serde_json::from_slice::<Json>(line).unwrap());
            }
        }));
        for (place, (name, views)) in formats.into_iter().enumerate() {
            write[place].push(timed(|| {
                black_box(written(name, views, &entries));
            }));
            if name != "pcap" {
                let file = files[place].clone();
                read[place].push(timed(|| {
                    let read = read_capture(Cursor::new(file), Catalog::embedded()).unwrap();
                    assert_eq!(read.map(Result::unwrap).count(), entries.len());
                }));
            }
        }
    }
    let bytes = packet_bytes(&entries);
    println!("{PACKETS} packets, {:.1} MB of bodies; MB/s are of bodies", bytes / 1e6);
    println!("{:<28} {:>8} {:>12} {:>8} {:>7}", "", "MB", "records/s", "MB/s", "ratio");
    let floor = (median(print), median(parse));
    row("serde_json prints", jsonl.len(), bytes, floor.0, floor.0);
    for (place, (name, views)) in formats.into_iter().enumerate() {
        let what = format!("writes {}", label(name, views));
        row(&what, files[place].len(), bytes, median(write[place].clone()), floor.0);
    }
    row("serde_json parses", jsonl.len(), bytes, floor.1, floor.1);
    for (place, (name, views)) in formats.into_iter().enumerate() {
        if name != "pcap" {
            let what = format!("reads {}", label(name, views));
            row(&what, files[place].len(), bytes, median(read[place].clone()), floor.1);
        }
    }
    tcpdump(&files[6], bytes, &entries, floor.0);
}

/// Copies the packets from file to file, with tcpdump and with this crate.
fn tcpdump(pcap: &[u8], bytes: f64, entries: &[Entry], floor: f64) {
    let folder = std::env::temp_dir().join(format!("mitmcraft-bench-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let (from, to) = (folder.join("from.pcap"), folder.join("to.pcap"));
    fs::write(&from, pcap).unwrap();
    let (mut theirs, mut ours) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        theirs.push(timed(|| {
            let mut command = Command::new("tcpdump");
            command.arg("-r").arg(&from).arg("-w").arg(&to);
            assert!(command.output().unwrap().status.success(), "tcpdump cannot copy the file");
        }));
        ours.push(timed(|| {
            let file = fs::File::create(&to).unwrap();
            let kind = "pcap".parse().unwrap();
            let mut sink = write_sink(Box::new(file), kind, &CreateOptions::default()).unwrap();
            entries.iter().for_each(|entry| sink.write(entry).unwrap());
            sink.finish().unwrap();
        }));
    }
    row("tcpdump copies pcap", pcap.len(), bytes, median(theirs), floor);
    row("writes pcap to a file", pcap.len(), bytes, median(ours), floor);
    fs::remove_dir_all(folder).unwrap();
}

fn row(what: &str, size: usize, bytes: f64, seconds: f64, floor: f64) {
    let (records, rate) = (PACKETS as f64 / seconds, bytes / 1e6 / seconds);
    let size = size as f64 / 1e6;
    println!("{what:<28} {size:>8.1} {records:>12.0} {rate:>8.0} {:>7.2}", seconds / floor);
}

fn label(name: &str, views: Views) -> String {
    if views == Views::PLAIN { name.to_owned() } else { format!("{name}, {views}") }
}

/// A game of moves, chat and chunks; one packet in fifty has 8 KiB.
fn session() -> Vec<Entry> {
    let protocol = Catalog::embedded().find(47).unwrap().protocol;
    let context = Arc::new(Context {
        server: Some(([127, 0, 0, 1], 25565).into()),
        upstream: "localhost".to_owned(),
        player: Some("Notch".to_owned()),
        version: Some(47),
        ..Context::new(1, Timestamp(START), ([127, 0, 0, 1], 51234).into(), Arc::clone(&protocol))
    });
    let body = |name: &str, fields: Json| -> Bytes {
        let packet = protocol.named(State::Play, Direction::Clientbound, name).unwrap();
        protocol.encode(packet, &Value::from_json(&fields)).unwrap().into()
    };
    let mut state = 1u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state >> 24
    };
    let chunk: String =
        (0..10_924).map(|_| char::from(b"ABCDEFGHIJKLMNOP"[(next() >> 4) as usize])).collect();
    let at = Timestamp(START);
    let mut entries =
        vec![Entry::Event(Event { context: Arc::clone(&context), at, kind: EventKind::Open })];
    for seq in 1..=PACKETS {
        let moved = i64::from(next() as u8 as i8) / 2;
        let body = match seq % 50 {
            0 => body(
                "map_chunk",
                json!({"x": moved, "z": 12, "groundUp": true, "bitMap": 255, "chunkData": chunk}),
            ),
            1 | 20 => {
                let message = format!("{{\"text\":\"hello for the {seq}. time\"}}");
                body("chat", json!({"message": message, "position": 0}))
            }
            2..20 => body(
                "entity_move_look",
                json!({"entityId": seq, "dX": moved, "dY": 0, "dZ": -moved, "yaw": 3, "pitch": 7,
                    "onGround": true}),
            ),
            _ => body(
                "rel_entity_move",
                json!({"entityId": seq, "dX": moved, "dY": 0, "dZ": 5, "onGround": false}),
            ),
        };
        let at = Timestamp(START + seq * 1_234_567);
        let content = Content::Frame(Frame::from_body(body));
        let (context, direction) = (Arc::clone(&context), Direction::Clientbound);
        let packet = Packet::new(context, seq, at, direction, State::Play, content);
        entries.push(Entry::Packet(Record::passed(packet)));
    }
    entries
}

fn packet_bytes(entries: &[Entry]) -> f64 {
    let size = |entry: &Entry| match entry {
        Entry::Packet(record) => record.packet.size(),
        Entry::Event(_) => 0,
    };
    entries.iter().map(size).sum::<usize>() as f64
}

fn written(name: &str, views: Views, entries: &[Entry]) -> Vec<u8> {
    let (kind, out): (FileType, _) = (name.parse().unwrap(), Memory::default());
    let mut options = CreateOptions::default();
    options.views = views;
    let mut sink = write_sink(Box::new(out.clone()), kind, &options).unwrap();
    entries.iter().for_each(|entry| sink.write(entry).unwrap());
    sink.finish().unwrap();
    drop(sink);
    std::mem::take(&mut *out.0.lock().unwrap())
}

/// A file in memory.
#[derive(Clone, Default)]
struct Memory(Arc<Mutex<Vec<u8>>>);

impl Write for Memory {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn timed(run: impl FnOnce()) -> Duration {
    let begun = Instant::now();
    run();
    begun.elapsed()
}

fn median(mut times: Vec<Duration>) -> f64 {
    times.sort();
    times[times.len() / 2].as_secs_f64()
}

/// 2026-11-20T12:31:04Z.
const START: u64 = 1_795_177_864_000_000_000;
