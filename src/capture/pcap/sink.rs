use std::io::{self, Write};

use pcap_file::pcap::PcapHeader;
use pcap_file::{DataLink, Endianness, TsResolution};

use super::super::{Entry, Sink};
use super::plain::{PlainFrame, PlainFrameSink, PlainView};
use crate::capture::entry_writer::EntryWriter;
use crate::capture::pcapng::sink::SNAP_LENGTH;

/// Writes a capture as classic pcap with nanoseconds: the view `plain` and nothing else, so it
/// cannot be read back as a capture.
#[derive(Debug)]
pub struct PcapSink<W: Write + Send> {
    view: PlainView,
    packets: Packets<W>,
}

impl<W: Write + Send> PcapSink<W> {
    /// Writes the file's head to `writer`, which needs no buffer of its own.
    ///
    /// # Errors
    /// When it cannot be written.
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
}

impl<W: Write + Send> Sink for PcapSink<W> {
    fn write(&mut self, entry: &Entry) -> io::Result<()> {
        self.packets.0.begin()?;
        self.view.write(entry, &mut self.packets)?;
        self.packets.0.end()
    }

    fn flush(&mut self) -> io::Result<()> {
        self.packets.0.flush()
    }
}

/// The packets of a file. `pcap_file`'s writer cannot be asked for what it writes to, so that
/// nothing would ever be flushed.
#[derive(Debug)]
struct Packets<W: Write>(EntryWriter<W>);

impl<W: Write> PlainFrameSink for Packets<W> {
    const COMMENTS: bool = false;

    fn frame(&mut self, frame: &PlainFrame<'_>) -> io::Result<()> {
        let seconds = u32::try_from(frame.at.0 / 1_000_000_000)
            .map_err(|_| io::Error::other("a pcap file has no time after February 2106"))?;
        let nanos = (frame.at.0 % 1_000_000_000) as u32;
        let length = u32::try_from(frame.bytes.len()).expect("a segment is short");
        for number in [seconds, nanos, length, length] {
            self.0.buffer().extend_from_slice(&number.to_le_bytes());
        }
        self.0.buffer().extend_from_slice(frame.bytes);
        Ok(())
    }

    fn aside(&mut self, _: &Entry) -> io::Result<()> {
        Ok(())
    }
}
