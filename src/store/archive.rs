use std::collections::VecDeque;
use std::fs::File;
use std::sync::{Arc, Mutex, PoisonError};

use super::row::Form;
use super::{Chunk, Extra, Part, Row, Rows, Stored};

/// The chunks that are older than the window: their rows are in a temporary file, their bytes in the
/// capture that is written at the same time.
#[derive(Debug)]
pub(super) struct Archive {
    capture: Arc<File>,
    recent: Arc<RecentRows>,
    /// The number of its chunks, which are the oldest of the store.
    pub(super) chunks: usize,
}

impl Archive {
    pub(super) fn new(capture: File) -> Self {
        Self { capture: Arc::new(capture), recent: Arc::default(), chunks: 0 }
    }

    /// Returns a chunk without its rows and bytes, which are in the temporary file at `stored`, as
    /// [`index`](Self::index) has written them.
    pub(super) fn chunk(&self, chunk: &Chunk, stored: Stored) -> Chunk {
        let captured = match chunk.moved.at {
            Some(at) => {
                Stored::File { file: Arc::clone(&self.capture), at, length: chunk.moved.length }
            }
            None => Stored::Lost,
        };
        Chunk {
            first: chunk.first,
            rows: Rows::Archived { count: chunk.len(), recent: Arc::clone(&self.recent) },
            contexts: Arc::clone(&chunk.contexts),
            stored,
            captured,
            moved: Arc::default(),
            replacements: chunk.replacements,
        }
    }

    /// Returns what the temporary file has of a chunk.
    pub(super) fn index(chunk: &Chunk) -> Vec<u8> {
        let rows = chunk.rows();
        let mut index = Vec::with_capacity(rows.len() * Row::SIZE);
        let mut others = Vec::new();
        for (place, row) in rows.iter().enumerate() {
            let mut row = *row;
            match *chunk.moved.parts(place, row.size) {
                [] => row.form = Form::Lost,
                [Part { start, base64: false, .. }] if row.form == Form::Framed => {
                    (row.start, row.form) = (start, Form::Captured);
                }
                ref parts => {
                    let extra = match row.form {
                        Form::Extra => chunk.extra(&row).map(|extra| extra.write()),
                        Form::Bare => Some(Extra::bare().write()),
                        _ => None,
                    };
                    let extra = extra.unwrap_or_default();
                    // A chunk has not so many that the cast loses some.
                    row.start = (rows.len() * Row::SIZE + others.len()) as u32;
                    row.form = Form::Moved;
                    for length in [extra.len(), parts.len()] {
                        others.extend_from_slice(&(length as u32).to_le_bytes());
                    }
                    parts.iter().for_each(|part| part.write(&mut others));
                    others.extend_from_slice(&extra);
                }
            }
            row.write(&mut index);
        }
        index.append(&mut others);
        index
    }

    pub(super) fn is_full(&self) -> bool {
        self.chunks > MAX_CHUNKS
    }
}

/// Rows that were read from the temporary file last.
#[derive(Debug, Default)]
pub(super) struct RecentRows(Mutex<VecDeque<(u64, Arc<[Row]>)>>);

impl RecentRows {
    /// Returns the rows of a chunk; none if they cannot be read.
    pub(super) fn rows(&self, first: u64, count: usize, stored: &Stored) -> Arc<[Row]> {
        let lock = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, rows)) = lock().iter().find(|(number, _)| *number == first) {
            return Arc::clone(rows);
        }
        let bytes = stored.part(0, count * Row::SIZE).unwrap_or_default();
        let (rows, _) = bytes.as_chunks();
        let rows: Arc<[Row]> = rows.iter().map(Row::read).collect();
        let mut recent = lock();
        recent.push_back((first, Arc::clone(&rows)));
        if recent.len() > MAX_RECENT {
            recent.pop_front();
        }
        rows
    }
}

/// Most chunks in an archive: what each needs in memory adds up.
const MAX_CHUNKS: usize = 25_000;

/// Most chunks whose rows are held again.
const MAX_RECENT: usize = 16;
