//! A sink of one's own: counts the packets of a capture by name and prints the ten most frequent.
//!
//! ```text
//! cargo run --example packet_count -- session.jsonl
//! ```
//!
//! The same sink could be given to a running proxy: `LogWriter::start` takes any number of them.

use std::collections::HashMap;
use std::io::{self, Write};
use std::path::Path;

use mitmcraft_engine::capture::{Entry, Sink, open_capture};
use mitmcraft_protocol::schema::Catalog;

/// Counts packets by name, and writes a table when the capture ends.
struct PacketCount<W> {
    counts: HashMap<String, u64>,
    out: W,
}

impl<W: Write + Send> Sink for PacketCount<W> {
    fn write(&mut self, entry: &Entry) -> io::Result<()> {
        let Entry::Packet(record) = entry else { return Ok(()) };
        let name = match record.packet.kind() {
            Some(kind) => kind.name().to_string(),
            None => "(not decoded)".to_owned(),
        };
        *self.counts.entry(name).or_default() += 1;
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    fn finish(&mut self) -> io::Result<()> {
        let mut counts: Vec<_> = self.counts.drain().collect();
        counts.sort_by(|(a, first), (b, second)| second.cmp(first).then(a.cmp(b)));
        for (name, count) in counts.iter().take(10) {
            writeln!(self.out, "{count:>8}  {name}")?;
        }
        self.out.flush()
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args_os().nth(1).ok_or("usage: packet_count CAPTURE")?;
    let mut sink = PacketCount { counts: HashMap::new(), out: io::stdout() };
    for entry in open_capture(Path::new(&path), Catalog::embedded())? {
        sink.write(&entry?)?;
    }
    Ok(sink.finish()?)
}
