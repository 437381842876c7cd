use std::io::{self, BufRead, BufReader, Read};
use std::sync::mpsc::{Receiver, Sender, channel};

use super::super::{
    Compression, Entries, Entry, FileType, Format, McprFault, Metadata, ReadError, spool,
};
use super::{ZipFault, ZipReader};

/// The form of a capture in an archive.
pub(in crate::capture) enum ZippedForm {
    /// A capture as it is outside of an archive.
    Plain,
    /// `recording.tmcpr` of ReplayMod, which another member describes.
    Recording(Metadata),
}

/// Reads the first capture in a zip archive: `read` reads a capture that is not in an archive. What is wrong with
/// other members is reported after the entries.
///
/// A recording of ReplayMod that comes before its metadata is kept in a temporary file until these are found.
pub(in crate::capture) fn read_zipped(
    reader: Box<dyn BufRead + Send>,
    read: impl FnOnce(Box<dyn BufRead + Send>, ZippedForm) -> Result<Entries, ReadError>,
) -> Result<Entries, ReadError> {
    let mut zip = ZipReader::new(reader);
    let (sender, faults) = channel();
    let mut metadata = None;
    let mut kept = None;
    let mut cut_off = false;
    let form = loop {
        let checked = match zip.next_member() {
            Ok(Some(METADATA)) => {
                metadata = Some(read_metadata(&mut zip)?);
                Ok(())
            }
            Ok(Some(RECORDING)) => {
                if let Some(metadata) = metadata {
                    break ZippedForm::Recording(metadata);
                }
                let (recording, fault) = spool(&mut zip)?;
                kept = Some(recording);
                fault.map_or(Ok(()), |error| Err(zip_fault(error)))
            }
            Ok(Some(name)) if is_capture(name) => {
                if kept.is_none() {
                    break ZippedForm::Plain;
                }
                Err(ZipFault::SecondCapture(name.to_owned()))
            }
            Ok(Some(_)) => zip.check(),
            Ok(None) => {
                let Some(recording) = kept else {
                    // A fault may be why there is none.
                    return Err(faults.try_recv().unwrap_or(ZipFault::NoCapture).into());
                };
                let metadata = metadata.ok_or(McprFault::NoMetadata { cut_off })?;
                let recording = BufReader::with_capacity(CHUNK, recording);
                let entries = read(Box::new(recording), ZippedForm::Recording(metadata))?;
                return Ok(Box::new(ZippedEntries { entries, faults }));
            }
            Err(fault) => Err(fault),
        };
        cut_off |= matches!(checked, Err(ZipFault::CutOff(_) | ZipFault::Header { .. }));
        report(&sender, checked);
    };
    let member = CaptureMember { zip, faults: Some(sender) };
    let entries = read(Box::new(BufReader::with_capacity(CHUNK, member)), form)?;
    Ok(Box::new(ZippedEntries { entries, faults }))
}

/// Reads the current member as the metadata of a recording.
fn read_metadata(zip: &mut ZipReader<impl BufRead>) -> Result<Metadata, ReadError> {
    let mut text = Vec::new();
    zip.take(MAX_METADATA + 1).read_to_end(&mut text).map_err(zip_fault)?;
    if text.len() as u64 > MAX_METADATA {
        let cause = format!("longer than {MAX_METADATA} bytes");
        return Err(McprFault::Metadata(cause).into());
    }
    Ok(Metadata::parse(&text)?)
}

fn zip_fault(error: io::Error) -> ZipFault {
    error.downcast().unwrap_or_else(ZipFault::Io)
}

/// The first capture of an archive. Behind its end, the rest of the archive is checked.
struct CaptureMember<R> {
    zip: ZipReader<R>,
    /// Takes what is wrong with other members; `None` once all have been checked.
    faults: Option<Sender<ZipFault>>,
}

impl<R: BufRead> CaptureMember<R> {
    fn check_others(&mut self) {
        let Some(faults) = self.faults.take() else { return };
        loop {
            let checked = match self.zip.next_member() {
                Ok(Some(name)) if is_capture(name) || name == RECORDING => {
                    report(&faults, Err(ZipFault::SecondCapture(name.to_owned())));
                    continue;
                }
                Ok(Some(_)) => self.zip.check(),
                Ok(None) => return,
                Err(fault) => Err(fault),
            };
            report(&faults, checked);
        }
    }
}

impl<R: BufRead> Read for CaptureMember<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.faults.is_none() {
            return Ok(0);
        }
        let read = self.zip.read(out);
        if !out.is_empty() && !matches!(read, Ok(1..)) {
            self.check_others();
        }
        read
    }
}

/// The entries of the capture, and then what is wrong with the archive: at most as much as it has members.
struct ZippedEntries {
    entries: Entries,
    faults: Receiver<ZipFault>,
}

impl Iterator for ZippedEntries {
    type Item = Result<Entry, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        let fault = || Some(Err(ReadError::Zip(self.faults.try_recv().ok()?)));
        self.entries.next().or_else(fault)
    }
}

fn report(faults: &Sender<ZipFault>, checked: Result<(), ZipFault>) {
    if let Err(fault) = checked {
        // Nobody hears of it if nobody reads the entries.
        let _ = faults.send(fault);
    }
}

/// Returns whether a member's name is that of a capture that can be read. It is not compressed twice, and not one of
/// the files in which macOS keeps the attributes of others, under their names.
fn is_capture(name: &str) -> bool {
    let file = name.rsplit('/').next().unwrap_or(name);
    if name.starts_with("__MACOSX/") || file.starts_with("._") {
        return false;
    }
    let kind = FileType::of(name.as_ref());
    kind.is_some_and(|it| it.format != Format::Pcap && it.compression == Compression::None)
}

/// Bytes read at a time.
const CHUNK: usize = 64 << 10;

/// The members of a recording of ReplayMod that are read.
const METADATA: &str = "metaData.json";
const RECORDING: &str = "recording.tmcpr";

/// Bytes of metadata that are read at most: they name every player that was seen.
const MAX_METADATA: u64 = 4 << 20;
