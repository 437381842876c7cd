use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel, sync_channel};
use std::thread::{Builder, JoinHandle};

use crate::store::Store;
use mitmcraft_engine::capture::{BodyPlace, BodyPlaces, Entry, Sink};

/// A sink that feeds a [`Store`]. The log never waits for it.
///
/// One thread takes entries into the store, another one writes what the store has for the disk. If the disk is slow,
/// the store drops the bytes of packets. If the processors are, so that 8 MiB wait for the first thread, packets are
/// left out and counted ([`Store::losses`]); events of sessions only if twice that waits.
#[derive(Debug)]
pub struct StoreSink {
    store: Arc<Store>,
    batch: Batch,
    /// Bytes that wait, those of the batch that the store takes at the moment included.
    waiting: Arc<AtomicUsize>,
    /// `None` once it is finished.
    sender: Option<Sender<Batch>>,
    thread: Option<JoinHandle<()>>,
    /// The places of the last packet in the capture that the store reads, which gets each entry before.
    places: Option<BodyPlaces>,
}

impl StoreSink {
    /// Starts the threads. `places` are those of the capture that the store reads: its sink must get
    /// each entry before this one.
    ///
    /// # Errors
    /// If they cannot be started.
    pub fn new(store: Arc<Store>, places: Option<BodyPlaces>) -> io::Result<Self> {
        let (wake, woken) = sync_channel::<()>(1);
        let written = Arc::clone(&store);
        let write = move || woken.into_iter().for_each(|()| written.write_waiting());
        // Nobody waits for its end: the disk may block for ever.
        Builder::new().name("spool".into()).spawn(write)?;

        // Bounded by `waiting`.
        let (sender, batches) = channel::<Batch>();
        let (fed, waiting) = (Arc::clone(&store), Arc::new(AtomicUsize::new(0)));
        let left = Arc::clone(&waiting);
        let feed = move || {
            for Batch { entries, places, size } in batches {
                let mut start = 0;
                let with_places = |(entry, end)| {
                    let begun = std::mem::replace(&mut start, end);
                    (entry, &places[begun..end])
                };
                if fed.push_all(entries.into_iter().map(with_places)) {
                    // If it is full, the thread has not begun to look yet.
                    let _ = wake.try_send(());
                }
                left.fetch_sub(size, Ordering::Relaxed);
            }
            fed.set_complete();
        };
        let thread = Some(Builder::new().name("interface".into()).spawn(feed)?);
        let (batch, sender) = (Batch::default(), Some(sender));
        Ok(Self { store, batch, waiting, sender, thread, places })
    }

    /// Hands the batch over, or leaves out what is too much.
    fn send(&mut self) {
        let waiting = self.waiting.load(Ordering::Relaxed);
        // One batch alone may be larger.
        if waiting > 0 && waiting + self.batch.size > MAX_WAITING {
            self.leave_out(waiting);
        }
        if self.batch.entries.is_empty() {
            return;
        }
        let next = self.batch.successor();
        let batch = std::mem::replace(&mut self.batch, next);
        self.waiting.fetch_add(batch.size, Ordering::Relaxed);
        if let Some(sender) = &self.sender {
            // A thread that has panicked takes no more.
            let _ = sender.send(batch);
        }
    }

    /// Takes the packets out of the batch, and everything if it is still too much.
    fn leave_out(&mut self, waiting: usize) {
        let packets = self.batch.entries.iter().filter(|(entry, _)| entry.record().is_some());
        self.store.leave_out(packets.count() as u64);
        let Batch { entries, places, size } = &mut self.batch;
        entries.retain(|(entry, _)| entry.record().is_none());
        places.clear();
        entries.iter_mut().for_each(|(_, end)| *end = 0);
        *size = entries.len() * size_of::<Entry>();
        if waiting + *size > 2 * MAX_WAITING {
            entries.clear();
            *size = 0;
        }
    }
}

impl Sink for StoreSink {
    fn write(&mut self, entry: &Entry) -> io::Result<()> {
        self.take(entry.clone())
    }

