//! Whole replays in memory.

mod client;
mod differential;
mod filtered;
mod filters;
mod made;
mod pair;
mod regress;
mod server;

use std::path::Path;
use std::sync::Arc;

use crate::capture::{Entry, Outcome, Record, open_capture};
use crate::replay::Recording;
use mitmcraft_protocol::schema::Catalog;

/// Reads a capture of the repository.
fn capture(name: &str) -> Vec<Entry> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../captures").join(name);
    open_capture(&path, Catalog::embedded()).unwrap().map(|entry| entry.unwrap()).collect()
}

fn name(record: &Record) -> String {
    record.packet.kind().map(|packet| packet.name().to_string()).unwrap_or_default()
}

/// Returns the packet's name, after a mark for its outcome.
fn marked(record: &Record) -> String {
    let mark = match record.outcome {
        Outcome::Pass => "",
        Outcome::Drop => "-",
        Outcome::Rewrite => "~",
        Outcome::Send => "+",
    };
    format!("{mark}{}", name(record))
}

/// Returns a text field of a packet.
fn text(record: &Record, field: &str) -> String {
    let value = record.packet.value().unwrap();
    value.get(field).unwrap().as_text().unwrap().to_owned()
}

/// Reads the first session of a capture of the repository.
pub(super) fn recording(name: &str) -> Arc<Recording> {
    Arc::new(Recording::read(capture(name).into_iter().map(Ok), None).unwrap())
}
