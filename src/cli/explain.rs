use std::path::PathBuf;

use clap::Args;
use mitmcraft_engine::explain::Explainer;

use super::args::{Memory, OutputFiles, Protocols};
use super::exit::{Done, last_error};
use super::input::{InOrder, Input, Reading, capture_files};
use super::output::Output;
use super::report::ReportOutput;

/// Say how sessions ended, and which packets are the likely cause
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  mitmcraft explain session.jsonl
  mitmcraft explain logs/ --junit results.xml
  mitmcraft explain --json session.jsonl | jq '.sessions[].evidence[0]'

Prints, for each session, the likely cause and how it ended, and below that the evidence: packets \
with the rule that each breaks, the most certain first. `mitmcraft help disconnected` is \
the page behind it.

Exit code: 0 if every session ended because the client left or the server stopped, or with its \
capture; 1 otherwise. A damaged or truncated capture is explained up to the damage; the exit code \
is then 2.")]
pub(crate) struct Arguments {
    /// Captures in any format; `-` is stdin. A folder means all captures in it and its subfolders;
    /// a quoted pattern (`'logs/*.jsonl.zst'`) means the files that match it
    #[arg(required = true, value_name = "CAPTURE")]
    captures: Vec<PathBuf>,

    /// Also write the sessions as XML, in the format of JUnit
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,

    /// Print JSON
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    files: OutputFiles,

    #[command(flatten)]
    protocols: Protocols,

    #[command(flatten)]
    memory: Memory,
}

pub(crate) fn run(arguments: &Arguments, output: &Output) -> anyhow::Result<Done> {
    let Arguments { captures, junit, json, files: written, protocols, memory } = arguments;
    if let Some(path) = junit {
        written.overwrite.check(path)?;
    }
    let catalog = protocols.catalog()?;
    let files = capture_files(captures)?;
    let reading = Reading::new(&files, true, &catalog, memory, output);
    let explained = InOrder::new(files.len(), move |place, outlet| {
        let mut explainer = Explainer::default();
        let damage = Input::judge(&files[place], &reading, &mut explainer, Explainer::begin).err();
        outlet.put((explainer, damage), 0);
    })?;
    let (mut explainer, mut damage) = (Explainer::default(), Vec::new());
    for (explained, damaged) in explained {
        explainer.merge(explained);
        damage.extend(damaged);
    }
    let printed = ReportOutput::create(junit.as_deref(), *json, written.overwrite)?;
    let done = printed.print(&explainer.into_report(), true, output)?;
    last_error(damage, output).map_or(Ok(done), Err)
}
