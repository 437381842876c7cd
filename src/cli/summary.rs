use std::io;
use std::sync::mpsc;

use mitmcraft::proxy::{NamedSink, PassedCounts};
use mitmcraft_engine::analysis::CountingSink;
use mitmcraft_engine::capture::{Entry, Sink};

use super::output::Output;

/// Receives the summary of a run when its log is complete.
pub(super) struct SummaryReceiver {
    receiver: mpsc::Receiver<CountingSink>,
    /// The packets that the sink is not told of.
    pub(super) passed: PassedCounts,
}

impl SummaryReceiver {
    /// Returns a sink that counts entries, and what receives its result.
    pub(super) fn new() -> (NamedSink, Self) {
        let (done, receiver) = mpsc::channel();
        let sink = SummarySink { summary: CountingSink::default(), done };
        (
            ("the summary".to_owned(), Box::new(sink)),
            Self { receiver, passed: PassedCounts::default() },
        )
    }

    /// Prints the first `top` rows of the summary, if the log has been completed.
    pub(super) fn print(&self, top: usize, output: &Output) {
        if let Ok(summary) = self.receiver.try_recv() {
            let mut table = String::new();
            let mut overall = summary.overall();
            overall.add(&self.passed.get());
            overall.write_table(&mut table, top);
            output.note(table.trim_end());
        }
    }
}

/// Counts entries, and sends the result when there are no more.
struct SummarySink {
    summary: CountingSink,
    done: mpsc::Sender<CountingSink>,
}

impl Sink for SummarySink {
    fn write(&mut self, entry: &Entry) -> io::Result<()> {
        self.summary.write(entry)
    }

    fn wants_packets(&self) -> bool {
        false
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn finish(&mut self) -> io::Result<()> {
        // There is no receiver if the run could not begin.
        let _ = self.done.send(std::mem::take(&mut self.summary));
        Ok(())
    }
}
