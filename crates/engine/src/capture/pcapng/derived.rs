use super::metadata::Metadata;
use crate::capture::Outcome;
use crate::capture::head::{Head, ProtocolId};
use mitmcraft_protocol::packet::{Diagnostics, Origin};
use mitmcraft_protocol::schema::{Direction, Family, PerDirection, State};
use mitmcraft_protocol::wire::VarInt;

/// The facts about a connection's next packet that follow from its earlier packets. The writer and
/// the reader of a file keep one each, so that only what differs is stored.
#[derive(Debug, Default)]
pub(super) struct Derived {
    session: u64,
    /// The number of the last packet.
    seq: u64,
    /// `None` until metadata contain it.
    sides: PerDirection<Option<Side>>,
}

/// A direction of the connection.
#[derive(Debug, Clone, Copy)]
struct Side {
    lasting: DirectionState,
    /// Packets since the metadata last contained it.
    since: u32,
}

/// The facts about packets of one direction that rarely change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct DirectionState {
    pub(super) state: State,
    pub(super) protocol: ProtocolId,
    pub(super) guess: bool,
    /// `true` if frames have the number that compression adds: 0 for a frame that is not compressed.
    pub(super) marked: bool,
}

impl Derived {
    /// Returns the metadata of a packet that cannot be derived, or, with `whole`, all of them. `streamed`
    /// are its bytes in the stream.
    pub(super) fn metadata(
        &mut self,
        head: Head,
        direction: Direction,
        streamed: &[u8],
        whole: bool,
    ) -> Metadata {
        let framed = is_framed(&head);
        let side = self.sides[direction].filter(|side| !whole && side.since < REPEATED);
        let mut marked = self.sides[direction].is_some_and(|side| side.lasting.marked);
        let usual = |marked| usual_wire(streamed, framed, marked);
        let came = head.outcome == Outcome::Pass;
        if came && head.wire != usual(marked) && head.wire == usual(!marked) {
            marked = !marked;
        }
        let lasting = DirectionState {
            state: head.state,
            protocol: head.protocol,
            guess: head.guess,
            marked,
        };
        let known = side.is_some_and(|side| side.lasting == lasting);
        let follows = known && Some(head.seq) == self.seq.checked_add(1);
        (self.session, self.seq) = (head.session, head.seq);
        let since = side.filter(|_| known).map_or(0, |side| side.since + 1);
        self.sides[direction] = Some(Side { lasting, since });
        let made = (head.origin, head.outcome, head.noted);
        Metadata {
            lasting: (!known).then_some((head.session, lasting)),
            seq: (!follows).then_some(head.seq),
            wire: Some(head.wire).filter(|wire| *wire != usual(marked)),
            made: Some(made).filter(|made| *made != USUAL),
            of: head.of,
            comment: head.comment,
            raw: head.raw,
            streamed: None,
        }
    }

    /// Returns the head of the next packet. Returns `None` if it cannot be known, as packets before
    /// this one are missing.
    pub(super) fn head(
        &mut self,
        metadata: Metadata,
        direction: Direction,
        streamed: &[u8],
    ) -> Option<Head> {
        let next = self.seq.wrapping_add(1);
        self.seq = metadata.seq.unwrap_or(next);
        if let Some((session, lasting)) = metadata.lasting {
            self.session = session;
            self.sides[direction] = Some(Side { lasting, since: 0 });
        }
        let DirectionState { state, protocol, guess, marked } = self.sides[direction]?.lasting;
        let (origin, outcome, noted) = metadata.made.unwrap_or(USUAL);
        let mut head = Head {
            session: self.session,
            seq: self.seq,
            state,
            protocol,
            guess,
            origin,
            outcome,
            of: metadata.of,
            comment: metadata.comment,
            noted,
            wire: 0,
            raw: metadata.raw,
        };
        let framed = is_framed(&head);
        head.wire = metadata.wire.unwrap_or_else(|| usual_wire(streamed, framed, marked));
        Some(head)
    }

    /// Forgets the metadata read so far: those of missing packets may differ.
    pub(super) fn forget(&mut self) {
        self.sides = PerDirection::default();
    }
}

fn is_framed(head: &Head) -> bool {
    head.protocol.family == Family::Java && head.raw.is_none()
}

/// Returns the bytes on the wire of a packet that was not compressed.
fn usual_wire(streamed: &[u8], framed: bool, marked: bool) -> usize {
    let body = VarInt::read(streamed).ok().filter(|_| framed && marked);
    let body = body.and_then(|prefix| streamed.len().checked_sub(prefix.length));
    let marked = body.and_then(|body| Some((i32::try_from(body + 1).ok()?, body + 1)));
    marked.map_or(streamed.len(), |(length, size)| VarInt::size(length) + size)
}

/// Origin, outcome and diagnostics of most packets.
const USUAL: (Option<Origin>, Outcome, Diagnostics) = (None, Outcome::Pass, Diagnostics::NONE);

/// Number of packets of a direction after which all metadata are repeated, for readers of a file from
/// which packets were removed.
const REPEATED: u32 = 32;
