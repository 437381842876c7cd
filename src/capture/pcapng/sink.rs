use std::borrow::Cow;
use std::io::{self, Write};

use pcap_file::pcapng::PcapNgWriter;
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};
use pcap_file::pcapng::blocks::section_header::{SectionHeaderBlock, SectionHeaderOption};
use pcap_file::{DataLink, Endianness, PcapResult};

use super::super::{Describe, Entry, EntryWriter, Sink, Views, Wire, WireLeg, no_description};
use super::json_view::JsonView;
use super::wire_view::{WireFrameSink, WireView};
use crate::capture::jsonl::{Form, write_entry, write_record};
use crate::capture::pcap::{PlainFrame, PlainFrameSink, PlainView, SNAP_LENGTH};
use crate::packet::Timestamp;

/// Writes a capture as pcapng, which Wireshark opens without a plugin. Each view has interfaces of
/// its own; in the view `plain`, each session is a TCP connection without encryption and
/// compression. Everything that the views do not show is stored beside them, so that reading the
/// file returns every entry. `docs/captures.md` specifies the format.
pub struct PcapngSink<W: Write + Send> {
    plain: PlainView,
    json: JsonView,
    wire: WireView,
    interfaces: Interfaces,
    blocks: Blocks<W>,
}

impl<W: Write + Send> PcapngSink<W> {
    /// Writes the header of a file with the view `plain` to `writer`, which does not need a buffer of
    /// its own.
    ///
    /// # Errors
    /// [`io::Error`] if the header cannot be written.
    pub fn new(writer: W) -> io::Result<Self> {
        Self::with_views(writer, Views::PLAIN, no_description)
    }

    /// Writes the header of a file with these views. `describe` writes the Info column of the view
    /// `json`.
    ///
    /// # Errors
    /// [`io::Error`] if the header cannot be written.
    pub fn with_views(writer: W, views: Views, describe: Describe) -> io::Result<Self> {
        let mut writer = EntryWriter::new(writer);
        let interfaces = Interfaces::of(views);
        write_head(writer.buffer(), &interfaces).map_err(io::Error::other)?;
        writer.flush()?;
        Ok(Self {
            plain: PlainView::default(),
            json: JsonView::new(describe),
            wire: WireView::default(),
            interfaces,
            blocks: Blocks { writer, text: Vec::new(), wire: interfaces.wire },
        })
    }

    fn put(&mut self, entry: &Entry) -> io::Result<()> {
        match self.interfaces.plain {
            Some(_) => self.plain.write(entry, &mut self.blocks)?,
            None => self.blocks.aside(entry)?,
        }
        if let Some(interface) = self.interfaces.json {
            let mut bytes = std::mem::take(&mut self.blocks.text);
            self.json.write(&mut bytes, entry);
            let options = |_: &mut Vec<u8>| {};
            write_packet(self.blocks.writer.buffer(), interface, entry.at(), &bytes, options);
            self.blocks.text = bytes;
        }
        Ok(())
    }
}

impl<W: Write + Send> Sink for PcapngSink<W> {
    fn write(&mut self, entry: &Entry) -> io::Result<()> {
        self.blocks.writer.begin()?;
        self.put(entry)?;
        self.blocks.writer.end()
    }

    fn wire(&mut self, wire: &Wire) -> io::Result<()> {
        if !self.wants_wire() {
            return Ok(());
        }
        self.blocks.writer.begin()?;
        self.wire.write(wire, &mut self.plain.used, &mut self.blocks)?;
        self.blocks.writer.end()
    }

    fn wants_wire(&self) -> bool {
        self.interfaces.wire.is_some()
    }

    fn flush(&mut self) -> io::Result<()> {
        self.blocks.writer.flush()
    }
}

/// Writes the blocks of a file. `pcap_file` cannot write custom options, so only the header is
/// written with it.
#[derive(Debug)]
struct Blocks<W: Write> {
    writer: EntryWriter<W>,
    text: Vec<u8>,
    /// The first interface of the view `wire`.
    wire: Option<u32>,
}

