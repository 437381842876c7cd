use std::io::{self, Write};

use super::super::{BodyPlaces, Entry, EntryWriter, Sink};
use super::forms::Forms;
use super::line::write_entry;
use super::preamble::Preamble;
use mitmcraft_protocol::meaning::SessionMemory;

/// Writes a capture as JSON Lines, one entry per line. `docs/captures.md` specifies the keys.
#[derive(Debug)]
pub struct JsonlSink<W: Write + Send> {
    writer: EntryWriter<W>,
    forms: Forms,
    preamble: Preamble,
}

impl<W: Write + Send> JsonlSink<W> {
    /// Writes to `writer`, which does not need a buffer of its own.
    #[must_use]
    pub fn new(writer: W) -> Self {
        let writer = EntryWriter::new(writer);
        Self { writer, forms: Forms::default(), preamble: Preamble::default() }
    }

    /// Writes 64 KiB at a time from now on, so that a file does not exceed its greatest size by more.
    pub(in crate::capture) fn limit_writes(&mut self) {
        self.writer.limit_writes();
    }

    /// Omits the packets' bytes, so that lines contain only the decoded fields.
    #[must_use]
    pub fn without_bodies(mut self) -> Self {
        self.forms.no_bodies = true;
        self
    }

    /// Adds what values mean, under a key of its own.
    #[must_use]
    pub fn with_meanings(mut self) -> Self {
        self.forms.memory = Some(SessionMemory::default());
        self
    }
}

impl<W: Write + Send> Sink for JsonlSink<W> {
    fn write(&mut self, entry: &Entry) -> io::Result<()> {
        self.writer.begin()?;
        self.preamble.before(entry, |line| {
            self.writer.buffer().extend_from_slice(line);
            self.writer.buffer().push(b'\n');
        });
        let form = self.forms.of(entry);
        let start = self.writer.buffer().len();
        write_entry(self.writer.buffer(), entry, form);
        if let Entry::Packet(record) = entry {
            let end = self.writer.buffer().len();
            self.writer.note_text(start, end, &record.packet);
        }
        self.writer.buffer().push(b'\n');
        self.writer.end();
        Ok(())
    }

    fn unwritten(&mut self) -> u64 {
        self.writer.unwritten()
    }

    fn body_places(&mut self) -> Option<BodyPlaces> {
        (!self.forms.no_bodies).then(|| self.writer.body_places())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}
