//! The sample captures, as a source of inputs.

use std::io::Cursor;
use std::sync::LazyLock;

use bytes::Bytes;
use mitmcraft_engine::capture::{Entry, read_capture};
use mitmcraft_protocol::schema::{Catalog, Direction, State};

/// The bytes of the sample captures.
pub const JSONL: &[u8] = include_bytes!("../../../captures/session-1.8.jsonl");
pub const PCAPNG: &[u8] = include_bytes!("../../../captures/session-1.8-encrypted.pcapng");

/// The bytes of captures of versions without frames, of pings before 1.7, and of Query.
pub const UNFRAMED: &[&[u8]] = &[
    include_bytes!("../../../captures/session-beta-1.7.3.jsonl"),
    include_bytes!("../../../captures/session-1.6.4.jsonl"),
    include_bytes!("../../../captures/session-alpha.jsonl"),
    include_bytes!("../../../captures/ping-beta.jsonl"),
    include_bytes!("../../../captures/ping-1.6.jsonl"),
    include_bytes!("../../../captures/query.jsonl"),
];

/// Returns the entries of the plain sample capture.
pub fn entries() -> Vec<Entry> {
    entries_of(JSONL)
}

/// Returns the entries of a capture.
pub fn entries_of(capture: &'static [u8]) -> Vec<Entry> {
    let read = read_capture(Cursor::new(capture), Catalog::embedded()).unwrap();
    read.map(Result::unwrap).collect()
}

/// A body with the place of its packet.
pub type Body = (State, Direction, Bytes);

/// Returns the bodies of up to `most` bytes in the plain sample capture, in order.
pub fn bodies(most: usize) -> Vec<Body> {
    static BODIES: LazyLock<Vec<Body>> = LazyLock::new(|| {
        let records = entries().into_iter().filter_map(|entry| match entry {
            Entry::Packet(record) if record.outcome.went() => Some(record.packet),
            _ => None,
        });
        records.filter_map(|it| Some((it.state(), it.direction(), it.body().ok()?))).collect()
    });
    BODIES.iter().filter(|(.., body)| body.len() <= most).cloned().collect()
}
