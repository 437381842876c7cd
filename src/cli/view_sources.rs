use std::fs::File;
use std::io::{BufReader, Read, Seek as _, stdin};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use anyhow::{Context as _, anyhow};
use mitmcraft::store::{InCapture, Limit, Store, StoreOptions};
use mitmcraft_engine::capture::{
    CommentEditor, Entries, PcapngReader, ReadError, is_table, open_table, read_capture_within,
    unpack,
};
use mitmcraft_engine::decode::{PcapReader, Traffic, TrafficOptions};
use mitmcraft_protocol::codec::KeyRing;
use mitmcraft_protocol::schema::Catalog;
use tempfile::NamedTempFile;

use super::args::Memory;
use super::exit::chain;
use super::input::{entry_size, read_ahead};
use super::notice::{decode_notice, read_error};
use super::output::Output;
use super::stdio::is_stdio;

/// Feeds a store with files: captures, and recordings of other programs.
#[derive(Clone)]
pub(super) struct ViewSources {
    pub(super) catalog: Catalog,
    pub(super) keys: KeyRing,
    pub(super) memory: Memory,
    pub(super) store: Arc<Store>,
    pub(super) output: Output,
    /// The file of the capture that a page has sent, while it is read.
    pub(super) sent: Arc<Mutex<Option<NamedTempFile>>>,
    pub(super) turn: Turn,
}

impl ViewSources {
    /// Reads all files; what is wrong with one is reported, and the next is read.
    pub(super) fn read_all(&self, files: &[ViewFile]) {
        let length = |file: &ViewFile| file.path.metadata().map_or(0, |it| it.len());
        self.store.expect_bytes(files.iter().map(length).sum());
        for file in files {
            if self.turn.is_over() {
                return;
            }
            self.store.begin(&file.name);
            if let Err(error) = self.read(file) {
                let why = chain(&error);
                self.output.error(&why);
                self.store.note_unread(&why);
            }
        }
        self.store.set_complete();
    }

    /// Opens a capture that a page has sent, and reads it into a store of its own; what was read before is read no
    /// further. The file is deleted once it is read: what is still needed of it is read through its handle.
    ///
    /// # Errors
    /// If it is not a capture.
    pub(super) fn open_sent(&self, sent: NamedTempFile, name: &str) -> anyhow::Result<Arc<Store>> {
        let store = Arc::new(Store::new(StoreOptions::within(self.memory.bytes())));
        store.set_limit(Limit::Opened);
        let path = sent.path().to_owned();
        let file = ViewFile { path, name: name.to_owned(), is_sent: true };
        self.check(&file)?;
        let turn = self.turn.next();
        let sources = Self { store: Arc::clone(&store), turn, ..self.clone() };
        *self.sent() = Some(sent);
        let read = move || {
            sources.read_all(std::slice::from_ref(&file));
            sources.sent().take_if(|sent| sent.path() == file.path);
        };
        thread::Builder::new().name("opened".into()).spawn(read)?;
        Ok(store)
    }

    /// Returns the file of the capture that a page has sent.
    fn sent(&self) -> MutexGuard<'_, Option<NamedTempFile>> {
        self.sent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Deletes the file of a capture that is still being read, at the end of the run.
    pub(super) fn delete_sent(&self) {
        self.sent().take();
    }

    /// Checks that a file begins as a capture does.
    ///
    /// # Errors
    /// If it cannot be read, or is not a capture.
    pub(super) fn check(&self, file: &ViewFile) -> anyhow::Result<()> {
        let ViewFile { path, name, .. } = file;
        if is_stdio(path) {
            return Ok(());
        }
        let context = || format!("cannot read `{name}`");
        let mut file = File::open(path).with_context(context)?;
        if is_table(&mut file).with_context(context)? {
            return Ok(());
        }
        match self.entries(file) {
            Ok(_) | Err(ReadError::ClassicPcap) => Ok(()),
            Err(error) => Err(anyhow!(read_error(&error))).with_context(context),
        }
    }

