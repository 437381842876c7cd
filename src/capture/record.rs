use std::sync::Arc;

use crate::filter::Notes;
use crate::lang::Seen;
use crate::packet::{Context, Outcome, Packet, Timestamp};
use crate::schema::State;

/// One entry of a capture.
#[derive(Debug, Clone)]
pub enum Entry {
    /// A packet, and what became of it.
    Packet(Record),
    /// Something that happened to a session.
    Event(Event),
}

impl Entry {
    /// The session's share of it.
    #[must_use]
    pub fn context(&self) -> &Arc<Context> {
        match self {
            Self::Packet(record) => &record.packet.context,
            Self::Event(event) => &event.context,
        }
    }

    /// When it happened.
    #[must_use]
    pub fn at(&self) -> Timestamp {
        match self {
            Self::Packet(record) => record.packet.at,
            Self::Event(event) => event.at,
        }
    }
}

/// Appends a description of an entry, one line without a line feed.
pub type Describe = fn(&mut String, &Entry);

/// Leaves the description empty.
pub(crate) fn no_description(_: &mut String, _: &Entry) {}

/// A packet as it was seen, and what became of it.
#[derive(Debug, Clone)]
pub struct Record {
    /// The packet.
    pub packet: Packet,
    /// What became of it.
    pub outcome: Outcome,
    /// For a packet that went in the place of another: that one's `seq`.
    pub of: Option<u64>,
    /// Why it is worth a comment: what the proxy has done and why.
    pub comment: Option<String>,
    /// What filters say of how it is logged; most often nothing.
    pub notes: Option<Box<Notes>>,
}

impl Record {
    /// A packet that was forwarded as it came.
    #[must_use]
    pub fn passed(packet: Packet) -> Self {
        Self { packet, outcome: Outcome::Pass, of: None, comment: None, notes: None }
    }

    /// The record with what filters say of it; their comments and tags make its comment.
    #[must_use]
    pub fn noted(mut self, notes: Notes) -> Self {
        let tags = notes.tags.iter().map(|tag| format!("#{tag}"));
        let words: Vec<String> = notes.comments.iter().cloned().chain(tags).collect();
        if !words.is_empty() {
            self.comment = Some(words.join("; "));
        }
        if notes != Notes::default() {
            self.notes = Some(Box::new(notes));
        }
        self
    }
}

impl<'a> From<&'a Record> for Seen<'a> {
    fn from(record: &'a Record) -> Self {
        Self { packet: &record.packet, outcome: record.outcome }
    }
}

/// Something that happened to a session, with what is known then.
#[derive(Debug, Clone)]
pub struct Event {
    /// What is known of the session.
    pub context: Arc<Context>,
    /// When it happened.
    pub at: Timestamp,
    /// What happened.
    pub kind: EventKind,
}

/// What happened to a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EventKind {
    /// The client has connected.
    Open,
    /// State, compression or encryption has changed.
    State(LegState),
    /// Both connections have ended.
    Close(Summary),
}

impl EventKind {
    /// `open`, `state` or `close`, as captures have it.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::State(_) => "state",
            Self::Close(_) => "close",
        }
    }
}

/// How the two legs speak.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LegState {
    /// The state of the packets that come next.
    pub state: State,
    /// Threshold of the client's leg.
    pub client_threshold: Option<usize>,
    /// Threshold of the server's leg.
    pub server_threshold: Option<usize>,
    /// Whether the client's leg is encrypted.
    pub client_encrypted: bool,
    /// Whether the server's leg is encrypted.
    pub server_encrypted: bool,
}

/// What a session has come to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    /// Why it ended, in words.
    pub reason: String,
    /// Packets that the client sent.
    pub serverbound_packets: u64,
    /// Packets that the server sent.
    pub clientbound_packets: u64,
    /// Bytes that came from the client, compressed and encrypted as they were.
    pub serverbound_bytes: u64,
    /// Bytes that came from the server.
    pub clientbound_bytes: u64,
}
