use std::collections::HashMap;
use std::io;
use std::time::Duration;

use super::{Entry, EntryRing, EventKind, Sink};
use crate::filter::Ring;

/// A sink that writes only when rules tell it to, and then also what happened shortly before.
///
/// A ring buffer holds the entries of the last `age`, but at most `bytes` bytes of packets; the
/// oldest are dropped first. A rule's `start` writes the buffer and everything that follows until
/// `stop`; `flush` writes the buffer once. A session's opening precedes its first written entry,
/// however long ago it was.
#[derive(Debug)]
pub struct RingSink<S: Sink> {
    inner: S,
    ring: EntryRing,
    writing: bool,
    /// The openings of sessions with no entry written yet, by session.
    opened: HashMap<u64, Entry>,
}

impl<S: Sink> RingSink<S> {
    /// Writes to `inner`, buffering the last `age` up to `bytes` bytes.
    #[must_use]
    pub fn new(inner: S, age: Duration, bytes: u64) -> Self {
        let ring = EntryRing::new(age, bytes);
        Self { inner, ring, writing: false, opened: HashMap::new() }
    }

    fn release(&mut self) -> io::Result<()> {
        while let Some(entry) = self.ring.pop() {
            self.pass(&entry)?;
        }
        Ok(())
    }

    fn pass(&mut self, entry: &Entry) -> io::Result<()> {
        if let Some(open) = self.opened.remove(&entry.context().session) {
            self.inner.write(&open)?;
        }
        self.inner.write(entry)
    }
}

impl<S: Sink> Sink for RingSink<S> {
    fn write(&mut self, entry: &Entry) -> io::Result<()> {
        let session = entry.context().session;
        let notes = match entry {
            Entry::Event(event) if event.kind == EventKind::Open => {
                self.opened.insert(session, entry.clone());
                return Ok(());
            }
            Entry::Event(_) => None,
            Entry::Packet(record) => record.notes.as_ref(),
        };
        let order = notes.and_then(|notes| notes.ring);
        let hidden = notes.is_some_and(|notes| notes.unrecorded);
        self.ring.trim(entry.at());
        if order == Some(Ring::Start) {
            self.writing = true;
        }
        if !hidden {
            if self.writing {
                self.release()?;
                self.pass(entry)?;
            } else {
                self.ring.push(entry.clone());
            }
        }
        match order {
            Some(Ring::Stop) => self.writing = false,
            Some(Ring::Flush) => self.release()?,
            Some(Ring::Start) | None => {}
        }
        let holds = |held: &Entry| !held.is_close() && held.context().session == session;
        if entry.is_close() && !self.ring.iter().any(holds) {
            self.opened.remove(&session);
        }
        Ok(())
    }

    fn inner(&mut self) -> Option<&mut dyn Sink> {
        Some(&mut self.inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::capture::{Event, Outcome, Record};
    use crate::filter::Notes;
    use mitmcraft_protocol::codec::Frame;
    use mitmcraft_protocol::packet::{Content, Context, Packet, Timestamp};
    use mitmcraft_protocol::schema::{Catalog, Direction, State};

    /// The `seq` of each packet written, and 0 for each event.
    #[derive(Default)]
    struct SequenceSink(Vec<u64>);

    impl Sink for SequenceSink {
        fn write(&mut self, entry: &Entry) -> io::Result<()> {
            self.0.push(match entry {
                Entry::Packet(record) => record.packet.seq(),
                Entry::Event(_) => 0,
            });
            Ok(())
        }
    }

    fn context() -> Arc<Context> {
        Arc::new(Context::new(
            1,
            Timestamp(0),
            ([127, 0, 0, 1], 1).into(),
            Catalog::embedded().find(47).unwrap().protocol,
        ))
    }

    fn packet(second: u64, ring: Option<Ring>) -> Entry {
        let content = Content::Frame(Frame::from_body(vec![0; 100].into()));
        let at = Timestamp(second * 1_000_000_000);
        let direction = Direction::Clientbound;
        let packet = Packet::new(context(), second, at, direction, State::Play, content);
        let notes = ring.map(|ring| Box::new(Notes { ring: Some(ring), ..Notes::default() }));
        Entry::Packet(Record { outcome: Outcome::Pass, notes, ..Record::passed(packet) })
    }

    fn run(bytes: u64, orders: &[(u64, Ring)]) -> Vec<u64> {
        let mut sink = RingSink::new(SequenceSink::default(), Duration::from_secs(3), bytes);
        let (context, at) = (context(), Timestamp(0));
        sink.write(&Entry::Event(Event { context, at, kind: EventKind::Open })).unwrap();
        for second in 1..=20 {
            let order = orders.iter().find(|(at, _)| *at == second).map(|(_, order)| *order);
            sink.write(&packet(second, order)).unwrap();
        }
        sink.inner.0
    }

    #[test]
    fn a_flush_writes_the_buffer_once() {
        assert_eq!(run(1 << 20, &[(10, Ring::Flush)]), [0, 7, 8, 9, 10]);
        assert_eq!(run(1 << 20, &[]), [0; 0]);
        let twice = run(1 << 20, &[(10, Ring::Flush), (11, Ring::Flush)]);
        assert_eq!(twice, [0, 7, 8, 9, 10, 11]);
    }

    #[test]
    fn start_and_stop_write_the_buffer_and_what_is_between() {
        let written = run(1 << 20, &[(5, Ring::Start), (7, Ring::Stop)]);
        assert_eq!(written, [0, 2, 3, 4, 5, 6, 7]);
    }

    #[test]
    fn a_full_ring_drops_the_oldest_entries() {
        assert_eq!(run(700, &[(10, Ring::Flush)]), [0, 9, 10]);
    }
}
