use std::collections::{HashMap, VecDeque};
use std::mem;

use bytes::Bytes;
use pcap_file::pcapng::blocks::enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption};
use pcap_file::pcapng::blocks::interface_description::InterfaceDescriptionOption;
use pcap_file::pcapng::blocks::section_header::{SectionHeaderBlock, SectionHeaderOption};
use pcap_file::pcapng::{Block, PcapNgParser};
use pcap_file::{DataLink, Endianness};

use super::super::{Entry, EntryError};
use super::blocks::{CONTINUES, HEAD, KIND, LINE, NANOSECONDS, OWN_BLOCK, PART, PEN, SECTION};
use super::derived::Derived;
use super::metadata::Metadata;
use crate::capture::jsonl::{FORMAT_VERSION, Rebuilder};
use crate::capture::pcap::{Endpoints, ReadFrame};
use mitmcraft_protocol::packet::Timestamp;
use mitmcraft_protocol::schema::{Catalog, Direction, PerDirection};

/// Assembles entries from the blocks of a file.
pub(super) struct Assembly {
    rebuilder: Rebuilder,
    /// The version of the section's format, once it is known. Nothing is read in another than
    /// [`FORMAT_VERSION`].
    version: Option<i64>,
    /// The connections, TCP (`true`) and UDP apart.
    flows: HashMap<(Endpoints, bool), Flow>,
    /// The connections of ended sections in which packets could not be read, and how many.
    gaps: VecDeque<(Endpoints, u64)>,
    /// The stream's bytes since the last complete packet, and the stream.
    streamed: Vec<u8>,
    stream: Option<(Endpoints, Direction)>,
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
    /// The address of the end of the last packet's bytes, if they are in one block as they are.
    end: Option<usize>,
    /// `true` if the file contains anything that mitmcraft wrote.
    ours: bool,
    /// `true` if the file contains any packet.
    packets: bool,
}

/// A connection in the section.
#[derive(Debug, Default)]
struct Flow {
    derived: Derived,
    /// The sequence number of the next byte.
    next: PerDirection<u32>,
    /// The number of packets that cannot be read, because others before them are missing.
    unread: u64,
}

impl Flow {
    /// Takes note of a segment. Returns `false` if segments before it are missing.
    fn follows(&mut self, frame: &ReadFrame<'_>) -> bool {
        let Some((seq, ack)) = frame.tcp else { return true };
        let expected = (self.next[frame.direction], self.next[frame.direction.reverse()]);
        self.next[frame.direction] = seq.wrapping_add(frame.payload.len() as u32);
        self.next[frame.direction.reverse()] = ack;
        expected == (seq, ack)
    }
}

impl Assembly {
    pub(super) fn new(catalog: &Catalog, memory: usize) -> Self {
        Self {
            rebuilder: Rebuilder::within(catalog, memory),
            version: None,
            flows: HashMap::new(),
            gaps: VecDeque::new(),
            streamed: Vec::new(),
            stream: None,
            text: Vec::new(),
            length: 0,
            max_text: memory / PER_BYTE,
            max_frame: MAX_FRAME.min(memory / 2),
            head: None,
            end: None,
            ours: false,
            packets: false,
        }
    }

    /// Returns the error of too many open sessions, once.
    pub(super) fn take_crowded(&mut self) -> Option<EntryError> {
        self.rebuilder.take_crowded()
    }

    /// Ends the section: nothing follows of its connections.
    pub(super) fn end_section(&mut self) {
        let unread =
            |((ends, _), flow): (_, Flow)| (flow.unread > 0).then_some((ends, flow.unread));
        let mut gaps: Vec<_> = self.flows.drain().filter_map(unread).collect();
        gaps.sort_unstable_by_key(|(ends, _)| (ends.client, ends.server));
        self.gaps.extend(gaps);
    }

    /// Returns which connection of an ended section has packets that could not be read, once for each.
    pub(super) fn take_gap(&mut self) -> Option<EntryError> {
        let (Endpoints { client, server }, packets) = self.gaps.pop_front()?;
        let connection = format!("{client} to {server}").into();
        Some(EntryError::NoHead { connection, packets })
    }

    /// Begins a section.
    pub(super) fn begin(&mut self, section: &SectionHeaderBlock<'_>) -> Option<Assembled> {
        self.end_section();
        self.streamed.clear();
        self.stream = None;
        self.head = None;
        let text = section.options.iter().find_map(|option| match option {
            SectionHeaderOption::CustomUtf8(option) if option.pen == PEN => {
                option.value.strip_prefix(SECTION)
            }
            _ => None,
        });
        self.version = text.and_then(|text| text.parse().ok());
        self.ours |= self.version.is_some();
        let version = self.version.filter(|version| *version != FORMAT_VERSION)?;
        Some(Err(EntryError::Version { format: version }))
    }