impl<W: Write> Blocks<W> {
    /// Writes `text` to as many local blocks as it takes.
    fn put_own(&mut self, kind: &[u8; KIND], text: &[u8]) {
        let mut chunks = text.chunks(MAX_TEXT).peekable();
        while let Some(chunk) = chunks.next() {
            let kind = if chunks.peek().is_some() { PART } else { kind };
            write_block(self.writer.buffer(), OWN_BLOCK, |out| {
                out.extend_from_slice(&PEN.to_le_bytes());
                out.extend_from_slice(kind);
                out.extend_from_slice(chunk);
                // JSON ignores spaces, so they pad the last word.
                let used = 4 + KIND + chunk.len();
                out.resize(out.len() + used.next_multiple_of(4) - used, b' ');
            });
        }
    }
}

impl<W: Write> PlainFrameSink for Blocks<W> {
    const COMMENTS: bool = true;

    fn frame(&mut self, frame: &PlainFrame<'_>) -> io::Result<()> {
        let mut head = std::mem::take(&mut self.text);
        head.clear();
        if let Some(record) = frame.record {
            write_record(&mut head, record, Form::Head);
        }
        if head.len() > MAX_OPTION {
            self.put_own(HEAD, &head);
            head.clear();
        }
        write_packet(self.writer.buffer(), PLAIN, frame.at, frame.bytes, |out| {
            if let Some(comment) = frame.comment {
                write_option(out, COMMENT, &[cut(comment).as_bytes()]);
            }
            if frame.record.is_some() {
                write_option(out, COPIED_TEXT, &[&PEN.to_le_bytes(), &head]);
            }
            if frame.comment.is_some() || frame.record.is_some() {
                write_option(out, END_OF_OPTIONS, &[]);
            }
        });
        self.text = head;
        Ok(())
    }

    fn aside(&mut self, entry: &Entry) -> io::Result<()> {
        let mut text = std::mem::take(&mut self.text);
        text.clear();
        write_entry(&mut text, entry, Form::Stored);
        self.put_own(LINE, &text);
        self.text = text;
        Ok(())
    }
}

impl<W: Write> WireFrameSink for Blocks<W> {
    fn wire(
        &mut self,
        leg: WireLeg,
        at: Timestamp,
        frame: &[u8],
        comment: Option<&str>,
    ) -> io::Result<()> {
        let Some(first) = self.wire else { return Ok(()) };
        let interface = match leg {
            WireLeg::Client => first,
            WireLeg::Server => first + 1,
        };
        write_packet(self.writer.buffer(), interface, at, frame, |out| {
            if let Some(comment) = comment {
                write_option(out, COMMENT, &[cut(comment).as_bytes()]);
                write_option(out, END_OF_OPTIONS, &[]);
            }
        });
        Ok(())
    }
}

/// The numbers of a file's interfaces by view; `None` for a view that the file does not have.
#[derive(Debug, Clone, Copy)]
struct Interfaces {
    plain: Option<u32>,
    json: Option<u32>,
    /// The client's leg; the server's follows.
    wire: Option<u32>,
}

impl Interfaces {
    fn of(views: Views) -> Self {
        let mut next = 0..;
        let mut place = |has: bool| if has { next.next() } else { None };
        Self { plain: place(views.plain), json: place(views.json), wire: place(views.wire) }
    }
}

/// Writes the file's header: the section and its interfaces.
fn write_head(out: &mut Vec<u8>, interfaces: &Interfaces) -> PcapResult<()> {
    let program = concat!("mitmcraft ", env!("CARGO_PKG_VERSION"));
    let section = SectionHeaderBlock {
        endianness: Endianness::Little,
        options: vec![SectionHeaderOption::UserApplication(Cow::Borrowed(program))],
        ..SectionHeaderBlock::default()
    };
    let mut writer = PcapNgWriter::with_section_header(out, section)?;
    for (is, linktype, name, description) in [
        (interfaces.plain.is_some(), DataLink::ETHERNET, "plain", PLAIN_TEXT),
        (interfaces.json.is_some(), UPPER_PDU, "json", JSON_TEXT),
        (interfaces.wire.is_some(), DataLink::ETHERNET, "wire client", CLIENT_TEXT),
        (interfaces.wire.is_some(), DataLink::ETHERNET, "wire server", SERVER_TEXT),
    ] {
        if !is {
            continue;
        }
        writer.write_pcapng_block(InterfaceDescriptionBlock {
            linktype,
            snaplen: SNAP_LENGTH,
            options: vec![
                InterfaceDescriptionOption::IfName(Cow::Borrowed(name)),
                InterfaceDescriptionOption::IfDescription(Cow::Borrowed(description)),
                InterfaceDescriptionOption::IfTsResol(NANOSECONDS),
            ],
        })?;
    }
    Ok(())
}

