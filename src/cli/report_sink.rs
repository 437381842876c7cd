use std::io;

use mitmcraft::proxy::NamedSink;
use mitmcraft_engine::capture::{Entry, Sink};
use tokio::sync::oneshot;

/// Passes the entries of a log on to a sink, and sends what it makes of them when the log is complete.
pub(super) struct ReportSink<S, R> {
    sink: S,
    report: fn(&mut S) -> R,
    /// `None` once it has been used.
    done: Option<oneshot::Sender<R>>,
    wants_packets: bool,
}

impl<S: Sink + 'static, R: Send + 'static> ReportSink<S, R> {
    /// Returns the sink and what receives the report.
    pub(super) fn new(sink: S, report: fn(&mut S) -> R) -> (Self, oneshot::Receiver<R>) {
        let (done, receiver) = oneshot::channel();
        (Self { sink, report, done: Some(done), wants_packets: true }, receiver)
    }

    /// Declines packets that were forwarded unchanged.
    pub(super) fn without_passed(self) -> Self {
        Self { wants_packets: false, ..self }
    }

    /// Returns the sink with its name in messages.
    pub(super) fn named(self, name: &str) -> NamedSink {
        (name.to_owned(), Box::new(self))
    }
}

impl<S: Sink, R: Send> Sink for ReportSink<S, R> {
    fn write(&mut self, entry: &Entry) -> io::Result<()> {
        self.sink.write(entry)
    }

    fn wants_packets(&self) -> bool {
        self.wants_packets
    }

    fn finish(&mut self) -> io::Result<()> {
        self.sink.finish()?;
        if let Some(done) = self.done.take() {
            // There is no receiver if the run could not begin.
            let _ = done.send((self.report)(&mut self.sink));
        }
        Ok(())
    }
}
