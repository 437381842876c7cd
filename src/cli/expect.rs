use std::path::PathBuf;

use anyhow::bail;
use clap::Args;
use mitmcraft::proxy::FilterFiles;
use mitmcraft_engine::capture::Sink as _;

use super::args::{ExpectOptions, Memory, Overwrite, Protocols, capture_files};
use super::exit::Done;
use super::expectations::PlannedExpectations;
use super::input::Input;
use super::output::Output;
use super::rules::load;

/// Check captures against the expectations in filter files, and show failures with the packets
/// around them
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  mitmcraft expect session.jsonl -f tests.toml
  mitmcraft expect a.jsonl b.pcapng -f tests.toml --junit results.xml --annotations github
  mitmcraft expect session.jsonl -f tests.toml --json | jq .failed

The file contains `[[expect]]` tables with `when`, `after`, `within`, `count`, `never`, `order`, \
`same`, `bytes`, `rate` and `per`. `proxy -f` and `replay client -f` apply the same files to \
running sessions.

Exit code: 0 if every expectation was met, 1 if one was not or if none could be judged. A damaged \
or truncated capture is judged up to the damage; the exit code is then 2.")]
pub(crate) struct Arguments {
    /// Captures in any format, each judged as a separate run; `-` is stdin. A folder means all
    /// captures in it and its subfolders; a quoted pattern (`'logs/*.jsonl.zst'`) means the files
    /// that match it
    #[arg(required = true, value_name = "CAPTURE")]
    captures: Vec<PathBuf>,

    /// The filter file with expectations (repeatable)
    #[arg(short, long, value_name = "FILE", required = true)]
    filters: Vec<PathBuf>,

    #[command(flatten)]
    expect: ExpectOptions,

    /// Print JSON
    #[arg(long, conflicts_with = "annotations")]
    json: bool,

    #[command(flatten)]
    overwrite: Overwrite,

    #[command(flatten)]
    protocols: Protocols,

    #[command(flatten)]
    memory: Memory,
}

pub(crate) fn run(arguments: Arguments, output: &Output) -> anyhow::Result<Done> {
    let catalog = arguments.protocols.catalog()?;
    let files = FilterFiles::new(arguments.filters, catalog.clone());
    let loaded = load(&files, output)?;
    let planned = PlannedExpectations::new(&files, &loaded, arguments.expect, arguments.overwrite)?;
    if planned.is_empty() {
        bail!("no filter file has an `[[expect]]`: there is nothing to judge");
    }
    // What cannot be opened is said before a file is created.
    let open = |path: &PathBuf| Input::open(path, true, &catalog, &arguments.memory, output);
    let files = capture_files(&arguments.captures)?;
    let inputs = files.iter().map(open).collect::<anyhow::Result<Vec<_>>>()?;
    let (mut judge, results) = planned.create()?;
    let mut damage = None;
    for (path, mut input) in files.iter().zip(inputs) {
        judge.begin(&path.display().to_string());
        for entry in input.by_ref() {
            judge.write(&entry)?;
        }
        damage = damage.or_else(|| input.end().err());
    }
    judge.finish()?;
    let report = judge.report();
    let done = if arguments.json {
        output.json(&report.json())?;
        results.write(&report)?
    } else {
        results.print(&report, true, output)?
    };
    match damage {
        Some(error) => Err(error),
        None => Ok(done),
    }
}
