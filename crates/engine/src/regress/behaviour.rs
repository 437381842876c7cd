use crate::capture::Record;
use mitmcraft_protocol::packet::Timestamp;

/// The packets that a server sent in one session, after the login.
#[derive(Debug, Clone)]
pub struct Behaviour {
    /// In the order in which they came.
    pub(super) records: Vec<Record>,
    /// The end of the session.
    pub(super) ended: Timestamp,
}

/// Returns the name of a packet; an empty text if its id is unknown.
pub(super) fn name(record: &Record) -> &str {
    record.packet.kind().map_or("", |kind| kind.name())
}
