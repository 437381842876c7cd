use std::io::{self, Write};

use flate2::Crc;

use super::super::head::{RawKind, crossed};
use super::super::jsonl::{
    Form, Forms, Preamble, diagnostics, first_line, meaning_object, write_entry, write_values,
};
use super::super::{Entry, Event, EventKind, Record, Sink};
use super::field::{Field, SCHEMA_VERSION};
use super::table_writer::{Cell, TableWriter};
use mitmcraft_protocol::meaning::SessionMemory;
use mitmcraft_protocol::packet::{Content, Context, Packet, RawReason};
use mitmcraft_protocol::schema::Family;

/// Writes a capture as Parquet, one row per entry. `docs/lake.md` specifies the columns.
///
/// Rows are written in groups, and the file can be read only after [`finish`](Sink::finish).
#[derive(Debug)]
pub struct ParquetSink {
    rows: TableWriter,
    forms: Forms,
    preamble: Preamble,
    /// JSON of the current row.
    text: Vec<u8>,
}

impl ParquetSink {
    /// Writes to `writer`, which does not need a buffer of its own.
    ///
    /// # Errors
    /// [`io::Error`] if the header cannot be written.
    pub fn new(writer: Box<dyn Write + Send>) -> io::Result<Self> {
        let program = String::from_utf8_lossy(&first_line()).into_owned();
        let metadata =
            [("mitmcraft.schema", SCHEMA_VERSION.to_string()), ("mitmcraft.capture", program)];
        let rows = TableWriter::new(writer, &Field::columns(), &metadata)?;
        let (forms, preamble) = (Forms::default(), Preamble::without_first_line());
        Ok(Self { rows, forms, preamble, text: Vec::new() })
    }

    /// Omits the packets' bytes, so that rows contain only the decoded fields.
    #[must_use]
    pub fn without_bodies(mut self) -> Self {
        self.forms.no_bodies = true;
        self
    }

    /// Adds what values mean, in a column of its own.
    #[must_use]
    pub fn with_meanings(mut self) -> Self {
        self.forms.memory = Some(SessionMemory::default());
        self
    }

    fn packet(&mut self, record: &Record, form: Form) {
        let packet = &record.packet;
        let context = packet.context();
        // Asked for before the id, so that a compressed body is inflated only once.
        let body = packet.body();
        let micros = (packet.at().0 / 1000).saturating_sub(context.opened.0 / 1000);
        self.count(Field::Seq, packet.seq());
        self.count(Field::Time, packet.at().0);
        self.put(Field::T, Cell::Double(micros as f64 / 1e6));
        self.text(Field::Direction, packet.direction().name());
        self.text(Field::Origin, packet.origin().name());
        self.text(Field::State, packet.state().name());
        self.session(context);
        self.description(context);
        if packet.frame().is_some() {
            if let Some(id) = packet.id() {
                self.put(Field::Id, Cell::Short(id));
            }
            if let Some(kind) = packet.kind() {
                self.text(Field::Packet, kind.name());
            }
        }
        self.size(Field::Wire, packet.wire_size());
        self.size(Field::Size, packet.size());
        self.text(Field::Verdict, record.outcome.name());
        if let Some(of) = record.of {
            self.count(Field::Of, of);
        }
        if let Some(comment) = &record.comment {
            self.text(Field::Comment, comment);
        }
        if let Some(list) = diagnostics(packet, form) {
            self.text(Field::Diagnostic, &list);
        }
        let (bodies, meanings) = match form {
            Form::Full(meanings) => (true, meanings),
            Form::NoBody(meanings) => (false, meanings),
            Form::Outline | Form::Stored | Form::Question => (true, None),
        };
        match body {
            Ok(body) => {
                self.fields(packet);
                if let Some(object) = meanings.and_then(|known| meaning_object(packet, known)) {
                    self.put(Field::Meaning, Cell::Bytes(&object));
                }
                if bodies {
                    self.put(Field::Body, Cell::Bytes(&body));
                }
            }
            Err(error) => {
                self.text(Field::Error, &error.to_string());
                self.raw(packet.content(), bodies);
            }
        }
    }

