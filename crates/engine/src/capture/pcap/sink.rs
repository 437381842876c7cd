use std::io::{self, Write};

use pcap_file::pcap::PcapHeader;
use pcap_file::{DataLink, Endianness, TsResolution};

use super::super::{Entry, EntryWriter, Sink};
use super::plain::{PlainFrame, PlainFrameSink, PlainView};

/// Writes the view `plain` as classic pcap with nanoseconds. The file cannot be read back as a
/// capture.
#[derive(Debug)]
pub struct PcapSink<W: Write + Send> {
    view: PlainView,
    packets: Packets<W>,
}

impl<W: Write + Send> PcapSink<W> {
    /// Writes the file's header to `writer`, which does not need a buffer of its own.
    ///
    /// # Errors
    /// [`io::Error`] if the header cannot be written.
    pub fn new(writer: W) -> io::Result<Self> {
        let header = PcapHeader {
            snaplen: SNAP_LENGTH,
            datalink: DataLink::ETHERNET,
            ts_resolution: TsResolution::NanoSecond,
            endianness: Endianness::Little,
            ..PcapHeader::default()
        };
        let mut writer = EntryWriter::new(writer);
        header.write_to(writer.buffer()).map_err(io::Error::other)?;
        writer.flush()?;
        Ok(Self { view: PlainView::default(), packets: Packets(writer) })
    }

    /// Writes 64 KiB at a time from now on, so that a file does not exceed its greatest size by more.
    pub(in crate::capture) fn limit_writes(&mut self) {
        self.packets.0.limit_writes();
    }
}

impl<W: Write + Send> Sink for PcapSink<W> {
    fn write(&mut self, entry: &Entry) -> io::Result<()> {
        self.packets.0.begin()?;
        self.view.write(entry, &mut self.packets)?;
        self.packets.0.end();
        Ok(())
    }

    fn unwritten(&mut self) -> u64 {
        self.packets.0.unwritten()
    }

    fn flush(&mut self) -> io::Result<()> {
        self.packets.0.flush()
    }
}

/// Writes the packets of a file. `pcap_file`'s writer gives no access to the underlying writer, so
/// it could never be flushed.
#[derive(Debug)]
struct Packets<W: Write>(EntryWriter<W>);

impl<W: Write> PlainFrameSink for Packets<W> {
    const COMMENTS: bool = false;

    fn frame(&mut self, frame: &PlainFrame<'_>) -> io::Result<()> {
        let seconds = u32::try_from(frame.at.0 / 1_000_000_000).map_err(|_| {
            io::Error::other("pcap files cannot represent times after February 2106")
        })?;
        let nanos = (frame.at.0 % 1_000_000_000) as u32;
        let parts = [frame.headers, frame.payload];
        let size = parts.iter().map(|part| part.len()).sum::<usize>();
        let length = u32::try_from(size).expect("a segment is short");
        for number in [seconds, nanos, length, length] {
            self.0.buffer().extend_from_slice(&number.to_le_bytes());
        }
        parts.iter().for_each(|part| self.0.buffer().extend_from_slice(part));
        Ok(())
    }

    fn aside(&mut self, _: &Entry) -> io::Result<()> {
        Ok(())
    }
}

/// Greatest length in bytes of a packet that Wireshark reads.
pub(in crate::capture) const SNAP_LENGTH: u32 = 262_144;
