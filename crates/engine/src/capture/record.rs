use std::sync::Arc;

use crate::filter::{Notes, is_own};
use crate::lang::Subject;
use mitmcraft_protocol::packet::{Context, Outcome, Packet, Timestamp};
use mitmcraft_protocol::schema::State;

/// One entry of a capture.
#[derive(Debug, Clone)]
pub enum Entry {
    /// A packet and what the proxy did with it.
    Packet(Record),
    /// An event of a session.
    Event(Event),
}

impl Entry {
    /// The context of the session that the entry belongs to.
    #[must_use]
    pub fn context(&self) -> &Arc<Context> {
        match self {
            Self::Packet(record) => record.packet.context(),
            Self::Event(event) => &event.context,
        }
    }

    /// Sets the context of the packet or the event.
    pub fn set_context(&mut self, context: Arc<Context>) {
        match self {
            Self::Packet(record) => record.packet.set_context(context),
            Self::Event(event) => event.context = context,
        }
    }

    /// The record of a packet; `None` for an event.
    #[must_use]
    pub fn record(&self) -> Option<&Record> {
        match self {
            Self::Packet(record) => Some(record),
            Self::Event(_) => None,
        }
    }

    /// Returns `true` for the event that ends a session.
    #[must_use]
    pub fn is_close(&self) -> bool {
        matches!(self, Self::Event(Event { kind: EventKind::Close(_), .. }))
    }

    /// The time at which the packet was seen or the event happened.
    #[must_use]
    pub fn at(&self) -> Timestamp {
        match self {
            Self::Packet(record) => record.packet.at(),
            Self::Event(event) => event.at,
        }
    }

    /// Shares the inflated body of a packet with no clone any more.
    pub fn unshare(&mut self) {
        if let Self::Packet(record) = self {
            record.packet.unshare();
        }
    }

    /// The approximate memory that the entry takes, in bytes.
    #[must_use]
    pub fn size(&self) -> u64 {
        OVERHEAD + self.record().map_or(0, |record| record.memory() as u64)
    }
}

/// Approximate memory of an entry besides the bytes, remarks and notes of its packet.
pub(super) const OVERHEAD: u64 = 200;

/// A function that appends a one-line description of an entry, without a line feed.
pub type Describe = fn(&mut String, &Entry);

/// A [`Describe`] that appends nothing.
pub(super) fn no_description(_: &mut String, _: &Entry) {}

/// A packet as it was seen, and what the proxy did with it.
///
/// The fields are public because no field depends on another one; the packet guards its own.
#[derive(Debug, Clone)]
pub struct Record {
    /// The packet.
    pub packet: Packet,
    /// The outcome of the packet.
    pub outcome: Outcome,
    /// The `seq` of the packet that this one replaces, if it replaces one.
    pub of: Option<u64>,
    /// Remarks of the proxy and of rules: what was done to the packet, and why.
    pub comment: Option<String>,
    /// The way filters want the packet to be logged; `None` for most packets.
    pub notes: Option<Box<Notes>>,
}

impl Record {
    /// Returns the record of a packet that was forwarded unchanged.
    #[must_use]
    pub fn passed(packet: Packet) -> Self {
        Self { packet, outcome: Outcome::Pass, of: None, comment: None, notes: None }
    }

    /// Returns the record of a packet that was forwarded unchanged, with a comment of the proxy's own.
    pub(crate) fn remarked(packet: Packet, comment: &str) -> Self {
        debug_assert!(is_own(comment), "redaction does not know the remark: {comment}");
        Self { comment: Some(comment.to_owned()), ..Self::passed(packet) }
    }

    /// Returns about how many bytes the packet, its remarks and its notes keep in memory.
    #[must_use]
    pub fn memory(&self) -> usize {
        let remarks = self.comment.as_ref().map_or(0, String::len);
        let notes = self.notes.as_ref().map_or(0, |notes| notes.memory());
        self.packet.memory() + remarks + notes
    }

    /// Returns the packet's name or id, or `none` for bytes without a packet.
    pub(super) fn name_or(&self, none: &str) -> String {
        match (self.packet.kind(), self.packet.id()) {
            (Some(packet), _) => packet.name().to_string(),
            (None, Some(id)) => format!("0x{id:02x}"),
            (None, None) => none.to_owned(),
        }
    }

    /// Returns whether there is nothing to say of the packet: it was forwarded unchanged.
    pub(crate) fn is_plain(&self) -> bool {
        let Self { outcome, of, comment, notes, .. } = self;
        *outcome == Outcome::Pass && of.is_none() && comment.is_none() && notes.is_none()
    }

    /// Attaches the notes of filters. The rules that dropped, rewrote or made the packet, the comments
    /// and the tags follow the record's own comment.
    #[must_use]
    pub fn noted(mut self, notes: Notes) -> Self {
        let tags = notes.tags.iter().map(|tag| format!("#{tag}"));
        let own = self.comment.take().into_iter();
        let comments = notes.comments.iter().cloned();
        let words: Vec<String> =
            own.chain(notes.named_rules()).chain(comments).chain(tags).collect();
        if !words.is_empty() {
            self.comment = Some(words.join("; "));
        }
        if notes != Notes::default() {
            self.notes = Some(Box::new(notes));
        }
        self
    }
}

impl<'a> From<&'a Record> for Subject<'a> {
    fn from(record: &'a Record) -> Self {
        let Record { packet, outcome, comment, .. } = record;
        Self { packet, outcome: *outcome, comment: comment.as_deref() }
    }
}

/// Something that happened to a session.
#[derive(Debug, Clone)]
pub struct Event {
    /// The context of the session at that time.
    pub context: Arc<Context>,
    /// The time of the event.
    pub at: Timestamp,
    /// The kind of the event.
    pub kind: EventKind,
}

/// The kinds of events of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EventKind {
    /// The client has connected.
    Open,
    /// The state, the compression or the encryption of a leg has changed.
    State(LegState),
    /// Both connections have ended.
    Close(Summary),
}

impl EventKind {
    /// The name used in captures: `open`, `state` or `close`.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::State(_) => "state",
            Self::Close(_) => "close",
        }
    }
}

/// The state, compression and encryption of a session's two legs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LegState {
    /// The state of the packets that follow.
    pub state: State,
    /// Compression threshold of the client's leg in bytes; `None` without compression.
    pub client_threshold: Option<usize>,
    /// Compression threshold of the server's leg in bytes; `None` without compression.
    pub server_threshold: Option<usize>,
    /// `true` if the client's leg is encrypted.
    pub client_encrypted: bool,
    /// `true` if the server's leg is encrypted.
    pub server_encrypted: bool,
}

/// The totals of a session that has closed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Summary {
    /// The reason why the session ended, in words.
    pub reason: String,
    /// Number of packets that the client sent.
    pub serverbound_packets: u64,
    /// Number of packets that the server sent.
    pub clientbound_packets: u64,
    /// Bytes received from the client, as they crossed the wire.
    pub serverbound_bytes: u64,
    /// Bytes received from the server, as they crossed the wire.
    pub clientbound_bytes: u64,
}
