use std::collections::BTreeMap;
use std::io::{self, Write};

use super::super::{
    BodyPlaces, Describe, Entry, EntryWriter, Event, EventKind, PartLength, Record, Sink, Views,
    Wire, WireLeg, no_description,
};
use super::blocks::{
    COMMENT, CONTINUES, COPIED_BYTES, END_OF_OPTIONS, HEAD, LINE, MAX_TEXT, OWN_HEAD, PACKET_HEAD,
    PEN, write_interface, write_option, write_own, write_packet, write_section,
};
use super::derived::Derived;
use super::json_view::JsonView;
use super::metadata::Metadata;
use super::wire_view::WireView;
use crate::capture::head::Head;
use crate::capture::jsonl::{Form, Preamble, write_entry};
use crate::capture::pcap::{Carried, MAX_PAYLOAD, PlainFrame, PlainFrameSink, PlainView};
use crate::filter::floor;
use mitmcraft_protocol::schema::Family;

/// Writes a capture as pcapng, which Wireshark opens without a plugin. Each view has interfaces of
/// its own; in the view `plain`, each session is a TCP connection without encryption and
/// compression. Everything that the views do not show is stored beside them, so that reading the
/// file returns every entry. `docs/capture-formats.md` specifies the format.
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
        write_head(writer.buffer(), &interfaces);
        writer.flush()?;
        Ok(Self {
            plain: PlainView::default(),
            json: JsonView::new(describe),
            wire: WireView::default(),
            interfaces,
            blocks: Blocks {
                writer,
                text: Vec::new(),
                preamble: Preamble::default(),
                derived: BTreeMap::new(),
            },
        })
    }

    /// Writes 64 KiB at a time from now on, so that a file does not exceed its greatest size by more.
    pub(in crate::capture) fn limit_writes(&mut self) {
        self.blocks.writer.limit_writes();
    }

    fn put(&mut self, entry: &Entry) -> io::Result<()> {
        self.blocks.before(entry);
        match self.interfaces.plain {
            Some(_) => self.plain.write(entry, &mut self.blocks)?,
            None => self.blocks.aside(entry)?,
        }
        if let Some(interface) = self.interfaces.json {
            let mut bytes = std::mem::take(&mut self.blocks.text);
            self.json.write(&mut bytes, entry);
            let out = self.blocks.writer.buffer();
            write_packet(out, interface, entry.at(), [&bytes, &[]], |_| {});
            self.blocks.text = bytes;
        }
        Ok(())
    }
}

impl<W: Write + Send> Sink for PcapngSink<W> {
    fn write(&mut self, entry: &Entry) -> io::Result<()> {
        self.blocks.writer.begin()?;
        self.put(entry)?;
        self.blocks.writer.end();
        Ok(())
    }

    fn wire(&mut self, wire: &Wire) -> io::Result<()> {
        let Some(first) = self.interfaces.wire else { return Ok(()) };
        let interface = match wire.leg {
            WireLeg::Client => first,
            WireLeg::Server => first + 1,
        };
        let writer = &mut self.blocks.writer;
        writer.begin()?;
        self.wire.write(wire, &mut self.plain.used, |frame, comment| {
            write_packet(writer.buffer(), interface, wire.at, frame, |out| {
                if let Some(comment) = comment {
                    write_option(out, COMMENT, &[cut(comment).as_bytes()]);
                    write_option(out, END_OF_OPTIONS, &[]);
                }
            });
        });
        writer.end_part();
        Ok(())
    }

    fn wants_wire(&self) -> bool {
        self.interfaces.wire.is_some()
    }

    fn body_places(&mut self) -> Option<BodyPlaces> {
        Some(self.blocks.writer.body_places())
    }

    fn unwritten(&mut self) -> u64 {
        self.blocks.writer.unwritten()
    }

    fn flush(&mut self) -> io::Result<()> {
        self.blocks.writer.flush()
    }
}

/// Writes the blocks of a file.
#[derive(Debug)]
struct Blocks<W: Write> {
    writer: EntryWriter<W>,
    text: Vec<u8>,
    preamble: Preamble,
    /// Data that readers derive from earlier packets, by session number.
    derived: BTreeMap<u64, Derived>,
}

impl<W: Write> Blocks<W> {
    /// Writes what has to precede an entry.
    fn before(&mut self, entry: &Entry) {
        let out = self.writer.buffer();
        self.preamble.before(entry, |line| write_own(out, LINE, line));
    }

