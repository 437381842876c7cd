use std::borrow::Cow;
use std::io;
use std::sync::Arc;

use bytes::Bytes;

use super::{Entry, Record, Sink, Wire};
use crate::lang::{Expr, View};
use crate::schema::{Direction, PacketType, Protocol, State};

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

/// As its packet, with the verdict that was given.
impl View for Record {
    fn protocol(&self) -> &Arc<Protocol> {
        View::protocol(&self.packet)
    }

    fn version(&self) -> i32 {
        View::version(&self.packet)
    }

    fn state(&self) -> State {
        self.packet.state
    }

    fn direction(&self) -> Direction {
        self.packet.direction
    }

    fn kind(&self) -> Option<&PacketType> {
        self.packet.kind()
    }

    fn id(&self) -> Option<i32> {
        self.packet.id()
    }

    fn size(&self) -> usize {
        self.packet.size()
    }

    fn wire(&self) -> usize {
        self.packet.wire_size()
    }

    fn time(&self) -> f64 {
        View::time(&self.packet)
    }

    fn number(&self) -> u64 {
        self.packet.seq
    }

    fn origin(&self) -> &str {
        self.packet.origin.name()
    }

    fn verdict(&self) -> &str {
        self.outcome.name()
    }

    fn error(&self) -> Option<Cow<'_, str>> {
        View::error(&self.packet)
    }

    fn body(&self) -> Option<Bytes> {
        View::body(&self.packet)
    }

    fn fields_at(&self) -> usize {
        self.packet.fields_at()
    }

    fn session(&self) -> u64 {
        self.packet.context.session
    }

    fn player(&self) -> Option<&str> {
        self.packet.context.player.as_deref()
    }

    fn client(&self) -> Cow<'_, str> {
        View::client(&self.packet)
    }

    fn server(&self) -> Cow<'_, str> {
        View::server(&self.packet)
    }
}