    /// Takes a block. Returns the entry that it completes.
    pub(super) fn take(&mut self, parser: &PcapNgParser, block: Block<'_>) -> Option<Assembled> {
        self.end = None;
        self.packets |=
            matches!(block, Block::EnhancedPacket(_) | Block::SimplePacket(_) | Block::Packet(_));
        match block {
            Block::SectionHeader(section) => self.begin(&section),
            _ if self.version.is_some_and(|version| version != FORMAT_VERSION) => None,
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
        let frame = ReadFrame::read(&packet.data).filter(|frame| !frame.payload.is_empty())?;
        let stream = Some((frame.ends, frame.direction));
        if self.stream != stream || self.streamed.len() > self.max_frame {
            // The frames with the rest of the packet have been removed from the file.
            self.streamed.clear();
        }
        self.stream = stream;
        self.streamed.extend_from_slice(frame.payload);
        let at = Timestamp(u64::try_from(packet.timestamp.as_nanos()).unwrap_or(u64::MAX));
        let option = packet.options.iter().find_map(|option| match option {
            EnhancedPacketOption::CustomBinary(option) if option.pen == PEN => Some(&*option.value),
            _ => None,
        });
        if option.is_some() {
            self.ours = true;
            self.version = Some(FORMAT_VERSION);
        }
        match option {
            Some(CONTINUES) => {
                self.flow(&frame);
                None
            }
            Some(metadata) => self.last_segment(&frame, at, Some(metadata)),
            // All is derived.
            None if self.version.is_some() => self.last_segment(&frame, at, None),
            // Not the last segment of the packet.
            None => None,
        }
    }

    /// Returns the connection of a segment, which it takes note of.
    fn flow(&mut self, frame: &ReadFrame<'_>) -> &mut Flow {
        let flow = self.flows.entry((frame.ends, frame.tcp.is_some())).or_default();
        if !flow.follows(frame) {
            flow.derived.forget();
        }
        flow
    }

    /// Takes the last segment of a packet, and the option with its metadata.
    fn last_segment(
        &mut self,
        frame: &ReadFrame<'_>,
        at: Timestamp,
        option: Option<&[u8]>,
    ) -> Option<Assembled> {
        let mut bytes = Bytes::from(mem::take(&mut self.streamed));
        let metadata = match (option, self.head.take()) {
            (None, _) => Some(Metadata::default()),
            (Some([]), Some(head)) => Metadata::read(&head),
            (Some(option), _) => Metadata::read(option),
        };
        let here =
            |metadata: &Metadata| metadata.streamed.is_none_or(|it| it <= frame.payload.len());
        self.end = metadata
            .as_ref()
            .filter(|metadata| here(metadata))
            .map(|_| frame.payload.as_ptr_range().end.addr());
        let flow = self.flow(frame);
        let Some(metadata) = metadata else {
            flow.derived.forget();
            return Some(Err(EntryError::Head));
        };
        let length = metadata.streamed.unwrap_or(frame.payload.len());
        // The end of an earlier packet may have been removed from the file, or the beginning of this.
        let complete = length <= bytes.len();
        bytes = bytes.slice(bytes.len().saturating_sub(length)..);
        match flow.derived.head(metadata, frame.direction, &bytes) {
            Some(_) if !complete => Some(Err(EntryError::NoFrame)),
            Some(head) => Some(self.rebuilder.streamed(head, at, frame.direction, bytes)),
            None => {
                flow.unread += 1;
                None
            }
        }
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
        let line = self.rebuilder.line(&text);
        if let Err(EntryError::Version { format: version }) = line {
            self.version.get_or_insert(version);
        }
        line.transpose()
    }

    /// Returns the address of the end of the last packet's bytes, which were in the last block that was
    /// taken; `None` if they were in several.
    pub(super) fn end(&self) -> Option<usize> {
        self.end
    }

    /// Returns `true` if the blocks so far end with a complete entry.
    pub(super) fn is_whole(&self) -> bool {
        self.streamed.is_empty() && self.length == 0 && self.head.is_none()
    }

    /// Returns `true` if there are packets, and mitmcraft wrote none of the blocks.
    pub(super) fn is_foreign(&self) -> bool {
        self.packets && !self.ours
    }
}

type Assembled = Result<Entry, EntryError>;

/// Greatest length of a frame in plain framing; a longer one was not written by mitmcraft.
const MAX_FRAME: usize = (128 << 20) + 5;

/// Memory that reading an entry takes at most per byte of its text.
const PER_BYTE: usize = 8;
