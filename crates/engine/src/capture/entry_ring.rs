use std::collections::VecDeque;
use std::time::Duration;

use bytes::Bytes;

use super::Entry;
use crate::filter::is_own;
use mitmcraft_protocol::contents::Contents;
use mitmcraft_protocol::packet::{Content, RawReason, Timestamp};
use mitmcraft_protocol::schema::PacketType;

/// The entries of the last minutes, in a bounded number of bytes.
///
/// What is older than `age` is dropped. If the rest takes more than `bytes`, a ring that thins leaves out the bodies
/// of chunks of its older half, the oldest first; the oldest entries are dropped if that is not enough. What stays of
/// that half is copied: packets that were received together are one allocation, which any of them would keep.
#[derive(Debug)]
pub struct EntryRing {
    age: Duration,
    bytes: u64,
    thins: bool,
    entries: VecDeque<Entry>,
    /// Bytes that the entries count for. Sum of [`Entry::size`].
    held: u64,
    /// The number of entries at the front whose bodies were left out, or that have none to leave out.
    thinned: usize,
    left_out: LeftOut,
}

/// What an [`EntryRing`] lacks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LeftOut {
    /// Entries that were too old.
    pub old: u64,
    /// Entries that were dropped to make room.
    pub dropped: u64,
    /// Packets with chunks whose bodies were left out to make room.
    pub bodies: u64,
}

impl EntryRing {
    /// Holds the last `age`, up to `bytes` bytes.
    #[must_use]
    pub fn new(age: Duration, bytes: u64) -> Self {
        let (entries, left_out) = (VecDeque::new(), LeftOut::default());
        Self { age, bytes, thins: false, entries, held: 0, thinned: 0, left_out }
    }

    /// Leaves out the bodies of chunks before it drops entries.
    #[must_use]
    pub fn thinning(self) -> Self {
        Self { thins: true, ..self }
    }

    /// Adds an entry. A body that is inflated for others is not kept in it.
    pub fn push(&mut self, mut entry: Entry) {
        let at = entry.at();
        entry.unshare();
        self.held += entry.size();
        self.entries.push_back(entry);
        self.trim(at);
    }

    /// Drops what is too old at `now`, and makes room.
    pub fn trim(&mut self, now: Timestamp) {
        while let Some(oldest) = self.entries.front()
            && now.since(oldest.at()) > self.age
        {
            self.left_out.old += 1;
            self.pop();
        }
        self.shrink(self.bytes);
    }

    /// Makes room until at most `bytes` bytes are held.
    pub fn shrink(&mut self, bytes: u64) {
        while self.held > bytes {
            // The newer half keeps its bodies: they are worth more than older entries.
            let place = Some(self.thinned).filter(|it| self.thins && *it < self.entries.len() / 2);
            if let Some(entry) = place.and_then(|place| self.entries.get_mut(place)) {
                self.held -= entry.size();
                self.left_out.bodies += u64::from(leave_out(entry));
                self.held += entry.size();
                self.thinned += 1;
            } else if self.pop().is_some() {
                self.left_out.dropped += 1;
            } else {
                return;
            }
        }
    }

    /// Removes and returns the oldest entry.
    pub fn pop(&mut self) -> Option<Entry> {
        let entry = self.entries.pop_front()?;
        self.held -= entry.size();
        self.thinned = self.thinned.saturating_sub(1);
        Some(entry)
    }

    /// Iterates over the entries, the oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter()
    }

    /// The bytes that the entries count for.
    #[must_use]
    pub fn held(&self) -> u64 {
        self.held
    }

    /// What is missing before and between the entries.
    #[must_use]
    pub fn left_out(&self) -> LeftOut {
        self.left_out
    }
}

/// Leaves out the body of a packet with chunks, and says so in its comment. Returns `false` for other packets, which
/// get bytes of their own.
fn leave_out(entry: &mut Entry) -> bool {
    let Entry::Packet(record) = entry else { return false };
    let packet = &record.packet;
    let has_chunks = |kind: &&PacketType| Contents::has(kind);
    let wire = packet.frame().map(|frame| frame.wire());
    let head = wire.and_then(|wire| wire.get(..KEPT));
    let (Some(kind), Some(wire), Some(head)) = (packet.kind().filter(has_chunks), wire, head)
    else {
        record.packet.detach();
        return false;
    };
    let reason = RawReason::Oversize { frame: wire.len(), left: wire.len() - KEPT };
    let remark = format!("{}: its body was left out to save memory", kind.name());
    debug_assert!(is_own(&remark), "redaction does not know the remark: {remark}");
    let content = Content::Raw(Bytes::copy_from_slice(head), reason);
    record.packet.set_content(content);
    record.comment = Some(match record.comment.take() {
        Some(comment) => format!("{comment}; {remark}"),
        None => remark,
    });
    true
}

