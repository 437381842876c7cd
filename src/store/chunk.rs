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
    /// The bytes that the store keeps.
    pub(super) stored: Stored,
    /// The part of the capture that has the other bodies.
    pub(super) captured: Stored,
}

/// All bytes of a chunk, read at once.
pub(super) struct Loaded {
    stored: Option<Stored>,
    captured: Option<Stored>,
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

    /// Reads all bytes, which costs less than reading many parts of them.
    pub(super) fn load(&self) -> Loaded {
        let load = |stored: &Stored| stored.all().map(Stored::Memory);
        Loaded { stored: load(&self.stored), captured: load(&self.captured) }
    }

    /// Rebuilds a record as it was recorded.
    pub(super) fn record(&self, place: usize, loaded: Option<&Loaded>) -> Option<Record> {
        let row = &self.rows[place];
        let (content, extra) = self.content(row, loaded)?;
        let content = match (row.form, &extra) {
            (Form::Captured | Form::Framed, _) => Content::Frame(Frame::from_body(content)),
            (Form::Bare, _) => Content::Frame(Frame::bare(content)),
            (Form::Extra, extra) => extra.content(content)?,
        };
        let mut packet = self.packet(row, content);
        packet.seq = extra.seq.unwrap_or(packet.seq);
        packet.note(extra.noted);
        let Extra { of, comment, .. } = extra;
        Some(Record { packet, outcome: row.outcome(), of, comment, notes: None })
    }

    /// Returns the packet of a row for the evaluation of an expression: with its body, and no copy of it.
    pub(super) fn evaluated(&self, place: usize, loaded: Option<&Loaded>) -> Option<Packet> {
        let row = &self.rows[place];
        if row.form == Form::Extra {
            return self.record(place, loaded).map(|record| record.packet);
        }
        let (content, _) = self.content(row, loaded)?;
        Some(self.packet(row, Content::Frame(Frame::bare(content))))
    }

    /// Returns the packet of a row without its body.
    pub(super) fn outline(&self, row: &Row) -> Packet {
        self.packet(row, Content::Frame(Frame::outline(row.size as usize)))
    }

    /// Reads the bytes of a row, and what few packets have.
    fn content(&self, row: &Row, loaded: Option<&Loaded>) -> Option<(Bytes, Extra)> {
        let start = row.start as usize;
        let end = start + row.size as usize;
        let (stored, captured) = match loaded {
            Some(loaded) => (loaded.stored.as_ref(), loaded.captured.as_ref()),
            None => (Some(&self.stored), Some(&self.captured)),
        };
        if row.form == Form::Captured {
            return Some((captured?.part(start, end)?, Extra::default()));
        }
        let stored = stored?;
        if row.form != Form::Extra {
            return Some((stored.part(start, end)?, Extra::default()));
        }
        let lengths = stored.part(start, start + 8)?;
        let (extra, content) = lengths.split_first_chunk::<4>()?;
        let length =
            |bytes: &[u8]| usize::try_from(u32::from_le_bytes(bytes.try_into().ok()?)).ok();
        let (from, end) = (start + 8 + length(extra)?, length(content)?);
        let extra = Extra::read(&stored.part(start + 8, from)?)?;
        Some((stored.part(from, from + end)?, extra))
    }

    fn packet(&self, row: &Row, content: Content) -> Packet {
        let context = Arc::clone(self.context(row));
        let (direction, state) = (row.direction(), row.state());
        let mut packet = Packet::new(context, row.seq(), row.at, direction, state, content);
        packet.origin = row.origin();
        packet.set_wire_size(row.wire as usize);
        packet
    }
}
