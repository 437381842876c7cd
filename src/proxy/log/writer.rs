use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use tokio::sync::watch;

use super::progress::LogProgress;
use super::queue::{Batch, Depth, LogQueue, Next, runs_of_sessions};
use super::sinks::{LogFault, LogSinks, NamedSink, OnError};
use crate::proxy::{Metrics, Notices, PassedCounts, Trouble};
use mitmcraft_engine::capture::{Entry, InflationBudget};
use mitmcraft_engine::lint::Linter;
use mitmcraft_protocol::packet::Tally;

/// Policy for entries while the log cannot keep up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum OnFull {
    /// Sessions wait, so that nothing is lost.
    #[default]
    Wait,
    /// Entries are dropped and counted; sessions never wait.
    Drop,
}

/// Options of a [`LogWriter`]. Start with the default.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct LogOptions {
    /// Bytes of entries that may wait to be written, of all sessions together. A single session may
    /// have an eighth of that waiting.
    pub queue: usize,
    /// Policy while the queue is full.
    pub on_full: OnFull,
    /// Policy for sinks that cannot be written.
    pub on_error: OnError,
    /// Bytes to which the compressed packets of a session may inflate in a second of the log. A packet
    /// beyond that is recorded compressed.
    pub inflation: usize,
    /// Receives notices about sinks that fail while the run continues.
    pub notices: Notices,
    /// Receives the counts of packets that no sink wants.
    pub passed: PassedCounts,
    /// `true` to judge what both peers send by the rules of the game, on the thread of the log.
    pub lint: bool,
}

impl Default for LogOptions {
    /// 64 MiB may wait; nothing is dropped; 128 MiB are inflated; notices are not shown; nothing is judged.
    fn default() -> Self {
        Self {
            queue: 64 << 20,
            on_full: OnFull::default(),
            on_error: OnError::default(),
            inflation: InflationBudget::DEFAULT,
            notices: Notices::default(),
            passed: PassedCounts::default(),
            lint: false,
        }
    }
}

/// Passes entries of sessions to the [`LogWriter`]. Cheap to clone.
///
/// The queue between them takes turns between sessions. [`OnFull`] is the policy for a session that
/// has its share of [`LogOptions::queue`] waiting.
#[derive(Debug, Clone)]
pub struct LogHandle {
    queue: Arc<OpenQueue>,
    /// `true` if a sink records the bytes on the wire.
    pub(in crate::proxy) wants_wire: bool,
    /// `true` if a sink records packets that were forwarded unchanged.
    pub(in crate::proxy) wants_packets: bool,
    passed: PassedCounts,
    on_full: OnFull,
    pub(in crate::proxy) metrics: Arc<Metrics>,
    fault: watch::Receiver<Option<LogFault>>,
}

impl LogHandle {
    /// Queues entries. While their session has its share of the queue waiting, waits or drops the
    /// batch, as [`OnFull`] says.
    pub async fn put(&self, entries: Vec<Entry>) {
        for entries in runs_of_sessions(entries) {
            self.put_all(Batch { wires: Vec::new(), entries }).await;
        }
    }

    /// Takes the counts of packets that no sink wants.
    pub(in crate::proxy) fn count(&self, tally: &mut Tally) {
        self.passed.take(tally, &self.metrics);
    }

    /// Queues a batch of one session with the bytes on the wire, like [`put`](Self::put).
    pub(in crate::proxy) async fn put_all(&self, batch: Batch) {
        self.metrics.count(&batch.entries);
        match self.on_full {
            OnFull::Wait => self.queue.0.put(batch).await,
            OnFull::Drop => {
                if let Err(batch) = self.queue.0.offer(batch) {
                    let count = batch.entries.len();
                    self.metrics.left_out.add(count as u64);
                }
            }
        }
    }

    /// Returns the number of dropped entries.
    #[must_use]
    pub fn left_out(&self) -> u64 {
        self.metrics.left_out.get()
    }