    fn read(&self, source: &ViewFile) -> anyhow::Result<()> {
        let ViewFile { path, name, is_sent } = source;
        let context = || format!("cannot read `{name}`");
        if is_stdio(path) {
            let entries = self.entries(stdin()).with_context(context)?;
            return self.take(name, entries).map(drop);
        }
        let mut file = File::open(path).with_context(context)?;
        if is_table(&mut file).with_context(context)? {
            let store = Arc::clone(&self.store);
            let done = move |bytes| store.note_bytes(usize::try_from(bytes).unwrap_or_default());
            let entries = open_table(file, &self.catalog, self.memory.bytes(), done);
            let entries = entries.map_err(|error| anyhow!(read_error(&error)));
            return self.take(name, entries.with_context(context)?).map(drop);
        }
        // What a page has sent is deleted.
        if !is_sent
            && let Ok(editor) = CommentEditor::open(path, &self.catalog, self.memory.bytes())
        {
            self.store.save_in(editor);
        }
        let taken = match Self::is_uncompressed_pcapng(&mut file).with_context(context)? {
            true => self.take_in_place(source, &Arc::new(file)),
            false => match self.entries(self.counted(file)) {
                Ok(entries) => self.take(name, entries),
                Err(ReadError::ClassicPcap) => Ok(Taken::Foreign),
                Err(error) => Err(error).with_context(context),
            },
        };
        match taken? {
            Taken::All => Ok(()),
            Taken::Foreign => self.decode(source),
        }
    }

    fn entries(&self, reader: impl Read + Send + 'static) -> Result<Entries, ReadError> {
        let reader = BufReader::with_capacity(CHUNK, reader);
        read_capture_within(reader, &self.catalog, self.memory.bytes())
    }

    /// Reads the entries of a capture. Bodies are kept in a file of the store.
    fn take(&self, name: &str, entries: Entries) -> anyhow::Result<Taken> {
        for entry in read_ahead(entries, entry_size)? {
            if self.turn.is_over() {
                break;
            }
            match entry {
                Ok(entry) => self.store.push(&entry),
                Err(ReadError::Foreign) => return Ok(Taken::Foreign),
                Err(error) => self.report(name, &error),
            }
        }
        Ok(Taken::All)
    }

    /// Reads the entries of an uncompressed capture, and leaves bodies in it.
    fn take_in_place(&self, source: &ViewFile, file: &Arc<File>) -> anyhow::Result<Taken> {
        // A handle of its own: reading bodies needs no position.
        let reader = self.counted(File::open(&source.path)?);
        let mut reader = PcapngReader::within(reader, &self.catalog, self.memory.bytes());
        let located = std::iter::from_fn(move || {
            let entry = reader.next()?;
            Some(entry.map(|entry| (entry, reader.body_end)))
        });
        for read in read_ahead(Box::new(located), |(entry, _)| entry_size(entry))? {
            if self.turn.is_over() {
                break;
            }
            match read {
                Ok((entry, end)) => {
                    let start = end.and_then(|end| end.checked_sub(entry_size(&entry) as u64));
                    let place = start.map(|at| InCapture { file: Arc::clone(file), at });
                    self.store.push_from(&entry, place.as_ref());
                }
                Err(ReadError::Foreign) => return Ok(Taken::Foreign),
                Err(error) => self.report(&source.name, &error),
            }
        }
        Ok(Taken::All)
    }

