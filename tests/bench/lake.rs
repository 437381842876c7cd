//! Captures at scale: `cargo bench --bench lake`, which `tests/run --long` runs.
//!
//! The figures of `docs/performance.md` for captures in columns, with 10 million packets (`packets=N` for
//! fewer), and the memory that verbs take with a capture of 10 GB (`gigabytes=N`), which fails above 300
//! MiB. Needs as much free space in the target folder, and twice that while both captures of a comparison
//! are there; every file is deleted. Rates are of processor time, so that other programs matter little.

#![allow(clippy::print_stdout, clippy::unwrap_used, unreachable_pub)]

#[path = "../support/mod.rs"]
mod support;

#[path = "shared/traffic.rs"]
#[allow(dead_code, reason = "the bodies are used, not the stream")]
mod traffic;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use mitmcraft_engine::capture::{
    CreateOptions, Entry, Event, EventKind, ParquetSink, Record, Sink, create_sink,
};
use mitmcraft_protocol::codec::Frame;
use mitmcraft_protocol::packet::{Content, Context, Packet, Timestamp};
use mitmcraft_protocol::schema::{Catalog, Direction, State};
use support::{root, scratch_file, text};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |name: &str, default: f64| {
        let given = arguments.iter().find_map(|it| it.strip_prefix(name)?.strip_prefix('='));
        given.map_or(default, |it| it.parse().expect("a number"))
    };
    figures(number("packets", 1e7) as u64);
    large((number("gigabytes", 10.0) * 1e9) as u64);
}

/// Prints size and speed of each format, and the time of queries.
fn figures(packets: u64) {
    println!("{packets} packets of the play mix\n");
    println!("| format | bytes per packet | written, packets/s | read by `stats`, packets/s |");
    println!("| --- | ---: | ---: | ---: |");
    let formats = ["jsonl", "jsonl.zst", "pcapng", "pcapng.zst", "parquet"];
    let mut files = Vec::new();
    for format in formats {
        let path = scratch_file(&format!("scale.{format}"));
        let begun = processor_time();
        write(&path, |written, _| written < packets);
        let wrote = processor_time() - begun;
        let size = fs::metadata(&path).unwrap().len() as f64;
        let read = run(&["stats", text(&path)]).processor;
        let rate = |time: Duration| format!("{:.0}", packets as f64 / time.as_secs_f64());
        let (each, wrote, read) = (size / packets as f64, rate(wrote), rate(read));
        println!("| {format} | {each:.1} | {wrote} | {read} |");
        match format {
            "pcapng" | "pcapng.zst" => fs::remove_file(path).unwrap(),
            _ => files.push(path),
        }
    }
    let [jsonl, zst, parquet] = &files[..] else { panic!("three files") };
    let again = scratch_file("again.parquet");
    let compacted = run(&["convert", text(jsonl), text(&again)]);
    fs::remove_file(again).unwrap();
    let rate = packets as f64 / compacted.processor.as_secs_f64();
    println!("\ncompaction of JSONL to Parquet: {rate:.0} packets/s and core");

    println!(
        "\n| seconds | DuckDB, Parquet | DuckDB, JSONL | DuckDB, JSONL.zst | mitmcraft, JSONL | mitmcraft, Parquet |"
    );
    println!("| --- | ---: | ---: | ---: | ---: | ---: |");
    let condition = "chat and message contains \"for the 77. time\"";
    let ours: [&[&str]; 3] =
        [&["stats", "--json"], &["show", "-Y", condition], &["stats", "-Y", "pkt.error", "--json"]];
    let plain = "columns = {packet: 'VARCHAR', version: 'VARCHAR', error: 'VARCHAR', fields: 'JSON', wire: 'BIGINT'}, format = 'newline_delimited'";
    let tables = [
        format!("read_parquet('{}')", text(parquet)),
        format!("read_json('{}', {plain})", text(jsonl)),
        format!("read_json('{}', {plain})", text(zst)),
    ];
    for ((name, query), ours) in QUERIES.into_iter().zip(ours) {
        let theirs = tables.iter().map(|table| duckdb(&query.replace("LAKE", table)));
        let ours =
            [jsonl, parquet].map(|path| run(&[ours, &[text(path)]].concat()).wall.as_secs_f64());
        let cells = theirs.chain(ours).map(|it| format!("{it:.2}")).collect::<Vec<_>>();
        println!("| {name} | {} |", cells.join(" | "));
    }
    files.iter().for_each(|path| fs::remove_file(path).unwrap());
}

