//! What captures tell when they are counted, compared and made safe to share.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on panics")]
#![allow(dead_code, reason = "the tests of captures use more of the samples")]

mod diff;
mod mcpr;
mod redact;
#[path = "../capture/samples.rs"]
mod samples;
mod stats;

use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use mitmcraft::capture::{Entry, open_capture};
use mitmcraft::schema::Catalog;

/// The entries of a capture that the repository keeps.
fn kept(file: &str) -> Vec<Entry> {
    let path = root().join("captures").join(file);
    open_capture(&path, Catalog::embedded()).unwrap().map(|entry| entry.unwrap()).collect()
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Bytes that a sink writes and a test looks at.
#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Vec<u8>>>);

impl Shared {
    fn bytes(&self) -> Vec<u8> {
        self.0.lock().unwrap().clone()
    }
}

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
