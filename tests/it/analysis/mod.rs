//! Statistics, comparison and redaction of captures.

mod diff;
mod mcpr;
mod redact;
mod stats;

use mitmcraft::capture::{Entry, open_capture};
use mitmcraft::schema::Catalog;

use crate::support::root;

/// Reads the entries of a capture in the repository.
fn kept(file: &str) -> Vec<Entry> {
    let path = root().join("captures").join(file);
    open_capture(&path, Catalog::embedded()).unwrap().map(|entry| entry.unwrap()).collect()
}
