use std::sync::Arc;

use super::End;
use crate::capture::{Entry, Event, EventKind, LegState, Record, Summary};
use crate::filter::is_own;
use mitmcraft_protocol::packet::{
    Content, Context, Diagnostic, Diagnostics, Origin, Packet, Tally, Timestamp,
};
use mitmcraft_protocol::schema::{Direction, PerDirection, State};

/// Numbers and records the packets and events of one session, and counts them.
#[derive(Debug)]
pub(crate) struct Recorder {
    pub(crate) context: Arc<Context>,
    /// The time of the input being handled.
    pub(crate) now: Timestamp,
    pub(crate) states: PerDirection<State>,
    sequence: u64,
    packets: PerDirection<u64>,
    bytes: PerDirection<u64>,
    entries: Vec<Entry>,
    /// Why packets that are not recorded yet are taken as what they are, by their numbers.
    remarks: Vec<(u64, &'static str)>,
    /// Counts packets that were forwarded unchanged instead of recording them, if nobody records them.
    pub(crate) tally: Option<Tally>,
}

impl Recorder {
    /// Starts at the moment when the context's session was opened, which is not recorded here.
    pub(crate) fn new(context: Context) -> Self {
        Self {
            now: context.opened,
            context: Arc::new(context),
            states: PerDirection::default(),
            sequence: 0,
            packets: PerDirection::default(),
            bytes: PerDirection::default(),
            entries: Vec::new(),
            remarks: Vec::new(),
            tally: None,
        }
    }

    /// Makes the session's next packet, as if its peer had sent it in the present state.
    #[inline]
    pub(crate) fn packet(&mut self, direction: Direction, content: Content) -> Packet {
        self.sequence += 1;
        self.make(self.sequence, direction, content)
    }

    /// Makes a packet that gets its [`number`](Self::number) when it goes on. Until then it has the one
    /// that it would get now.
    pub(crate) fn unnumbered(&self, direction: Direction, content: Content) -> Packet {
        self.make(self.sequence + 1, direction, content)
    }

    /// Makes the session's next packet as the proxy's own.
    pub(crate) fn own_packet(&mut self, direction: Direction, content: Content) -> Packet {
        let mut packet = self.packet(direction, content);
        packet.set_origin(Origin::Proxy);
        packet
    }

    #[inline]
    fn make(&self, number: u64, direction: Direction, content: Content) -> Packet {
        let (context, state) = (Arc::clone(&self.context), self.states[direction]);
        let is_too_long = matches!(&content, Content::Frame(frame) if frame.has_long_length());
        let mut packet = Packet::new(context, number, self.now, direction, state, content);
        if is_too_long {
            packet.note(Diagnostics::from_iter([Diagnostic::FrameTooLong]));
        }
        packet
    }

    /// Gives a packet the session's next number.
    pub(crate) fn number(&mut self, packet: &mut Packet) {
        self.sequence += 1;
        packet.set_seq(self.sequence);
    }

    /// Says why the packet with that number, which is recorded later, is taken as what it is: `taken as .., because ..`.
    pub(crate) fn remark(&mut self, number: u64, why: &'static str) {
        debug_assert!(is_own(why), "redaction does not know the remark: {why}");
        self.remarks.push((number, why));
    }

    /// Forgets remarks on packets that have not got their number.
    pub(crate) fn forget_unnumbered(&mut self) {
        self.remarks.retain(|(number, _)| *number <= self.sequence);
    }

    #[cold]
    fn remarked(&mut self, mut record: Record) -> Record {
        let number = record.packet.seq();
        if let Some(place) = self.remarks.iter().position(|(about, _)| *about == number) {
            let (_, why) = self.remarks.swap_remove(place);
            record.comment = Some(match record.comment {
                Some(comment) => format!("{why}; {comment}"),
                None => why.to_owned(),
            });
        }
        record
    }

    #[inline(always)]
    pub(crate) fn record(&mut self, mut record: Record) {
        if !self.remarks.is_empty() {
            record = self.remarked(record);
        }
        if let Some(tally) = &mut self.tally
            && record.is_plain()
            && let (packet, Some(kind)) = (&record.packet, record.packet.kind())
            && let Some(mut tally) = tally.of(&packet.context().protocol)
        {
            tally.count(kind, packet.size(), packet.wire_size());
            return;
        }
        self.entries.push(Entry::Packet(record));
    }

