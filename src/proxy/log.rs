use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use thiserror::Error;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;

use super::log_sinks::LogSinks;
use super::{Metrics, Notices};
use crate::capture::{Entry, Sink, Wire};

/// What happens to entries while the log cannot keep up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnFull {
    /// Sessions wait: nothing is lost.
    #[default]
    Wait,
    /// Entries are left out and counted: sessions never wait.
    Drop,
}

/// What happens when a sink cannot be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnError {
    /// The run ends: nothing goes through unrecorded.
    #[default]
    Stop,
    /// What the sink does not take is left out and counted, until it takes entries again.
    Drop,
}

/// How the log is written.
#[derive(Debug, Clone, Default)]
pub struct LogOptions {
    /// What happens when the channel is full.
    pub on_full: OnFull,
    /// What happens when a sink cannot be written.
    pub on_error: OnError,
    /// Where sinks that fail are told of, while the run goes on.
    pub notices: Notices,
}

/// A sink that could not go on. The others were finished.
#[derive(Debug, Clone, Error)]
#[error("cannot write `{sink}`: {cause}")]
pub struct LogFault {
    /// Which one, as the user named it.
    pub sink: String,
    /// What the system says.
    pub cause: String,
    /// Whether a reader of ours has gone, as `head` does: no fault of anybody's.
    pub broken_pipe: bool,
}

/// What a session hands over at once.
#[derive(Debug)]
pub(super) struct Batch {
    /// What has crossed its connections; it gave the entries.
    pub(super) wires: Vec<Wire>,
    pub(super) entries: Vec<Entry>,
}

/// A sink and what the user calls it.
pub type NamedSink = (String, Box<dyn Sink>);

/// Where sessions put what they have seen. Cheap to clone.
///
/// The channel behind it holds 32 batches; what happens beyond that [`OnFull`] says.
#[derive(Debug, Clone)]
pub struct LogHandle {
    sender: mpsc::Sender<Batch>,
    wants_wire: bool,
    on_full: OnFull,
    left_out: Arc<AtomicU64>,
    metrics: Arc<Metrics>,
    fault: watch::Receiver<Option<LogFault>>,
}

impl LogHandle {
    /// Hands over a batch; waits while the channel is full, unless told to leave entries out.
    pub async fn put(&self, batch: Vec<Entry>) {
        self.put_all(Batch { wires: Vec::new(), entries: batch }).await;
    }

    /// Whether a sink has use for what crosses the wire.
    pub(super) fn wants_wire(&self) -> bool {
        self.wants_wire
    }

    /// As [`put`](Self::put), with what has crossed the wire.
    pub(super) async fn put_all(&self, batch: Batch) {
        self.metrics.count(&batch.entries);
        match self.on_full {
            // An error means that the writer has stopped for a fault, which ends the run anyway.
            OnFull::Wait => {
                let _ = self.sender.send(batch).await;
            }
            OnFull::Drop => {
                if let Err(TrySendError::Full(batch)) = self.sender.try_send(batch) {
                    let count = batch.entries.len();
                    self.left_out.fetch_add(count as u64, Ordering::Relaxed);
                    self.metrics.count_left_out(count);
                }
            }
        }
    }

    /// How many entries were left out.
    #[must_use]
    pub fn left_out(&self) -> u64 {
        self.left_out.load(Ordering::Relaxed)
    }

    /// What is counted of the run.
    pub(super) fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// How much waits to be written, also when nobody writes any more.
    pub(super) fn queue(&self) -> Queue {
        Queue { sender: self.sender.downgrade(), metrics: Arc::clone(&self.metrics) }
    }

    /// Waits until a sink cannot go on.
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

/// The channel behind a [`LogHandle`], which does not keep the writer waiting.
#[derive(Debug)]
pub(super) struct Queue {
    sender: mpsc::WeakSender<Batch>,
    metrics: Arc<Metrics>,
}

impl Queue {
    /// How many batches wait, and how many can.
    pub(super) fn depth(&self) -> (usize, usize) {
        let Some(sender) = self.sender.upgrade() else { return (0, CAPACITY) };
        let capacity = sender.max_capacity();
        (capacity - sender.capacity(), capacity)
    }

    /// What is counted of the run.
    pub(super) fn metrics(&self) -> &Metrics {
        &self.metrics
    }
}

/// The thread that writes. It ends when the last [`LogHandle`] is gone and all is written.
#[derive(Debug)]
pub struct LogWriter {
    thread: JoinHandle<Vec<LogFault>>,
}

impl LogWriter {
    /// Starts the thread; needs the runtime for its timer.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub fn start(sinks: Vec<NamedSink>, options: LogOptions) -> io::Result<(LogHandle, Self)> {
        let (sender, receiver) = mpsc::channel(CAPACITY);
        let wants_wire = sinks.iter().any(|(_, sink)| sink.wants_wire());
        let (fault, watching) = watch::channel(None);
        let runtime = tokio::runtime::Handle::current();
        let metrics: Arc<Metrics> = Arc::default();
        let counted = Arc::clone(&metrics);
        let told = Arc::clone(&metrics);
        let sinks = LogSinks::new(sinks, options.on_error, options.notices, told);
        let thread = std::thread::Builder::new()
            .name("log".into())
            .spawn(move || runtime.block_on(write(sinks, receiver, fault, &counted)))?;
        let (on_full, left_out) = (options.on_full, Arc::default());
        let handle = LogHandle { sender, wants_wire, on_full, left_out, metrics, fault: watching };
        Ok((handle, Self { thread }))
    }

    /// Waits until all is written; what could not be.
    #[must_use]
    pub fn finish(self) -> Vec<LogFault> {
        self.thread.join().unwrap_or_default()
    }
}

async fn write(
    mut sinks: LogSinks,
    mut receiver: mpsc::Receiver<Batch>,
    fault: watch::Sender<Option<LogFault>>,
    metrics: &Metrics,
) -> Vec<LogFault> {
    let mut flush_at: Option<Instant> = None;
    loop {
        let received = match flush_at {
            Some(at) => tokio::time::timeout_at(at, receiver.recv()).await,
            None => Ok(receiver.recv().await),
        };
        match received {
            Ok(Some(batch)) => {
                sinks.write(&batch);
                metrics.count_written(batch.entries.len());
                if receiver.is_empty() {
                    sinks.batch_done();
                }
                flush_at = flush_at.or_else(|| Some(Instant::now() + FLUSH));
            }
            Ok(None) => break,
            Err(_) => {
                flush_at = None;
                sinks.flush();
            }
        }
        // Under load the timer never gets its turn: look at the clock as well.
        if flush_at.is_some_and(|at| at <= Instant::now()) {
            flush_at = None;
            sinks.flush();
        }
        if let Some(first) = sinks.fault().filter(|_| fault.borrow().is_none()) {
            fault.send_replace(Some(first.clone()));
        }
    }
    sinks.finish()
}

/// Batches in the channel: one is what a read of up to 64 KiB gave. That is 2 MiB of frames, and 180
/// MiB of entries if every frame had but two bytes; frames larger than a read come to it.
const CAPACITY: usize = 32;

/// What is written is in the file within this time.
const FLUSH: Duration = Duration::from_millis(500);
