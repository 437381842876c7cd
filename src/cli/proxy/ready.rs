use std::time::Duration;

use mitmcraft::proxy::{Compactor, IncidentCounts, IncidentRecorder, PipeHandle};
use mitmcraft_engine::filter::RuleSet;
use mitmcraft_engine::pipe::BrokerCounts;
use mitmcraft_protocol::codec::MemoryBudget;
use tokio::sync::watch;

use super::browsing::Browsing;
use crate::cli::args::{Memory, Web};
use crate::cli::exit::Done;
use crate::cli::expectations::LiveExpectations;
use crate::cli::output::Output;
use crate::cli::plural::count;
use crate::cli::rules::print_counts;
use crate::cli::run::Run;
use crate::cli::summary::SummaryReceiver;

/// A run of the proxy that has bound its addresses, logged in and created its captures.
pub(super) struct Ready {
    pub(super) run: Run,
    /// The options of the page.
    pub(super) web: Web,
    /// The URL of the page, if there is one.
    pub(super) page: Option<String>,
    pub(super) browsing: Option<Browsing>,
    pub(super) summary: SummaryReceiver,
    /// What compacts the parts of the lake, if there is one.
    pub(super) compactor: Option<Compactor>,
    /// What writes incident files, if something does.
    pub(super) recorder: Option<IncidentRecorder>,
    /// The program that decides on packets, if there is one.
    pub(super) pipe: Option<PipeHandle>,
    /// The expectations of the filter files, if there are any.
    pub(super) expectations: Option<LiveExpectations>,
    /// The active rules, with their counts.
    pub(super) sets: watch::Receiver<Vec<RuleSet>>,
    /// The ceiling of `memory`.
    pub(super) ceiling: Memory,
    pub(super) memory: MemoryBudget,
}

impl Ready {
    /// Announces the run, opens the page in the browser, serves until the run is stopped, and reports
    /// what it did.
    pub(super) async fn serve(self, output: &Output) -> anyhow::Result<Done> {
        let running = self.run.begin(output)?;
        let _opened = self.page.and_then(|url| self.web.open(&url, output));
        let served = running.serve(output).await;
        let piped = match self.pipe {
            Some(pipe) => Some(pipe.finish().await),
            None => None,
        };
        if let Some(browsing) = self.browsing {
            browsing.save_notes(self.ceiling.bytes(), output);
        }
        if self.compactor.is_some_and(|compactor| !compactor.finish(PATIENCE)) {
            output.warning("the last parts are not in the lake yet: the next run adds them");
        }
        if let Some(recorder) = self.recorder {
            let IncidentCounts { written, failed, left_out } = recorder.finish(PATIENCE);
            if failed + left_out > 0 {
                output.warning(&format!(
                    "{} written, {failed} failed, {left_out} left out because two were being \
                     written or there was no memory",
                    count(written, "incident file")
                ));
            }
        }
        self.summary.print(usize::MAX, output);
        print_counts(&self.sets.borrow(), output);
        if let Some(BrokerCounts { passed, changed, dropped, sent, undecided }) = piped {
            output.note(&format!(
                "`--pipe`: {passed} passed, {changed} changed, {dropped} dropped, {sent} sent, \
                 {undecided} undecided"
            ));
        }
        self.ceiling.report(&self.memory, output);
        let expected = self.expectations.map(|it| it.print(false, output)).transpose()?;
        served.map(|done| done.and(expected.unwrap_or(Done::Yes)))
    }
}

/// Maximum time for compacting the last parts of a lake, and for writing the last incident files, at the end of a run. A second Ctrl-C ends the wait.
const PATIENCE: Duration = Duration::from_secs(15);
