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

/// Policy for sinks that cannot be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum OnError {
    /// The run ends, so that nothing is forwarded unrecorded.
    #[default]
    Stop,
    /// Entries that the sink does not accept are dropped and counted.
    Drop,
}

/// Options of a [`LogWriter`].
#[derive(Debug, Clone, Default)]
pub struct LogOptions {
    /// Policy while the queue is full.
    pub on_full: OnFull,
    /// Policy for sinks that cannot be written.
    pub on_error: OnError,
    /// Receives notices about sinks that fail while the run continues.
    pub notices: Notices,
}

/// Error of a sink that ended the run. The other sinks were completed.
#[derive(Debug, Clone, Error)]
#[error("cannot write `{sink}`: {cause}")]
pub struct LogFault {
    /// The sink, as the user named it.
    pub sink: String,
    /// The error of the operating system.
    pub cause: Arc<io::Error>,
}

impl LogFault {
    /// Whether the reader of a pipe has ended, as `head` does, which is not an error.
    #[must_use]
    pub fn is_broken_pipe(&self) -> bool {
        self.cause.kind() == io::ErrorKind::BrokenPipe
    }
}

/// New entries of a session.
#[derive(Debug)]
pub(super) struct Batch {
    /// The bytes on its connections from which the entries were decoded.
    pub(super) wires: Vec<Wire>,
    pub(super) entries: Vec<Entry>,
}

/// A sink with the name that the user gave it.
pub type NamedSink = (String, Box<dyn Sink>);

/// Passes entries of sessions to the [`LogWriter`]. Cheap to clone.
///
/// Its queue holds 32 batches; [`OnFull`] is the policy when it is full.
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
    /// Queues a batch. While the queue is full, waits or drops the batch, as [`OnFull`] says.
    pub async fn put(&self, batch: Vec<Entry>) {
        self.put_all(Batch { wires: Vec::new(), entries: batch }).await;
    }

    /// Whether a sink records the bytes on the wire.
    pub(super) fn wants_wire(&self) -> bool {
        self.wants_wire
    }

    /// Queues a batch with the bytes on the wire, like [`put`](Self::put).
    pub(super) async fn put_all(&self, batch: Batch) {
        self.metrics.count(&batch.entries);
        match self.on_full {
            // This fails only after a fault has stopped the writer, which ends the run.
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

    /// Returns the number of dropped entries.
    #[must_use]
    pub fn left_out(&self) -> u64 {
        self.left_out.load(Ordering::Relaxed)
    }

    /// Returns the metrics of the run.
    pub(super) fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// Returns a view of the queue that does not keep the writer running.
    pub(super) fn queue(&self) -> Queue {
        Queue { sender: self.sender.downgrade(), metrics: Arc::clone(&self.metrics) }
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

/// A view of the queue of a [`LogHandle`] that does not keep the writer running.
#[derive(Debug)]
pub(super) struct Queue {
    sender: mpsc::WeakSender<Batch>,
    metrics: Arc<Metrics>,
}

impl Queue {
    /// Returns the number of waiting batches, and the maximum.
    pub(super) fn depth(&self) -> (usize, usize) {
        let Some(sender) = self.sender.upgrade() else { return (0, CAPACITY) };
        let capacity = sender.max_capacity();
        (capacity - sender.capacity(), capacity)
    }

    /// Returns the metrics of the run.
    pub(super) fn metrics(&self) -> &Metrics {
        &self.metrics
    }
}

/// The thread that writes entries to sinks. It ends when the last [`LogHandle`] is dropped and
/// everything is written.
#[derive(Debug)]
pub struct LogWriter {
    thread: JoinHandle<Vec<LogFault>>,
}

impl LogWriter {
    /// Starts the thread. It uses the current Tokio runtime for its timer.
    ///
    /// # Errors
    /// If the thread cannot be started.
    ///
    /// # Panics
    /// Outside a Tokio runtime.
    pub fn start(sinks: Vec<NamedSink>, options: LogOptions) -> io::Result<(LogHandle, Self)> {
        let (sender, receiver) = mpsc::channel(CAPACITY);
        let wants_wire = sinks.iter().any(|(_, sink)| sink.wants_wire());
        let (fault, watching) = watch::channel(None);
        let runtime = tokio::runtime::Handle::current();
        let metrics: Arc<Metrics> = Arc::default();
        let counted = Arc::clone(&metrics);
        let troubles = Arc::clone(&metrics);
        let sinks = LogSinks::new(sinks, options.on_error, options.notices, troubles);
        let thread = std::thread::Builder::new()
            .name("log".into())
            .spawn(move || runtime.block_on(write(sinks, receiver, fault, &counted)))?;
        let (on_full, left_out) = (options.on_full, Arc::default());
        let handle = LogHandle { sender, wants_wire, on_full, left_out, metrics, fault: watching };
        Ok((handle, Self { thread }))
    }

    /// Waits until everything is written, and returns the errors of sinks.
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
        // Under load, `timeout_at` never expires.
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

/// Batches in the queue, each the result of a read of up to 64 KiB: 2 MiB of frames, or 180 MiB of
/// entries if all frames have two bytes. Frames larger than a read come on top.
const CAPACITY: usize = 32;

/// Maximum time until written entries are flushed to the file.
const FLUSH: Duration = Duration::from_millis(500);
