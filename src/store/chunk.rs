use std::sync::Arc;

use bytes::Bytes;

use super::row::{Form, NO_KIND};
use super::spool::Stored;
use super::{Extra, Row};
use crate::capture::Record;
use crate::codec::Frame;
use crate::packet::{Content, Context, Packet};
use crate::schema::PacketType;

/// Consecutive rows and where their bytes are.
#[derive(Debug, Clone)]
pub(super) struct Chunk {
    /// The number of the first row.
    pub(super) first: u64,
    pub(super) rows: Arc<[Row]>,
    pub(super) contexts: Arc<[Arc<Context>]>,
    pub(super) stored: Stored,
}

impl Chunk {
    /// Returns the number of the row after the last.
    pub(super) fn end(&self) -> u64 {
        self.first + self.rows.len() as u64
    }

    pub(super) fn context(&self, row: &Row) -> &Arc<Context> {
        &self.contexts[usize::from(row.context)]
    }

    /// Returns the type of a packet; `None` if its id is unassigned or it is no packet.
    pub(super) fn kind(&self, row: &Row) -> Option<&PacketType> {
        if row.kind == NO_KIND {
            return None;
        }
        self.context(row).protocol.packets().get(usize::from(row.kind))
    }

    /// Returns the bytes of a row.
    pub(super) fn bytes(&self, place: usize) -> Option<Bytes> {
        let start = self.rows[place].start as usize;
        match self.rows.get(place + 1) {
            Some(next) => self.stored.part(start, next.start as usize),
            None => self.stored.part(start, self.length()),
        }
    }

    /// Returns the bytes of a row, of those of all rows.
    pub(super) fn bytes_in(&self, all: &Bytes, place: usize) -> Option<Bytes> {
        let start = self.rows[place].start as usize;
        let end = self.rows.get(place + 1).map_or(all.len(), |next| next.start as usize);
        (start <= end && end <= all.len()).then(|| all.slice(start..end))
    }

    /// Rebuilds a record from the bytes of its row, as it was recorded.
    pub(super) fn record(&self, place: usize, bytes: &Bytes) -> Option<Record> {
        let row = &self.rows[place];
        let (wire, extra, content) = split(bytes)?;
        let extra = if extra.is_empty() { Extra::default() } else { Extra::read(&extra)? };
        let content = match row.form {
            Form::Framed => Content::Frame(Frame::from_body(content)),
            Form::Bare => {
                let before = content.len().checked_sub(row.size as usize)?;
                Content::Frame(Frame::datagram(content, before))
            }
            Form::Raw => extra.content(content)?,
        };
        let packet = self.packet(row, wire, content);
        let Extra { of, comment, .. } = extra;
        Some(Record { packet, outcome: row.outcome(), of, comment, notes: None })
    }

    /// Returns the packet of a row for the evaluation of an expression: with its body, and no copy of it.
    pub(super) fn evaluated(&self, place: usize, bytes: &Bytes) -> Option<Packet> {
        let row = &self.rows[place];
        if row.form == Form::Raw {
            return self.record(place, bytes).map(|record| record.packet);
        }
        let (wire, _, content) = split(bytes)?;
        let before = content.len().checked_sub(row.size as usize)?;
        Some(self.packet(row, wire, Content::Frame(Frame::datagram(content, before))))
    }

    fn packet(&self, row: &Row, wire: usize, content: Content) -> Packet {
        let context = Arc::clone(self.context(row));
        let (direction, state) = (row.direction(), row.state());
        let mut packet = Packet::new(context, row.seq, row.at, direction, state, content);
        packet.origin = row.origin();
        packet.set_wire_size(wire);
        packet
    }

    fn length(&self) -> usize {
        match &self.stored {
            Stored::Memory(bytes) => bytes.len(),
            Stored::File { length, .. } => *length,
            Stored::Lost => 0,
        }
    }
}

/// Splits the bytes of a row: bytes on the wire, what few packets have, the packet's bytes.
fn split(bytes: &Bytes) -> Option<(usize, Bytes, Bytes)> {
    let (wire, rest) = bytes.split_first_chunk::<4>()?;
    let (extra, rest) = rest.split_first_chunk::<4>()?;
    let extra = usize::try_from(u32::from_le_bytes(*extra)).ok()?;
    let wire = usize::try_from(u32::from_le_bytes(*wire)).ok()?;
    if extra > rest.len() {
        return None;
    }
    Some((wire, bytes.slice(8..8 + extra), bytes.slice(8 + extra..)))
}
