use std::sync::Arc;

use bytes::Bytes;

use super::row::Form;
use super::spool::Stored;
use super::{CHUNK_BYTES, CHUNK_ROWS, Chunk, Extra, Row};
use crate::capture::{RawKind, Record};
use crate::packet::{Content, Context};

/// The newest rows of a store and their bytes, still in memory.
#[derive(Debug, Default)]
pub(super) struct OpenChunk {
    rows: Vec<Row>,
    contexts: Vec<Arc<Context>>,
    bytes: Vec<u8>,
}

impl OpenChunk {
    /// Appends a packet: bytes on the wire, the length of what few packets have, that, and its bytes.
    pub(super) fn push(&mut self, record: &Record, context: &Arc<Context>) {
        let packet = &record.packet;
        // Asked for before the id, so that a compressed body is inflated only once.
        let body = packet.body();
        let (form, content) = match (&packet.content, body) {
            (Content::Frame(frame), Ok(_)) if frame.is_bare() => (Form::Bare, frame.wire().clone()),
            (_, Ok(body)) => (Form::Framed, body),
            (Content::Frame(frame), Err(_)) => (Form::Raw, frame.wire().clone()),
            (Content::Raw(bytes, _), Err(_)) => (Form::Raw, bytes.clone()),
        };
        let raw = if form == Form::Raw { RawKind::of(&packet.content) } else { None };
        let extra = Extra::of(record, raw);
        let start = self.bytes.len();
        let wire = u32::try_from(packet.wire_size()).unwrap_or(u32::MAX);
        self.bytes.extend_from_slice(&wire.to_le_bytes());
        let extra = if extra.is_empty() { Vec::new() } else { extra.write() };
        self.bytes.extend_from_slice(&(extra.len() as u32).to_le_bytes());
        self.bytes.extend_from_slice(&extra);
        self.bytes.extend_from_slice(&content);
        let place = self.place_of(context);
        // A chunk is full long before: its last packet begins below `CHUNK_BYTES`.
        let start = u32::try_from(start).unwrap_or(u32::MAX);
        self.rows.push(Row::new(record, form, start, place));
    }

    /// Empties the chunk, and returns its content with its bytes in `stored`.
    pub(super) fn seal(&mut self, first: u64, stored: Stored) -> Chunk {
        self.bytes.clear();
        // One rare large chunk must not hold its memory forever.
        self.bytes.shrink_to(2 * CHUNK_BYTES);
        let length = self.rows.len();
        let rows = std::mem::replace(&mut self.rows, Vec::with_capacity(length));
        let contexts = std::mem::take(&mut self.contexts);
        Chunk { first, rows: rows.into(), contexts: contexts.into(), stored }
    }

    /// Returns a copy.
    pub(super) fn copy(&self, first: u64) -> Chunk {
        Chunk {
            first,
            rows: self.rows.as_slice().into(),
            contexts: self.contexts.as_slice().into(),
            stored: Stored::Memory(Bytes::copy_from_slice(&self.bytes)),
        }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    pub(super) fn is_full(&self) -> bool {
        self.rows.len() >= CHUNK_ROWS || self.bytes.len() >= CHUNK_BYTES
    }

    /// Returns the place of a context, usually that of the packet before.
    fn place_of(&mut self, context: &Arc<Context>) -> u16 {
        let place = self.contexts.iter().rposition(|it| Arc::ptr_eq(it, context));
        let place = place.unwrap_or_else(|| {
            self.contexts.push(Arc::clone(context));
            self.contexts.len() - 1
        });
        // There are at most as many contexts as rows.
        place as u16
    }
}