    fn take(&mut self, entry: Entry) -> io::Result<()> {
        let Batch { entries, places, size } = &mut self.batch;
        *size += size_of::<Entry>() + entry.record().map_or(0, |it| it.packet.memory());
        if let Some(told) = &self.places {
            told.take(places);
        }
        entries.push((entry, places.len()));
        if entries.len() >= MAX_ENTRIES || *size >= MAX_BYTES {
            self.send();
        }
        Ok(())
    }

    fn batch_done(&mut self) -> io::Result<()> {
        self.send();
        Ok(())
    }

    fn finish(&mut self) -> io::Result<()> {
        self.send();
        self.sender = None;
        match self.thread.take().map(JoinHandle::join) {
            Some(Err(panic)) => std::panic::resume_unwind(panic),
            _ => Ok(()),
        }
    }
}

/// Entries with the places of their packets in the capture.
#[derive(Debug, Default)]
struct Batch {
    /// Each with the end of its places in `places`, which begin where those of the entry before end.
    entries: Vec<(Entry, usize)>,
    places: Vec<BodyPlace>,
    /// Bytes that it keeps in memory.
    size: usize,
}

impl Batch {
    /// Returns an empty batch that as many entries fit in.
    fn successor(&self) -> Self {
        let entries = Vec::with_capacity(self.entries.len());
        Self { entries, places: Vec::with_capacity(self.places.len()), size: 0 }
    }
}

/// Bytes that may wait.
const MAX_WAITING: usize = 8 << 20;

/// Entries after which a batch is sent.
const MAX_ENTRIES: usize = 256;