    /// Reads a recording of another program.
    fn decode(&self, source: &ViewFile) -> anyhow::Result<()> {
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
        let context = || format!("`{}`", source.name);
        let file = File::open(&source.path)?;
        // It is read for the second time.
        self.store.expect_bytes(file.metadata().map_or(0, |it| it.len()));
        let reader = BufReader::with_capacity(CHUNK, self.counted(file));
        for captured in PcapReader::new(unpack(reader).with_context(context)?) {
            if self.turn.is_over() {
                return Ok(());
            }
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

    fn report(&self, name: &str, error: &ReadError) {
        let why = format!("`{name}`: {}", read_error(error));
        self.output.warning(&why);
        self.store.note_unread(&why);
    }
}

/// The turn of one of the captures that are viewed one after the other. It is over once another one is opened.
#[derive(Debug, Clone, Default)]
pub(super) struct Turn {
    newest: Arc<AtomicUsize>,
    own: usize,
}

impl Turn {
    fn next(&self) -> Self {
        let own = self.newest.fetch_add(1, Ordering::Relaxed) + 1;
        Self { newest: Arc::clone(&self.newest), own }
    }

    fn is_over(&self) -> bool {
        self.newest.load(Ordering::Relaxed) != self.own
    }
}

/// A file that is viewed.
pub(super) struct ViewFile {
    pub(super) path: PathBuf,
    /// Its name for people.
    name: String,
    /// `true` if a page has sent it.
    is_sent: bool,
}

impl From<PathBuf> for ViewFile {
    fn from(path: PathBuf) -> Self {
        Self { name: path.display().to_string(), path, is_sent: false }
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

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use clap::{Args as _, Command, FromArgMatches as _};

    use super::*;
    use crate::cli::output::{Color, LogFormat};

    const SAMPLE: &[u8] =
        include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/captures/session-1.20.4-wire.pcapng"));

    fn sources() -> ViewSources {
        let matches = Memory::augment_args(Command::new("view")).get_matches_from(["view"]);
        ViewSources {
            catalog: Catalog::embedded().clone(),
            keys: KeyRing::default(),
            memory: Memory::from_arg_matches(&matches).unwrap(),
            store: Arc::new(Store::new(StoreOptions::whole())),
            output: Output::new(Color::default(), LogFormat::default()),
            sent: Arc::default(),
            turn: Turn::default(),
        }
    }

    /// Opens bytes that a page has sent, and waits until they are read. Returns the store and the path of their file.
    fn open(name: &str, bytes: &[u8]) -> anyhow::Result<(Arc<Store>, PathBuf)> {
        let mut sent = NamedTempFile::new().unwrap();
        sent.write_all(bytes).unwrap();
        let path = sent.path().to_owned();
        let sources = sources();
        let store = sources.open_sent(sent, name)?;
        while !store.is_complete() || sources.sent().is_some() {
            thread::yield_now();
        }
        Ok((store, path))
    }

    #[test]
    fn a_capture_that_a_page_sends_is_read_and_its_file_deleted() {
        let (store, path) = open("a.pcapng", SAMPLE).unwrap();
        assert!(!path.exists());
        let snapshot = store.snapshot();
        assert_eq!((snapshot.end(), store.capture().as_deref()), (40, Some("a.pcapng")));
        assert!((0..40).all(|row| snapshot.record(row).is_some()), "bodies can still be read");
        assert!(store.losses().unread.is_none());
    }

    #[test]
    fn a_capture_that_another_one_has_replaced_is_read_no_further() {
        let first = sources();
        let mut sent = NamedTempFile::new().unwrap();
        sent.write_all(SAMPLE).unwrap();
        let second = first.open_sent(sent, "b.pcapng").unwrap();
        let file = NamedTempFile::new().unwrap();
        std::fs::write(file.path(), SAMPLE).unwrap();
        first.read(&ViewFile::from(file.path().to_owned())).unwrap();
        first.read_all(&[ViewFile::from(file.path().to_owned())]);
        assert_eq!((first.store.snapshot().end(), first.store.is_complete()), (0, false));
        while !second.is_complete() {
            thread::yield_now();
        }
        assert_eq!(second.snapshot().end(), 40);
    }

    #[test]
    fn what_is_wrong_with_a_capture_that_a_page_sends_is_told_by_its_name() {
        let refused = open("text.txt", b"no capture").unwrap_err();
        assert!(chain(&refused).starts_with("cannot read `text.txt`: "), "{refused:#}");
        let (store, _) = open("cut.pcapng", &SAMPLE[..SAMPLE.len() - 5]).unwrap();
        let why = store.losses().unread.unwrap();
        assert!(why.starts_with("`cut.pcapng`: "), "{why}");
        assert!(store.snapshot().end() > 30);
    }
}
