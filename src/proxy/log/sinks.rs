use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use thiserror::Error;

use super::progress::LogProgress;
use super::queue::Batch;
use crate::proxy::{Metrics, Notices, RunNotice, Trouble};
use mitmcraft_engine::analysis::{JoinCheck, VersionCheck};
use mitmcraft_engine::capture::{InflationBudget, Sink, Unrecorded};
use mitmcraft_engine::lint::Linter;

/// The sinks of a run, and the faults of those that could not go on.
pub(super) struct LogSinks {
    sinks: Vec<NamedState>,
    on_error: OnError,
    notices: Notices,
    metrics: Arc<Metrics>,
    progress: Arc<LogProgress>,
    pub(super) inflation: InflationBudget,
    versions: VersionCheck,
    joins: JoinCheck,
    /// `None` if packets are not judged.
    linter: Option<Linter>,
    /// Findings that have been shown.
    shown: usize,
    faults: Vec<LogFault>,
}

/// A sink with the name that the user gave it.
pub type NamedSink = (String, Box<dyn Sink>);

/// Policy for sinks that cannot be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum OnError {
    /// The run ends: only what was on its way at that moment is forwarded unrecorded.
    Stop,
    /// Entries that the sink does not accept are dropped and counted.
    #[default]
    Drop,
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
    /// Returns whether the reader of a pipe has ended, as `head` does, which is not an error.
    #[must_use]
    pub fn is_broken_pipe(&self) -> bool {
        self.cause.kind() == io::ErrorKind::BrokenPipe
    }

    /// The log thread has panicked.
    pub(super) fn internal() -> Self {
        let cause = Arc::new(io::Error::other("internal error: the log has ended"));
        Self { sink: "the log".into(), cause }
    }
}

/// A sink with its state.
struct NamedState {
    name: String,
    /// Its place in the [`LogProgress`].
    place: usize,
    sink: Box<dyn Sink>,
    /// `true` if no flush has succeeded since the last error.
    failing: bool,
    /// Number of entries that it did not take.
    left_out: u64,
    /// When it was last reported that entries are missing, and how many.
    reported: Option<(Instant, u64)>,
}

impl LogSinks {
    pub(super) fn new(
        sinks: Vec<NamedSink>,
        on_error: OnError,
        notices: Notices,
        metrics: Arc<Metrics>,
        progress: Arc<LogProgress>,
        inflation: InflationBudget,
        linter: Option<Linter>,
    ) -> Self {
        let written = |(place, (name, sink))| NamedState {
            name,
            place,
            sink,
            failing: false,
            left_out: 0,
            reported: None,
        };
        let sinks = sinks.into_iter().enumerate().map(written).collect();
        let (versions, joins, faults) = (VersionCheck::default(), JoinCheck::default(), Vec::new());
        Self {
            sinks,
            on_error,
            notices,
            metrics,
            progress,
            inflation,
            versions,
            joins,
            linter,
            shown: 0,
            faults,
        }
    }

    /// Writes a batch. What one of its entries keeps in memory is freed before the next is written, unless
    /// the last sink keeps it.
    pub(super) fn write(&mut self, batch: Batch) {
        for wire in batch.wires {
            self.each(|written| written.sink.wire(&wire));
        }
        for mut entry in batch.entries {
            if let Some(session) = self.inflation.bound(&mut entry) {
                self.notices.show(&RunNotice::InflatesTooMuch { session });
            }
            if let Some(mismatch) = self.versions.take(&entry) {
                self.notices.show(&RunNotice::OtherVersion(&mismatch));
            }
            if let Some(stuck) = self.joins.take(&entry) {
                self.notices.show(&RunNotice::Stuck(&stuck));
            }
            if let Some(linter) = &mut self.linter {
                for finding in linter.take_live(&mut entry).iter().filter(|it| it.is_new) {
                    self.shown += 1;
                    match self.shown {
                        ..=MAX_FINDINGS => self.notices.show(&RunNotice::Finding(finding)),
                        number if number == MAX_FINDINGS + 1 => {
                            self.notices.show(&RunNotice::ManyFindings);
                        }
                        _ => {}
                    }
                }
            }
            let mut at = 0;
            while at + 1 < self.sinks.len() {
                at += usize::from(self.call(at, |written| written.count(|it| it.write(&entry))));
            }
            if at < self.sinks.len() {
                self.call(at, |written| written.count(|it| it.take(entry)));
            }
        }
    }

