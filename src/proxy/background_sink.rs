use std::io;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::JoinHandle;

use crate::capture::{Entry, Sink};

/// A sink with a thread of its own, so that the log does not wait while it works.
///
/// Some batches may wait for it, of at most 256 KiB each and one packet more; then the log waits.
/// Its errors are ignored: it must be one that has none, or reports them itself.
#[derive(Debug)]
pub struct BackgroundSink {
    batch: Vec<Entry>,
    /// Bytes that `batch` keeps in memory.
    size: usize,
    /// `None` once it is finished.
    sender: Option<SyncSender<Vec<Entry>>>,
    thread: Option<JoinHandle<()>>,
}

impl BackgroundSink {
    /// Starts the thread.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn new(mut sink: impl Sink + 'static) -> io::Result<Self> {
        let (sender, batches) = sync_channel::<Vec<Entry>>(WAITING);
        let write = move || {
            for batch in batches {
                for entry in batch {
                    let _ = sink.write(&entry);
                }
                let _ = sink.batch_done();
            }
            let _ = sink.finish();
        };
        let thread = std::thread::Builder::new().name("interface".into()).spawn(write)?;
        Ok(Self { batch: Vec::new(), size: 0, sender: Some(sender), thread: Some(thread) })
    }

    fn send(&mut self) {
        self.size = 0;
        let batch = std::mem::take(&mut self.batch);
        if let Some(sender) = self.sender.as_ref().filter(|_| !batch.is_empty()) {
            // A thread that has panicked takes no more.
            let _ = sender.send(batch);
        }
    }
}

impl Sink for BackgroundSink {
    fn write(&mut self, entry: &Entry) -> io::Result<()> {
        self.size += entry.record().map_or(0, |record| record.packet.memory());
        self.batch.push(entry.clone());
        if self.batch.len() >= MAX_ENTRIES || self.size >= MAX_BYTES {
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

/// Batches that may wait.
const WAITING: usize = 16;

/// Entries after which a batch is sent.
const MAX_ENTRIES: usize = 1000;

/// Bytes of packets after which a batch is sent.
const MAX_BYTES: usize = 256 << 10;

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::store::{Store, StoreOptions, StoreSink};

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
        let mut sink = BackgroundSink::new(StoreSink::new(Arc::clone(&store))).unwrap();
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
