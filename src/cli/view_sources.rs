use std::fs::File;
use std::io::{BufReader, Read, Seek as _, stdin};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, anyhow};
use mitmcraft::store::{InCapture, Store};
use mitmcraft_engine::capture::{
    CommentEditor, Entries, PcapngReader, ReadError, is_table, open_table, read_capture_within,
    unpack,
};
use mitmcraft_engine::decode::{PcapReader, Traffic, TrafficOptions};
use mitmcraft_protocol::codec::KeyRing;
use mitmcraft_protocol::schema::Catalog;

use super::args::Memory;
use super::exit::chain;
use super::input::{entry_size, read_ahead};
use super::notice::{decode_notice, read_error};
use super::output::Output;
use super::stdio::is_stdio;

/// Feeds a store with files: captures, and recordings of other programs.
pub(super) struct ViewSources {
    pub(super) catalog: Catalog,
    pub(super) keys: KeyRing,
    pub(super) memory: Memory,
    pub(super) store: Arc<Store>,
    pub(super) output: Output,
}

impl ViewSources {
    /// Reads all files; what is wrong with one is reported, and the next is read.
    pub(super) fn read_all(&self, files: &[PathBuf]) {
        let length = |path: &PathBuf| path.metadata().map_or(0, |it| it.len());
        self.store.expect_bytes(files.iter().map(length).sum());
        for path in files {
            self.store.begin(&path.display().to_string());
            if let Err(error) = self.read(path) {
                self.output.error(&chain(&error));
            }
        }
        self.store.set_complete();
    }

    /// Checks that a file begins as a capture does.
    ///
    /// # Errors
    /// If it cannot be read, or is not a capture.
    pub(super) fn check(&self, path: &Path) -> anyhow::Result<()> {
        if is_stdio(path) {
            return Ok(());
        }
        let context = || format!("cannot read `{}`", path.display());
        let mut file = File::open(path).with_context(context)?;
        if is_table(&mut file).with_context(context)? {
            return Ok(());
        }
        match self.entries(file) {
            Ok(_) | Err(ReadError::ClassicPcap) => Ok(()),
            Err(error) => Err(anyhow!(read_error(&error))).with_context(context),
        }
    }

    fn read(&self, path: &Path) -> anyhow::Result<()> {
        let context = || format!("cannot read `{}`", path.display());
        if is_stdio(path) {
            let entries = self.entries(stdin()).with_context(context)?;
            return self.take(path, entries).map(drop);
        }
        let mut file = File::open(path).with_context(context)?;
        if is_table(&mut file).with_context(context)? {
            let store = Arc::clone(&self.store);
            let done = move |bytes| store.note_bytes(usize::try_from(bytes).unwrap_or_default());
            let entries = open_table(file, &self.catalog, self.memory.bytes(), done);
            let entries = entries.map_err(|error| anyhow!(read_error(&error)));
            return self.take(path, entries.with_context(context)?).map(drop);
        }
        if let Ok(editor) = CommentEditor::open(path, &self.catalog, self.memory.bytes()) {
            self.store.save_in(editor);
        }
        let taken = match Self::is_uncompressed_pcapng(&mut file).with_context(context)? {
            true => self.take_in_place(path, &Arc::new(file)),
            false => match self.entries(self.counted(file)) {
                Ok(entries) => self.take(path, entries),
                Err(ReadError::ClassicPcap) => Ok(Taken::Foreign),
                Err(error) => Err(error).with_context(context),
            },
        };
        match taken? {
            Taken::All => Ok(()),
            Taken::Foreign => self.decode(path),
        }
    }

    fn entries(&self, reader: impl Read + Send + 'static) -> Result<Entries, ReadError> {
        let reader = BufReader::with_capacity(CHUNK, reader);
        read_capture_within(reader, &self.catalog, self.memory.bytes())
    }

