//! What touches a peer's or a stranger's text costs at most a constant per byte: valgrind counts the instructions.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::io::Cursor;
use std::process::Command;
use std::sync::Arc;

use mitmcraft::proxy::check_filters;
use mitmcraft::view::Highlights;
use mitmcraft_engine::analysis::{Redactor, Stats};
use mitmcraft_engine::capture::{Entry, JsonlSink, PcapngSink, Record, Sink, read_capture};
use mitmcraft_engine::decode::PcapReader;
use mitmcraft_engine::lang::Expr;
use mitmcraft_engine::text::{LineOptions, Verbosity, write_info, write_line};
use mitmcraft_protocol::codec::Frame;
use mitmcraft_protocol::packet::{Content, Context, Packet, Timestamp};
use mitmcraft_protocol::schema::{Catalog, Direction, State, Value};
use mitmcraft_protocol::wire::{Compound, Encoding, Nbt, Tag};
use serde_json::{Value as Json, json};

use crate::support::{scratch_file, text};

/// Ten times as much text takes at most sixteen times as many instructions: sorting is allowed.
#[test]
fn no_text_of_a_stranger_takes_more_than_a_constant_per_byte() {
    let mut before = BTreeMap::new();
    for size in [1_000, 10_000] {
        let now = count(size);
        assert!(now.len() >= 200, "{now:?}");
        for (path, instructions) in &now {
            let most = before.get(path).map_or(u64::MAX, |it: &u64| it.max(&FREE) * 16);
            assert!(*instructions <= most, "{path}: {instructions} of {most} at {size} characters");
        }
        before = now;
    }
}

/// Returns the instructions of each path, by its name.
fn count(size: usize) -> BTreeMap<String, u64> {
    let out = scratch_file("callgrind.out");
    let valgrind = Command::new("valgrind")
        .args(["--quiet", "--tool=callgrind"])
        .arg(format!("--callgrind-out-file={}", text(&out)))
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "--ignored", "linear::work", "--test-threads", "1"])
        .env("LINEAR_SIZE", size.to_string())
        .output()
        .expect("valgrind is installed by `tests/run`");
    assert!(valgrind.status.success(), "{}", String::from_utf8_lossy(&valgrind.stdout));
    let annotated = Command::new("callgrind_annotate")
        .args(["--auto=no", "--inclusive=yes", "--threshold=100", text(&out)])
        .output()
        .unwrap();
    let lines = String::from_utf8(annotated.stdout).unwrap();
    let paths = lines.lines().filter_map(|line| {
        let (number, rest) = line.trim_start().split_once(' ')?;
        let path = rest.split("linear::").nth(1)?.split([' ', '\'']).next()?;
        path.contains("::of_paths::").then_some(())?;
        Some((path.to_owned(), number.replace(',', "").parse().ok()?))
    });
    paths.collect()
}

/// Instructions that a path may take whatever its text: bodies are judged by limits only if they are long enough
/// to break one.
const FREE: u64 = 400_000;

/// What the test above counts.
#[test]
#[ignore = "run under valgrind"]
fn work() {
    let Ok(size) = std::env::var("LINEAR_SIZE") else { return };
    // What is loaded once is not counted.
    letters::all(&Work::new(), "g");
    WARM.store(true, std::sync::atomic::Ordering::Relaxed);
    every_kind(&Work::new(), size.parse().unwrap());
}

static WARM: std::sync::atomic::AtomicBool = std::sync::atomic::AtomicBool::new(false);

/// Calls each function with texts of each kind, each from a function whose name callgrind shows.
macro_rules! paths {
    ($($kind:ident: $unit:expr),* ; $functions:tt) => {
        $(paths!(@ $kind $functions);)*
        fn every_kind(work: &Work, size: usize) {
            $($kind::all(work, &fill($unit, size));)*
        }
    };
    (@ $kind:ident [$($function:ident),*]) => {
        mod $kind {
            pub(super) fn all(work: &super::Work, text: &str) {
                let sample = work.sample(text);
                if super::WARM.load(std::sync::atomic::Ordering::Relaxed) {
                    $(of_paths::$function(work, text, &sample);)*
                } else {
                    $(work.$function(text, &sample);)*
                }
            }
            mod of_paths {
                $(#[inline(never)]
                pub(super) fn $function(work: &super::super::Work, text: &str, sample: &super::super::Sample) {
                    // The compiler merges functions that are equal.
                    std::hint::black_box(concat!(stringify!($kind), stringify!($function)));
                    work.$function(text, sample);
                })*
            }
        }
    };
}

paths! {
    letters: "g", hex: "a", digits: "7", dots: ".", numbers: "1.2.3.", hyphens: "a-", blanks: " ", quotes: "\"",
    brackets: "[", braces: "{\"a\":", escapes: "\\", emoji: "🧱", sections: "§a", zeros: "\0", words: "ab cd ",
    links: "http://";
    [redact, redact_json, redact_nbt, line, info, jsonl, pcapng, statistics, search, color, script, expression, read,
     decode]
}

fn fill(unit: &str, size: usize) -> String {
    unit.chars().cycle().take(size).collect()
}

/// A text of a stranger in what is read.
struct Sample {
    plain: Entry,
    json: Entry,
    nbt: Entry,
    script: String,
    capture: Vec<u8>,
}

/// What is loaded once.
struct Work {
    catalog: &'static Catalog,
    search: Expr,
    colors: Highlights,
}

