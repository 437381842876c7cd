use mitmcraft_engine::capture::{Outcome, Record};
use mitmcraft_protocol::packet::{Origin, Timestamp};
use mitmcraft_protocol::schema::{Direction, State};

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
    /// The parts of the packet's bytes in the capture, and an [`Extra`](super::Extra), after their
    /// number and its length.
    Moved,
    /// Nowhere.
    Lost,
}

impl Form {
    const ALL: [Self; 6] =
        [Self::Captured, Self::Framed, Self::Bare, Self::Extra, Self::Moved, Self::Lost];
}

impl Row {
    pub(super) fn new(record: &Record, form: Form, start: u32, context: u16) -> Self {
        let packet = &record.packet;
        let seq = packet.seq().min(MAX_SEQ);
        let kind = packet.kind().map_or(NO_KIND, |kind| packet.context().protocol.place(kind));
        let direction = (packet.direction() == Direction::Serverbound) as u8;
        let (outcome, origin) = (record.outcome as u8, packet.origin() as u8);
        Self {
            at: packet.at(),
            size: u32::try_from(packet.size()).unwrap_or(u32::MAX),
            wire: u32::try_from(packet.wire_size()).unwrap_or(u32::MAX),
            seq_low: seq as u32,
            seq_high: (seq >> 32) as u16,
            start,
            context,
            kind,
            facts: direction | outcome << 1 | origin << 3 | (packet.state() as u8) << 5,
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

    /// Returns whether the proxy has made and sent the packet.
    pub(super) fn is_made(&self) -> bool {
        self.outcome() == Outcome::Send && self.origin() == Origin::Proxy
    }

    /// The state in which the packet's id is defined.
    #[must_use]
    pub fn state(&self) -> State {
        State::ALL[usize::from(self.facts >> 5).min(State::ALL.len() - 1)]
    }
}

impl Row {
    /// Appends it as [`SIZE`](Self::SIZE) bytes.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.at.0.to_le_bytes());
        for number in [self.size, self.wire, self.start, self.seq_low] {
            out.extend_from_slice(&number.to_le_bytes());
        }
        for number in [self.seq_high, self.context, self.kind] {
            out.extend_from_slice(&number.to_le_bytes());
        }
        out.extend_from_slice(&[self.facts, self.form as u8]);
    }

    /// Reads what [`write`](Self::write) has written.
    pub(super) fn read(bytes: &[u8; Self::SIZE]) -> Self {
        let long = |at| u32::from_le_bytes([0, 1, 2, 3].map(|byte: usize| bytes[at + byte]));
        let short = |at| u16::from_le_bytes([bytes[at], bytes[at + 1]]);
        Self {
            at: Timestamp(u64::from(long(0)) | u64::from(long(4)) << 32),
            size: long(8),
            wire: long(12),
            start: long(16),
            seq_low: long(20),
            seq_high: short(24),
            context: short(26),
            kind: short(28),
            facts: bytes[30],
            form: Form::ALL.get(usize::from(bytes[31])).copied().unwrap_or(Form::Lost),
        }
    }

    pub(super) const SIZE: usize = 32;
}

/// The kind of packets with an unassigned id, and of bytes that are no packet.
pub(super) const NO_KIND: u16 = u16::MAX;

/// The greatest number of a packet that a row has.
pub(super) const MAX_SEQ: u64 = (1 << 48) - 1;

const _: () = assert!(size_of::<Row>() <= 32);
