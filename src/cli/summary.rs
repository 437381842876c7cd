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

    /// Prints the summary, if the log has been completed: a table of the first `top` rows, or every row as a
    /// message of its own if messages are JSON.
    pub(super) fn print(mut self, top: usize, output: &Output) {
        if let Ok(summary) = self.receiver.try_recv() {
            let mut overall = summary.overall();
            overall.add(&self.passed.get());
            if output.logs_json() {
                for row in overall.rows() {
                    output.note_with("summary of a packet type", row.json());
                }
                return output.note_with("summary of all packets", overall.total().json());
            }
            let mut table = String::new();
            overall.write_table(&mut table, top);
            output.message_lines(Level::Info, table.trim_end());
        }
    }
}