    pub(super) fn batch_done(&mut self) {
        self.each(|written| written.sink.batch_done());
    }

    /// Flushes all sinks, and reports what those that fail lack by now.
    pub(super) fn flush(&mut self, now: Instant) {
        self.each(|written| written.sink.flush());
        self.report_unrecorded();
        self.report_missing(now);
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
        self.report_unrecorded();
        for written in &mut self.sinks {
            let missing = written.left_out + written.sink.unwritten();
            if missing > 0 {
                let sink = &written.name;
                self.notices.show(&RunNotice::SinkIncomplete { sink, missing });
            }
        }
        self.faults
    }

    /// Reports once in [`REMINDER`] how many entries a sink lacks, while they become more. That it fails
    /// was reported when it began.
    fn report_missing(&mut self, now: Instant) {
        for written in self.sinks.iter_mut().filter(|written| written.left_out > 0) {
            let NamedState { name: sink, left_out: missing, reported, .. } = written;
            let (at, known) = *reported.get_or_insert((now, *missing));
            if now.duration_since(at) >= REMINDER {
                *reported = Some((now, *missing));
                if *missing > known {
                    self.notices.show(&RunNotice::SinkLacks { sink, missing: *missing });
                }
            }
        }
    }

    /// Reports sessions that have no file: the first of them, and how many more. With [`OnError::Stop`]
    /// they end the run.
    fn report_unrecorded(&mut self) {
        for written in &mut self.sinks {
            let Unrecorded { sessions, entries, deleted, .. } = written.sink.take_unrecorded();
            written.left_out += entries;
            let more = sessions.len().saturating_sub(1);
            sessions.iter().for_each(|_| self.metrics.count_trouble(Trouble::Log));
            if let Some((session, cause)) = sessions.into_iter().next() {
                let notice = RunNotice::SessionUnrecorded { session, more, cause: &cause };
                self.notices.show(&notice);
                if self.on_error == OnError::Stop {
                    let (sink, cause) = (written.name.clone(), Arc::new(cause));
                    self.faults.push(LogFault { sink, cause });
                }
            }
            for path in &deleted {
                self.metrics.count_trouble(Trouble::Log);
                self.notices.show(&RunNotice::CaptureDeleted { path });
            }
        }
    }

    /// Returns the first fault that ends the run.
    pub(super) fn fault(&self) -> Option<&LogFault> {
        self.faults.first()
    }

    /// Calls `run` for every sink.
    fn each(&mut self, mut run: impl FnMut(&mut NamedState) -> io::Result<()>) {
        let mut at = 0;
        while at < self.sinks.len() {
            at += usize::from(self.call(at, &mut run));
        }
    }

    /// Calls `run` for a sink. One that fails is removed, or with [`OnError::Drop`] loses the entries that
    /// it does not take; a closed pipe is always removed. Returns whether it stays.
    fn call(&mut self, at: usize, run: impl FnOnce(&mut NamedState) -> io::Result<()>) -> bool {
        let written = &mut self.sinks[at];
        let Err(error) = self.progress.during(written.place, || run(written)) else { return true };
        let broken_pipe = error.kind() == io::ErrorKind::BrokenPipe;
        if !written.failing {
            self.metrics.count_trouble(Trouble::Log);
        }
        if self.on_error == OnError::Stop || broken_pipe {
            let sink = self.sinks.remove(at).name;
            self.faults.push(LogFault { sink, cause: Arc::new(error) });
            return false;
        }
        if !std::mem::replace(&mut written.failing, true) {
            self.notices.show(&RunNotice::SinkFails { sink: &written.name, cause: &error });
        }
        true
    }
}

impl NamedState {
    /// Passes an entry, and counts it if it was not taken.
    fn count(&mut self, write: impl FnOnce(&mut dyn Sink) -> io::Result<()>) -> io::Result<()> {
        let result = write(&mut *self.sink);
        self.left_out += u64::from(result.is_err());
        result
    }
}

/// Kinds of findings that are shown: peers can make up any number.
const MAX_FINDINGS: usize = 500;

