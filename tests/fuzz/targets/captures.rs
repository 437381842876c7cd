//! The readers of captures: JSON lines, pcapng, and both compressed.

use std::io::{Cursor, Write as _};
use std::sync::{Arc, LazyLock};

use mitmcraft_engine::capture::{Entry, Views, read_capture};
use mitmcraft_protocol::packet::Context;
use mitmcraft_protocol::schema::{Catalog, Protocol};
use serde_json::json;

use super::Features;
use super::bytes::Bytes;
use super::files::{check, jsonl, pcapng};
use super::seeds::{JSONL, PCAPNG, UNFRAMED, entries_of};

pub fn run(input: &[u8]) -> Features {
    let mut features = Features::default();
    let mut input = Bytes(input);
    let options = input.u8();
    let bytes = input.rest();
    let file = match options % 4 {
        // Otherwise a checksum would end every mutated compressed file.
        1 => gzip(bytes),
        2 => zstd::encode_all(bytes, 1).unwrap(),
        _ => bytes.to_vec(),
    };
    let entries = match read_capture(Cursor::new(file), Catalog::embedded()) {
        Ok(entries) => entries,
        Err(error) => {
            features.say(error);
            return features;
        }
    };
    let mut read = Vec::new();
    for (count, entry) in entries.enumerate() {
        assert!(count <= bytes.len(), "more entries than bytes");
        match entry {
            Ok(entry) => read.push(entry),
            Err(error) => features.say(error),
        }
    }
    check(&read, &mut features);
    features
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

pub fn seeds() -> Vec<Vec<u8>> {
    let mut files = Vec::new();
    for capture in UNFRAMED {
        grouped(capture, 16, &mut files);
    }
    let small = grouped(JSONL, 8, &mut files);
    files.push(PCAPNG[..8000].to_vec());
    let mine: Vec<Entry> = small.iter().take(12).cloned().map(decoded_otherwise).collect();
    files.extend([jsonl(&mine), pcapng(&mine, Views::PLAIN)]);
    files.push(jsonl(&small[..4]));
    let compressed = [gzip(&files[0]), zstd::encode_all(&files[0][..], 3).unwrap()];
    let raw = files.iter().chain(&compressed).map(|file| [&[0], &file[..]].concat());
    let packed = files.iter().enumerate().map(|(place, file)| {
        let mode = 1 + (place % 2) as u8;
        [&[mode], &file[..]].concat()
    });
    raw.chain(packed.collect::<Vec<_>>()).collect()
}

/// Adds the lines of a capture in groups, without those of chunks, and its entries as pcapng. Returns these.
fn grouped(capture: &'static [u8], size: usize, files: &mut Vec<Vec<u8>>) -> Vec<Entry> {
    let lines: Vec<&[u8]> =
        capture.split_inclusive(|byte| *byte == b'\n').filter(|line| line.len() < 3000).collect();
    for group in lines.chunks(size) {
        files.push([lines[0], &group.concat()].concat());
    }
    let mut small = entries_of(capture);
    small.retain(|entry| entry.record().is_none_or(|record| record.packet.size() < 300));
    for group in small.chunks(size + 2) {
        files.push(pcapng(group, "plain,json".parse().unwrap()));
        files.push(pcapng(group, Views::PLAIN));
    }
    small
}

/// Returns the entry as if it had been decoded with a description of the user.
fn decoded_otherwise(mut entry: Entry) -> Entry {
    static PROTOCOL: LazyLock<Arc<Protocol>> = LazyLock::new(|| {
        let packet = json!(["container", [
            { "name": "name", "type": ["mapper", { "type": "varint", "mappings": { "0x00": "it" } }] },
            { "name": "params", "type": ["switch", { "compareTo": "name", "fields": { "it": "void" } }] },
        ]]);
        let types = json!({ "packet": packet });
        let description = json!({
            "types": { "varint": "native", "void": "native" },
            "play": { "toClient": { "types": types }, "toServer": { "types": types } },
        });
        Arc::new(Protocol::from_json(47, "mine-47", &description).unwrap())
    });
    let context = Context { protocol: Arc::clone(&PROTOCOL), ..(**entry.context()).clone() };
    entry.set_context(context.into());
    entry
}
