use std::io;

use mitmcraft::proxy::NamedSink;
use mitmcraft_engine::capture::{Entry, Outcome, Record, Sink};
use mitmcraft_engine::filter::Notes;
use mitmcraft_engine::text::{LineOptions, Verbosity, write_line};
use tokio::sync::oneshot;

use super::output::Output;
use super::report_sink::ReportSink;

/// Collects the lines of packets that rules have dropped, rewritten, made or commented on.
pub(super) struct RuleEffects {
    options: LineOptions,
    lines: Vec<String>,
}

impl RuleEffects {
    /// Returns a sink that collects the lines, and what receives them.
    pub(super) fn collect(output: &Output) -> (NamedSink, oneshot::Receiver<Vec<String>>) {
        let options = LineOptions {
            width: Output::stderr_columns(),
            ..Output::line_options(Verbosity::Main, output.colors_stderr())
        };
        let effects = Self { options, lines: Vec::new() };
        let (sink, lines) = ReportSink::new(effects, |it| std::mem::take(&mut it.lines));
        (sink.without_passed().named("the effects of rules"), lines)
    }
}

impl Sink for RuleEffects {
    fn write(&mut self, entry: &Entry) -> io::Result<()> {
        let by_rule = |record: &Record| {
            // The proxy's own changes have comments too.
            let commented = |it: &Notes| record.outcome == Outcome::Pass && !it.comments.is_empty();
            record.notes.as_ref().is_some_and(|it| !it.rules.is_empty() || commented(it))
        };
        if let Entry::Packet(record) = entry
            && record.outcome != Outcome::Rewrite
            && by_rule(record)
        {
            let mut line = String::new();
            write_line(&mut line, entry, &self.options);
            self.lines.push(line.trim_end().to_owned());
        }
        Ok(())
    }
}