    pub(crate) fn event(&mut self, kind: EventKind) {
        self.event_at(self.now, kind);
    }

    fn event_at(&mut self, at: Timestamp, kind: EventKind) {
        let context = Arc::clone(&self.context);
        self.push(Entry::Event(Event { context, at, kind }));
    }

    /// Records an entry as it is.
    pub(crate) fn push(&mut self, entry: Entry) {
        self.entries.push(entry);
    }

    /// Records state, compression and encryption of both legs, which are so since `at`.
    pub(crate) fn state_event(&mut self, at: Timestamp, client: &End, server: &End) {
        self.event_at(
            at,
            EventKind::State(LegState {
                state: self.states[Direction::Clientbound],
                client_threshold: client.threshold,
                server_threshold: server.threshold,
                client_encrypted: client.encrypted,
                server_encrypted: server.encrypted,
            }),
        );
    }

    /// Records the end of the session.
    pub(crate) fn close_event(&mut self, reason: String) {
        let (packets, bytes) = (self.packets, self.bytes);
        self.event(EventKind::Close(Summary {
            reason,
            serverbound_packets: packets[Direction::Serverbound],
            clientbound_packets: packets[Direction::Clientbound],
            serverbound_bytes: bytes[Direction::Serverbound],
            clientbound_bytes: bytes[Direction::Clientbound],
        }));
    }

    pub(crate) fn count_packet(&mut self, direction: Direction) {
        self.packets[direction] += 1;
    }

    /// Numbers and counts packets that are not recorded.
    pub(crate) fn count_unrecorded(&mut self, direction: Direction, packets: u64) {
        self.sequence += packets;
        self.packets[direction] += packets;
    }

    pub(crate) fn count_bytes(&mut self, direction: Direction, bytes: usize) {
        self.bytes[direction] += bytes as u64;
    }

    pub(crate) fn update_context(&mut self, update: impl FnOnce(&mut Context)) {
        update(Arc::make_mut(&mut self.context));
    }

    /// Both directions are in that state now.
    pub(crate) fn enter(&mut self, state: State) {
        self.states = PerDirection::from_fn(|_| state);
    }

    /// Appends the entries recorded since the last call to `into`.
    pub(crate) fn take_entries(&mut self, into: &mut Vec<Entry>) {
        if into.is_empty() {
            // As many are likely to follow.
            let next = Vec::with_capacity(self.entries.len());
            *into = std::mem::replace(&mut self.entries, next);
        } else {
            into.append(&mut self.entries);
        }
    }
}

/// The comment of a packet without a frame that the end of its connection cut off.
pub(crate) const CUT_OFF: &str = "the connection ended within this packet";

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use mitmcraft_protocol::packet::RawReason;
    use mitmcraft_protocol::schema::Catalog;

    #[test]
    fn a_remark_is_made_on_its_packet_whatever_is_recorded_before_it() {
        let protocol = Catalog::embedded().find(47).unwrap().protocol;
        let address = ([127, 0, 0, 1], 1).into();
        let mut recorder = Recorder::new(Context::new(1, Timestamp(0), address, protocol));
        let content = || Content::Raw(Bytes::new(), RawReason::NotMinecraft);
        let first = recorder.packet(Direction::Serverbound, content());
        recorder.remark(first.seq(), CUT_OFF);
        recorder.remark(first.seq() + 2, "sent by hand");
        let second = recorder.packet(Direction::Serverbound, content());
        recorder.record(Record::passed(second));
        recorder.record(Record::passed(first));
        recorder.forget_unnumbered();
        let third = recorder.packet(Direction::Serverbound, content());
        recorder.record(Record::passed(third));
        let said: Vec<_> = recorder.entries.iter().map(|it| it.record().unwrap()).collect();
        let said: Vec<_> = said.iter().map(|it| it.comment.as_deref()).collect();
        assert_eq!(said, [None, Some(CUT_OFF), None]);
    }
}
