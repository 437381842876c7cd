use std::io::{self, ErrorKind, Read};
use std::mem;

/// A moving window over a binary file: blocks are consumed at its front, and more bytes are read at
/// its end when a block is incomplete.
pub(crate) struct Window<R> {
    reader: R,
    /// Bytes read; those from `start` on have not been consumed. 0 <= start <= buffer.len()
    buffer: Vec<u8>,
    start: usize,
    /// Offset in the file at which `buffer` begins.
    offset: u64,
}

impl<R: Read> Window<R> {
    pub(crate) fn new(reader: R) -> Self {
        Self { reader, buffer: Vec::new(), start: 0, offset: 0 }
    }

    /// Reads more and returns the number of bytes read: 0 at the end of the file.
    pub(crate) fn fill(&mut self) -> io::Result<usize> {
        self.offset += self.start as u64;
        self.buffer.drain(..mem::take(&mut self.start));
        self.buffer.shrink_to(2 * CHUNK);
        let held = self.buffer.len();
        self.buffer.resize(held + CHUNK, 0);
        let read = loop {
            match self.reader.read(&mut self.buffer[held..]) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                other => break other,
            }
        };
        self.buffer.truncate(held + *read.as_ref().unwrap_or(&0));
        read
    }
}

impl<R> Window<R> {
    /// Consumes all but the last `left` bytes.
    pub(crate) fn leave(&mut self, left: usize) {
        self.start = self.buffer.len() - left;
    }

    /// The bytes that have not been consumed.
    pub(crate) fn rest(&self) -> &[u8] {
        &self.buffer[self.start..]
    }

    /// The number of bytes of the file that have been consumed.
    pub(crate) fn position(&self) -> u64 {
        self.offset + self.start as u64
    }
}

const CHUNK: usize = 64 << 10;
