use std::io;
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::JoinHandle;

use crate::capture::{BodyPlace, BodyPlaces, Entry, Sink};
use crate::store::Store;

/// A sink that feeds a [`Store`], on a thread of its own, so that the log does not wait while it works.
///
/// Some batches may wait for it, of at most 64 KiB each and one packet more; then the log waits.
#[derive(Debug)]
pub struct StoreSink {
    batch: Batch,
    /// Bytes that `batch` keeps in memory.
    size: usize,
    /// `None` once it is finished.
    sender: Option<SyncSender<Batch>>,
    thread: Option<JoinHandle<()>>,
    /// The places of the last packet in the capture that the store reads, which gets each entry before.
    places: Option<BodyPlaces>,
}

impl StoreSink {
    /// Starts the thread. `places` are those of the capture that the store reads: its sink must get
    /// each entry before this one.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn new(store: Arc<Store>, places: Option<BodyPlaces>) -> io::Result<Self> {
        let (sender, batches) = sync_channel::<Batch>(WAITING);
        let write = move || {
            for Batch { entries, places } in batches {
                let mut start = 0;
                let with_places = |(entry, end)| {
                    let begun = std::mem::replace(&mut start, end);
                    (entry, &places[begun..end])
                };
                store.push_all(entries.into_iter().map(with_places));
            }
            store.set_complete();
        };
        let thread = std::thread::Builder::new().name("interface".into()).spawn(write)?;
        let (batch, sender, thread) = (Batch::default(), Some(sender), Some(thread));
        Ok(Self { batch, size: 0, sender, thread, places })
    }

    fn send(&mut self) {
        self.size = 0;
        if self.batch.entries.is_empty() {
            return;
        }
        // As many are likely to follow.
        let Batch { entries, places } = &self.batch;
        let (entries, places) =
            (Vec::with_capacity(entries.len()), Vec::with_capacity(places.len()));
        let batch = std::mem::replace(&mut self.batch, Batch { entries, places });
        if let Some(sender) = &self.sender {
            // A thread that has panicked takes no more.
            let _ = sender.send(batch);
        }
    }
}

impl Sink for StoreSink {
    fn write(&mut self, entry: &Entry) -> io::Result<()> {
        self.take(entry.clone())
    }

    fn take(&mut self, entry: Entry) -> io::Result<()> {
        self.size += entry.record().map_or(0, |record| record.packet.memory());
        let Batch { entries, places } = &mut self.batch;
        if let Some(told) = &self.places {
            told.take(places);
        }
        entries.push((entry, places.len()));
        if entries.len() >= MAX_ENTRIES || self.size >= MAX_BYTES {
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
}

/// Batches that may wait.
const WAITING: usize = 64;

/// Entries after which a batch is sent.
const MAX_ENTRIES: usize = 256;

/// Bytes of packets after which a batch is sent.
const MAX_BYTES: usize = 64 << 10;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::StoreOptions;

    fn entries() -> Vec<Entry> {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/captures/session-1.8.jsonl");
        let catalog = crate::schema::Catalog::embedded();
        let entries = crate::capture::open_capture(path.as_ref(), catalog).unwrap();
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
}