/// Time between two reports of what a sink lacks.
const REMINDER: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use mitmcraft_engine::capture::Entry;

    use super::*;
    use crate::proxy::log::Batch;

    /// A sink that takes nothing.
    struct Full;

    impl Sink for Full {
        fn write(&mut self, _: &Entry) -> io::Result<()> {
            Err(io::ErrorKind::StorageFull.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Err(io::ErrorKind::StorageFull.into())
        }
    }

    /// A sink that keeps the comments of packets.
    #[derive(Clone, Default)]
    struct Comments(Arc<Mutex<Vec<String>>>);

    impl Sink for Comments {
        fn write(&mut self, entry: &Entry) -> io::Result<()> {
            let comment = entry.record().and_then(|record| record.comment.clone());
            self.0.lock().unwrap().extend(comment);
            Ok(())
        }
    }

    #[test]
    fn findings_are_shown_once_for_each_kind_and_are_in_every_sink() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/captures/session-1.8.jsonl");
        let catalog = mitmcraft_protocol::schema::Catalog::embedded();
        let entries = mitmcraft_engine::capture::open_capture(path.as_ref(), catalog).unwrap();
        let entries: Vec<Entry> = entries.map(Result::unwrap).collect();
        let shown: Arc<Mutex<Vec<String>>> = Arc::default();
        let showing = Arc::clone(&shown);
        let notices = Notices::new(Arc::new(move |notice| {
            if let RunNotice::Finding(finding) = notice {
                showing.lock().unwrap().push(finding.rule.name().to_owned());
            }
        }));
        for (lint, expected) in [(false, 0), (true, 2)] {
            let comments = Comments::default();
            let sinks: Vec<NamedSink> = vec![
                ("a".to_owned(), Box::new(comments.clone())),
                ("b".to_owned(), Box::new(comments.clone())),
            ];
            let progress = Arc::new(LogProgress::new(vec!["a".to_owned(), "b".to_owned()]));
            let mut sinks = LogSinks::new(
                sinks,
                OnError::Drop,
                notices.clone(),
                Arc::default(),
                progress,
                InflationBudget::new(1 << 20),
                lint.then(Linter::live),
            );
            sinks.write(Batch { wires: Vec::new(), entries: entries.clone() });
            assert!(sinks.finish().is_empty());
            let shown = std::mem::take(&mut *shown.lock().unwrap());
            let is_shown = |rule: &str| shown.iter().filter(|it| *it == rule).count();
            let rules = ["entry-unknown", "metadata-invalid"];
            assert_eq!(rules.map(is_shown).iter().sum::<usize>(), expected, "{shown:?}");
            let comments = comments.0.lock().unwrap();
            let packets = |rule: &str| comments.iter().filter(|it| it.contains(rule)).count();
            // A packet for each, in both sinks.
            let wanted = if lint { [2, 2] } else { [0, 0] };
            assert_eq!(rules.map(packets), wanted, "{comments:?}");
        }
    }

    #[test]
    fn what_is_missing_is_reported_at_once_every_minute_and_at_the_end() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/captures/query.jsonl");
        let catalog = mitmcraft_protocol::schema::Catalog::embedded();
        let entries = mitmcraft_engine::capture::open_capture(path.as_ref(), catalog).unwrap();
        let entries: Vec<Entry> = entries.map(Result::unwrap).take(1).collect();
        let shown: Arc<Mutex<Vec<String>>> = Arc::default();
        let showing = Arc::clone(&shown);
        let notices = Notices::new(Arc::new(move |notice| {
            let name = format!("{notice:?}");
            let missing = name.split("missing: ").nth(1).unwrap_or_default();
            let name = name.split(' ').next().unwrap_or_default();
            showing.lock().unwrap().push(format!("{name} {missing}"));
        }));
        let sinks: Vec<NamedSink> = vec![("a".to_owned(), Box::new(Full))];
        let progress = Arc::new(LogProgress::new(vec!["a".to_owned()]));
        let mut sinks = LogSinks::new(
            sinks,
            OnError::Drop,
            notices,
            Arc::default(),
            progress,
            InflationBudget::new(0),
            None,
        );
        let begin = Instant::now();
        for second in 0..200 {
            sinks.write(Batch { wires: Vec::new(), entries: entries.clone() });
            sinks.flush(begin + Duration::from_secs(second));
        }
        assert!(sinks.finish().is_empty());
        let shown = shown.lock().unwrap();
        let lacks = |missing: u64| format!("SinkLacks {missing} }}");
        let expected = [
            "SinkFails ".to_owned(),
            lacks(61),
            lacks(121),
            lacks(181),
            "SinkIncomplete 200 }".to_owned(),
        ];
        assert_eq!(*shown, expected);
    }
}
