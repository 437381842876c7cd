use std::io::{self, Write};

use super::super::{Entry, Sink};
use super::line::{Form, write_entry};
use crate::capture::entry_writer::EntryWriter;

/// Writes a capture as JSON Lines: a line an entry, as `docs/captures.md` has it.
#[derive(Debug)]
pub struct JsonlSink<W: Write + Send> {
    writer: EntryWriter<W>,
    form: Form,
}

impl<W: Write + Send> JsonlSink<W> {
    /// Writes to `writer`, which needs no buffer of its own.
    #[must_use]
    pub fn new(writer: W) -> Self {
        Self { writer: EntryWriter::new(writer), form: Form::Full }
    }

    /// Leaves out the packets' bytes, so that a line has only what was decoded.
    #[must_use]
    pub fn without_bodies(mut self) -> Self {
        self.form = Form::NoBody;
        self
    }
}

impl<W: Write + Send> Sink for JsonlSink<W> {
    fn write(&mut self, entry: &Entry) -> io::Result<()> {
        self.writer.begin()?;
        write_entry(self.writer.buffer(), entry, self.form);
        self.writer.buffer().push(b'\n');
        self.writer.end()
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}
