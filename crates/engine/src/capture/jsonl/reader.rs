use std::io::{BufRead, Read};
use std::ops::Range;

use super::super::{Entry, EntryError, FilePosition, ReadError};
use super::rebuild::Rebuilder;
use mitmcraft_protocol::codec::MemoryBudget;
use mitmcraft_protocol::schema::Catalog;

/// Reads the entries of a JSONL capture.
///
/// An invalid line yields an error, and so does one that is too long; iteration continues with the
/// next line. A last line that
/// was cut off yields [`ReadError::CutOff`] and ends the iteration, as a first line in another version of
/// the format does. Empty lines are skipped.
pub struct JsonlReader<R> {
    reader: R,
    rebuilder: Rebuilder,
    /// The number of the current line, counted from 1.
    line: u64,
    text: Vec<u8>,
    /// Greatest length of a line in bytes.
    limit: usize,
    /// The place in the file of the line of the last entry, with its line feed.
    pub(in crate::capture) span: Range<u64>,
    done: bool,
}

impl<R: BufRead> JsonlReader<R> {
    /// Reads from `reader`. Packets are decoded with the protocols of `catalog`.
    #[must_use]
    pub fn new(reader: R, catalog: &Catalog) -> Self {
        Self::within(reader, catalog, MemoryBudget::DEFAULT)
    }

    /// Reads like [`new`](Self::new), in `memory` bytes.
    #[must_use]
    pub fn within(reader: R, catalog: &Catalog, memory: usize) -> Self {
        let (rebuilder, limit) = (Rebuilder::within(catalog, memory), memory / PER_BYTE);
        let (text, span) = (Vec::new(), 0..0);
        Self { reader, rebuilder, line: 0, text, limit, span, done: false }
    }

    fn read(&mut self) -> Result<Option<Entry>, ReadError> {
        loop {
            self.text.clear();
            self.text.shrink_to(KEPT);
            self.line += 1;
            let place = FilePosition::Line(self.line);
            let mut limited = (&mut self.reader).take(self.limit as u64 + 1);
            let failed = |error| ReadError::at(place, error);
            let count = limited.read_until(b'\n', &mut self.text).map_err(failed)?;
            self.span = self.span.end..self.span.end + count as u64;
            if count == 0 {
                return Ok(None);
            }
            let whole = self.text.ends_with(b"\n");
            if !whole && self.text.len() > self.limit {
                self.text = Vec::new();
                let rest = self.reader.skip_until(b'\n').map_err(failed)?;
                self.span.end += rest as u64;
                let length = count as u64 + rest as u64;
                let error = EntryError::TooLong { length, limit: self.limit };
                return Err(ReadError::Entry(place, error));
            }
            if self.text.trim_ascii().is_empty() {
                continue;
            }
            return match self.rebuilder.line(self.text.trim_ascii()) {
                Ok(Some(entry)) => Ok(Some(entry)),
                Ok(None) => continue,
                Err(EntryError::Json { .. }) if !whole => Err(ReadError::CutOff(place)),
                Err(error) => Err(ReadError::Entry(place, error)),
            };
        }
    }
}

impl<R: BufRead> Iterator for JsonlReader<R> {
    type Item = Result<Entry, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.done {
            return None;
        }
        if let Some(crowded) = self.rebuilder.take_crowded() {
            return Some(Err(ReadError::Entry(FilePosition::Line(self.line), crowded)));
        }
        let read = self.read();
        self.done = match &read {
            // Every line after it has this version too.
            Err(ReadError::Entry(FilePosition::Line(1), EntryError::Version { .. })) => true,
            read => !matches!(read, Ok(Some(_)) | Err(ReadError::Entry(..))),
        };
        read.transpose()
    }
}

impl<R> std::fmt::Debug for JsonlReader<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("JsonlReader").field("line", &self.line).finish_non_exhaustive()
    }
}

/// Memory that reading a line takes at most per byte: its text, its members, its body.
const PER_BYTE: usize = 8;

/// Buffer capacity kept between lines: one rare long line must not hold its memory forever.
const KEPT: usize = 1 << 20;
