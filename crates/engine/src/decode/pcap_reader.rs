use std::io::{self, ErrorKind, Read};

use bytes::Bytes;
use pcap_file::pcap::{PcapHeader, PcapParser};
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};
use pcap_file::pcapng::{PcapNgParser, RawBlock};
use pcap_file::{Endianness, PcapError, TsResolution};
use thiserror::Error;

use super::{CapturedPacket, LinkType};
use crate::capture::{Damage, FilePosition, Window};
use mitmcraft_protocol::packet::Timestamp;

/// Reads the packets of a pcap or pcapng file of either byte order and any time resolution.
///
/// Holds one packet at a time. An error ends the iteration: no packet after damage can be found.
pub struct PcapReader<R> {
    window: Window<R>,
    format: Format,
    done: bool,
}

/// An error from reading a recording.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum PcapReadError {
    /// The file cannot be read.
    #[error(transparent)]
    Io(io::Error),
    /// The file is empty.
    #[error("not a pcap or pcapng file: it is empty")]
    Empty,
    /// The file is a capture in JSON lines.
    #[error("not a pcap or pcapng file: it is a capture in JSON lines")]
    JsonLines,
    /// The file's first bytes are those of another format.
    #[error("not a pcap or pcapng file: unknown first bytes")]
    UnknownFormat,
    /// The file ends in the middle of a packet, as it does when its writer was killed. All packets
    /// before it have been returned.
    #[error("{0}: the file ends within this packet")]
    CutOff(FilePosition),
    /// The file is damaged, and no packet after this position can be found.
    #[error("{0}: the file is damaged: {1}")]
    Damaged(FilePosition, #[source] Damage),
}

enum Format {
    Unknown,
    Pcap(PcapParser),
    Pcapng(PcapNgParser),
}

impl<R: Read> PcapReader<R> {
    /// Reads from `reader`, which does not need a buffer of its own.
    #[must_use]
    pub fn new(reader: R) -> Self {
        Self { window: Window::new(reader), format: Format::Unknown, done: false }
    }

    /// The number of bytes of the file that have been read.
    #[must_use]
    pub fn position(&self) -> u64 {
        self.window.position()
    }

    fn read(&mut self) -> Result<Option<CapturedPacket>, PcapReadError> {
        loop {
            let rest = self.window.rest();
            let parsed = match &mut self.format {
                _ if rest.is_empty() => Err(PcapError::IncompleteBuffer),
                Format::Unknown => open(rest)?.map(|(format, left)| {
                    self.format = format;
                    (left, None)
                }),
                Format::Pcap(parser) => next_of_pcap(parser, rest),
                // Read in raw form, as `pcap_file` takes all times for nanoseconds.
                Format::Pcapng(parser) => {
                    let block = parser.next_raw_block(rest);
                    block.map(|(left, block)| (left.len(), packet_of(parser, &block)))
                }
            };
            match parsed {
                Ok((left, found)) => {
                    self.window.leave(left);
                    if found.is_some() {
                        return Ok(found);
                    }
                }
                Err(PcapError::IncompleteBuffer) => {
                    if !self.fill()? {
                        return Ok(None);
                    }
                }
                Err(error) => {
                    let damage = Damage::Block(error.into());
                    return Err(PcapReadError::Damaged(self.place(), damage));
                }
            }
        }
    }

    /// Reads more. Returns `false` at the end of the file.
    fn fill(&mut self) -> Result<bool, PcapReadError> {
        let held = self.window.rest().len();
        if held > MAX_PACKET {
            let damage = Damage::TooLong { limit: MAX_PACKET as u64 };
            return Err(PcapReadError::Damaged(self.place(), damage));
        }
        let read = self.window.fill().map_err(|error| match error.kind() {
            // The kinds of errors that `unpack` returns.
            ErrorKind::UnexpectedEof => PcapReadError::CutOff(self.place()),
            ErrorKind::InvalidData => {
                PcapReadError::Damaged(self.place(), Damage::Compressed(error))
            }
            _ => PcapReadError::Io(error),
        });
        match (read?, &self.format) {
            (0, Format::Unknown) if held == 0 => Err(PcapReadError::Empty),
            (0, _) if held > 0 => Err(PcapReadError::CutOff(self.place())),
            (count, _) => Ok(count > 0),
        }
    }

    fn place(&self) -> FilePosition {
        FilePosition::Byte(self.position())
    }
}

impl<R: Read> Iterator for PcapReader<R> {
    type Item = Result<CapturedPacket, PcapReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.done {
            return None;
        }
        let read = self.read();
        self.done = !matches!(read, Ok(Some(_)));
        read.transpose()
    }
}

impl<R> std::fmt::Debug for PcapReader<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PcapReader")
            .field("position", &self.window.position())
            .finish_non_exhaustive()
    }
}

/// The number of bytes left after a block, and the packet in it if it has one.
type Parsed = Result<(usize, Option<CapturedPacket>), PcapError>;

