use std::collections::BTreeMap;
use std::time::Duration;

use bytes::{Buf as _, Bytes};

use mitmcraft_protocol::codec::{MemoryBudget, Reservation};
use mitmcraft_protocol::packet::Timestamp;

/// Reassembles what one side of a TCP connection sends. Of bytes sent repeatedly, the first copy
/// counts.
///
/// Holds at most [`MAX_HELD`] bytes after a gap, and no more than [`Reservation::FREE`] while the
/// memory for all connections is used up: then the gap is given up.
#[derive(Debug, Default)]
pub(super) struct Stream {
    /// Position of the next byte: its sequence number, extended beyond 32 bits. `None` before it is
    /// known.
    next: Option<u64>,
    /// Bytes after a gap, by position. They do not overlap.
    waiting: BTreeMap<u64, Bytes>,
    /// Memory used by `waiting`.
    held: usize,
    reservation: Reservation,
    /// Position after the last byte, once a FIN has arrived.
    end: Option<u64>,
    ended: bool,
    /// The position that the peer has acknowledged, if it is beyond `next`, and since when.
    acknowledged: Option<(u64, Timestamp)>,
}

/// The next part of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Piece {
    Bytes(Bytes),
    /// Number of bytes that are not in the recording.
    Missing(u64),
    /// The end of the stream.
    End,
}

impl Stream {
    /// Creates a stream that holds bytes within `memory`.
    pub(super) fn new(memory: &MemoryBudget) -> Self {
        Self { reservation: memory.reservation(), ..Self::default() }
    }

    /// Sets the sequence number of the first byte, unless it is known already.
    pub(super) fn begin(&mut self, seq: u32) {
        // Leaves room for positions before the first byte.
        self.next.get_or_insert_with(|| u64::from(seq) | 1 << 32);
    }

    /// Returns `true` if a sequence number is within a window of the next byte's.
    pub(super) fn is_near(&self, seq: u32) -> bool {
        let distance = self.next.map_or(0, |next| seq.wrapping_sub(next as u32) as i32);
        distance.unsigned_abs() < NEAR
    }

    /// Adds a segment, of which `missing` bytes at the end were not recorded. `last`: it has a FIN.
    pub(super) fn push(&mut self, seq: u32, bytes: Bytes, missing: usize, last: bool) {
        if bytes.is_empty() && missing == 0 && !last {
            return;
        }
        self.begin(seq);
        let Some(start) = self.place(seq) else { return };
        if last {
            self.end = Some(start + bytes.len() as u64 + missing as u64);
        }
        self.insert(start, bytes);
    }

    /// Notes that the peer has acknowledged all bytes before `ack`.
    pub(super) fn acknowledge(&mut self, at: Timestamp, ack: u32) {
        self.begin(ack);
        let (Some(ack), Some(next)) = (self.place(ack), self.next) else { return };
        // A FIN counts as a byte (RFC 9293, section 3.4).
        let ack = self.end.map_or(ack, |end| ack.min(end));
        if ack > next {
            let since = self.acknowledged.map_or(at, |(_, since)| since);
            self.acknowledged = Some((ack, since));
        }
    }

    /// Returns the next part, if it is available.
    pub(super) fn poll(&mut self, now: Timestamp) -> Option<Piece> {
        self.poll_until(|stream, next| stream.gap(now, next))
    }

    /// Returns the next part when the recording has ended.
    pub(super) fn poll_last(&mut self) -> Option<Piece> {
        self.poll_until(|stream, next| {
            let first = stream.waiting.keys().next().copied();
            let known = first.or(stream.end).or_else(|| stream.acknowledged.map(|(ack, _)| ack));
            known.filter(|known| *known > next)
        })
    }

    fn poll_until(&mut self, gap: impl FnOnce(&Self, u64) -> Option<u64>) -> Option<Piece> {
        let next = self.next?;
        if let Some(entry) = self.waiting.first_entry()
            && *entry.key() == next
        {
            let bytes = entry.remove();
            self.held -= bytes.len() + OVERHEAD;
            self.reservation.resize(self.held);
            self.advance(next + bytes.len() as u64);
            return Some(Piece::Bytes(bytes));
        }
        if let Some(until) = gap(self, next) {
            self.advance(until);
            return Some(Piece::Missing(until - next));
        }
        if self.end == Some(next) && !self.ended {
            self.ended = true;
            return Some(Piece::End);
        }
        None
    }

