use std::io;

use super::Redactor;
use crate::capture::{Entry, Sink};

/// A sink that passes on redacted entries.
#[derive(Debug)]
pub struct RedactSink<S: Sink> {
    inner: S,
    redactor: Redactor,
}

impl<S: Sink> RedactSink<S> {
    /// Passes entries on to `inner` after `redactor` has redacted them.
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

    fn inner(&mut self) -> Option<&mut dyn Sink> {
        Some(&mut self.inner)
    }
}
