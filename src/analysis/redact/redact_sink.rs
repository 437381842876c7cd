use std::io;

use super::Redactor;
use crate::capture::{Entry, Sink};

/// Passes on entries without what nobody should know.
#[derive(Debug)]
pub struct RedactSink<S: Sink> {
    inner: S,
    redactor: Redactor,
}

impl<S: Sink> RedactSink<S> {
    /// Writes to `inner` what `redactor` makes of entries.
    #[must_use]
    pub fn new(inner: S, redactor: Redactor) -> Self {
        Self { inner, redactor }
    }
}

impl<S: Sink> Sink for RedactSink<S> {
    fn write(&mut self, entry: &Entry) -> io::Result<()> {
        let entry = self.redactor.redact(entry.clone());
        self.inner.write(&entry)
    }

    fn batch_done(&mut self) -> io::Result<()> {
        self.inner.batch_done()
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }

    fn finish(&mut self) -> io::Result<()> {
        self.inner.finish()
    }
}
