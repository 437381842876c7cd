use std::io;

use super::{BodyPlaces, Entry, Record, Sink, Wire};
use crate::lang::Expr;

/// A sink that passes on events, and the packets that match a condition and that no rule has excluded
/// from captures.
#[derive(Debug)]
pub struct WhereSink<S: Sink> {
    inner: S,
    condition: Option<Expr>,
    packets: bool,
    events: bool,
}

impl<S: Sink> WhereSink<S> {
    /// Passes packets that match `condition` on to `inner`; without a condition, all packets that
    /// no rule excludes.
    #[must_use]
    pub fn new(inner: S, condition: Option<Expr>) -> Self {
        Self { inner, condition, packets: true, events: true }
    }

    /// Leaves out all packets, or all events.
    #[must_use]
    pub fn with_kinds(self, packets: bool, events: bool) -> Self {
        Self { packets, events, ..self }
    }

    fn takes(&self, record: &Record) -> bool {
        let unrecorded = record.notes.as_ref().is_some_and(|notes| notes.unrecorded);
        self.packets
            && !unrecorded
            && self.condition.as_ref().is_none_or(|condition| condition.matches(record))
    }
}

impl<S: Sink> Sink for WhereSink<S> {
    fn write(&mut self, entry: &Entry) -> io::Result<()> {
        match entry {
            Entry::Packet(record) if !self.takes(record) => Ok(()),
            Entry::Event(_) if !self.events => Ok(()),
            entry => self.inner.write(entry),
        }
    }

    fn inner(&mut self) -> Option<&mut dyn Sink> {
        Some(&mut self.inner)
    }

    fn wire(&mut self, wire: &Wire) -> io::Result<()> {
        self.inner.wire(wire)
    }

    fn wants_wire(&self) -> bool {
        self.inner.wants_wire()
    }

    fn body_places(&mut self) -> Option<BodyPlaces> {
        self.inner.body_places()
    }
}
