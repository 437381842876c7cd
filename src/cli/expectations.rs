//! The expectations of filter files: judged while a run goes on, and reported at its end.

use anyhow::bail;
use mitmcraft::proxy::{FilterFiles, Loaded, NamedSink};
use mitmcraft_engine::expect::{ExpectReport, Judge};
use tokio::sync::oneshot;

use super::args::{ExpectOptions, Overwrite};
use super::exit::Done;
use super::output::Output;
use super::report::ReportOutput;
use super::report_sink::ReportSink;

/// The expectations of the filter files of a run, checked; no file is created yet.
pub(super) struct PlannedExpectations {
    judge: Judge,
    options: ExpectOptions,
    overwrite: Overwrite,
}

impl PlannedExpectations {
    /// Takes the expectations of loaded files. `on_stdout` says that stdout carries a capture.
    pub(super) fn new(
        files: &FilterFiles,
        loaded: &Loaded,
        options: ExpectOptions,
        overwrite: Overwrite,
        on_stdout: bool,
    ) -> anyhow::Result<Self> {
        let names: Vec<String> = files.paths().iter().map(|it| it.display().to_string()).collect();
        let judge = Judge::new(names.iter().map(String::as_str).zip(&loaded.sets));
        let asked = [
            ("--junit", options.junit.is_some()),
            ("--annotations", options.annotations.is_some()),
            ("--json", options.json),
        ];
        if let Some((option, _)) = asked.into_iter().find(|(_, is_set)| judge.is_empty() && *is_set)
        {
            bail!("`{option}` needs an `[[expect]]` in a filter file");
        }
        if options.json && on_stdout {
            bail!("`--json` cannot be used with `-w -`: both write to stdout");
        }
        if let Some(path) = &options.junit {
            overwrite.check(path)?;
        }
        Ok(Self { judge, options, overwrite })
    }

    /// Returns whether there is no expectation.
    pub(super) fn is_empty(&self) -> bool {
        self.judge.is_empty()
    }

    /// Creates the files, and returns the judge and what reports its results.
    pub(super) fn create(self) -> anyhow::Result<(Judge, ReportOutput)> {
        let Self { judge, options, overwrite } = self;
        let results = ReportOutput::create(options.junit.as_deref(), options.json, overwrite)?;
        Ok((judge, results.annotated(options.annotations)))
    }

    /// Creates the files, and returns a sink for the log of a run and what receives its results; `None`
    /// if there is no expectation.
    pub(super) fn live(self) -> anyhow::Result<Option<(NamedSink, LiveExpectations)>> {
        if self.is_empty() {
            return Ok(None);
        }
        let (judge, results) = self.create()?;
        let (sink, receiver) = ReportSink::new(judge, |judge| judge.report());
        Ok(Some((sink.named("the expectations"), LiveExpectations { receiver, results })))
    }
}

/// Reports the results of a run whose log judges them.
pub(super) struct LiveExpectations {
    receiver: oneshot::Receiver<ExpectReport>,
    results: ReportOutput,
}

impl LiveExpectations {
    /// Reports the results, if the log has been completed; on stderr unless `on_stdout`.
    pub(super) fn print(mut self, on_stdout: bool, output: &Output) -> anyhow::Result<Done> {
        match self.receiver.try_recv() {
            Ok(report) => self.results.print(&report, on_stdout, output),
            Err(_) => Ok(Done::No),
        }
    }
}
