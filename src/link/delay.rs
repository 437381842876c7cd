use std::collections::VecDeque;

use bytes::Bytes;

use crate::codec::Frame;
use crate::filter::Delay;
use crate::packet::{Packet, Timestamp};
use crate::schema::Role;

/// What is to be written to a leg.
#[derive(Debug)]
pub(crate) enum Emission {
    /// A frame as it came.
    Frame(Frame),
    /// A body that is still to be framed.
    Body(Bytes),
    /// Bytes as they are.
    Bytes(Bytes),
}

impl Emission {
    fn size(&self) -> usize {
        match self {
            Self::Frame(frame) => frame.wire().len(),
            Self::Body(bytes) | Self::Bytes(bytes) => bytes.len(),
        }
    }
}

/// What rules hold back in one direction, in the order in which it goes out.
///
/// Holds [`MAX_HELD`] bytes before the peer is not read any more.
#[derive(Debug, Default)]
pub(crate) struct DelayQueue {
    /// Sorted by time.
    waiting: VecDeque<(Timestamp, Emission)>,
    /// Bytes in `waiting`.
    size: usize,
    /// A packet that drives the connection, to be handled when all before it is out. The direction
    /// gives no further packets before.
    driving: Option<Box<(Packet, Role)>>,
    /// Whether the direction ends once all is out.
    pub(crate) ends: bool,
}

impl DelayQueue {
    /// Puts something in its place; gives it back when it has no place here but may go out now.
    pub(crate) fn push(
        &mut self,
        now: Timestamp,
        delay: Option<Delay>,
        emission: Emission,
    ) -> Option<Emission> {
        if self.waiting.is_empty() && delay.is_none() {
            return Some(emission);
        }
        let own = delay.map_or(now, |delay| now.plus(delay.by));
        let reorder = delay.is_some_and(|delay| delay.reorder);
        let last = self.waiting.back().map_or(own, |(last, _)| *last);
        let release = if reorder { own } else { own.max(last) };
        let place = self.waiting.partition_point(|(at, _)| *at <= release);
        self.size += emission.size();
        self.waiting.insert(place, (release, emission));
        None
    }

    pub(crate) fn hold_driving(&mut self, packet: Packet, role: Role) {
        self.driving = Some(Box::new((packet, role)));
    }

    /// The next that may go out.
    pub(crate) fn pop_due(&mut self, now: Timestamp) -> Option<Emission> {
        self.waiting.front().filter(|(release, _)| *release <= now)?;
        self.pop()
    }

    /// The next, due or not.
    pub(crate) fn pop(&mut self) -> Option<Emission> {
        let (_, emission) = self.waiting.pop_front()?;
        self.size -= emission.size();
        Some(emission)
    }

    /// The packet that waited for the queue to be empty.
    pub(crate) fn take_driving(&mut self) -> Option<(Packet, Role)> {
        if !self.waiting.is_empty() {
            return None;
        }
        self.driving.take().map(|driving| *driving)
    }

    pub(crate) fn holds_driving(&self) -> bool {
        self.driving.is_some()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty() && self.driving.is_none()
    }

    pub(crate) fn is_full(&self) -> bool {
        self.size > MAX_HELD
    }

    /// Bytes that wait.
    pub(crate) fn size(&self) -> usize {
        self.size
    }

    /// When the next may go out.
    pub(crate) fn next(&self) -> Option<Timestamp> {
        self.waiting.front().map(|(release, _)| *release)
    }
}

/// Enough for seconds of a busy session.
const MAX_HELD: usize = 8 << 20;
