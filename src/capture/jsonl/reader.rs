use std::io::{BufRead, Read};

use super::super::{Damage, Entry, EntryError, FilePosition, ReadError};
use super::rebuild::Rebuilder;
use crate::schema::Catalog;

/// Reads the entries of a JSONL capture.
///
/// An invalid line yields an error, and iteration continues with the next line. A last line that
/// was cut off yields [`ReadError::CutOff`] and ends the iteration. Empty lines are skipped.
pub struct JsonlReader<R> {
    reader: R,
    rebuilder: Rebuilder,
    /// The number of the current line, counted from 1.
    line: u64,
    text: Vec<u8>,
    done: bool,
}

impl<R: BufRead> JsonlReader<R> {
    /// Reads from `reader`. Packets are decoded with the protocols of `catalog`.
    #[must_use]
    pub fn new(reader: R, catalog: &Catalog) -> Self {
        let rebuilder = Rebuilder::new(catalog);
        Self { reader, rebuilder, line: 0, text: Vec::new(), done: false }
    }

    fn read(&mut self) -> Result<Option<Entry>, ReadError> {
        loop {
            self.text.clear();
            self.text.shrink_to(KEPT);
            self.line += 1;
            let place = FilePosition::Line(self.line);
            let mut limited = (&mut self.reader).take(MAX_LINE);
            let count = limited.read_until(b'\n', &mut self.text).map_err(|error| {
                self.done = true;
                ReadError::at(place, error)
            })?;
            if count == 0 {
                self.done = true;
                return Ok(None);
            }
            let whole = self.text.ends_with(b"\n");
            if !whole && self.text.len() as u64 == MAX_LINE {
                self.done = true;
                return Err(ReadError::Damaged(place, Damage::TooLong { limit: MAX_LINE }));
            }
            if self.text.trim_ascii().is_empty() {
                continue;
            }
            return match self.rebuilder.line(self.text.trim_ascii()) {
                Ok(entry) => Ok(Some(entry)),
                Err(EntryError::Json { .. }) if !whole => {
                    self.done = true;
                    Err(ReadError::CutOff(place))
                }
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
        self.read().transpose()
    }
}

impl<R> std::fmt::Debug for JsonlReader<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("JsonlReader").field("line", &self.line).finish_non_exhaustive()
    }
}

/// Greatest length of a line in bytes: a frame of the largest size has 170 MiB of base64, and its
/// fields take less than four times that.
const MAX_LINE: u64 = 1 << 30;

/// Buffer capacity kept between lines: one rare long line must not hold its memory forever.
const KEPT: usize = 1 << 20;