/// Fails if a verb takes more than 300 MiB of memory with a large capture.
fn large(bytes: u64) {
    let (capture, lake) = (scratch_file("large.jsonl"), scratch_file("large.parquet"));
    let rules = scratch_file("large.toml");
    fs::write(&rules, "[[rule]]\nname = \"mute\"\nwhen = \"chat\"\ndrop = true\n").unwrap();
    write(&capture, |written, path| {
        written % 10_000 != 0 || fs::metadata(path).map_or(0, |it| it.len()) < bytes
    });
    let size = fs::metadata(&capture).unwrap().len();
    println!("\na capture of {:.2} GB\n", size as f64 / 1e9);
    println!("| command | MiB | seconds |");
    println!("| --- | ---: | ---: |");
    let (from, to) = (text(&capture), text(&lake));
    let commands: [&[&str]; 8] = [
        &["show", from],
        &["show", "-Y", "chat and message contains \"for the 77. time\"", from],
        &["stats", from],
        &["convert", from, to],
        &["stats", to],
        &["convert", "--table", "chat: time, session, message", "--overwrite", to, "TABLE"],
        &["diff", from, to],
        &["replay", "filters", "-q", "-f", text(&rules), from],
    ];
    let table = scratch_file("large-chat.parquet");
    let mut most = 0;
    for command in commands {
        let command: Vec<&str> =
            command.iter().map(|it| if *it == "TABLE" { text(&table) } else { it }).collect();
        let run = run(&command);
        let named: Vec<String> = command
            .iter()
            .map(|word| match Path::new(word).parent() {
                Some(parent) if parent.is_absolute() => word[text(parent).len() + 1..].to_owned(),
                _ => (*word).to_owned(),
            })
            .collect();
        let mebibytes = run.memory >> 10;
        println!("| `{}` | {mebibytes} | {:.0} |", named.join(" "), run.wall.as_secs_f64());
        most = most.max(mebibytes);
    }
    for path in [capture, lake, table, rules] {
        fs::remove_file(path).unwrap();
    }
    assert!(most <= MAX_MEMORY, "a verb takes {most} MiB, more than {MAX_MEMORY}");
}

/// What a run took.
struct Cost {
    wall: Duration,
    processor: Duration,
    /// The most memory at a time, in KiB.
    memory: u64,
}

/// Runs mitmcraft without its output.
fn run(arguments: &[&str]) -> Cost {
    let begun = Instant::now();
    let mut command = support::mitmcraft();
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let folder = PathBuf::from(format!("/proc/{}", child.id()));
    let (mut memory, mut processor) = (0, Duration::ZERO);
    let status = loop {
        let status = fs::read_to_string(folder.join("status")).unwrap_or_default();
        let peak =
            status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.split_whitespace().next());
        memory = memory.max(peak.map_or(0, |it| it.parse().unwrap()));
        processor = processor.max(ticks(&folder.join("stat")));
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        std::thread::sleep(POLL);
    };
    assert!(status.success(), "{arguments:?}");
    Cost { wall: begun.elapsed(), processor, memory }
}

/// Returns the seconds that DuckDB takes for a query.
fn duckdb(query: &str) -> f64 {
    // Its progress bar goes to stdout, too.
    let program = "import duckdb, sys, time\nduckdb.sql('SET enable_progress_bar = false')\n\
        begun = time.monotonic()\nduckdb.sql(sys.argv[1]).fetchall()\nprint(time.monotonic() - begun)";
    let python = root().join("tests/real/venv/bin/python");
    let output = Command::new(python).args(["-c", program, query]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let seconds = String::from_utf8(output.stdout).unwrap();
    seconds.trim().parse().unwrap_or_else(|_| panic!("not a number of seconds: {seconds:?}"))
}

/// Returns the processor time of this program so far.
fn processor_time() -> Duration {
    ticks(Path::new("/proc/self/stat"))
}

/// Returns the time of a process in user and system mode; zero if it has ended.
fn ticks(stat: &Path) -> Duration {
    let stat = fs::read_to_string(stat).unwrap_or_default();
    // The name before it may contain anything.
    let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields);
    let of =
        |place: usize| fields.split_whitespace().nth(place).map_or(0, |it| it.parse().unwrap());
    Duration::from_millis(10) * (of(11) + of(12))
}

/// Writes a session of entities that move, chat, sounds, and a chunk in 2,000 packets, while `more` says so
/// of their number and the file.
fn write(path: &Path, more: impl Fn(u64, &Path) -> bool) {
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
    let mut sink: Box<dyn Sink> = match path.extension().is_some_and(|it| it == "parquet") {
        true => Box::new(ParquetSink::new(Box::new(File::create(path).unwrap())).unwrap()),
        false => create_sink(path, &CreateOptions::default()).unwrap(),
    };
    let opened =
        Event { context: Arc::clone(&context), at: Timestamp(START), kind: EventKind::Open };
    sink.write(&Entry::Event(opened)).unwrap();
    let mut seq = 0;
    while more(seq, path) {
        seq += 1;
        let large = seq % 2000 == 0;
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

/// Questions to DuckDB, which mitmcraft's verbs answer, too.
const QUERIES: [(&str, &str); 3] = [
    ("packets and bytes by name", "SELECT packet, count(*), sum(wire) FROM LAKE GROUP BY packet"),
    (
        "a text in chat",
        "SELECT fields->>'message' FROM LAKE WHERE packet = 'chat' \
         AND (fields->>'message') LIKE '%for the 77. time%'",
    ),
    (
        "undecoded by version",
        "SELECT version, packet, count(*) FROM LAKE WHERE error IS NOT NULL GROUP BY version, packet",
    ),
];

/// Memory of a verb with a large capture, in MiB.
const MAX_MEMORY: u64 = 300;

/// Time between two looks at a process.
const POLL: Duration = Duration::from_millis(10);

/// 2026-11-20T12:31:04Z.
const START: u64 = 1_795_177_864_000_000_000;
