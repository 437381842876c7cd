use crate::capture::{Outcome, Record};
use crate::packet::{Origin, Timestamp};
use crate::schema::{Direction, State};

/// A packet without its bytes, in 32 bytes.
#[derive(Debug, Clone, Copy)]
pub struct Row {
    /// The time when its last byte arrived, or when it was made.
    pub at: Timestamp,
    /// The size of the inflated body.
    pub size: u32,
    /// The size on the wire.
    pub wire: u32,
    /// Where its bytes begin in those of its chunk, or in the part of the capture that its chunk has.
    pub(super) start: u32,
    /// The packet's number in its session: its low 32 bits.
    seq_low: u32,
    /// The 16 bits above them.
    seq_high: u16,
    /// The place of its context in its chunk.
    pub(super) context: u16,
    /// The place of its type in its protocol, or [`NO_KIND`].
    pub(super) kind: u16,
    /// Direction, outcome, origin and state.
    facts: u8,
    /// How its bytes are stored.
    pub(super) form: Form,
}

/// How the bytes of a packet are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// The body of a frame with a length prefix, in the capture.
    Captured,
    /// The body of a frame with a length prefix.
    Framed,
    /// The body of a frame without a length prefix.
    Bare,
    /// An [`Extra`](super::Extra) and the packet's bytes, each after its length.
    Extra,
}

impl Row {
    pub(super) fn new(record: &Record, form: Form, start: u32, context: u16) -> Self {
        let packet = &record.packet;
        let seq = packet.seq.min(MAX_SEQ);
        let kind = packet.kind().map_or(NO_KIND, |kind| packet.context.protocol.place(kind));
        let direction = (packet.direction == Direction::Serverbound) as u8;
        let (outcome, origin) = (record.outcome as u8, packet.origin as u8);
        Self {
            at: packet.at,
            size: u32::try_from(packet.size()).unwrap_or(u32::MAX),
            wire: u32::try_from(packet.wire_size()).unwrap_or(u32::MAX),
            seq_low: seq as u32,
            seq_high: (seq >> 32) as u16,
            start,
            context,
            kind,
            facts: direction | outcome << 1 | origin << 3 | (packet.state as u8) << 5,
            form,
        }
    }

    /// The packet's number in its session, at most 2^48 - 1.
    #[must_use]
    pub fn seq(&self) -> u64 {
        u64::from(self.seq_high) << 32 | u64::from(self.seq_low)
    }

    /// The direction in which the packet travelled.
    #[must_use]
    pub fn direction(&self) -> Direction {
        if self.facts & 1 == 1 { Direction::Serverbound } else { Direction::Clientbound }
    }

    /// The fate of the packet.
    #[must_use]
    pub fn outcome(&self) -> Outcome {
        Outcome::ALL[usize::from(self.facts >> 1 & 3)]
    }

    /// The maker of the packet.
    #[must_use]
    pub fn origin(&self) -> Origin {
        Origin::ALL[usize::from(self.facts >> 3 & 3).min(2)]
    }

    /// The state in which the packet's id is defined.
    #[must_use]
    pub fn state(&self) -> State {
        State::ALL[usize::from(self.facts >> 5).min(State::ALL.len() - 1)]
    }
}

/// The kind of packets with an unassigned id, and of bytes that are no packet.
pub(super) const NO_KIND: u16 = u16::MAX;

/// The greatest number of a packet that a row has.
pub(super) const MAX_SEQ: u64 = (1 << 48) - 1;

const _: () = assert!(size_of::<Row>() <= 32);