    /// Returns the position at which the stream continues if the next bytes are lost.
    fn gap(&self, now: Timestamp, next: u64) -> Option<u64> {
        let first = self.waiting.keys().next().copied();
        if self.held > MAX_HELD || self.reservation.is_pressed() {
            return first;
        }
        // The peer has received them, so the recording missed them, unless it is slightly out of order.
        let (ack, since) = self.acknowledged?;
        (now.since(since) >= GRACE)
            .then(|| first.map_or(ack, |first| first.min(ack)))
            .filter(|until| *until > next)
    }

    fn advance(&mut self, next: u64) {
        self.next = Some(next);
        self.acknowledged = self.acknowledged.filter(|(ack, _)| *ack > next);
    }

    /// Extends a sequence number to the position nearest to the next byte.
    fn place(&self, seq: u32) -> Option<u64> {
        let next = self.next?;
        let distance = seq.wrapping_sub(next as u32) as i32;
        next.checked_add_signed(distance.into())
    }

    /// Keeps what is not there yet.
    fn insert(&mut self, mut start: u64, mut bytes: Bytes) {
        let mut skip = self.next.map_or(0, |next| next.saturating_sub(start));
        loop {
            let skipped = skip.min(bytes.len() as u64);
            bytes.advance(skipped as usize);
            start += skipped;
            if bytes.is_empty() {
                return;
            }
            if let Some((at, before)) = self.waiting.range(..=start).next_back() {
                skip = (at + before.len() as u64).saturating_sub(start);
                if skip > 0 {
                    continue;
                }
            }
            let free = self.waiting.range(start..).next().map_or(u64::MAX, |(at, _)| at - start);
            let mut kept = bytes.split_to(free.min(bytes.len() as u64) as usize);
            if self.next != Some(start) {
                // What waits must not keep the whole packet that it came in.
                kept = Bytes::copy_from_slice(&kept);
            }
            self.held += kept.len() + OVERHEAD;
            self.reservation.resize(self.held);
            skip = 0;
            start += kept.len() as u64;
            self.waiting.insert(start - kept.len() as u64, kept);
        }
    }
}

/// Bytes held after a gap before the gap is given up: more than a receive window on most systems.
const MAX_HELD: usize = 8 << 20;

/// The largest receive window (RFC 7323, section 2.3).
const NEAR: u32 = 1 << 30;

/// Memory counted for a segment besides its bytes, so that many small ones are bounded too.
const OVERHEAD: usize = 128;

