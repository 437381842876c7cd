//! What captures tell when they are counted, compared and made safe to share.

mod diff;
mod mcpr;
mod redact;
mod stats;

use mitmcraft::capture::{Entry, open_capture};
use mitmcraft::schema::Catalog;

use crate::support::root;

/// The entries of a capture that the repository keeps.
fn kept(file: &str) -> Vec<Entry> {
    let path = root().join("captures").join(file);
    open_capture(&path, Catalog::embedded()).unwrap().map(|entry| entry.unwrap()).collect()
}
