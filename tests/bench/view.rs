//! How fast `view` shows a large capture: `tests/bench/run`, or `cargo bench --bench view`.
//!
//! The release build reads a pcapng of 1 GB with 3 million packets, as a page sees it: the time until its
//! first rows are there, until everything is, and how long filters take. `packets=N` takes a smaller
//! file. `cat` and tcpdump read the same file as floors. Fails if a figure of `docs/performance.md` is not
//! reached with the whole file; `report` only prints them.

#![allow(clippy::print_stdout, clippy::unwrap_used, unreachable_pub)]

#[path = "../support/mod.rs"]
mod support;

#[path = "shared/page.rs"]
mod page;
#[path = "shared/traffic.rs"]
#[allow(dead_code, reason = "the bodies are used, not the stream")]
mod traffic;

use std::fs::{self, File};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use mitmcraft_engine::capture::{CreateOptions, Entry, Event, EventKind, Record, write_sink};
use mitmcraft_protocol::codec::Frame;
use mitmcraft_protocol::packet::{Content, Context, Packet, Timestamp};
use mitmcraft_protocol::schema::{Catalog, Direction, State};
use page::Page;
use serde_json::{Value as Json, json};
use support::Program;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let packets = arguments.iter().find_map(|it| it.strip_prefix("packets="));
    let packets = packets.map_or(PACKETS, |it| it.parse().expect("a number of packets"));
    let path = support::scratch_file("large.pcapng");
    write(&path, packets);
    let size = fs::metadata(&path).unwrap().len();
    println!("{packets} packets, {:.2} GB\n", size as f64 / 1e9);

    let floor = timed(Command::new("cat").arg(&path));
    println!("`cat` reads the file in {floor:.2} s");
    let null = ["-w", "/dev/null", "-r"];
    println!(
        "tcpdump copies its packets in {:.2} s",
        timed(Command::new("tcpdump").args(null).arg(&path))
    );

    let begun = Instant::now();
    let seconds = || begun.elapsed().as_secs_f64();
    let path = support::text(&path);
    let mut view = Program::mitmcraft(&["view", path, "--web", "127.0.0.1:0"]);
    let line = view.wait_for_error("in a browser");
    let url = line.split_whitespace().find(|word| word.starts_with("http:")).unwrap();
    let mut page = Page::open(url);
    while page.ask(json!({ "do": "rows", "start": 0, "count": 50 }))["rows"][49].is_null() {
        page.until(is_state);
    }
    let first = seconds();
    page.until(|it| is_state(it) && it["complete"] == true && it["end"] == packets);
    let complete = seconds();
    let memory = view.memory().unwrap_or_default() as f64 / f64::from(1 << 20);
    let mut met = true;
    let mut figure = |what: &str, value: f64, limit: f64, unit: &str| {
        met &= value <= limit;
        println!("{what:<44} {value:>8.3} {unit} (at most {limit} {unit})");
    };
    figure("the first rows are shown after", first, 0.5, "s");
    figure("all packets are held after", complete, 20.0, "s");
    figure("memory used so far", memory, 300.0, "MiB");
    for filter in FILTERS {
        let (shown, all, found) = filtered(&mut page, filter);
        println!("\nfilter `{filter}`: {found} of {packets} packets match");
        figure("first matches after", shown, 0.2, "s");
        figure("per million packets", all / packets as f64 * 1e6, 1.0, "s");
    }
    let memory = view.memory().unwrap_or_default() as f64 / f64::from(1 << 20);
    figure("\nmemory used in the end", memory, 300.0, "MiB");
    view.interrupt();
    view.succeed();
    fs::remove_file(path).unwrap();
    let judged = packets == PACKETS && !arguments.iter().any(|it| it == "report");
    assert!(met || !judged, "a figure is not reached");
}

/// Applies a filter. Returns the seconds until matches are known and until all are, and how many.
fn filtered(page: &mut Page, filter: &str) -> (f64, f64, u64) {
    let begun = Instant::now();
    let answer = page.ask(json!({ "do": "view", "filter": filter, "sessions": [] }));
    assert!(answer["error"].is_null(), "{answer}");
    let mut first = answer["total"].as_u64().is_some_and(|it| it > 0).then(|| begun.elapsed());
    let state = page.until(|message| {
        let list = &message["list"];
        if is_state(message) && first.is_none() && list["total"].as_u64() > Some(0) {
            first = Some(begun.elapsed());
        }
        is_state(message) && list["done"] == list["all"]
    });
    let first = first.unwrap_or_else(|| begun.elapsed()).as_secs_f64();
    (first, begun.elapsed().as_secs_f64(), state["list"]["total"].as_u64().unwrap())
}

fn is_state(message: &Json) -> bool {
    message["push"] == "state"
}

/// Writes a session of entities that move, chat, sounds, and a chunk in 220 packets.
fn write(path: &Path, packets: u64) {
    let protocol = Catalog::embedded().find(47).unwrap().protocol;
    let context = Arc::new(Context {
        server: Some(([127, 0, 0, 1], 25565).into()),
        upstream: "localhost".to_owned(),
        player: Some("Notch".to_owned()),
        version: Some(47),
        ..Context::new(1, Timestamp(START), ([127, 0, 0, 1], 51234).into(), protocol)
    });
    let small: Vec<Bytes> = (0..997).map(|number| traffic::small(number).into()).collect();
    let chunk = Bytes::from(traffic::chunk());
    let kind = "pcapng".parse().unwrap();
    let file = Box::new(File::create(path).unwrap());
    let mut sink = write_sink(file, kind, &CreateOptions::default()).unwrap();
    let opened =
        Event { context: Arc::clone(&context), at: Timestamp(START), kind: EventKind::Open };
    sink.write(&Entry::Event(opened)).unwrap();
    for seq in 1..=packets {
        let large = seq % 220 == 0;
        let body = if large { &chunk } else { &small[(seq % 997) as usize] };
        let content = Content::Frame(Frame::from_body(body.clone()));
        let at = Timestamp(START + seq * 1_234_567);
        let (context, direction) = (Arc::clone(&context), Direction::Clientbound);
        let mut packet = Packet::new(context, seq, at, direction, State::Play, content);
        if large {
            packet.set_wire_size(9000);
        }
        sink.write(&Entry::Packet(Record::passed(packet))).unwrap();
    }
    sink.finish().unwrap();
}

/// Returns the seconds that a command takes.
fn timed(command: &mut Command) -> f64 {
    let begun = Instant::now();
    assert!(command.output().unwrap().status.success(), "{command:?}");
    begun.elapsed().as_secs_f64()
}

/// A number in small packets, in large ones, one in some of few, facts of rows, a type.
const FILTERS: [&str; 6] = [
    "dX > 50",
    "bitMap == 15 and x == 3",
    "chat and message contains \"977. time\"",
    "pkt.size > 1000",
    "pkt.verdict == \"pass\" and pkt.n > 1000000",
    "keep_alive",
];

/// Packets of the file of 1 GB.
const PACKETS: u64 = 3_000_000;

/// 2026-11-20T12:31:04Z.
const START: u64 = 1_795_177_864_000_000_000;
