use std::any::Any;
use std::io;
use std::num::NonZero;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle, available_parallelism};
use std::vec;

/// Works on several items at the same time, as many as there are processors; iterates over the results
/// in the order of the items.
///
/// Results of later items wait until earlier ones are over: at most a few batches per thread, so
/// that memory does not depend on the number of items or their size.
pub(crate) struct InOrder<R> {
    /// The results of the items after the current one.
    items: vec::IntoIter<Receiver<Batch>>,
    current: Option<Receiver<Batch>>,
    batch: vec::IntoIter<R>,
    threads: Vec<JoinHandle<()>>,
}

/// A boxed `Vec` of results. Erasing its type means that threads and channels are compiled once.
type Batch = Box<dyn Any + Send>;

/// Takes the results of an item.
pub(crate) struct Outlet<R> {
    results: SyncSender<Batch>,
    batch: Vec<R>,
    /// Bytes of the results in the batch.
    bytes: usize,
}

impl<R: Send + 'static> InOrder<R> {
    /// Starts to work on items, which are numbered from 0. `work` ends early if its outlet says that
    /// nobody wants the rest.
    ///
    /// # Errors
    /// If no thread can be started.
    pub(crate) fn new(
        items: usize,
        work: impl Fn(usize, &mut Outlet<R>) + Send + Sync + 'static,
    ) -> io::Result<Self> {
        let work = move |item, results| {
            let mut outlet = Outlet { results, batch: Vec::new(), bytes: 0 };
            work(item, &mut outlet);
            outlet.flush();
        };
        let (senders, receivers): (Vec<_>, Vec<_>) =
            (0..items).map(|_| sync_channel(QUEUE)).unzip();
        let threads = start(senders, Box::new(work))?;
        let mut items = receivers.into_iter();
        Ok(Self { current: items.next(), items, batch: Vec::new().into_iter(), threads })
    }
}

/// Work on one item, with the sender of its batches.
type Work = Box<dyn Fn(usize, SyncSender<Batch>) + Send + Sync>;

/// Starts threads that work on items, which have one sender each.
fn start(senders: Vec<SyncSender<Batch>>, work: Work) -> io::Result<Vec<JoinHandle<()>>> {
    let count = available_parallelism().map_or(1, NonZero::get).min(senders.len());
    let shared = Arc::new((Mutex::new(senders.into_iter().enumerate()), work));
    let start = |_| {
        let shared = Arc::clone(&shared);
        Builder::new().name("reader".into()).spawn(move || {
            let (waiting, work) = &*shared;
            let next = || waiting.lock().unwrap_or_else(PoisonError::into_inner).next();
            while let Some((item, results)) = next() {
                work(item, results);
            }
        })
    };
    (0..count).map(start).collect()
}

impl<R: 'static> Iterator for InOrder<R> {
    type Item = R;

    fn next(&mut self) -> Option<R> {
        loop {
            if let Some(result) = self.batch.next() {
                return Some(result);
            }
            let Some(current) = &self.current else {
                // What the threads hold is released when this has ended.
                for thread in self.threads.drain(..) {
                    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
                }
                return None;
            };
            match current.recv() {
                Ok(batch) => {
                    let batch: Box<Vec<R>> = batch.downcast().expect("an outlet sends results");
                    self.batch = batch.into_iter();
                }
                Err(_) => self.current = self.items.next(),
            }
        }
    }
}

impl<R: Send + 'static> Outlet<R> {
    /// Takes a result of about `bytes` bytes. Returns `false` if nobody wants more.
    pub(crate) fn put(&mut self, result: R, bytes: usize) -> bool {
        self.batch.push(result);
        self.bytes += bytes;
        (self.batch.len() < MAX_RESULTS && self.bytes < MAX_BYTES) || self.flush()
    }

    /// Passes on the results so far. Returns `false` if nobody wants more.
    pub(crate) fn flush(&mut self) -> bool {
        self.bytes = 0;
        let batch = std::mem::take(&mut self.batch);
        batch.is_empty() || self.results.send(Box::new(batch)).is_ok()
    }
}

/// Batches of an item that wait at most.
const QUEUE: usize = 2;

/// Results of a batch at most: enough that waking the other thread costs little.
const MAX_RESULTS: usize = 500;

/// Bytes after which a batch is complete.
const MAX_BYTES: usize = 64 << 10;

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    #[test]
    fn results_come_in_the_order_of_the_items_whichever_is_done_first() {
        let work = |item: usize, outlet: &mut Outlet<(usize, usize)>| {
            // The first items have the most to do.
            assert!((0..5000 * (20 - item)).all(|result| outlet.put((item, result), 1)));
        };
        let found: Vec<_> = InOrder::new(20, work).unwrap().collect();
        let expected = (0..20).flat_map(|item| (0..5000 * (20 - item)).map(move |it| (item, it)));
        assert!(found.into_iter().eq(expected));
        assert_eq!(InOrder::new(0, work).unwrap().count(), 0);
    }

    #[test]
    fn work_of_which_nobody_wants_the_rest_ends() {
        let (ended, end) = channel();
        let work = move |_, outlet: &mut Outlet<usize>| {
            while outlet.put(0, 1) {}
            ended.send(()).unwrap();
        };
        let mut results = InOrder::new(1, work).unwrap();
        assert_eq!(results.next(), Some(0));
        drop(results);
        end.recv().unwrap();
    }

    #[test]
    #[should_panic(expected = "a fault of the program")]
    fn a_panic_is_not_the_end_of_an_item() {
        let work = |item, outlet: &mut Outlet<usize>| {
            assert!(item != 1, "a fault of the program");
            outlet.put(item, 1);
        };
        InOrder::new(3, work).unwrap().for_each(drop);
    }
}
