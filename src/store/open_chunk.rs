use std::sync::Arc;

use bytes::Bytes;

use super::row::Form;
use super::spool::Stored;
use super::{CHUNK_BYTES, CHUNK_ROWS, Chunk, Extra, InCapture, Moved, Row, Rows};
use mitmcraft_engine::capture::{BodyPlace, Record};
use mitmcraft_protocol::packet::{Content, Context};

/// The newest rows of a store and their bytes, still in memory.
#[derive(Debug, Default)]
pub(super) struct OpenChunk {
    rows: Vec<Row>,
    contexts: Vec<Arc<Context>>,
    bytes: Vec<u8>,
    /// The part of the capture that has the bodies of rows, once one has its body there.
    captured: Option<InCapture>,
    /// The length of that part.
    span: usize,
    /// The places of the rows' bytes in the capture that the run writes.
    moved: Moved,
    /// The number of packets that were sent in place of others.
    replacements: usize,
}

impl OpenChunk {
    /// Appends a packet. Its body is in the capture at `place`, if that is known; of a packet that is kept
    /// here, the capture that is written at the same time has the bytes at `also`.
    pub(super) fn push(
        &mut self,
        record: &Record,
        context: &Arc<Context>,
        place: Option<&InCapture>,
        also: Option<&[BodyPlace]>,
    ) {
        // The body is asked for before the id, so that a compressed one is inflated only once.
        let usual = match record.packet.content() {
            Content::Frame(frame) if Extra::of(record, true).is_empty() => {
                let push = |body: &[u8]| match self.locate(place, body.len()) {
                    Some(start) => (Form::Captured, start, body.len()),
                    None => (Form::Framed, self.keep(&[body]), body.len()),
                };
                frame.with_body(push).ok()
            }
            _ => None,
        };
        let (form, start, size) = usual.unwrap_or_else(|| self.push_unusual(record));
        if let Some(places) = also {
            self.moved.push(self.rows.len(), form, size, places);
        }
        let context = self.place_of(context);
        let row = Row::new(record, form, start, context);
        self.replacements += usize::from(row.is_made() && record.of.is_some());
        self.rows.push(row);
    }

    /// Appends the bytes of a packet that has more than a body, or none. Returns their form, place and
    /// size.
    fn push_unusual(&mut self, record: &Record) -> (Form, u32, usize) {
        let packet = &record.packet;
        let body = packet.body();
        let extra = Extra::of(record, body.is_ok());
        match (packet.content(), body) {
            (Content::Frame(frame), _) if extra == Extra::bare() => {
                (Form::Bare, self.keep(&[frame.wire()]), frame.wire().len())
            }
            (content, body) => {
                let bytes = match (content, body) {
                    (Content::Frame(frame), Ok(_)) if frame.is_bare() => frame.wire().clone(),
                    (_, Ok(body)) => body,
                    (Content::Frame(frame), Err(_)) => frame.wire().clone(),
                    (Content::Raw(bytes, _), Err(_)) => bytes.clone(),
                };
                let extra = extra.write();
                let lengths = [extra.len(), bytes.len()].map(|it| (it as u32).to_le_bytes());
                let parts = [&lengths[0][..], &lengths[1], &extra, &bytes];
                (Form::Extra, self.keep(&parts), bytes.len())
            }
        }
    }

    /// Takes the bytes, before [`seal`](Self::seal). The next ones go to `buffer`.
    pub(super) fn take_bytes(&mut self, mut buffer: Vec<u8>) -> Vec<u8> {
        buffer.clear();
        // One rare large chunk must not hold its memory forever.
        buffer.shrink_to(2 * CHUNK_BYTES);
        std::mem::replace(&mut self.bytes, buffer)
    }

    /// Empties the chunk, and returns its content with its bytes in `stored`.
    pub(super) fn seal(&mut self, first: u64, stored: Stored) -> Chunk {
        let captured = self.captured();
        (self.captured, self.span) = (None, 0);
        let length = self.rows.len();
        let rows = std::mem::replace(&mut self.rows, Vec::with_capacity(length));
        let contexts = std::mem::take(&mut self.contexts);
        let moved = Arc::new(std::mem::take(&mut self.moved));
        let (rows, contexts) = (Rows::Memory(rows.into()), contexts.into());
        let replacements = std::mem::take(&mut self.replacements);
        Chunk { first, rows, contexts, stored, captured, moved, replacements }
    }

    /// Returns a copy.
    pub(super) fn copy(&self, first: u64) -> Chunk {
        Chunk {
            first,
            rows: Rows::Memory(self.rows.as_slice().into()),
            contexts: self.contexts.as_slice().into(),
            stored: Stored::Memory(Bytes::copy_from_slice(&self.bytes)),
            captured: self.captured(),
            moved: Arc::default(),
            replacements: self.replacements,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    pub(super) fn is_full(&self) -> bool {
        self.rows.len() >= CHUNK_ROWS || self.bytes.len() + self.span >= CHUNK_BYTES
    }

    /// Appends bytes, and returns where they begin.
    fn keep(&mut self, parts: &[&[u8]]) -> u32 {
        // A chunk is full long before: its last packet begins below `CHUNK_BYTES`.
        let start = u32::try_from(self.bytes.len()).unwrap_or(u32::MAX);
        parts.iter().for_each(|part| self.bytes.extend_from_slice(part));
        start
    }

    /// Returns where a body begins in the part of the capture, which grows with it; `None` if it is not
    /// in the capture, or too far from the others.
    fn locate(&mut self, place: Option<&InCapture>, length: usize) -> Option<u32> {
        let place = place?;
        let captured = self.captured.get_or_insert_with(|| place.clone());
        if !Arc::ptr_eq(&captured.file, &place.file) {
            return None;
        }
        let start = u32::try_from(place.at.checked_sub(captured.at)?).ok()?;
        self.span = self.span.max((start as usize).checked_add(length)?);
        Some(start)
    }

    fn captured(&self) -> Stored {
        match &self.captured {
            Some(InCapture { file, at }) => {
                Stored::File { file: Arc::clone(file), at: *at, length: self.span }
            }
            None => Stored::Memory(Bytes::new()),
        }
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
