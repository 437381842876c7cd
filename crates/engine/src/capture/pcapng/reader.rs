use std::io::Read;
use std::ops::Range;

use pcap_file::PcapError;
use pcap_file::pcapng::PcapNgParser;

use super::super::{Damage, Entry, FilePosition, ReadError};
use super::assembly::Assembly;
use crate::capture::pcap::Window;
use mitmcraft_protocol::codec::MemoryBudget;
use mitmcraft_protocol::schema::Catalog;

/// Reads the entries of a pcapng capture; also of one that Wireshark has saved again, which contains
/// only the packets in the streams.
///
/// An invalid block yields an error, and iteration continues with the next block.
pub struct PcapngReader<R> {
    window: Window<R>,
    /// `None` until the file's header has been read.
    parser: Option<PcapNgParser>,
    assembly: Assembly,
    /// The offset in the file at which the body of the last packet ends; `None` if its bytes are not in one
    /// place, as those of packets that are larger than a segment.
    pub body_end: Option<u64>,
    /// The place in the file of the block that has, or ends, the last entry.
    pub(in crate::capture) span: Range<u64>,
    done: bool,
}

impl<R: Read> PcapngReader<R> {
    /// Reads from `reader`, which does not need a buffer of its own. Packets are decoded with the
    /// protocols of `catalog`.
    #[must_use]
    pub fn new(reader: R, catalog: &Catalog) -> Self {
        Self::within(reader, catalog, MemoryBudget::DEFAULT)
    }

    /// Reads like [`new`](Self::new), in `memory` bytes.
    #[must_use]
    pub fn within(reader: R, catalog: &Catalog, memory: usize) -> Self {
        Self {
            window: Window::new(reader),
            parser: None,
            assembly: Assembly::new(catalog, memory),
            body_end: None,
            span: 0..0,
            done: false,
        }
    }

    fn read(&mut self) -> Result<Option<Entry>, ReadError> {
        loop {
            let place = self.place();
            let position = self.window.position();
            let rest = self.window.rest();
            let (left, found) = match &mut self.parser {
                None => match PcapNgParser::new(rest) {
                    Ok((left, parser)) => {
                        let left = left.len();
                        let found = self.assembly.begin(parser.section());
                        self.parser = Some(parser);
                        (left, found)
                    }
                    Err(PcapError::IncompleteBuffer) => {
                        self.fill()?;
                        continue;
                    }
                    Err(error) => return Err(self.damage(error)),
                },
                Some(parser) => match parser.next_block(rest) {
                    Ok((left, block)) => (left.len(), self.assembly.take(parser, block)),
                    Err(PcapError::IncompleteBuffer) => {
                        if !self.fill()? {
                            return self.end();
                        }
                        continue;
                    }
                    Err(error) => return Err(self.damage(error)),
                },
            };
            let end = self.assembly.end().and_then(|end| end.checked_sub(rest.as_ptr().addr()));
            self.body_end = end.filter(|end| *end <= rest.len()).map(|end| position + end as u64);
            self.window.leave(left);
            self.span = position..self.window.position();
            match found {
                Some(Ok(entry)) => return Ok(Some(entry)),
                Some(Err(error)) => return Err(ReadError::Entry(place, error)),
                None => {}
            }
        }
    }

    /// Reads more. Returns `false` at the end of the file.
    fn fill(&mut self) -> Result<bool, ReadError> {
        let held = self.window.rest().len();
        if held > MAX_BLOCK {
            let damage = Damage::TooLong { limit: MAX_BLOCK as u64 };
            return Err(ReadError::Damaged(self.place(), damage));
        }
        match self.window.fill().map_err(|error| ReadError::at(self.place(), error))? {
            0 if held > 0 || self.parser.is_none() => Err(ReadError::CutOff(self.place())),
            count => Ok(count > 0),
        }
    }

    fn end(&mut self) -> Result<Option<Entry>, ReadError> {
        self.assembly.end_section();
        if let Some(gap) = self.assembly.take_gap() {
            return Err(ReadError::Entry(self.place(), gap));
        }
        match self.assembly.is_whole() {
            _ if self.assembly.is_foreign() => Err(ReadError::Foreign),
            true => Ok(None),
            false => Err(ReadError::CutOff(self.place())),
        }
    }

    fn damage(&self, error: PcapError) -> ReadError {
        ReadError::Damaged(self.place(), Damage::Block(error.into()))
    }

    fn place(&self) -> FilePosition {
        FilePosition::Byte(self.window.position())
    }
}

impl<R: Read> Iterator for PcapngReader<R> {
    type Item = Result<Entry, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.done {
            return None;
        }
        if let Some(crowded) = self.assembly.take_crowded() {
            return Some(Err(ReadError::Entry(self.place(), crowded)));
        }
        let read = self.read();
        self.done = !matches!(read, Ok(Some(_)) | Err(ReadError::Entry(..)));
        read.transpose()
    }
}

impl<R> std::fmt::Debug for PcapngReader<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PcapngReader")
            .field("position", &self.window.position())
            .finish_non_exhaustive()
    }
}

/// Greatest length of a block in bytes. Wireshark refuses longer ones, and no writer here makes any.
const MAX_BLOCK: usize = 16 << 20;
