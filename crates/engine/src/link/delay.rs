use std::collections::VecDeque;

use bytes::Bytes;

use crate::filter::Delay;
use mitmcraft_protocol::codec::{Frame, MemoryBudget, Reservation};
use mitmcraft_protocol::packet::{Content, Packet, Timestamp};

/// Something to be written to a leg.
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
    /// The content of a packet, to be sent as it came.
    pub(crate) fn of(content: &Content) -> Self {
        match content {
            Content::Frame(frame) => Self::Frame(frame.clone()),
            Content::Raw(bytes, _) => Self::Bytes(bytes.clone()),
        }
    }

    /// The packet once more, as a packet of the proxy's own; `None` if its body does not inflate.
    pub(crate) fn again(packet: &Packet) -> Option<Self> {
        match packet.content() {
            Content::Frame(frame) => frame.body().ok().map(Self::Body),
            Content::Raw(bytes, _) => Some(Self::Bytes(bytes.clone())),
        }
    }

    /// The bytes as they were received, or as a rule gave them.
    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            Self::Frame(frame) => frame.wire(),
            Self::Body(bytes) | Self::Bytes(bytes) => bytes,
        }
    }
}

/// The emissions that rules delay in one direction, in the order in which they go out.
///
/// The queue accepts everything. Once it holds more than [`MAX_HELD`] bytes, or more than
/// [`Reservation::FREE`] while the memory for all sessions is used up, it is full, and its owner
/// stops reading the peer.
#[derive(Debug, Default)]
pub(crate) struct DelayQueue {
    /// Sorted by time.
    waiting: VecDeque<Waiting>,
    /// Bytes in `waiting`.
    size: usize,
    /// The memory of `waiting`.
    reservation: Reservation,
}

impl DelayQueue {
    /// Counts what waits in `budget` from now on.
    pub(crate) fn set_budget(&mut self, budget: &MemoryBudget) {
        self.reservation = budget.reservation();
        self.reservation.resize(self.size);
    }

    /// Queues an emission, or returns it if it may go out at once.
    pub(crate) fn push(
        &mut self,
        now: Timestamp,
        delay: Option<Delay>,
        emission: Emission,
    ) -> Option<Emission> {
        let mut release = delay.map_or(now, |delay| now.plus(delay.by));
        let reorder = delay.is_some_and(|delay| delay.reorder);
        if !reorder {
            match self.waiting.iter().rev().find(|it| !it.reorder) {
                Some(last) => release = release.max(last.release),
                None if delay.is_none() => return Some(emission),
                None => {}
            }
        }
        let place = self.waiting.partition_point(|it| it.release <= release);
        self.size += emission.bytes().len();
        self.reservation.resize(self.size);
        self.waiting.insert(place, Waiting { release, reorder, emission });
        None
    }

    /// Removes the next emission if its delay is over at `due`; whether or not it is, if `None`.
    pub(crate) fn pop(&mut self, due: Option<Timestamp>) -> Option<Emission> {
        self.waiting.front().filter(|it| due.is_none_or(|due| it.release <= due))?;
        let Waiting { emission, .. } = self.waiting.pop_front()?;
        self.size -= emission.bytes().len();
        self.reservation.resize(self.size);
        Some(emission)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    pub(crate) fn is_full(&self) -> bool {
        self.size > MAX_HELD || self.reservation.is_pressed()
    }

    /// Bytes waiting.
    pub(crate) fn size(&self) -> usize {
        self.size
    }

    /// Returns the time at which the next emission is due.
    pub(crate) fn next(&self) -> Option<Timestamp> {
        self.waiting.front().map(|it| it.release)
    }
}

/// An emission in a [`DelayQueue`].
#[derive(Debug)]
struct Waiting {
    release: Timestamp,
    /// `true` if later emissions may overtake it.
    reorder: bool,
    emission: Emission,
}

/// Enough for seconds of a busy session.
const MAX_HELD: usize = 8 << 20;
