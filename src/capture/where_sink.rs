use std::io;

use super::{Entry, Record, Sink, Wire};
use crate::lang::Expr;

/// Passes on what is to be recorded: packets that match a condition, unless a rule has said that
/// they are not, and all events.
#[derive(Debug)]
pub struct WhereSink<S: Sink> {
    inner: S,
    condition: Option<Expr>,
}

impl<S: Sink> WhereSink<S> {
    /// Writes what matches to `inner`; without a condition, all that no rule hides.
    #[must_use]
    pub fn new(inner: S, condition: Option<Expr>) -> Self {
        Self { inner, condition }
    }

    fn takes(&self, record: &Record) -> bool {
        let unrecorded = record.notes.as_ref().is_some_and(|notes| notes.unrecorded);
        !unrecorded && self.condition.as_ref().is_none_or(|condition| condition.matches(record))
    }
}

impl<S: Sink> Sink for WhereSink<S> {
    fn write(&mut self, entry: &Entry) -> io::Result<()> {
        match entry {
            Entry::Packet(record) if !self.takes(record) => Ok(()),
            entry => self.inner.write(entry),
        }
    }

    fn wire(&mut self, wire: &Wire) -> io::Result<()> {
        self.inner.wire(wire)
    }

    fn wants_wire(&self) -> bool {
        self.inner.wants_wire()
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
