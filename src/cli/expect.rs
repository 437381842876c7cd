use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use anyhow::bail;
use clap::Args;
use mitmcraft::proxy::FilterFiles;
use mitmcraft_engine::expect::Judge;

use super::args::{ExpectOptions, Memory, Overwrite, Protocols};
use super::exit::{Done, last_error};
use super::expectations::PlannedExpectations;
use super::input::{InOrder, Input, Reading, capture_files};
use super::output::Output;
use super::rules::load;

/// Check captures against the expectations in filter files
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
    let planned =
        PlannedExpectations::new(&files, &loaded, arguments.expect, arguments.overwrite, false)?;
    if planned.is_empty() {
        bail!("no filter file has an `[[expect]]`: there is nothing to judge");
    }
    let files = capture_files(&arguments.captures)?;
    // What cannot be opened is said before a file is created.
    let unread = Reading::new(&[], false, &catalog, &arguments.memory, output);
    for path in files.iter().filter(|path| path.is_file()) {
        Input::open(std::slice::from_ref(path), &unread)?;
    }
    let reading = Reading::new(&files, true, &catalog, &arguments.memory, output);
    let (mut judge, results) = planned.create()?;
    let fresh = Mutex::new(judge.fresh());
    let judged = InOrder::new(files.len(), move |place, outlet| {
        let mut judge = fresh.lock().unwrap_or_else(PoisonError::into_inner).fresh();
        let damage = Input::judge(&files[place], &reading, &mut judge, Judge::begin).err();
        outlet.put((judge, damage), 0);
    })?;
    let mut damage = Vec::new();
    for (judged, damaged) in judged {
        judge.merge(judged);
        damage.extend(damaged);
    }
    let report = judge.report();
    let done = results.print(&report, true, output)?;
    last_error(damage, output).map_or(Ok(done), Err)
}