/// The bytes that are kept of a packet whose body is left out.
const KEPT: usize = 16;

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::capture::{
        Compression, CreateOptions, FileType, Format, Record, Sink as _, read_capture, write_sink,
    };
    use mitmcraft_protocol::codec::Frame;
    use mitmcraft_protocol::packet::{Context, Packet};
    use mitmcraft_protocol::schema::{Catalog, Direction, State};

    /// A packet of 1.8: a chunk, or another one.
    fn packet(second: u64, is_chunk: bool, size: usize) -> Entry {
        let protocol = Catalog::embedded().find(47).unwrap().protocol;
        let context = Context::new(1, Timestamp(0), ([127, 0, 0, 1], 1).into(), protocol);
        let mut body = vec![0; size];
        body[0] = if is_chunk { 0x21 } else { 0x03 };
        let content = Content::Frame(Frame::from_body(body.into()));
        let at = Timestamp(second * 1_000_000_000);
        let way = Direction::Clientbound;
        let packet = Packet::new(Arc::new(context), second, at, way, State::Play, content);
        Entry::Packet(Record::passed(packet))
    }

    fn kept(ring: &EntryRing) -> Vec<(u64, usize)> {
        let entries = ring.iter().filter_map(Entry::record);
        entries.map(|it| (it.packet.seq(), it.packet.size())).collect()
    }

    #[test]
    fn what_is_too_old_goes_first_then_the_bodies_of_chunks_and_then_the_oldest_entries() {
        let mut ring = EntryRing::new(Duration::from_secs(5), 2500).thinning();
        for second in 0..10 {
            ring.push(packet(second, second % 2 == 0, if second < 8 { 40 } else { 600 }));
        }
        assert_eq!(kept(&ring), [(5, 40), (6, 16), (7, 40), (8, 600), (9, 600)]);
        let left_out = |ring: &EntryRing| {
            let LeftOut { old, dropped, bodies } = ring.left_out();
            (old, dropped, bodies)
        };
        assert_eq!(left_out(&ring), (4, 1, 2));
        let sum: u64 = ring.iter().map(Entry::size).sum();
        assert_eq!(ring.held(), sum);
        ring.push(packet(9, false, 950));
        assert_eq!(kept(&ring), [(7, 40), (8, 16), (9, 600), (9, 950)]);
        assert_eq!(left_out(&ring), (4, 3, 3));
        ring.trim(Timestamp(100_000_000_000));
        assert_eq!((ring.held(), ring.iter().count()), (0, 0));
    }

    #[test]
    fn entries_count_for_the_bytes_that_they_hold_whatever_they_had_on_the_wire() {
        let mut ring = EntryRing::new(Duration::from_secs(60), 2500);
        for second in 0..4 {
            let mut entry = packet(second, false, 1000);
            let Entry::Packet(record) = &mut entry else { unreachable!() };
            // As when a capture of compressed packets is read.
            record.packet.set_wire_size(50);
            ring.push(entry);
        }
        assert_eq!(kept(&ring), [(2, 1000), (3, 1000)]);
        let mut noted = packet(4, false, 1000);
        let Entry::Packet(record) = &mut noted else { unreachable!() };
        record.comment = Some("a".repeat(1000));
        ring.push(noted);
        assert_eq!(kept(&ring), [(4, 1000)]);
    }

    #[test]
    fn what_thinning_leaves_keeps_no_bytes_of_what_it_left_out() {
        let mut ring = EntryRing::new(Duration::from_secs(60), 1 << 20).thinning();
        let mut received = Vec::new();
        for run in 0..2 {
            let mut bytes = vec![0; 940];
            (bytes[0], bytes[900], bytes[920]) = (0x21, 0x03, 0x04);
            let bytes = Bytes::from(bytes);
            let frame = |part: Bytes| Content::Frame(Frame::bare(part));
            for content in [
                frame(bytes.slice(..900)),
                frame(bytes.slice(900..920)),
                Content::Raw(bytes.slice(920..), RawReason::Injected),
            ] {
                let mut entry = packet(run, false, 1);
                let Entry::Packet(record) = &mut entry else { unreachable!() };
                record.packet.set_content(content);
                ring.push(entry);
            }
            received.push(bytes);
        }
        for _ in 0..2 {
            ring.shrink(ring.held() - 1);
        }
        let LeftOut { dropped, bodies, .. } = ring.left_out();
        assert_eq!((dropped, bodies), (1, 1));
        assert!(received[0].is_unique() && !received[1].is_unique());
        let kept: Vec<&Record> = ring.iter().filter_map(Entry::record).collect();
        assert_eq!(kept[0].packet.body_or_bytes(), received[0].slice(900..920));
        assert!(kept[0].packet.kind().is_some_and(|kind| !Contents::has(kind)));
        assert_eq!(kept[1].packet.body_or_bytes(), received[0].slice(920..));
    }

    #[test]
    fn a_packet_without_its_body_is_written_and_read_like_others() {
        let mut chunk = packet(1, true, 3000);
        assert!(leave_out(&mut chunk));
        assert!(!leave_out(&mut chunk), "there is nothing left");
        let remark = "map_chunk: its body was left out to save memory";
        for format in [Format::Jsonl, Format::Pcapng] {
            let out = tempfile::NamedTempFile::new().unwrap();
            let kind = FileType { format, compression: Compression::None };
            let writer = Box::new(out.reopen().unwrap());
            let mut sink = write_sink(writer, kind, &CreateOptions::default()).unwrap();
            for entry in [packet(0, false, 9), chunk.clone(), packet(2, false, 9)] {
                sink.write(&entry).unwrap();
            }
            sink.finish().unwrap();
            let file = std::io::BufReader::new(out.reopen().unwrap());
            let read: Vec<Entry> =
                read_capture(file, Catalog::embedded()).unwrap().map(Result::unwrap).collect();
            let found: Vec<_> = read.iter().filter_map(Entry::record).collect();
            assert_eq!(found.len(), 3, "{format:?}");
            assert_eq!(found[1].comment.as_deref(), Some(remark), "{format:?}");
            assert_eq!(found[1].packet.size(), KEPT, "{format:?}");
            assert!(found[2].packet.frame().is_some(), "{format:?}");
        }
    }
}
