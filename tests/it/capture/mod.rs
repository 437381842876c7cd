//! Captures: the written bytes, and reading them back.

mod components;
mod files;
mod jsonl;
mod line;
mod missing;
mod open;
mod parquet;
mod pcapng;
mod repository;
mod roundtrip;
mod summary;
mod tables;

use mitmcraft_engine::capture::{
    Entry, JsonlReader, JsonlSink, PcapngReader, PcapngSink, ReadError, Sink,
};
use mitmcraft_protocol::schema::Catalog;

use crate::support::shared::Shared;

/// Returns the lines of the entries, without the first one, which is about the file.
fn to_jsonl(entries: &[Entry]) -> String {
    without_first_line(&to_file(entries)).to_owned()
}

/// Returns a whole JSONL file.
fn to_file(entries: &[Entry]) -> String {
    let shared = Shared::default();
    put(JsonlSink::new(shared.clone()), entries);
    String::from_utf8(shared.bytes()).unwrap()
}

fn without_first_line(text: &str) -> &str {
    match text.split_once('\n') {
        Some((first, rest)) if first.contains(r#""event":"capture""#) => rest,
        _ => text,
    }
}

fn to_pcapng(entries: &[Entry]) -> Vec<u8> {
    let shared = Shared::default();
    put(PcapngSink::new(shared.clone()).unwrap(), entries);
    shared.bytes()
}

fn put(mut sink: impl Sink, entries: &[Entry]) {
    for entry in entries {
        sink.write(entry).unwrap();
    }
    sink.finish().unwrap();
}

fn from_jsonl(text: &[u8]) -> (Vec<Entry>, Vec<ReadError>) {
    sorted(JsonlReader::new(text, Catalog::embedded()))
}

fn from_pcapng(bytes: &[u8]) -> (Vec<Entry>, Vec<ReadError>) {
    sorted(PcapngReader::new(bytes, Catalog::embedded()))
}

fn sorted(reader: impl Iterator<Item = Result<Entry, ReadError>>) -> (Vec<Entry>, Vec<ReadError>) {
    let (mut entries, mut errors) = (Vec::new(), Vec::new());
    for item in reader {
        match item {
            Ok(entry) => entries.push(entry),
            Err(error) => errors.push(error),
        }
    }
    (entries, errors)
}

/// Entries of several sessions, interleaved.
fn interleaved(sessions: Vec<Vec<Entry>>) -> Vec<Entry> {
    let mut entries: Vec<_> =
        sessions.into_iter().flat_map(|it| it.into_iter().enumerate()).collect();
    entries.sort_by_key(|(place, _)| *place);
    entries.into_iter().map(|(_, entry)| entry).collect()
}
