use std::io::Read;
use std::mem;

use pcap_file::pcapng::blocks::enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption};
use pcap_file::pcapng::blocks::interface_description::InterfaceDescriptionOption;
use pcap_file::pcapng::{Block, PcapNgParser};
use pcap_file::{DataLink, Endianness, PcapError};

use super::super::{Damage, Entry, EntryError, FilePosition, ReadError};
use super::sink::{HEAD, KIND, LINE, NANOSECONDS, OWN_BLOCK, PART, PEN};
use crate::capture::jsonl::Rebuilder;
use crate::capture::pcap::{Window, read_payload};
use crate::codec::MemoryBudget;
use crate::packet::Timestamp;
use crate::schema::{Catalog, Direction};

/// Reads the entries of a pcapng capture; also of one that Wireshark has saved again, which contains
/// only the packets in the streams.
///
/// An invalid block yields an error, and iteration continues with the next block.
pub struct PcapngReader<R> {
    window: Window<R>,
    /// `None` until the file's header has been read.
    parser: Option<PcapNgParser>,
    assembly: Assembly,
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
            done: false,
        }
    }

    fn read(&mut self) -> Result<Option<Entry>, ReadError> {
        loop {
            let place = self.place();
            let rest = self.window.rest();
            let (left, found) = match &mut self.parser {
                None => match PcapNgParser::new(rest) {
                    Ok((left, parser)) => {
                        let left = left.len();
                        self.parser = Some(parser);
                        (left, None)
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
            self.window.leave(left);
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

    fn end(&self) -> Result<Option<Entry>, ReadError> {
        match (self.assembly.ours, self.assembly.is_whole()) {
            (_, true) => Ok(None),
            (true, false) => Err(ReadError::CutOff(self.place())),
            (false, false) => Err(ReadError::Foreign),
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

/// Assembles entries from blocks.
struct Assembly {
    rebuilder: Rebuilder,
    /// The stream's bytes since the last complete packet.
    streamed: Vec<u8>,
    direction: Option<Direction>,
    /// The text of local blocks since the last complete one, as far as `max_text` allows.
    text: Vec<u8>,
    /// The length of that text.
    length: usize,
    /// Greatest length of an entry's text that is kept.
    max_text: usize,
    /// Greatest length of a frame.
    max_frame: usize,
    /// The next packet's head, if it does not fit an option.
    head: Option<Vec<u8>>,
    /// `true` if the file contains anything that mitmcraft wrote.
    ours: bool,
}

impl Assembly {
    fn new(catalog: &Catalog, memory: usize) -> Self {
        Self {
            rebuilder: Rebuilder::within(catalog, memory),
            streamed: Vec::new(),
            direction: None,
            text: Vec::new(),
            length: 0,
            max_text: memory / PER_BYTE,
            max_frame: MAX_FRAME.min(memory / 2),
            head: None,
            ours: false,
        }
    }

    fn take(&mut self, parser: &PcapNgParser, block: Block<'_>) -> Option<Assembled> {
        match block {
            Block::EnhancedPacket(packet) => {
                let exact = InterfaceDescriptionOption::IfTsResol(NANOSECONDS);
                let interface = parser.packet_interface(&packet)?;
                let ours = interface.linktype == DataLink::ETHERNET;
                if !ours || !interface.options.contains(&exact) {
                    return None;
                }
                self.packet(&packet)
            }
            Block::Unknown(block) if block.type_ == OWN_BLOCK => {
                let pen = match parser.section().endianness {
                    Endianness::Big => PEN.to_be_bytes(),
                    Endianness::Little => PEN.to_le_bytes(),
                };
                self.own(block.value.strip_prefix(&pen)?)
            }
            _ => None,
        }
    }

    fn packet(&mut self, packet: &EnhancedPacketBlock<'_>) -> Option<Assembled> {
        let (direction, payload) = read_payload(&packet.data)?;
        if self.direction != Some(direction) || self.streamed.len() > self.max_frame {
            // The frames with the rest of the packet have been removed from the file.
            self.streamed.clear();
        }
        self.direction = Some(direction);
        self.streamed.extend_from_slice(payload);
        let option = packet.options.iter().find_map(|option| match option {
            EnhancedPacketOption::CustomUtf8(option) if option.pen == PEN => Some(&option.value),
            _ => None,
        });
        let option = option?;
        self.ours = true;
        let head = self.head.take().unwrap_or_else(|| option.as_bytes().to_vec());
        let bytes = mem::take(&mut self.streamed).into();
        let at = Timestamp(u64::try_from(packet.timestamp.as_nanos()).unwrap_or(u64::MAX));
        Some(self.rebuilder.streamed(&head, at, direction, bytes))
    }

    fn own(&mut self, value: &[u8]) -> Option<Assembled> {
        let (kind, text) = value.split_first_chunk::<KIND>()?;
        if ![LINE, HEAD, PART].contains(&kind) {
            return None;
        }
        self.ours = true;
        self.length += text.len();
        if self.length <= self.max_text {
            self.text.extend_from_slice(text);
        } else {
            self.text = Vec::new();
        }
        if kind == PART {
            return None;
        }
        let (text, length) = (mem::take(&mut self.text), mem::take(&mut self.length));
        if length > self.max_text {
            let (length, limit) = (length as u64, self.max_text);
            return Some(Err(EntryError::TooLong { length, limit }));
        }
        if kind == HEAD {
            self.head = Some(text);
            return None;
        }
        Some(self.rebuilder.line(&text))
    }

    fn is_whole(&self) -> bool {
        self.streamed.is_empty() && self.length == 0 && self.head.is_none()
    }
}

type Assembled = Result<Entry, EntryError>;

/// Greatest length of a block in bytes. Wireshark refuses longer ones, and no writer here makes any.
const MAX_BLOCK: usize = 16 << 20;

/// Greatest length of a frame in plain framing; a longer one was not written by mitmcraft.
const MAX_FRAME: usize = (128 << 20) + 5;

/// Memory that reading an entry takes at most per byte of its text.
const PER_BYTE: usize = 8;