    /// Reads the entries of a capture. Bodies are kept in a file of the store.
    fn take(&self, path: &Path, entries: Entries) -> anyhow::Result<Taken> {
        for entry in read_ahead(entries, entry_size)? {
            match entry {
                Ok(entry) => self.store.push(&entry),
                Err(ReadError::Foreign) => return Ok(Taken::Foreign),
                Err(error) => self.report(path, &error),
            }
        }
        Ok(Taken::All)
    }

    /// Reads the entries of an uncompressed capture, and leaves bodies in it.
    fn take_in_place(&self, path: &Path, file: &Arc<File>) -> anyhow::Result<Taken> {
        // A handle of its own: reading bodies needs no position.
        let reader = self.counted(File::open(path)?);
        let mut reader = PcapngReader::within(reader, &self.catalog, self.memory.bytes());
        let located = std::iter::from_fn(move || {
            let entry = reader.next()?;
            Some(entry.map(|entry| (entry, reader.body_end)))
        });
        for read in read_ahead(Box::new(located), |(entry, _)| entry_size(entry))? {
            match read {
                Ok((entry, end)) => {
                    let start = end.and_then(|end| end.checked_sub(entry_size(&entry) as u64));
                    let place = start.map(|at| InCapture { file: Arc::clone(file), at });
                    self.store.push_from(&entry, place.as_ref());
                }
                Err(ReadError::Foreign) => return Ok(Taken::Foreign),
                Err(error) => self.report(path, &error),
            }
        }
        Ok(Taken::All)
    }

    /// Reads a recording of another program.
    fn decode(&self, path: &Path) -> anyhow::Result<()> {
        let mut options = TrafficOptions::default();
        options.catalog = Some(self.catalog.clone());
        options.keys = self.keys.clone();
        options.memory = self.memory.budget();
        let mut traffic = Traffic::new(options);
        let mut entries = Vec::new();
        let mut hand_on = |traffic: &mut Traffic| {
            for notice in traffic.take_notices() {
                self.output.warning(&decode_notice(&notice));
            }
            traffic.take_entries(&mut entries);
            entries.drain(..).for_each(|entry| self.store.push(&entry));
        };
        let mut fault = None;
        let context = || format!("`{}`", path.display());
        let file = File::open(path)?;
        // It is read for the second time.
        self.store.expect_bytes(file.metadata().map_or(0, |it| it.len()));
        let reader = BufReader::with_capacity(CHUNK, self.counted(file));
        for captured in PcapReader::new(unpack(reader).with_context(context)?) {
            match captured {
                Ok(captured) => traffic.handle(&captured),
                Err(error) => fault = Some(error),
            }
            hand_on(&mut traffic);
        }
        traffic.finish();
        hand_on(&mut traffic);
        fault.map_or(Ok(()), |fault| Err(fault).with_context(context))
    }

    fn is_uncompressed_pcapng(file: &mut File) -> std::io::Result<bool> {
        let mut head = Vec::new();
        file.take(4).read_to_end(&mut head)?;
        file.rewind()?;
        Ok(head == [0x0a, 0x0d, 0x0d, 0x0a])
    }

    /// Returns a reader that tells the store how far it is.
    fn counted<R: Read>(&self, reader: R) -> CountingReader<R> {
        CountingReader { reader, store: Arc::clone(&self.store) }
    }

    fn report(&self, path: &Path, error: &ReadError) {
        self.output.warning(&format!("`{}`: {}", path.display(), read_error(error)));
    }
}

/// The outcome of reading a file as a capture.
enum Taken {
    /// All of its entries are in the store.
    All,
    /// It is a recording of another program.
    Foreign,
}

struct CountingReader<R> {
    reader: R,
    store: Arc<Store>,
}

impl<R: Read> Read for CountingReader<R> {
    fn read(&mut self, bytes: &mut [u8]) -> std::io::Result<usize> {
        let count = self.reader.read(bytes)?;
        self.store.note_bytes(count);
        Ok(count)
    }
}

/// Bytes read at a time.
const CHUNK: usize = 64 << 10;
