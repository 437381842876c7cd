use mitmcraft::proxy::{NamedSink, PassedCounts};
use mitmcraft_engine::analysis::CountingSink;
use tokio::sync::oneshot;

use super::output::{Level, Output};
use super::report_sink::ReportSink;

/// Receives the summary of a run when its log is complete.
pub(super) struct SummaryReceiver {
    receiver: oneshot::Receiver<CountingSink>,
    /// The packets that the sink is not told of.
    pub(super) passed: PassedCounts,
}

impl SummaryReceiver {
    /// Returns a sink that counts entries, and what receives its result.
    pub(super) fn new() -> (NamedSink, Self) {
        let (sink, receiver) = ReportSink::new(CountingSink::default(), std::mem::take);
        let sink = sink.without_passed().named("the summary");
        (sink, Self { receiver, passed: PassedCounts::default() })
    }

    /// Prints the first `top` rows of the summary, if the log has been completed.
    pub(super) fn print(mut self, top: usize, output: &Output) {
        if let Ok(summary) = self.receiver.try_recv() {
            let mut table = String::new();
            let mut overall = summary.overall();
            overall.add(&self.passed.get());
            overall.write_table(&mut table, top);
            output.message_lines(Level::Info, table.trim_end());
        }
    }
}