impl Work {
    fn new() -> Self {
        let catalog = Catalog::embedded();
        let search = r#"message contains "aab" or message matches "(a|g)+b""#;
        let (search, _) = Expr::parse(search, catalog).unwrap();
        Self { catalog, search, colors: Highlights::usual(catalog) }
    }

    fn sample(&self, text: &str) -> Sample {
        let chat =
            |text: &str| self.packet("chat", &json!({ "message": text, "position": 0 }), |_| {});
        let keys: Vec<char> = text.chars().collect();
        let entries = keys.chunks(5).enumerate().map(|(number, key)| {
            let key: String = key.iter().collect();
            let key = format!("{number}{key}{}", if number % 3 == 0 { "Least" } else { "Most" });
            (Encoding::ModifiedUtf8.encode(&key).into_owned().into(), Tag::Long(number as i64))
        });
        let root = Tag::Compound(Compound { entries: entries.collect() });
        let nbt = Nbt { name: Some(Default::default()), root };
        let location = json!({ "x": 0, "y": 0, "z": 0 });
        let block = json!({ "location": location, "action": 1 });
        let nbt = self.packet("tile_entity_data", &block, |value| {
            if let Value::Map(fields) = value {
                fields.push(("nbtData".into(), Value::Nbt(Box::new(nbt))));
            }
        });
        let plain = chat(text);
        let mut capture = Vec::new();
        let mut sink = JsonlSink::new(&mut capture);
        sink.write(&plain).and_then(|()| sink.finish()).unwrap();
        drop(sink);
        Sample {
            json: chat(&json!({ "text": text, "extra": [{ "text": text }] }).to_string()),
            script: format!("on(\"chat\", function(packet)\n  x = {text}\nend)\n"),
            plain,
            nbt,
            capture,
        }
    }

    fn packet(&self, name: &str, fields: &Json, add: impl FnOnce(&mut Value)) -> Entry {
        let protocol = self.catalog.find(47).unwrap().protocol;
        let direction = Direction::Clientbound;
        let packet = protocol.named(State::Play, direction, name).unwrap();
        let mut value = Value::from_json(fields);
        add(&mut value);
        let body = protocol.encode(packet, &value).unwrap();
        let context = Context::new(1, Timestamp(1), ([127, 0, 0, 1], 50000).into(), protocol);
        let content = Content::Frame(Frame::from_body(body.into()));
        let packet =
            Packet::new(Arc::new(context), 1, Timestamp(2), direction, State::Play, content);
        Entry::Packet(Record::passed(packet))
    }

    fn redact(&self, _: &str, sample: &Sample) {
        black_box(Redactor::new(b"seed").redact(sample.plain.clone()));
    }

    fn redact_json(&self, _: &str, sample: &Sample) {
        black_box(Redactor::new(b"seed").redact(sample.json.clone()));
    }

    fn redact_nbt(&self, _: &str, sample: &Sample) {
        black_box(Redactor::new(b"seed").redact(sample.nbt.clone()));
    }

    fn line(&self, _: &str, sample: &Sample) {
        let options = LineOptions { verbosity: Verbosity::Hex, ..LineOptions::default() };
        for entry in [&sample.plain, &sample.json, &sample.nbt] {
            write_line(&mut String::new(), entry, &options);
        }
    }

    fn info(&self, _: &str, sample: &Sample) {
        for entry in [&sample.plain, &sample.json, &sample.nbt] {
            write_info(&mut String::new(), entry);
        }
    }

    fn jsonl(&self, _: &str, sample: &Sample) {
        let mut sink = JsonlSink::new(Vec::new());
        for entry in [&sample.plain, &sample.json, &sample.nbt] {
            sink.write(entry).unwrap();
        }
    }

    fn pcapng(&self, _: &str, sample: &Sample) {
        let mut sink = PcapngSink::new(Vec::new()).unwrap();
        sink.write(&sample.plain).unwrap();
        sink.write(&sample.json).unwrap();
    }

    fn statistics(&self, _: &str, sample: &Sample) {
        Stats::default().write(&sample.json).unwrap();
    }

    fn search(&self, _: &str, sample: &Sample) {
        for entry in [&sample.plain, &sample.json] {
            black_box(self.search.matches(entry.record().unwrap()));
        }
    }

    fn color(&self, _: &str, sample: &Sample) {
        black_box(self.colors.of(sample.json.record().unwrap()));
    }

    fn script(&self, _: &str, sample: &Sample) {
        let name = "script.lua";
        for fault in check_filters(name.as_ref(), &sample.script, self.catalog).faults {
            black_box(fault.render(name));
        }
    }

    fn expression(&self, text: &str, _: &Sample) {
        let _ = black_box(Expr::parse(text, self.catalog));
    }

    fn read(&self, text: &str, sample: &Sample) {
        for bytes in [text.as_bytes(), &sample.capture] {
            if let Ok(entries) = read_capture(Cursor::new(bytes.to_vec()), self.catalog) {
                entries.for_each(|entry| drop(black_box(entry)));
            }
        }
    }

    fn decode(&self, text: &str, _: &Sample) {
        // A pcap of Ethernet frames.
        let header = b"\xd4\xc3\xb2\xa1\x02\0\x04\0\0\0\0\0\0\0\0\0\xff\xff\0\0\x01\0\0\0";
        for bytes in [text.as_bytes().to_vec(), [&header[..], text.as_bytes()].concat()] {
            let packets = PcapReader::new(Cursor::new(bytes)).take_while(Result::is_ok);
            packets.for_each(|packet| drop(black_box(packet)));
        }
    }
}
