use std::io::{self, ErrorKind, Read};
use std::mem;

/// The part of a binary file that is looked at: blocks are taken from its front, and bytes are read
/// behind it when a block is not whole.
pub(crate) struct Window<R> {
    reader: R,
    /// What was read, from `start` on not taken yet. 0 <= start <= buffer.len()
    buffer: Vec<u8>,
    start: usize,
    /// Where in the file `buffer` begins.
    offset: u64,
}

impl<R: Read> Window<R> {
    pub(crate) fn new(reader: R) -> Self {
        Self { reader, buffer: Vec::new(), start: 0, offset: 0 }
    }

    /// Reads on, and says how many bytes came; 0 at the end of the file.
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
    /// Takes all but the last `left` bytes.
    pub(crate) fn leave(&mut self, left: usize) {
        self.start = self.buffer.len() - left;
    }

    /// The bytes that were not taken.
    pub(crate) fn rest(&self) -> &[u8] {
        &self.buffer[self.start..]
    }

    /// Bytes of the file that were taken.
    pub(crate) fn position(&self) -> u64 {
        self.offset + self.start as u64
    }
}

const CHUNK: usize = 64 << 10;