    /// Returns a view of the log that does not keep the writer running.
    #[must_use]
    pub fn view(&self) -> LogView {
        LogView { queue: Arc::downgrade(&self.queue.0), metrics: Arc::clone(&self.metrics) }
    }

    /// Waits for an error of a sink that ends the run.
    pub async fn fault(&mut self) -> LogFault {
        loop {
            if let Some(fault) = self.fault.borrow_and_update().clone() {
                return fault;
            }
            if self.fault.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }
}

/// The queue as the handles share it: when the last of them is dropped, the writer ends.
#[derive(Debug)]
struct OpenQueue(Arc<LogQueue>);

impl Drop for OpenQueue {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// A view of the log of a run that does not keep the writer running.
#[derive(Debug, Clone)]
pub struct LogView {
    queue: Weak<LogQueue>,
    pub(in crate::proxy) metrics: Arc<Metrics>,
}

impl LogView {
    /// Lets sessions go on without waiting for the log from now on, because the run ends. What they
    /// still record is kept until it is written.
    pub fn release(&self) {
        if let Some(queue) = self.queue.upgrade() {
            queue.release();
        }
    }

    /// Returns whether a sink has failed in this run, so that entries are missing from it.
    #[must_use]
    pub fn has_failed(&self) -> bool {
        self.metrics.troubles(Trouble::Log) > 0
    }

    /// Returns what waits to be written.
    pub(in crate::proxy) fn depth(&self) -> Depth {
        self.queue.upgrade().map(|queue| queue.depth()).unwrap_or_default()
    }

    /// Returns the bytes that may wait to be written.
    pub(in crate::proxy) fn limit(&self) -> usize {
        self.queue.upgrade().map_or(0, |queue| queue.limit)
    }
}

/// The thread that writes entries to sinks. It ends when the last [`LogHandle`] is dropped and
/// everything is written.
#[derive(Debug)]
pub struct LogWriter {
    done: Receiver<Vec<LogFault>>,
    queue: Arc<LogQueue>,
    progress: Arc<LogProgress>,
}

impl LogWriter {
    /// Starts the thread, and in the current Tokio runtime a task that reports sinks that stall.
    ///
    /// # Errors
    /// If the thread cannot be started.
    ///
    /// # Panics
    /// Outside a Tokio runtime.
    pub fn start(sinks: Vec<NamedSink>, options: LogOptions) -> io::Result<(LogHandle, Self)> {
        let LogOptions { queue, on_full, on_error, inflation, notices, passed, lint } = options;
        let queue = Arc::new(LogQueue::new(queue));
        let wants_wire = sinks.iter().any(|(_, sink)| sink.wants_wire());
        let wants_packets = lint || sinks.iter().any(|(_, sink)| sink.wants_packets());
        let (fault, watching) = watch::channel(None);
        let metrics: Arc<Metrics> = Arc::default();
        let names = sinks.iter().map(|(name, _)| name.clone()).collect();
        let progress = Arc::new(LogProgress::new(names));
        tokio::spawn(progress.watch(on_full, notices.clone(), Arc::clone(&metrics)));
        let (finished, done) = channel();
        let inflation = InflationBudget::new(inflation);
        let (counted, shown) = (Arc::clone(&metrics), Arc::clone(&progress));
        let linter = lint.then(Linter::live);
        let sinks = LogSinks::new(sinks, on_error, notices, counted, shown, inflation, linter);
        let thread =
            LogThread { queue: Arc::clone(&queue), fault, finished, metrics: Arc::clone(&metrics) };
        std::thread::Builder::new().name("log".into()).spawn(move || thread.run(sinks))?;
        let handle = LogHandle {
            queue: Arc::new(OpenQueue(Arc::clone(&queue))),
            wants_wire,
            wants_packets,
            passed,
            on_full,
            metrics,
            fault: watching,
        };
        Ok((handle, Self { done, queue, progress }))
    }

