use std::io::{IsTerminal as _, stdout};
use std::path::PathBuf;

use anyhow::bail;
use clap::Args;
use mitmcraft_engine::analysis::VersionCheck;
use mitmcraft_engine::capture::{Sink, WhereSink};

use super::args::{
    Condition, Lines, MatchContext, Memory, Only, Protocols, Verbose, capture_files,
};
use super::columns::ColumnOptions;
use super::exit::Done;
use super::input::Input;
use super::output::Output;
use super::screen::Screen;
use super::stdio::is_stdio;

/// Print captures as `proxy` prints packets live
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  mitmcraft show session.jsonl
  mitmcraft show -v session.pcapng
  mitmcraft show -Y '*chat*' session.jsonl.zst
  mitmcraft show -Y explosion -C 3 --number --time relative session.pcapng
  mitmcraft show --follow -Y pkt.error session.jsonl
  mitmcraft show -Y pkt.error --fields pkt.time,pkt.name,pkt.error --csv session.jsonl
  ssh host cat session.jsonl.gz | mitmcraft show -

A damaged or truncated capture is shown up to the damage; the exit code is then 2.")]
pub(crate) struct Arguments {
    /// Captures in any format; `-` is stdin. A folder means all captures in it and its subfolders;
    /// a quoted pattern (`'logs/*.jsonl.zst'`) means the files that match it
    #[arg(required = true, value_name = "CAPTURE")]
    captures: Vec<PathBuf>,

    #[command(flatten)]
    condition: Condition,

    /// Follow a capture that is still being written, until Ctrl-C. The file must not be compressed
    #[arg(long)]
    follow: bool,

    #[command(flatten)]
    columns: ColumnOptions,

    /// Show only packets, or only events
    #[arg(long, value_enum, value_name = "KIND")]
    only: Option<Only>,

    #[command(flatten)]
    context: MatchContext,

    #[command(flatten)]
    verbose: Verbose,

    #[command(flatten)]
    protocols: Protocols,

    #[command(flatten)]
    lines: Lines,

    #[command(flatten)]
    memory: Memory,
}

pub(crate) fn run(arguments: Arguments, output: &Output) -> anyhow::Result<Done> {
    let catalog = arguments.protocols.catalog()?;
    let condition = arguments.condition.compile(&catalog, output)?;
    if arguments.only == Some(Only::Events) && condition.is_some() {
        bail!("`--only events` leaves out the packets that `-Y` selects: use one of them");
    }
    let (before, after) = arguments.context.lines();
    let (wanted, mut matched) = (condition.clone(), false);
    let (mut versions, mut mismatches) = (VersionCheck::default(), Vec::new());
    let mut sink: Box<dyn Sink> = match arguments.columns.compile(&catalog)? {
        Some(mut columns) => {
            columns.begin()?;
            Box::new(WhereSink::new(columns, condition))
        }
        None => {
            let screen = Screen::new(arguments.verbose.verbosity(), arguments.lines, false, output)
                .only(condition)
                .kinds(arguments.only)
                .with_surroundings(before, after);
            Box::new(screen)
        }
    };
    if arguments.follow {
        let [path] = &*arguments.captures else {
            bail!("`--follow` reads one capture, and {} were given", arguments.captures.len());
        };
        let mut input = Input::follow(path, &catalog, &arguments.memory, output)?;
        input.by_ref().try_for_each(|entry| {
            sink.write(&entry)?;
            sink.flush()
        })?;
        input.end()?;
    }
    // On a terminal, the lines themselves show progress.
    let silent = !stdout().is_terminal();
    // What is wrong with a capture is said after the others.
    let mut damage = None;
    let files = if arguments.follow { Vec::new() } else { capture_files(&arguments.captures)? };
    for path in &files {
        let mut input = Input::open(path, silent, &catalog, &arguments.memory, output)?;
        let live = is_stdio(path);
        input.by_ref().try_for_each(|entry| {
            let record = entry.record();
            matched = matched
                || record.is_some_and(|it| wanted.as_ref().is_none_or(|wanted| wanted.matches(it)));
            mismatches.extend(versions.take(&entry));
            sink.write(&entry)?;
            if live { sink.flush() } else { Ok(()) }
        })?;
        sink.flush()?;
        damage = damage.or_else(|| input.end().err());
    }
    sink.finish()?;
    mismatches.iter().for_each(|mismatch| output.warning(&mismatch.to_string()));
    if wanted.is_some() && !matched {
        output.warning("no packet matches");
    }
    damage.map_or(Ok(Done::Yes), Err)
}
