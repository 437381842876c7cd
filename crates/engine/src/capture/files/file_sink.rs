use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::super::{
    BodyPlaces, Compression, CreateOptions, Entry, FileType, Format, Sink, Unrecorded, Wire,
    write_sink,
};
use super::claim::claim_file;
use super::growing_file::GrowingFile;

/// Writes one file, and notices that it was deleted.
pub(super) struct FileSink {
    inner: Box<dyn Sink>,
    path: PathBuf,
    /// A second handle of the file, whose metadata tells if it was deleted; `None` after that.
    file: Option<File>,
    written: Arc<AtomicU64>,
    unrecorded: Unrecorded,
    is_compressed: bool,
    /// Entries since the last flush, of which any number may not be in a compressed file.
    unflushed: u64,
}

impl FileSink {
    /// Writes to an empty `file`.
    pub(super) fn new(
        file: File,
        path: &Path,
        file_type: FileType,
        options: &CreateOptions,
    ) -> io::Result<Self> {
        let watched = file.try_clone()?;
        let file = GrowingFile::new(file);
        let written = file.written();
        Ok(Self {
            inner: write_sink(Box::new(file), file_type, options)?,
            path: path.to_owned(),
            file: Some(watched),
            written,
            unrecorded: Unrecorded::default(),
            is_compressed: file_type.compression != Compression::None,
            unflushed: 0,
        })
    }

    /// Returns the number of bytes that the file has.
    pub(super) fn written(&self) -> u64 {
        self.written.load(Ordering::Relaxed)
    }
}

impl Sink for FileSink {
    fn write(&mut self, entry: &Entry) -> io::Result<()> {
        self.inner.write(entry)?;
        self.unflushed += 1;
        Ok(())
    }

    fn inner(&mut self) -> Option<&mut dyn Sink> {
        Some(&mut *self.inner)
    }

    fn wire(&mut self, wire: &Wire) -> io::Result<()> {
        self.inner.wire(wire)
    }

    fn wants_wire(&self) -> bool {
        self.inner.wants_wire()
    }

    fn body_places(&mut self) -> Option<BodyPlaces> {
        if self.is_compressed { None } else { self.inner.body_places() }
    }

    fn take_unrecorded(&mut self) -> Unrecorded {
        std::mem::take(&mut self.unrecorded)
    }

    fn unwritten(&mut self) -> u64 {
        if self.is_compressed { self.unflushed } else { self.inner.unwritten() }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()?;
        self.unflushed = 0;
        if self.file.take_if(|file| is_deleted(file)).is_some() {
            self.unrecorded.deleted.push(self.path.clone());
        }
        Ok(())
    }

    fn finish(&mut self) -> io::Result<()> {
        self.inner.finish()?;
        self.unflushed = 0;
        Ok(())
    }
}

/// Returns `true` if an open file was deleted; always `false` outside Unix, which does not tell.
fn is_deleted(file: &File) -> bool {
    #[cfg(unix)]
    return file.metadata().is_ok_and(|it| std::os::unix::fs::MetadataExt::nlink(&it) == 0);
    #[cfg(not(unix))]
    {
        let _ = file;
        false
    }
}

/// Writes to a FIFO, which is opened when the log is first written: opening it waits for its reader,
/// and a run must not.
pub(super) struct FifoSink {
    path: PathBuf,
    file_type: FileType,
    options: CreateOptions,
    inner: Option<Box<dyn Sink>>,
}

impl FifoSink {
    pub(super) fn new(path: PathBuf, file_type: FileType, options: CreateOptions) -> Self {
        Self { path, file_type, options, inner: None }
    }

    fn open(&mut self) -> io::Result<&mut dyn Sink> {
        let inner = match self.inner.take() {
            Some(inner) => inner,
            None => {
                let fifo = claim_file(&self.path, true)?;
                write_sink(Box::new(fifo), self.file_type, &self.options)?
            }
        };
        Ok(&mut **self.inner.insert(inner))
    }
}

impl Sink for FifoSink {
    fn write(&mut self, entry: &Entry) -> io::Result<()> {
        self.open()?.write(entry)
    }

    fn wire(&mut self, wire: &Wire) -> io::Result<()> {
        self.open()?.wire(wire)
    }

    fn wants_wire(&self) -> bool {
        self.file_type.format == Format::Pcapng && self.options.views.wire
    }

    fn unwritten(&mut self) -> u64 {
        self.inner.as_mut().map_or(0, |inner| inner.unwritten())
    }

    fn batch_done(&mut self) -> io::Result<()> {
        self.open()?.batch_done()
    }

    fn flush(&mut self) -> io::Result<()> {
        self.open()?.flush()
    }

    fn finish(&mut self) -> io::Result<()> {
        self.open()?.finish()
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use crate::capture::{Event, EventKind};
    use mitmcraft_protocol::packet::{Context, Timestamp};
    use mitmcraft_protocol::schema::Catalog;

    #[test]
    fn what_a_compressed_file_may_lack_is_counted_until_it_is_flushed() {
        let protocol = Catalog::embedded().find(47).unwrap().protocol;
        let context = Context::new(1, Timestamp(0), ([127, 0, 0, 1], 1).into(), protocol);
        let (context, at) = (Arc::new(context), Timestamp(0));
        let entry = Entry::Event(Event { context, at, kind: EventKind::Open });
        let (place, options) = (Path::new("/dev/full"), CreateOptions::default());
        let kind = FileType { format: Format::Jsonl, compression: Compression::Zstd };
        let full = File::options().write(true).open(place).unwrap();
        let mut sink = FileSink::new(full, place, kind, &options).unwrap();
        for _ in 0..3 {
            sink.write(&entry).unwrap();
        }
        assert_eq!(sink.unwritten(), 3);
        assert_eq!(sink.flush().unwrap_err().kind(), io::ErrorKind::StorageFull);
        assert_eq!(sink.finish().unwrap_err().kind(), io::ErrorKind::StorageFull);
        assert_eq!(sink.unwritten(), 3);

        let mut sink = FileSink::new(tempfile::tempfile().unwrap(), place, kind, &options).unwrap();
        sink.write(&entry).unwrap();
        sink.flush().unwrap();
        assert_eq!(sink.unwritten(), 0);
    }
}