    /// Waits until everything is written, and returns the errors of sinks. Gives up on a sink that
    /// takes nothing for 3 s, with an error that says how much it lacks.
    #[must_use]
    pub fn finish(self) -> Vec<LogFault> {
        let mut steps = self.progress.steps();
        loop {
            match self.done.recv_timeout(PATIENCE) {
                Ok(faults) => return faults,
                Err(RecvTimeoutError::Disconnected) => return vec![LogFault::internal()],
                Err(RecvTimeoutError::Timeout) => {}
            }
            let before = std::mem::replace(&mut steps, self.progress.steps());
            if let Some(sink) = self.progress.current().filter(|_| before == steps) {
                let cause = Arc::new(io::Error::new(io::ErrorKind::TimedOut, self.missing()));
                return vec![LogFault { sink: sink.to_owned(), cause }];
            }
        }
    }
}

impl LogWriter {
    /// Says which entries a sink that takes nothing lacks.
    fn missing(&self) -> String {
        let waiting = self.queue.waiting();
        let all: usize = waiting.iter().map(|(_, entries)| entries).sum();
        let named = waiting
            .iter()
            .take(NAMED)
            .map(|(session, entries)| format!("{entries} of session {session}"));
        let mut parts: Vec<String> = named.collect();
        let others = waiting.len().saturating_sub(NAMED);
        if others > 0 {
            parts.push(format!("those of {others} more"));
        }
        let parts =
            if parts.is_empty() { String::new() } else { format!(": {}", parts.join(", ")) };
        format!("it has taken nothing for 3 s, and {all} entries or more are missing{parts}")
    }
}

/// The log thread.
struct LogThread {
    queue: Arc<LogQueue>,
    fault: watch::Sender<Option<LogFault>>,
    finished: Sender<Vec<LogFault>>,
    metrics: Arc<Metrics>,
}

impl LogThread {
    fn run(self, mut sinks: LogSinks) {
        // The reader of a pipe gets the format's header before there are entries.
        sinks.flush(Instant::now());
        let mut flush_at: Option<Instant> = None;
        let mut busy = false;
        let mut released: Option<Instant> = None;
        loop {
            let next = self.queue.next(flush_at, busy);
            busy = matches!(next, Next::Batch(_));
            match next {
                Next::Batch(batch) => {
                    let entries = batch.entries.len();
                    sinks.write(batch);
                    self.metrics.written.add(entries as u64);
                    if self.queue.depth().batches == 0 {
                        sinks.batch_done();
                    }
                    flush_at = flush_at.or_else(|| Some(Instant::now() + FLUSH));
                }
                Next::Timeout => {}
                Next::End => break,
            }
            // Under load, the queue never waits for its deadline.
            let now = Instant::now();
            if flush_at.is_some_and(|at| at <= now) {
                flush_at = None;
                sinks.flush(now);
                if self.queue.is_released()
                    && now.duration_since(*released.get_or_insert(now)) >= INFLATING
                {
                    // The run has to end.
                    sinks.inflation.stop();
                }
            }
            if let Some(first) = sinks.fault().filter(|_| self.fault.borrow().is_none()) {
                self.fault.send_replace(Some(first.clone()));
            }
        }
        // Nobody waits for the result of a writer that was dropped.
        let _ = self.finished.send(sinks.finish());
    }
}

impl Drop for LogThread {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.queue.release();
            self.fault.send_replace(Some(LogFault::internal()));
        }
    }
}

/// Maximum time until written entries are flushed to the file.
const FLUSH: Duration = Duration::from_millis(500);

/// Sessions that are named when entries are missing.
const NAMED: usize = 5;

/// Time after the end of a run was requested in which compressed packets are still recorded inflated.
const INFLATING: Duration = Duration::from_secs(2);

/// Maximum time without progress of a sink while the log is completed; then it is given up.
/// A busy disk may need a second for a write; with the time for closing, a run ends within 5 s.
const PATIENCE: Duration = Duration::from_secs(3);
