use std::collections::BTreeMap;

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
/// The queue accepts everything. Once it holds more than [`MAX_HELD`] bytes or [`MAX_COUNT`] emissions, or
/// more than the memory for all sessions has left, it is full, and its owner stops reading the peer.
#[derive(Debug, Default)]
pub(crate) struct DelayQueue {
    /// Waiting emissions, ordered by the time at which they are due and then by arrival.
    waiting: BTreeMap<(Timestamp, u64), Waiting>,
    /// The number of the last one.
    last: u64,
    /// The number of waiting emissions that keep their order, and the time at which the last of them is due.
    ordered: (usize, Timestamp),
    /// Bytes in `waiting`.
    size: usize,
    /// The memory of `waiting`.
    reservation: Reservation,
}

impl DelayQueue {
    /// Counts what waits in `budget` from now on.
    pub(crate) fn set_budget(&mut self, budget: &MemoryBudget) {
        self.reservation = budget.reservation();
        self.resize(self.size);
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
            match self.ordered {
                (0, _) if delay.is_none() => return Some(emission),
                (0, _) => {}
                (_, last) => release = release.max(last),
            }
            self.ordered = (self.ordered.0 + 1, release);
        }
        self.last += 1;
        let size = self.size + emission.bytes().len();
        self.waiting.insert((release, self.last), Waiting { reorder, emission });
        self.resize(size);
        None
    }

    /// Removes the next emission if its delay is over at `due`; whether or not it is, if `None`.
    pub(crate) fn pop(&mut self, due: Option<Timestamp>) -> Option<Emission> {
        self.next().filter(|release| due.is_none_or(|due| *release <= due))?;
        let (_, Waiting { reorder, emission }) = self.waiting.pop_first()?;
        self.ordered.0 -= usize::from(!reorder);
        self.resize(self.size - emission.bytes().len());
        Some(emission)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    pub(crate) fn is_full(&self) -> bool {
        self.exceeds(1)
    }

    /// Returns whether even what has been read of the peer must wait.
    pub(crate) fn is_overfull(&self) -> bool {
        self.exceeds(2)
    }

    /// Returns whether nothing that the proxy sends besides may wait here.
    pub(crate) fn has_no_room(&self) -> bool {
        self.exceeds(3)
    }

    /// Bytes waiting.
    pub(crate) fn size(&self) -> usize {
        self.size
    }

    /// Returns the time at which the next emission is due.
    pub(crate) fn next(&self) -> Option<Timestamp> {
        self.waiting.first_key_value().map(|((release, _), _)| *release)
    }

    fn exceeds(&self, times: usize) -> bool {
        let (size, count) = (self.size, self.waiting.len());
        size > times * MAX_HELD || count > times * MAX_COUNT || self.reservation.is_pressed()
    }

    fn resize(&mut self, size: usize) {
        self.size = size;
        self.reservation.resize(size + self.waiting.len() * (MAX_HELD / MAX_COUNT));
    }
}

/// An emission in a [`DelayQueue`].
#[derive(Debug)]
struct Waiting {
    /// `true` if later emissions may overtake it.
    reorder: bool,
    emission: Emission,
}

/// Enough for seconds of a busy session.
const MAX_HELD: usize = 8 << 20;

/// Emissions that take that much memory with nothing in them.
const MAX_COUNT: usize = 64 << 10;
