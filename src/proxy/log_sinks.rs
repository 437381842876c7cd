use std::io;
use std::sync::Arc;

use super::log::{Batch, LogFault, NamedSink, OnError};
use super::{Metrics, Notices, RunNotice, Trouble};
use crate::capture::Sink;

/// The sinks of a run, and the faults of those that could not go on.
pub(super) struct LogSinks {
    sinks: Vec<NamedState>,
    on_error: OnError,
    notices: Notices,
    metrics: Arc<Metrics>,
    faults: Vec<LogFault>,
}

/// A sink with its state.
struct NamedState {
    name: String,
    sink: Box<dyn Sink>,
    /// Whether no flush has succeeded since the last error.
    failing: bool,
    /// Number of entries that it did not take.
    left_out: u64,
}

impl LogSinks {
    pub(super) fn new(
        sinks: Vec<NamedSink>,
        on_error: OnError,
        notices: Notices,
        metrics: Arc<Metrics>,
    ) -> Self {
        let written = |(name, sink)| NamedState { name, sink, failing: false, left_out: 0 };
        let sinks = sinks.into_iter().map(written).collect();
        Self { sinks, on_error, notices, metrics, faults: Vec::new() }
    }

    pub(super) fn write(&mut self, batch: &Batch) {
        for wire in &batch.wires {
            self.each(|written| written.sink.wire(wire));
        }
        for entry in &batch.entries {
            self.each(|written| {
                let result = written.sink.write(entry);
                written.left_out += u64::from(result.is_err());
                result
            });
        }
    }

    pub(super) fn batch_done(&mut self) {
        self.each(|written| written.sink.batch_done());
    }

    pub(super) fn flush(&mut self) {
        self.each(|written| written.sink.flush());
        for written in self.sinks.iter_mut().filter(|written| written.failing) {
            if written.sink.flush().is_ok() {
                written.failing = false;
                let NamedState { name: sink, left_out: missing, .. } = written;
                self.notices.show(&RunNotice::SinkRecovered { sink, missing: *missing });
            }
        }
    }

    /// Completes all sinks and returns the faults of the run.
    pub(super) fn finish(mut self) -> Vec<LogFault> {
        self.each(|written| written.sink.finish());
        for written in self.sinks.iter().filter(|written| written.left_out > 0) {
            let NamedState { name: sink, left_out: missing, .. } = written;
            self.notices.show(&RunNotice::SinkIncomplete { sink, missing: *missing });
        }
        self.faults
    }

    /// Returns the first fault that ends the run.
    pub(super) fn fault(&self) -> Option<&LogFault> {
        self.faults.first()
    }

    /// Calls `run` for every sink. A sink that fails is removed, or with [`OnError::Drop`] loses the
    /// entries that it does not take; a closed pipe is always removed.
    fn each(&mut self, mut run: impl FnMut(&mut NamedState) -> io::Result<()>) {
        let Self { sinks, on_error, notices, metrics, faults } = self;
        sinks.retain_mut(|written| {
            let Err(error) = run(written) else { return true };
            let broken_pipe = error.kind() == io::ErrorKind::BrokenPipe;
            if !written.failing {
                metrics.count_trouble(Trouble::Log);
            }
            if *on_error == OnError::Stop || broken_pipe {
                let (sink, cause) = (std::mem::take(&mut written.name), Arc::new(error));
                faults.push(LogFault { sink, cause });
                return false;
            }
            if !std::mem::replace(&mut written.failing, true) {
                notices.show(&RunNotice::SinkFails { sink: &written.name, cause: &error });
            }
            true
        });
    }
}