/// Recognises the format by the file's first bytes. Returns its parser, and the number of bytes after the
/// header.
///
/// # Errors
/// If it is neither format; within, what is wrong with the header.
fn open(head: &[u8]) -> Result<Result<(Format, usize), PcapError>, PcapReadError> {
    Ok(match head.first_chunk::<4>() {
        None => Err(PcapError::IncompleteBuffer),
        Some([0x0a, 0x0d, 0x0d, 0x0a]) => {
            PcapNgParser::new(head).map(|(left, parser)| (Format::Pcapng(parser), left.len()))
        }
        Some([0xd4 | 0x4d, 0xc3 | 0x3c, 0xb2, 0xa1] | [0xa1, 0xb2, 0xc3 | 0x3c, 0xd4 | 0x4d]) => {
            PcapParser::new(head).map(|(left, parser)| (Format::Pcap(parser), left.len()))
        }
        Some([b'{', ..]) => return Err(PcapReadError::JsonLines),
        Some(_) => return Err(PcapReadError::UnknownFormat),
    })
}

/// Reads the next packet of a pcap file in raw form: the parsed form refuses packets longer than the
/// snap length, which occur in files.
fn next_of_pcap(parser: &PcapParser, bytes: &[u8]) -> Parsed {
    let PcapHeader { ts_resolution, datalink, .. } = parser.header();
    let (left, packet) = parser.next_raw_packet(bytes)?;
    let unit = match ts_resolution {
        TsResolution::MicroSecond => 1000,
        TsResolution::NanoSecond => 1,
    };
    let nanos = u64::from(packet.ts_sec) * 1_000_000_000 + u64::from(packet.ts_frac) * unit;
    let captured = CapturedPacket {
        at: Timestamp(nanos),
        // The upper bits are the length of the frame check sequence.
        link: LinkType::from_number(u32::from(datalink) & 0x0fff_ffff),
        missing: (packet.orig_len.saturating_sub(packet.incl_len)) as usize,
        bytes: Bytes::copy_from_slice(&packet.data),
    };
    Ok((left.len(), Some(captured)))
}

fn packet_of(parser: &PcapNgParser, block: &RawBlock<'_>) -> Option<CapturedPacket> {
    let body = &*block.body;
    let endianness = parser.section().endianness;
    let word = |at: usize| {
        let word = body.get(at..)?.first_chunk::<4>()?;
        Some(match endianness {
            Endianness::Big => u32::from_be_bytes(*word),
            Endianness::Little => u32::from_le_bytes(*word),
        })
    };
    let (interface, data, length, original) = match block.type_ {
        ENHANCED_PACKET => (word(0)?, 20, word(12)?, word(16)?),
        // Obsolete: the interface has 16 bits, and a drop count of 16 bits follows.
        PACKET => {
            let half = body.first_chunk::<2>()?;
            let interface = match endianness {
                Endianness::Big => u16::from_be_bytes(*half),
                Endianness::Little => u16::from_le_bytes(*half),
            };
            (interface.into(), 20, word(12)?, word(16)?)
        }
        SIMPLE_PACKET => {
            let original = word(0)?;
            let kept = u32::try_from(body.len() - 4).unwrap_or(u32::MAX);
            let snap = parser.interfaces().first().map_or(0, |it| it.snaplen);
            let length = original.min(kept);
            (0, 4, if snap == 0 { length } else { length.min(snap) }, original)
        }
        _ => return None,
    };
    let interface = parser.interfaces().get(interface as usize)?;
    let at = match block.type_ {
        SIMPLE_PACKET => Timestamp::default(),
        _ => time(interface, u64::from(word(4)?) << 32 | u64::from(word(8)?)),
    };
    let bytes = body.get(data..)?;
    let bytes = &bytes[..bytes.len().min(length as usize)];
    Some(CapturedPacket {
        at,
        link: LinkType::from_number(u32::from(interface.linktype)),
        missing: (original as usize).saturating_sub(bytes.len()),
        bytes: Bytes::copy_from_slice(bytes),
    })
}

/// Converts a time from the units of its interface, which are microseconds by default.
fn time(interface: &InterfaceDescriptionBlock<'_>, units: u64) -> Timestamp {
    let (mut resolution, mut offset) = (6u8, 0u64);
    for option in &interface.options {
        match option {
            InterfaceDescriptionOption::IfTsResol(exponent) => resolution = *exponent,
            InterfaceDescriptionOption::IfTsOffset(seconds) => offset = *seconds,
            _ => {}
        }
    }
    let per_second = match resolution & 0x80 {
        0 => 10u128.checked_pow(resolution.into()),
        _ => 1u128.checked_shl(u32::from(resolution & 0x7f)),
    };
    let nanos = per_second.map_or(0, |it| u128::from(units) * 1_000_000_000 / it.max(1));
    let nanos = u64::try_from(nanos).unwrap_or(u64::MAX);
    Timestamp(nanos.saturating_add(offset.saturating_mul(1_000_000_000)))
}

const PACKET: u32 = 2;
const SIMPLE_PACKET: u32 = 3;
const ENHANCED_PACKET: u32 = 6;

/// Greatest length of a packet or block in bytes. tcpdump accepts packets of 262,144 bytes, Wireshark
/// blocks of 16 MiB.
const MAX_PACKET: usize = 16 << 20;
