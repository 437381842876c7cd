use std::io::{BufRead, Read};

use super::super::{Entry, EntryError, FilePosition, ReadError};
use super::rebuild::Rebuilder;
use crate::schema::Catalog;

/// Reads JSON Lines back, entry by entry.
///
/// A line that is no entry is an error, and the lines behind it follow; a last line that was cut
/// off is [`ReadError::CutOff`], and the end. Empty lines are passed over.
pub struct JsonlReader<R> {
    reader: R,
    rebuilder: Rebuilder,
    /// The line in hand, from 1.
    line: u64,
    text: Vec<u8>,
    done: bool,
}

impl<R: BufRead> JsonlReader<R> {
    /// Reads from `reader`; what packets look like is looked up in `catalog`.
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
                ReadError::of(place, error)
            })?;
            if count == 0 {
                self.done = true;
                return Ok(None);
            }
            let whole = self.text.ends_with(b"\n");
            if !whole && self.text.len() as u64 == MAX_LINE {
                self.done = true;
                return Err(ReadError::Damaged(place, format!("longer than {MAX_LINE} bytes")));
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

/// No line is longer: a frame of the largest limit has 170 MiB of base64, and its fields less than
/// four times that.
const MAX_LINE: u64 = 1 << 30;

/// A rare long line does not keep its memory.
const KEPT: usize = 1 << 20;