    fn event(&mut self, event: &Event, form: Form) {
        self.text(Field::Event, event.kind.name());
        self.count(Field::Time, event.at.0);
        self.session(&event.context);
        if let EventKind::State(legs) = &event.kind {
            self.text(Field::State, legs.state.name());
        }
        // Before the first state, nothing is known of the version.
        if event.kind != EventKind::Open {
            self.description(&event.context);
        }
        let mut text = std::mem::take(&mut self.text);
        text.clear();
        write_entry(&mut text, &Entry::Event(event.clone()), form);
        self.put(Field::Fields, Cell::Bytes(&text));
        self.text = text;
    }

    /// Writes the columns about the session of an entry.
    fn session(&mut self, context: &Context) {
        self.text(Field::Session, &session_id(context));
        self.count(Field::SessionNumber, context.session);
        if let Some(player) = &context.player {
            self.text(Field::Player, player);
        }
    }

    /// Writes the columns about the description that a packet is decoded with.
    fn description(&mut self, context: &Context) {
        let protocol = &context.protocol;
        self.put(Field::Protocol, Cell::Short(protocol.version()));
        if protocol.family() != Family::Java {
            self.text(Field::Family, &protocol.family().to_string());
        }
        if let Some(description) = protocol.description() {
            self.text(Field::Table, &description.id().to_string());
        }
        self.put(Field::Guess, Cell::Flag(context.guess));
        self.text(Field::Version, protocol.name());
    }

    /// Writes the fields up to the first that does not decode, and the error if there is one.
    fn fields(&mut self, packet: &Packet) {
        let mut text = std::mem::take(&mut self.text);
        text.clear();
        let decoded = match packet.kind() {
            Some(_) => {
                let decoded = write_values(&mut text, packet);
                self.put(Field::Fields, Cell::Bytes(&text));
                decoded
            }
            None => packet.error().map_or(Ok(()), Err),
        };
        self.text = text;
        if let Err(error) = decoded {
            self.text(Field::Error, &error.to_string());
            self.size(Field::At, error.at());
        }
    }

    /// Writes the columns about bytes that have no body.
    fn raw(&mut self, content: &Content, bodies: bool) {
        let Some(kind) = RawKind::of(content) else { return };
        self.text(Field::Raw, kind.name());
        match kind {
            RawKind::Frame { threshold, limit } => {
                if let Some(threshold) = threshold {
                    self.size(Field::Threshold, threshold);
                }
                if let Some(limit) = limit {
                    self.size(Field::Limit, limit);
                }
            }
            RawKind::Bytes(RawReason::Oversize { frame, left }) => {
                self.size(Field::Frame, frame);
                self.size(Field::Left, left);
            }
            RawKind::Bytes(_) => {}
        }
        if bodies {
            self.put(Field::RawBytes, Cell::Bytes(crossed(content)));
        }
    }

    fn put(&mut self, field: Field, cell: Cell<'_>) {
        self.rows.put(field as usize, cell);
    }

    fn text(&mut self, field: Field, text: &str) {
        self.put(field, text.into());
    }

    /// Writes a number whose 64 bits are read back as they are: Parquet's unsigned integers are not, by
    /// all programs.
    fn count(&mut self, field: Field, count: u64) {
        self.put(field, Cell::Int(count.cast_signed()));
    }

    fn size(&mut self, field: Field, size: usize) {
        self.count(field, size as u64);
    }
}

impl Sink for ParquetSink {
    fn write(&mut self, entry: &Entry) -> io::Result<()> {
        let mut tables: Vec<Vec<u8>> = Vec::new();
        self.preamble.before(entry, |line| tables.push(line.to_vec()));
        for line in tables {
            self.text(Field::Event, "table");
            self.put(Field::Fields, Cell::Bytes(&line));
            self.rows.end_row()?;
        }
        let form = self.forms.of(entry);
        match entry {
            Entry::Packet(record) => self.packet(record, form),
            Entry::Event(event) => self.event(event, form),
        }
        self.rows.end_row()
    }

    fn finish(&mut self) -> io::Result<()> {
        self.rows.finish()
    }
}

/// Returns an id that a session has in every file, and no other session: when it opened, its number in its
/// run, and a checksum of the client's address.
#[must_use]
pub fn session_id(context: &Context) -> String {
    // Captures without the session's opening have microseconds.
    let opened = context.opened.text();
    let opened = String::from_utf8_lossy(&opened[..MICROSECONDS]);
    let mut client = Crc::new();
    client.update(context.client.to_string().as_bytes());
    format!("{opened}Z-{}-{:08x}", context.session, client.sum())
}

/// Length of the text of a moment up to its microseconds.
const MICROSECONDS: usize = "2026-11-20T12:31:07.123456".len();