/// Appends a packet of an interface; `options` appends its options.
fn write_packet(
    out: &mut Vec<u8>,
    interface: u32,
    at: Timestamp,
    bytes: &[u8],
    options: impl FnOnce(&mut Vec<u8>),
) {
    write_block(out, ENHANCED_PACKET_BLOCK, |out| {
        let length = u32::try_from(bytes.len()).expect("a packet is cut to what Wireshark takes");
        let (high, low) = ((at.0 >> 32) as u32, at.0 as u32);
        for number in [interface, high, low, length, length] {
            out.extend_from_slice(&number.to_le_bytes());
        }
        out.extend_from_slice(bytes);
        pad(out, bytes.len());
        options(out);
    });
}

/// Appends a block; `body` appends whole words.
fn write_block(out: &mut Vec<u8>, kind: u32, body: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend_from_slice(&kind.to_le_bytes());
    out.extend_from_slice(&[0; 4]);
    body(out);
    let length = u32::try_from(out.len() + 4 - start).expect("a block is short");
    let length = length.to_le_bytes();
    out[start + 4..start + 8].copy_from_slice(&length);
    out.extend_from_slice(&length);
}

/// Appends an option whose value is the concatenation of `parts`.
fn write_option(out: &mut Vec<u8>, code: u16, parts: &[&[u8]]) {
    let length: usize = parts.iter().map(|part| part.len()).sum();
    let short = u16::try_from(length).expect("options are cut before they are written");
    out.extend_from_slice(&code.to_le_bytes());
    out.extend_from_slice(&short.to_le_bytes());
    for part in parts {
        out.extend_from_slice(part);
    }
    pad(out, length);
}

/// Pads a value of `length` bytes to whole words.
fn pad(out: &mut Vec<u8>, length: usize) {
    out.resize(out.len() + length.next_multiple_of(4) - length, 0);
}

/// Truncates a comment to `MAX_COMMENT` bytes on a character boundary.
fn cut(comment: &str) -> &str {
    let mut end = comment.len().min(MAX_COMMENT);
    while !comment.is_char_boundary(end) {
        end -= 1;
    }
    &comment[..end]
}

/// Type of the blocks for entries outside the streams. It is one of the types for local use, which
/// Wireshark skips; it lists every Custom Block (0xBAD) as a packet.
pub(super) const OWN_BLOCK: u32 = 0x8000_0bad;

/// The Private Enterprise Number for examples (RFC 5612): mitmcraft has none of its own.
pub(super) const PEN: u32 = 32_473;

const ENHANCED_PACKET_BLOCK: u32 = 6;

const END_OF_OPTIONS: u16 = 0;
const COMMENT: u16 = 1;
/// A custom option whose text programs keep when they copy the packet.
const COPIED_TEXT: u16 = 2988;

/// Kind of a local block: a complete line. It follows the number.
pub(super) const LINE: &[u8; KIND] = b"mitmcraft: line ";
/// Kind of a local block: the head of the next packet, too long for an option.
pub(super) const HEAD: &[u8; KIND] = b"mitmcraft: head ";
/// Kind of a local block: a part of a line or a head, which the next block continues.
pub(super) const PART: &[u8; KIND] = b"mitmcraft: part ";

/// Length of a local block's kind in bytes.
pub(super) const KIND: usize = 16;

/// Greatest length of a local block's text in bytes. Wireshark refuses blocks of more than 16 MiB.
/// Whole words, so that a part needs no padding.
const MAX_TEXT: usize = 1 << 20;

/// Greatest length of a head in an option, which has at most 65,535 bytes, four of them the number.
const MAX_OPTION: usize = 60_000;

/// Greatest length of a comment in bytes.
const MAX_COMMENT: usize = 4000;

/// The time resolution of nanoseconds, as a negative power of ten.
pub(super) const NANOSECONDS: u8 = 9;

const PLAIN_TEXT: &str = "between client and server, decrypted and inflated";
const CLIENT_TEXT: &str = "between client and proxy, as it crossed";
const SERVER_TEXT: &str = "between proxy and server, as it crossed";
const JSON_TEXT: &str = "every entry, decoded";

/// The number of the interface `plain`, which is the first if there is one.
const PLAIN: u32 = 0;

/// Link type 252: packets that name their dissector.
const UPPER_PDU: DataLink = DataLink::WIRESHARK_UPPER_PDU;