    /// Returns what a reader cannot derive of a packet.
    fn metadata(&mut self, record: &Record, streamed: &[u8]) -> Metadata {
        let context = record.packet.context();
        // Datagrams have no order that shows whether one is missing.
        let whole = context.protocol.family() == Family::Query;
        let derived = self.derived.entry(context.session).or_default();
        let mut metadata =
            derived.metadata(Head::of(record), record.packet.direction(), streamed, whole);
        metadata.streamed = Some(streamed.len()).filter(|length| *length > MAX_PAYLOAD && !whole);
        metadata
    }
}

impl<W: Write> PlainFrameSink for Blocks<W> {
    const COMMENTS: bool = true;

    fn frame(&mut self, frame: &PlainFrame<'_>) -> io::Result<()> {
        let mut option = std::mem::take(&mut self.text);
        option.clear();
        let has_option = match frame.carries {
            Carried::Nothing => false,
            Carried::Part => {
                option.extend_from_slice(CONTINUES);
                true
            }
            Carried::Packet { record, streamed } => {
                let metadata = self.metadata(record, streamed);
                let says_more = metadata != Metadata::default();
                if says_more {
                    metadata.write(&mut option);
                }
                says_more
            }
        };
        if option.len() > MAX_OPTION {
            write_own(self.writer.buffer(), HEAD, &option);
            option.clear();
        }
        let end =
            self.writer.buffer().len() + PACKET_HEAD + frame.headers.len() + frame.payload.len();
        let parts = [frame.headers, frame.payload];
        write_packet(self.writer.buffer(), PLAIN, frame.at, parts, |out| {
            if let Some(comment) = frame.comment {
                write_option(out, COMMENT, &[cut(comment).as_bytes()]);
            }
            if has_option {
                write_option(out, COPIED_BYTES, &[&PEN.to_le_bytes(), &option]);
            }
            if frame.comment.is_some() || has_option {
                write_option(out, END_OF_OPTIONS, &[]);
            }
        });
        self.text = option;
        match frame.carries {
            Carried::Nothing => {}
            Carried::Part => self.writer.note_part(end, PartLength::Part(MAX_PAYLOAD)),
            Carried::Packet { streamed, .. } => {
                self.writer.note_part(end, PartLength::LastOf(streamed.len()));
            }
        }
        Ok(())
    }

    fn aside(&mut self, entry: &Entry) -> io::Result<()> {
        let mut text = std::mem::take(&mut self.text);
        text.clear();
        write_entry(&mut text, entry, Form::Stored);
        let start = self.writer.buffer().len() + OWN_HEAD;
        write_own(self.writer.buffer(), LINE, &text);
        if let (Entry::Packet(record), true) = (entry, text.len() <= MAX_TEXT) {
            self.writer.note_text(start, start + text.len(), &record.packet);
        }
        self.text = text;
        if let Entry::Event(Event { kind: EventKind::Close(_), context, .. }) = entry {
            self.derived.remove(&context.session);
        }
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
fn write_head(out: &mut Vec<u8>, interfaces: &Interfaces) {
    write_section(out);
    for (is, link_type, name, description) in [
        (interfaces.plain.is_some(), ETHERNET, "plain", PLAIN_TEXT),
        (interfaces.json.is_some(), UPPER_PDU, "json", JSON_TEXT),
        (interfaces.wire.is_some(), ETHERNET, "wire client", CLIENT_TEXT),
        (interfaces.wire.is_some(), ETHERNET, "wire server", SERVER_TEXT),
    ] {
        if is {
            write_interface(out, link_type, name, description);
        }
    }
}

/// Truncates a comment to `MAX_COMMENT` bytes on a character boundary.
pub(super) fn cut(comment: &str) -> &str {
    &comment[..floor(comment, MAX_COMMENT)]
}

/// Greatest length of a head in an option, which has at most 65,535 bytes, four of them the number.
pub(super) const MAX_OPTION: usize = 60_000;

/// Greatest length of a comment in bytes.
const MAX_COMMENT: usize = 4000;

const PLAIN_TEXT: &str = "between client and server, decrypted and inflated";
const CLIENT_TEXT: &str = "between client and proxy, as it crossed";
const SERVER_TEXT: &str = "between proxy and server, as it crossed";
const JSON_TEXT: &str = "every entry, decoded";

/// The number of the interface `plain`, which is the first if there is one.
const PLAIN: u32 = 0;

/// The link type of Ethernet frames.
const ETHERNET: u16 = 1;

/// The link type of packets that name their dissector.
const UPPER_PDU: u16 = 252;
