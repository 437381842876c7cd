use std::io::{IsTerminal as _, stdout};
use std::path::{Path, PathBuf};

use anyhow::bail;
use clap::Args;
use mitmcraft_engine::analysis::{JoinCheck, StuckJoin, VersionCheck, VersionMismatch};
use mitmcraft_engine::capture::{Entry, Record, Sink, WhereSink};
use mitmcraft_engine::lang::Expr;
use mitmcraft_engine::text::Verbosity;
use mitmcraft_protocol::schema::Role;

use super::args::{Condition, Lines, MatchContext, Memory, Only, Protocols, Verbose};
use super::columns::ColumnOptions;
use super::exit::{Done, last_error};
use super::input::{InOrder, Input, Outlet, Reading, capture_files, entry_size};
use super::output::Output;
use super::plural::count;
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
    let selection = Selection {
        // What surrounds a match is shown with it, and fields are named by the entities that came before.
        whole: before + after > 0 || arguments.verbose.verbosity() != Verbosity::Main,
        condition: condition.clone(),
    };
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
        let reading = Reading::new(&[], false, &catalog, &arguments.memory, output);
        let mut input = Input::follow(path, &reading)?;
        let mut joins = JoinCheck::default();
        input.by_ref().try_for_each(|entry| {
            sink.write(&entry)?;
            sink.flush()?;
            joins.take(&entry).iter().for_each(|stuck| output.warning(&stuck.to_string()));
            Ok::<_, std::io::Error>(())
        })?;
        input.end()?;
        sink.finish()?;
        return Ok(Done::Yes);
    }
    let files = capture_files(&arguments.captures)?;
    // On a terminal, the lines themselves show progress.
    let silent = !stdout().is_terminal();
    let reading = Reading::new(&files, silent, &catalog, &arguments.memory, output).inline();
    let has_condition = selection.condition.is_some();
    let found = InOrder::new(files.len(), move |place, outlet| {
        selection.read(&files[place], &reading, outlet);
    })?;
    let (mut matched, mut damage) = (false, Vec::new());
    let mut mismatches: Vec<VersionMismatch> = Vec::new();
    let (mut stuck, mut more_stuck): (Vec<StuckJoin>, u64) = (Vec::new(), 0);
    for found in found {
        match found {
            Found::Entry { entry, matches } => {
                matched |= matches;
                sink.write(&entry)?;
            }
            Found::Pause => sink.flush()?,
            Found::Mismatch(found) => {
                if mismatches.iter().all(|known| known.client != found.client) {
                    mismatches.push(found);
                }
            }
            Found::Stuck(_) if stuck.len() >= MAX_STUCK => more_stuck += 1,
            Found::Stuck(found) => stuck.push(found),
            Found::Damage(error) => damage.push(error),
        }
    }
    sink.finish()?;
    mismatches.iter().for_each(|mismatch| output.warning(&mismatch.to_string()));
    stuck.iter().for_each(|stuck| output.warning(&stuck.to_string()));
    if more_stuck > 0 {
        let more = count(more_stuck, "more session");
        output.warning(&format!("{more} stuck: `mitmcraft explain` lists all"));
    }
    if has_condition && !matched {
        output.warning("no packet matches");
    }
    last_error(damage, output).map_or(Ok(Done::Yes), Err)
}

/// Which entries of captures are passed on to be shown.
struct Selection {
    /// `true` for all.
    whole: bool,
    condition: Option<Expr>,
}

/// An item of a capture, as a thread has read it.
enum Found {
    Entry {
        entry: Entry,
        matches: bool,
    },
    /// Nothing more may come for a while, or from this capture.
    Pause,
    /// A server that speaks another version than its client.
    Mismatch(VersionMismatch),
    /// A client that does not get into the world.
    Stuck(StuckJoin),
    /// The error of the capture, which is reported after all others.
    Damage(anyhow::Error),
}

impl Selection {
    /// Finds the entries of a capture.
    fn read(&self, path: &Path, reading: &Reading, outlet: &mut Outlet<Found>) {
        let mut input = match Input::open(&[path.to_owned()], reading) {
            Ok(input) => input,
            Err(error) => {
                outlet.put(Found::Damage(error), 0);
                return;
            }
        };
        let (live, mut versions) = (is_stdio(path), VersionCheck::default());
        let mut joins = JoinCheck::default();
        for entry in input.by_ref() {
            if let Some(mismatch) = versions.take(&entry) {
                outlet.put(Found::Mismatch(mismatch), 0);
            }
            if let Some(stuck) = joins.take(&entry) {
                outlet.put(Found::Stuck(stuck), 0);
            }
            let matches = |record: &Record| {
                self.condition.as_ref().is_none_or(|condition| condition.matches(record))
            };
            let matches = entry.record().is_some_and(matches);
            // A rewritten packet is shown with what it became, and those of a bundle have brackets.
            let matters = |record: &Record| {
                record.of.is_some() || record.packet.role() == Some(Role::BundleDelimiter)
            };
            if !matches && !self.whole && !entry.record().is_none_or(matters) {
                continue;
            }
            let bytes = entry_size(&entry);
            let wanted = outlet.put(Found::Entry { entry, matches }, bytes);
            if !wanted || (live && !(outlet.put(Found::Pause, 0) && outlet.flush())) {
                return;
            }
        }
        outlet.put(Found::Pause, 0);
        if let Err(error) = input.end() {
            outlet.put(Found::Damage(error), 0);
        }
    }
}

/// Stuck sessions that are named.
const MAX_STUCK: usize = 10;
