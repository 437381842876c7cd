use std::io::{self, Write};

use super::super::{Entry, EntryWriter, Sink};
use super::line::{Form, write_entry};

/// Writes a capture as JSON Lines, one entry per line. `docs/captures.md` specifies the keys.
#[derive(Debug)]
pub struct JsonlSink<W: Write + Send> {
    writer: EntryWriter<W>,
    form: Form,
}

impl<W: Write + Send> JsonlSink<W> {
    /// Writes to `writer`, which does not need a buffer of its own.
    #[must_use]
    pub fn new(writer: W) -> Self {
        Self { writer: EntryWriter::new(writer), form: Form::Full }
    }

    /// Omits the packets' bytes, so that lines contain only the decoded fields.
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