/// Bytes of entries after which a batch is sent.
const MAX_BYTES: usize = 128 << 10;

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::sync::{Condvar, Mutex};

    use super::*;
    use crate::proxy::{LogOptions, LogWriter, NamedSink};
    use crate::store::{Disk, StoreOptions};

    fn entries() -> Vec<Entry> {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/captures/session-1.8.jsonl");
        let catalog = mitmcraft_protocol::schema::Catalog::embedded();
        let entries = mitmcraft_engine::capture::open_capture(path.as_ref(), catalog).unwrap();
        entries.map(Result::unwrap).collect()
    }

    #[test]
    fn everything_arrives_in_order_before_the_end() {
        let (direct, store) =
            (Store::new(StoreOptions::whole()), Store::new(StoreOptions::whole()));
        let store = Arc::new(store);
        let mut sink = StoreSink::new(Arc::clone(&store), None).unwrap();
        for _ in 0..20 {
            for entry in entries() {
                direct.push(&entry);
                sink.write(&entry).unwrap();
            }
        }
        sink.finish().unwrap();
        assert!(store.is_complete());
        assert_eq!(store.range(), direct.range());
        let (one, other) = (direct.snapshot(), store.snapshot());
        for row in 0..one.end() {
            let body =
                |snapshot: &crate::store::Snapshot| snapshot.record(row).unwrap().packet.body();
            assert_eq!(body(&one).ok(), body(&other).ok(), "{row}");
        }
    }

    /// A disk that blocks until it is released.
    #[derive(Debug, Default)]
    struct BlockingDisk {
        state: Mutex<DiskState>,
        changed: Condvar,
    }

    #[derive(Debug, Default)]
    struct DiskState {
        blocks: bool,
        released: bool,
    }

    impl BlockingDisk {
        /// Waits until something is being written.
        fn wait_until_it_blocks(&self) {
            let state = self.state.lock().unwrap();
            drop(self.changed.wait_while(state, |state| !state.blocks).unwrap());
        }

        fn release(&self) {
            self.state.lock().unwrap().released = true;
            self.changed.notify_all();
        }
    }

    impl Disk for BlockingDisk {
        fn write(&self, file: &File, bytes: &[u8], at: u64) -> io::Result<()> {
            let mut state = self.state.lock().unwrap();
            state.blocks = true;
            self.changed.notify_all();
            drop(self.changed.wait_while(state, |state| !state.released).unwrap());
            crate::store::TemporaryFolder.write(file, bytes, at)
        }
    }

    #[tokio::test]
    async fn sessions_go_on_while_the_disk_of_the_interface_blocks() {
        let disk = Arc::new(BlockingDisk::default());
        let store = Store::on_disk(StoreOptions::default(), &(Arc::clone(&disk) as Arc<dyn Disk>));
        let store = Arc::new(store);
        let sink = StoreSink::new(Arc::clone(&store), None).unwrap();
        let sinks: Vec<NamedSink> = vec![("the interface".to_owned(), Box::new(sink))];
        // Sessions wait if the log cannot keep up.
        let options = LogOptions { queue: 1 << 20, ..LogOptions::default() };
        let (log, writer) = LogWriter::start(sinks, options).unwrap();
        let record = entries()
            .into_iter()
            .find(|entry| entry.record().is_some_and(|it| it.packet.size() > 1000));
        let record = record.unwrap();
        let size = record.record().unwrap().packet.size() as u64;
        let rows = (16 << 20) / size;
        let put_all = async || {
            let (_, before) = store.range();
            for row in before..before + rows {
                log.put(vec![record.clone()]).await;
                // What is not taken at once would be left out, not dropped.
                while store.range().1 + 100 < row {
                    tokio::task::yield_now().await;
                }
            }
            while store.range().1 < before + rows {
                tokio::task::yield_now().await;
            }
        };
        put_all().await;
        disk.wait_until_it_blocks();
        let (snapshot, losses) = (store.snapshot(), store.losses());
        assert_eq!((snapshot.first(), snapshot.end(), losses.packets), (0, rows, 0));
        assert!((rows / 2..rows).contains(&losses.bodies), "{} of {rows}", losses.bodies);
        let kept = (0..rows).filter(|row| snapshot.record(*row).is_some()).count() as u64;
        assert_eq!(kept + losses.bodies, rows);
        assert!((0..rows).all(|row| snapshot.row(row).is_some()));
        assert_eq!(store.sessions()[0].packets, rows);

        disk.release();
        // Waits until what is being written is.
        store.write_waiting();
        put_all().await;
        let (snapshot, few) = (store.snapshot(), (2 << 20) / size);
        assert!((rows..rows + few).all(|row| snapshot.record(row).is_some()));
        drop(log);
        assert!(writer.finish().is_empty());
        assert!(store.is_complete());
    }

    #[test]
    fn packets_that_come_too_fast_are_counted_and_sessions_are_known_all_the_same() {
        let store = Arc::new(Store::new(StoreOptions::whole()));
        let mut sink = StoreSink::new(Arc::clone(&store), None).unwrap();
        sink.waiting.fetch_add(MAX_WAITING, Ordering::Relaxed);
        let entries = entries();
        let packets = entries.iter().filter(|entry| entry.record().is_some()).count() as u64;
        entries.iter().for_each(|entry| sink.write(entry).unwrap());
        sink.send();
        assert!(sink.batch.entries.is_empty(), "the events were sent");
        // The thread may still subtract what was sent.
        sink.waiting.fetch_sub(MAX_WAITING, Ordering::Relaxed);
        entries.iter().for_each(|entry| sink.write(entry).unwrap());
        sink.finish().unwrap();
        assert_eq!((store.range(), store.losses().packets), ((0, packets), packets));
        assert!(store.sessions()[0].closed.is_some());
        // Even those, before the memory is full of them.
        let store = Arc::new(Store::new(StoreOptions::whole()));
        let mut sink = StoreSink::new(Arc::clone(&store), None).unwrap();
        sink.waiting.store(2 * MAX_WAITING, Ordering::Relaxed);
        entries.iter().for_each(|entry| sink.write(entry).unwrap());
        sink.finish().unwrap();
        assert_eq!((store.sessions().len(), store.losses().packets), (0, packets));
    }
}
