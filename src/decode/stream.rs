use std::collections::BTreeMap;
use std::time::Duration;

use bytes::{Buf as _, Bytes};

use crate::packet::Timestamp;

/// What one side of a TCP connection sends, put in order: the first copy of each byte counts.
///
/// Holds [`MAX_HELD`] bytes behind a hole at most.
#[derive(Debug, Default)]
pub(super) struct Stream {
    /// Number of the next byte, counted on where the 32 bits of the wire come round; None before
    /// it is known.
    next: Option<u64>,
    /// What came behind a hole. None of it overlaps.
    waiting: BTreeMap<u64, Bytes>,
    /// Memory that `waiting` takes.
    held: usize,
    /// Number behind the last byte, once a FIN said so.
    end: Option<u64>,
    ended: bool,
    /// Up to where the peer has acknowledged, when that is beyond `next`, and since when.
    acknowledged: Option<(u64, Timestamp)>,
}

/// What comes next of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Piece {
    Bytes(Bytes),
    /// So many bytes that are not in the recording.
    Missing(u64),
    /// The side sends no more.
    End,
}

impl Stream {
    /// The stream's first byte has that number on the wire.
    pub(super) fn begin(&mut self, seq: u32) {
        // Far enough from 0 for what came before.
        self.next.get_or_insert_with(|| u64::from(seq) | 1 << 32);
    }

    /// Whether that number is about where the stream is.
    pub(super) fn is_near(&self, seq: u32) -> bool {
        let distance = self.next.map_or(0, |next| seq.wrapping_sub(next as u32) as i32);
        distance.unsigned_abs() < NEAR
    }

    /// Takes a segment, of which `missing` bytes at the end were not recorded.
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

    /// The peer has all up to that number.
    pub(super) fn acknowledge(&mut self, at: Timestamp, ack: u32) {
        self.begin(ack);
        let (Some(ack), Some(next)) = (self.place(ack), self.next) else { return };
        // A FIN counts as a byte.
        let ack = self.end.map_or(ack, |end| ack.min(end));
        if ack > next {
            let since = self.acknowledged.map_or(at, |(_, since)| since);
            self.acknowledged = Some((ack, since));
        }
    }

    /// What comes next, if it is there.
    pub(super) fn poll(&mut self, now: Timestamp) -> Option<Piece> {
        self.poll_until(|stream, next| stream.hole(now, next))
    }

    /// What comes next, when no more will be recorded.
    pub(super) fn poll_last(&mut self) -> Option<Piece> {
        self.poll_until(|stream, next| {
            let first = stream.waiting.keys().next().copied();
            let known = first.or(stream.end).or_else(|| stream.acknowledged.map(|(ack, _)| ack));
            known.filter(|known| *known > next)
        })
    }

    fn poll_until(&mut self, hole: impl FnOnce(&Self, u64) -> Option<u64>) -> Option<Piece> {
        let next = self.next?;
        if let Some(entry) = self.waiting.first_entry()
            && *entry.key() == next
        {
            let bytes = entry.remove();
            self.held -= bytes.len() + OVERHEAD;
            self.advance(next + bytes.len() as u64);
            return Some(Piece::Bytes(bytes));
        }
        if let Some(until) = hole(self, next) {
            self.advance(until);
            return Some(Piece::Missing(until - next));
        }
        if self.end == Some(next) && !self.ended {
            self.ended = true;
            return Some(Piece::End);
        }
        None
    }

    /// Where the bytes go on, if those that come next will not be seen any more.
    fn hole(&self, now: Timestamp, next: u64) -> Option<u64> {
        let first = self.waiting.keys().next().copied();
        if self.held > MAX_HELD {
            return first;
        }
        // The peer has them: they were lost for the recording, unless it is a little out of order.
        let (ack, since) = self.acknowledged?;
        (now.since(since) >= GRACE)
            .then(|| first.map_or(ack, |first| first.min(ack)))
            .filter(|until| *until > next)
    }

    fn advance(&mut self, next: u64) {
        self.next = Some(next);
        self.acknowledged = self.acknowledged.filter(|(ack, _)| *ack > next);
    }

    /// The number counted on that is nearest to where the stream is.
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
            let kept = bytes.split_to(free.min(bytes.len() as u64) as usize);
            self.held += kept.len() + OVERHEAD;
            skip = 0;
            start += kept.len() as u64;
            self.waiting.insert(start - kept.len() as u64, kept);
        }
    }
}

/// More than a receive window has on most systems; beyond it something was lost.
const MAX_HELD: usize = 8 << 20;

/// No window is wider (RFC 7323).
const NEAR: u32 = 1 << 30;

/// Memory that a piece takes beside its bytes, so that many small ones count too.
const OVERHEAD: usize = 128;

/// How far a recording may be out of order between the two directions.
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
    fn a_hole_that_the_peer_has_acknowledged_is_told_after_a_second() {
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
    fn what_waits_behind_a_hole_is_bounded() {
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
    fn the_end_comes_behind_the_last_byte() {
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
    fn what_a_snap_length_has_cut_off_is_missing() {
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
