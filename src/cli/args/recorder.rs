use std::path::Path;

use anyhow::Context as _;
use clap::Args;
use mitmcraft::proxy::{IncidentNotice, IncidentOptions, IncidentRecorder, NamedSink};
use mitmcraft_engine::capture::{Keep, NamedFiles};
use mitmcraft_engine::explain::{Incident, Tripwire};
use mitmcraft_engine::lang::Expr;
use mitmcraft_engine::lang::amount::Period;
use mitmcraft_protocol::schema::Catalog;

use super::{RedactionSeed, compile};
use crate::cli::notice::incident_notice;
use crate::cli::output::Output;

/// `--recorder`, which explains what happened to a session.
#[derive(Debug, Args)]
pub(crate) struct Recorder {
    /// Keep the last minutes of each session in memory, and write them with an explanation to
    /// `incident-{time}-{player}.zip` when a player is kicked or disconnects, a connection breaks, or a
    /// packet does not decode or certainly breaks a rule of the game
    #[arg(long, value_name = "TIME", value_parser = Period::positive)]
    recorder: Option<Period>,

    /// Also write an incident file when a packet matches
    #[arg(long, value_name = "EXPR")]
    recorder_when: Option<String>,

    /// Keep only the newest of the incident files of this run and earlier ones: a number (`10`), a total
    /// size (`20G`) or an age (`14d`)
    #[arg(long, value_name = "N|SIZE|TIME", default_value = "20")]
    recorder_keep: Keep,

    /// Leave private data in incident files, which are redacted otherwise
    #[arg(long)]
    recorder_unredacted: bool,
}

/// A recorder whose options were checked.
pub(crate) struct PlannedRecorder {
    age: Period,
    condition: Option<Expr>,
    files: NamedFiles,
    visits: NamedFiles,
    is_redacted: bool,
}

impl Recorder {
    /// Returns whether there is a recorder.
    pub(crate) fn is_on(&self) -> bool {
        self.recorder.is_some()
    }

    /// Checks the options, and changes nothing.
    pub(crate) fn plan(
        &self,
        catalog: &Catalog,
        output: &Output,
    ) -> anyhow::Result<Option<PlannedRecorder>> {
        let Some(age) = self.recorder else { return Ok(None) };
        let condition = compile(self.recorder_when.as_deref(), "--recorder-when", catalog, output)?;
        let name = Path::new(Incident::NAME);
        let files = NamedFiles::new(name, self.recorder_keep)?;
        let visits = NamedFiles::of_visits(name, self.recorder_keep)?;
        let is_redacted = !self.recorder_unredacted;
        Ok(Some(PlannedRecorder { age, condition, files, visits, is_redacted }))
    }
}

impl PlannedRecorder {
    /// Starts the recorder, which keeps entries in `bytes` bytes.
    pub(crate) fn start(
        self,
        bytes: usize,
        seed: &RedactionSeed,
        output: Output,
    ) -> anyhow::Result<(NamedSink, IncidentRecorder)> {
        let Self { age, condition, files, visits, is_redacted } = self;
        let options = IncidentOptions {
            age: age.0,
            bytes: bytes as u64,
            files,
            visits,
            tripwire: Tripwire { condition },
            seed: is_redacted.then(|| seed.or_random()),
        };
        let report = move |notice: &IncidentNotice<'_>| match notice {
            IncidentNotice::Written { .. } => output.note(&incident_notice(notice)),
            notice => output.warning(&incident_notice(notice)),
        };
        let (sink, recorder) =
            IncidentRecorder::start(options, report).context("cannot start the recorder")?;
        Ok((("the recorder".to_owned(), sink), recorder))
    }
}
