use std::path::Path;

use anyhow::{Context as _, bail};
use clap::Args;
use mitmcraft::proxy::{LogOptions, OnError};
use mitmcraft_engine::capture::{CreateOptions, Keep, Lake, Rotation};
use mitmcraft_engine::text::write_info;
use mitmcraft_protocol::schema::Catalog;

use super::{
    Choice, MaxInflate, Only, OutputFiles, PcapViews, PlannedCaptures, Redaction, compile, one_of,
};
use crate::cli::output::Output;

/// Options of captures that are written while a run goes on.
#[derive(Debug, Args)]
pub(crate) struct CaptureOptions {
    #[command(flatten)]
    pub(crate) files: OutputFiles,

    #[command(flatten)]
    views: PcapViews,

    /// Start a new file when one reaches a size, `100M`, or an age, `1d`, `12h`, `10min`:
    /// session-00001.jsonl, session-00002.jsonl
    #[arg(long, value_name = "SIZE|TIME")]
    rotate: Option<Rotation>,

    /// Keep only the newest of the files that `--rotate`, `--lake` or a name with `{..}` creates, in this run
    /// and earlier ones: a number (`10`), a total size (`20G`) or an age (`14d`). Sessions that never log in are
    /// counted separately, with the same limit
    #[arg(long, value_name = "N|SIZE|TIME")]
    keep: Option<Keep>,

    /// What to do if a capture cannot be created or written, as when the disk is full
    #[arg(long, value_name = "ACTION", default_value = "drop", value_parser = one_of(ON_LOG_ERROR))]
    on_log_error: OnError,

    #[command(flatten)]
    max_inflate: MaxInflate,

    /// Leave the packets' bytes out of JSONL, and write only the decoded fields
    #[arg(long)]
    no_body: bool,

    /// Add the meanings of values to JSONL, under the key `meaning`:
    /// `{"type":"creeper","yaw":"90°"}`
    #[arg(long)]
    annotate: bool,

    #[command(flatten)]
    redaction: Redaction,

    /// Record only packets, or only events
    #[arg(long, value_enum, value_name = "KIND")]
    only: Option<Only>,

    /// Record only packets that match (`-Y` does not affect captures)
    #[arg(long, value_name = "EXPR")]
    write_where: Option<String>,
}

/// The actions taken if a capture cannot be written.
const ON_LOG_ERROR: &[Choice<OnError>] = &[
    (
        "stop",
        "End the run with exit code 2; packets in transit at that moment are not recorded",
        OnError::Stop,
    ),
    (
        "drop",
        "Continue, report the number of missing entries, and end with exit code 1",
        OnError::Drop,
    ),
];

impl CaptureOptions {
    /// Returns how captures are written.
    pub(crate) fn options(&self) -> CreateOptions {
        let mut options = CreateOptions::default();
        options.bodies = !self.no_body;
        options.meanings = self.annotate;
        options.views = self.views.pcap_view;
        options.rotate = self.rotate;
        options.keep = self.keep;
        options.describe = write_info;
        options
    }

    /// Sets the options of the log that are about captures.
    pub(crate) fn set_log(&self, log: &mut LogOptions) {
        log.on_error = self.on_log_error;
        log.inflation = self.max_inflate.bytes();
    }

    /// Checks the options and that every capture can be created, and creates none. A lake is a folder and
    /// the name of this machine in it.
    pub(crate) fn plan(
        &self,
        lake: Option<(&Path, &str)>,
        catalog: &Catalog,
        output: &Output,
    ) -> anyhow::Result<PlannedCaptures> {
        let condition = compile(self.write_where.as_deref(), "--write-where", catalog, output)?;
        self.views.check(&self.files.write, self.files.stdout.format)?;
        let has_pattern = self.files.write.iter().any(|it| it.to_string_lossy().contains('{'));
        if self.keep.is_some() && self.rotate.is_none() && !has_pattern && lake.is_none() {
            bail!("`--keep` needs `--rotate`, `--lake`, or `{{session}}` in the name of `-w`");
        }
        if self.rotate.is_some() && self.files.on_stdout() {
            bail!("`--rotate` cannot be used with `-w -`: stdout is one file");
        }
        if self.redaction.redact && self.views.pcap_view.wire {
            bail!(
                "`--redact` cannot be used with `--pcap-view {}`: the bytes on the wire cannot be redacted",
                self.views.pcap_view
            );
        }
        let mut planned = self.files.plan(self.options(), condition)?.only(self.only);
        planned.redaction = self.redaction.seed();
        if let Some((folder, host)) = lake {
            let lake = Lake::new(folder, host, &self.options());
            lake.check().with_context(|| format!("cannot write to `{}`", folder.display()))?;
            planned.lake = Some((folder.display().to_string(), lake));
        }
        Ok(planned)
    }
}