/// Time by which the two directions of a recording may be out of order.
const GRACE: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const NOW: Timestamp = Timestamp(1_000_000_000);

    fn drain(stream: &mut Stream, now: Timestamp) -> Vec<Piece> {
        std::iter::from_fn(|| stream.poll(now)).collect()
    }

    fn bytes(pieces: &[Piece]) -> Vec<u8> {
        let each = pieces.iter().map(|piece| match piece {
            Piece::Bytes(bytes) => &bytes[..],
            other => panic!("{other:?}"),
        });
        each.collect::<Vec<_>>().concat()
    }

    fn push(stream: &mut Stream, seq: u32, bytes: &'static [u8]) {
        stream.push(seq, Bytes::from_static(bytes), 0, false);
    }

    #[test]
    fn segments_come_out_in_order_and_once() {
        let mut stream = Stream::default();
        stream.begin(u32::MAX - 2);
        push(&mut stream, 1, b"efgh");
        push(&mut stream, u32::MAX - 1, b"bc");
        assert_eq!(drain(&mut stream, NOW), []);
        push(&mut stream, u32::MAX - 2, b"aYYY");
        push(&mut stream, u32::MAX - 2, b"abc");
        push(&mut stream, 0, b"Ye");
        assert_eq!(bytes(&drain(&mut stream, NOW)), b"abcYefgh");
    }

    #[test]
    fn the_first_copy_of_a_byte_counts() {
        let mut stream = Stream::default();
        stream.begin(10);
        push(&mut stream, 14, b"ef");
        push(&mut stream, 11, b"BCDEFGH");
        push(&mut stream, 10, b"abcdefghij");
        assert_eq!(bytes(&drain(&mut stream, NOW)), b"aBCDefGHij");
    }

    #[test]
    fn a_gap_that_the_peer_has_acknowledged_is_reported_after_a_second() {
        let mut stream = Stream::default();
        stream.begin(0);
        push(&mut stream, 100, b"later");
        stream.acknowledge(NOW, 105);
        assert_eq!(drain(&mut stream, NOW), []);
        let later = NOW.plus(GRACE);
        let found = drain(&mut stream, later);
        assert_eq!(found, [Piece::Missing(100), Piece::Bytes("later".into())]);
        stream.acknowledge(later, 200);
        assert_eq!(drain(&mut stream, later), []);
        assert_eq!(stream.poll_last(), Some(Piece::Missing(95)));
    }

    #[test]
    fn bytes_held_after_a_gap_are_bounded() {
        let mut stream = Stream::default();
        stream.begin(0);
        let mut seq = 1;
        for _ in 0..MAX_HELD / 1000 {
            stream.push(seq, Bytes::from_static(&[0; 1000]), 0, false);
            seq += 1000;
            if let Some(piece) = stream.poll(NOW) {
                assert_eq!(piece, Piece::Missing(1));
                assert!(stream.held > MAX_HELD && stream.held < MAX_HELD + 2000);
                return;
            }
        }
        panic!("no gap");
    }

    #[test]
    fn without_memory_a_gap_is_given_up_early() {
        let memory = MemoryBudget::new(1 << 20);
        let mut streams: Vec<Stream> = (0..100).map(|_| Stream::new(&memory)).collect();
        for seq in (1..200_000).step_by(1000) {
            for stream in &mut streams {
                stream.begin(0);
                stream.push(seq, Bytes::from_static(&[0; 1000]), 0, false);
                while stream.poll(NOW).is_some() {}
            }
            let held: usize = streams.iter().map(|stream| stream.held).sum();
            assert!(held < 2 * streams.len() * Reservation::FREE, "{held}");
        }
        drop(streams);
        assert_eq!(memory.used(), 0);
    }

    #[test]
    fn the_end_comes_after_the_last_byte() {
        let mut stream = Stream::default();
        stream.begin(0);
        stream.push(3, Bytes::new(), 0, true);
        assert_eq!(drain(&mut stream, NOW), []);
        push(&mut stream, 0, b"abc");
        stream.acknowledge(NOW, 4);
        let later = NOW.plus(GRACE);
        assert_eq!(drain(&mut stream, later), [Piece::Bytes("abc".into()), Piece::End]);
        assert_eq!(stream.poll_last(), None);
    }

    #[test]
    fn bytes_cut_off_by_the_snap_length_are_missing() {
        let mut stream = Stream::default();
        stream.begin(0);
        stream.push(0, Bytes::from_static(b"abc"), 5, false);
        push(&mut stream, 8, b"ijk");
        assert_eq!(stream.poll_last(), Some(Piece::Bytes("abc".into())));
        assert_eq!(stream.poll_last(), Some(Piece::Missing(5)));
    }

    proptest! {
        #[test]
        fn any_cuts_in_any_order_with_repeats_give_the_same_bytes(
            isn: u32,
            cuts in proptest::collection::vec((0usize..500, 1usize..200), 1..60),
        ) {
            let whole: Vec<u8> = (0..500u16).map(|it| (it % 251) as u8).collect();
            let mut stream = Stream::default();
            stream.begin(isn);
            let mut found = Vec::new();
            let each = (0..500).step_by(100).map(|at| (at, 100));
            for (at, length) in cuts.into_iter().chain(each) {
                let piece = &whole[at..(at + length).min(500)];
                stream.push(isn.wrapping_add(at as u32), Bytes::copy_from_slice(piece), 0, false);
                found.extend(bytes(&drain(&mut stream, NOW)));
            }
            prop_assert_eq!(found, whole);
            prop_assert_eq!(stream.held, 0);
        }
    }
}
