use std::io;
use std::sync::Arc;

use super::log::{Batch, LogFault, NamedSink, OnError};
use super::{Metrics, Notices, Trouble};
use crate::capture::Sink;

/// The sinks of a run, and what has become of them.
pub(super) struct LogSinks {
    sinks: Vec<Written>,
    on_error: OnError,
    notices: Notices,
    metrics: Arc<Metrics>,
    faults: Vec<LogFault>,
}

struct Written {
    name: String,
    sink: Box<dyn Sink>,
    /// Whether the last error has not been followed by a flush that went well.
    failing: bool,
    /// Entries that it did not take.
    left_out: u64,
}

impl LogSinks {
    pub(super) fn new(
        sinks: Vec<NamedSink>,
        on_error: OnError,
        notices: Notices,
        metrics: Arc<Metrics>,
    ) -> Self {
        let written = |(name, sink)| Written { name, sink, failing: false, left_out: 0 };
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
                let (name, missing) = (&written.name, written.left_out);
                let told =
                    format!("`{name}` is written again; {missing} entries are missing in it");
                self.notices.tell(&told);
            }
        }
    }

    /// Completes all of them; what could not be written.
    pub(super) fn finish(mut self) -> Vec<LogFault> {
        self.each(|written| written.sink.finish());
        for written in self.sinks.iter().filter(|written| written.left_out > 0) {
            let (name, missing) = (&written.name, written.left_out);
            self.notices.tell(&format!("`{name}`: {missing} entries could not be written"));
        }
        self.faults
    }

    /// The first fault that ends the run.
    pub(super) fn fault(&self) -> Option<&LogFault> {
        self.faults.first()
    }

    /// Does something with every sink. One that fails is left out from then on, or its entries are
    /// while it fails; the reader of a pipe that has gone does not come back.
    fn each(&mut self, mut run: impl FnMut(&mut Written) -> io::Result<()>) {
        let Self { sinks, on_error, notices, metrics, faults } = self;
        sinks.retain_mut(|written| {
            let Err(error) = run(written) else { return true };
            let broken_pipe = error.kind() == io::ErrorKind::BrokenPipe;
            if !written.failing {
                metrics.count_trouble(Trouble::Log);
            }
            let cause = error.to_string();
            if *on_error == OnError::Stop || broken_pipe {
                faults.push(LogFault {
                    sink: std::mem::take(&mut written.name),
                    cause,
                    broken_pipe,
                });
                return false;
            }
            if !std::mem::replace(&mut written.failing, true) {
                let name = &written.name;
                notices.tell(&format!(
                    "cannot write `{name}`: {cause}; what it does not take is left out"
                ));
            }
            true
        });
    }
}
