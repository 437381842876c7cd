use std::convert::Infallible;
use std::path::PathBuf;

use clap::Args;
use mitmcraft::proxy::{FilterFiles, Loaded, NamedSink, PipelineFactory, Watch};
use mitmcraft_engine::filter::RuleSet;
use tokio::sync::watch;

use super::play::PlayArguments;
use crate::cli::args::{ExpectOptions, RedactionSeed};
use crate::cli::exit::Done;
use crate::cli::expectations::{LiveExpectations, PlannedExpectations};
use crate::cli::output::Output;
use crate::cli::rules::{PlannedRings, load, print_counts, reloaded};

/// The filter files of a replay that is connected to a peer.
#[derive(Debug, Default, Args)]
pub(super) struct FilterArguments {
    /// Apply the rules in a filter file, or a script in Lua if its name ends in `.lua`, between the
    /// replay and its peer. It is reloaded when it changes; a filter file's expectations judge the
    /// sessions (repeatable, in order)
    #[arg(short, long, visible_alias = "script", value_name = "FILE")]
    filters: Vec<PathBuf>,

    #[command(flatten)]
    expectations: ExpectOptions,
}

impl FilterArguments {
    /// Loads and checks the files, and creates none.
    pub(super) fn check(
        self,
        play: &PlayArguments,
        output: &Output,
    ) -> anyhow::Result<PlannedFilters> {
        let files = FilterFiles::new(self.filters, play.protocols.catalog()?);
        let loaded = load(&files, output)?;
        let expectations = PlannedExpectations::new(
            &files,
            &loaded,
            self.expectations,
            play.captures.files.overwrite,
            play.captures.files.on_stdout(),
        )?;
        let rings = PlannedRings::check(&loaded.sets, &play.captures.options())?;
        Ok(PlannedFilters { files, loaded, expectations, rings })
    }
}

/// Filter files that are loaded; no file is created yet.
pub(super) struct PlannedFilters {
    files: FilterFiles,
    loaded: Loaded,
    expectations: PlannedExpectations,
    rings: PlannedRings,
}

impl PlannedFilters {
    /// Creates the files of captures and results, adds what writes them to `sinks`, and watches the filter
    /// files if they have rules or scripts.
    pub(super) fn start(
        self,
        sinks: &mut Vec<NamedSink>,
        redaction: &RedactionSeed,
        output: &Output,
    ) -> anyhow::Result<LiveFilters> {
        let Self { files, loaded, expectations, rings } = self;
        sinks.extend(rings.create(redaction)?);
        let (judging, expectations) = expectations.live()?.unzip();
        sinks.extend(judging);
        let stderr = *output;
        let acts = loaded.sets.iter().any(RuleSet::acts);
        let watch = acts.then(|| files.watch(loaded, move |it| reloaded(it, &stderr)));
        Ok(LiveFilters { watch: watch.transpose()?, expectations })
    }
}

/// The filters of a replay that runs.
pub(super) struct LiveFilters {
    /// `None` if there are neither rules nor scripts.
    watch: Option<Watch>,
    /// `None` if there are no expectations.
    expectations: Option<LiveExpectations>,
}

impl LiveFilters {
    /// Returns a receiver of the current filters; `None` if there are none.
    pub(super) fn pipelines(&self) -> Option<watch::Receiver<PipelineFactory>> {
        self.watch.as_ref().map(Watch::pipelines)
    }

    /// Waits until reloading has failed for good, by a fault of the program, and passes that on.
    pub(super) async fn failed(&mut self) -> Infallible {
        if let Some(watch) = &mut self.watch
            && let Ok(panic) = watch.failed().await.try_into_panic()
        {
            std::panic::resume_unwind(panic);
        }
        std::future::pending().await
    }

    /// Prints what the rules did, and the results of the expectations.
    pub(super) fn report(self, play: &PlayArguments, output: &Output) -> anyhow::Result<Done> {
        if let Some(watch) = self.watch {
            print_counts(&watch.sets(), output);
        }
        let printed =
            self.expectations.map(|it| it.print(!play.captures.files.on_stdout(), output));
        Ok(printed.transpose()?.unwrap_or(Done::Yes))
    }
}
