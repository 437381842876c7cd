use std::sync::Arc;

use bytes::Bytes;

use super::row::{Form, NO_KIND};
use super::spool::Stored;
use super::{Extra, Moved, Part, RecentRows, Row};
use mitmcraft_engine::capture::Record;
use mitmcraft_protocol::codec::Frame;
use mitmcraft_protocol::packet::{Content, Context, Packet};
use mitmcraft_protocol::schema::PacketType;

/// Consecutive rows and where their bytes are.
#[derive(Debug, Clone)]
pub(super) struct Chunk {
    /// The number of the first row.
    pub(super) first: u64,
    pub(super) rows: Rows,
    pub(super) contexts: Arc<[Arc<Context>]>,
    /// The bytes that the store keeps.
    pub(super) stored: Stored,
    /// The part of the capture that has the other bodies.
    pub(super) captured: Stored,
    /// The places of the rows' bytes in the capture that the run writes.
    pub(super) moved: Arc<Moved>,
    /// The number of packets that were sent in place of others.
    pub(super) replacements: usize,
}

/// The rows of a chunk.
#[derive(Debug, Clone)]
pub(super) enum Rows {
    Memory(Arc<[Row]>),
    /// They are at the beginning of the bytes that the store keeps.
    Archived {
        count: usize,
        recent: Arc<RecentRows>,
    },
}

/// All bytes of a chunk, read at once.
pub(super) struct Loaded {
    stored: Option<Stored>,
    captured: Option<Stored>,
}

impl Chunk {
    /// Returns the number of the row after the last.
    pub(super) fn end(&self) -> u64 {
        self.first + self.len() as u64
    }

    /// Returns the number of rows.
    pub(super) fn len(&self) -> usize {
        match &self.rows {
            Rows::Memory(rows) => rows.len(),
            Rows::Archived { count, .. } => *count,
        }
    }

    /// Returns the rows; none if they cannot be read.
    pub(super) fn rows(&self) -> Arc<[Row]> {
        match &self.rows {
            Rows::Memory(rows) => Arc::clone(rows),
            Rows::Archived { count, recent } => recent.rows(self.first, *count, &self.stored),
        }
    }

    /// Returns a row; `None` if it cannot be read.
    pub(super) fn row(&self, place: usize) -> Option<Row> {
        match &self.rows {
            Rows::Memory(rows) => rows.get(place).copied(),
            Rows::Archived { .. } => self.rows().get(place).copied(),
        }
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
        let load = |stored: &Stored| match stored {
            // A capture has other things between the packets, perhaps many.
            Stored::File { length, .. } if *length > MAX_LOADED => Some(stored.clone()),
            _ => stored.all().map(Stored::Memory),
        };
        Loaded { stored: load(&self.stored), captured: load(&self.captured) }
    }

    /// Rebuilds a record as it was recorded.
    pub(super) fn record(&self, place: usize, loaded: Option<&Loaded>) -> Option<Record> {
        let row = &self.row(place)?;
        let (content, extra) = self.content(row, loaded)?;
        let content = match row.form {
            Form::Captured | Form::Framed => Content::Frame(Frame::from_body(content)),
            Form::Bare => Content::Frame(Frame::bare(content)),
            Form::Extra | Form::Moved | Form::Lost => extra.content(content)?,
        };
        let mut packet = self.packet(row, content);
        if let Some(seq) = extra.seq {
            packet.set_seq(seq);
        }
        packet.note(extra.noted);
        let Extra { of, comment, .. } = extra;
        Some(Record { packet, outcome: row.outcome(), of, comment, notes: None })
    }

    /// Returns the packet of a row for the evaluation of an expression: with its body, and no copy of it.
    pub(super) fn evaluated(&self, place: usize, loaded: Option<&Loaded>) -> Option<Packet> {
        let row = &self.row(place)?;
        if matches!(row.form, Form::Extra | Form::Moved) {
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
        match row.form {
            Form::Captured | Form::Lost => None,
            Form::Framed | Form::Bare => Some((stored.part(start, end)?, Extra::default())),
            Form::Extra => {
                let [extra, length] = numbers(stored, start)?;
                let from = start + 8 + extra;
                let extra = Extra::read(&stored.part(start + 8, from)?)?;
                Some((stored.part(from, from + length)?, extra))
            }
            Form::Moved => {
                let [extra, parts] = numbers(stored, start)?;
                let from = start + 8 + parts * Part::SIZE;
                let places = stored.part(start + 8, from)?;
                let (places, _) = places.as_chunks();
                let mut content = Vec::new();
                for part in places.iter().map(Part::read) {
                    part.append(captured?, &mut content)?;
                }
                let extra = match extra {
                    0 => Extra::default(),
                    length => Extra::read(&stored.part(from, from + length)?)?,
                };
                Some((content.into(), extra))
            }
        }
    }

    /// Reads what few packets have, of a row in the bytes that the store keeps.
    pub(super) fn extra(&self, row: &Row) -> Option<Extra> {
        let start = row.start as usize;
        let [length, _] = numbers(&self.stored, start)?;
        Extra::read(&self.stored.part(start + 8, start + 8 + length)?)
    }

    /// Returns whether a packet was sent in place of another one.
    pub(super) fn replaces(&self, row: &Row) -> bool {
        row.is_made()
            && matches!(row.form, Form::Extra | Form::Moved)
            && self.extra(row).is_some_and(|extra| extra.of.is_some())
    }

    fn packet(&self, row: &Row, content: Content) -> Packet {
        let context = Arc::clone(self.context(row));
        let (direction, state) = (row.direction(), row.state());
        let mut packet = Packet::new(context, row.seq(), row.at, direction, state, content);
        packet.set_origin(row.origin());
        packet.set_wire_size(row.wire as usize);
        packet
    }
}

/// Reads the two numbers at `start`.
fn numbers(stored: &Stored, start: usize) -> Option<[usize; 2]> {
    let bytes = stored.part(start, start + 8)?;
    let (numbers, _) = bytes.as_chunks();
    let [one, other] = numbers else { return None };
    let number = |bytes: &[u8; 4]| usize::try_from(u32::from_le_bytes(*bytes)).ok();
    Some([number(one)?, number(other)?])
}

/// Most bytes of a chunk that are read at once.
const MAX_LOADED: usize = 64 << 20;
