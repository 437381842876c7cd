use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::bail;
use clap::Args;
use mitmcraft_engine::analysis::{Lag, Sort, Stats, VersionCheck, VersionMismatch};
use mitmcraft_engine::capture::{Entry, Sink as _};
use mitmcraft_engine::lang::Expr;

use super::args::{Choice, Condition, Memory, Overwrite, Protocols, one_of};
use super::exit::{Done, last_error};
use super::input::{InOrder, Input, Reading, capture_files};
use super::output::Output;

/// Summarize captures: packets, bytes, plugin channels, round trips
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  mitmcraft stats session.jsonl
  mitmcraft stats --sort packets --top 10 session.pcapng
  mitmcraft stats --where 'clientbound and play' --plot timeline.svg session.jsonl
  mitmcraft stats --json session.jsonl | jq '.packets[0]'
  mitmcraft stats --lag session.jsonl

Packets are counted as the peers sent them. The numbers of packets that the proxy dropped, \
rewrote or made follow the name.

A damaged or truncated capture is counted up to the damage; the exit code is then 2.")]
pub(crate) struct Arguments {
    /// Captures in any format; `-` is stdin. A folder means all captures in it and its subfolders;
    /// a quoted pattern (`'logs/*.jsonl.zst'`) means the files that match it
    #[arg(required = true, value_name = "CAPTURE")]
    captures: Vec<PathBuf>,

    #[command(flatten)]
    condition: Condition,

    /// Count only this session (repeatable)
    #[arg(long, value_name = "N")]
    session: Vec<u64>,

    /// Column to sort by
    #[arg(long, value_name = "COLUMN", default_value = "bytes", value_parser = one_of(COLUMNS))]
    sort: Sort,

    /// Show only the first N packets and channels, and the sum of the others
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    top: Option<u32>,

    /// Print JSON
    #[arg(long)]
    json: bool,

    /// Print when sessions lagged, and whether that came from the server, the network or the client
    #[arg(long, conflicts_with_all = ["condition", "sort", "top", "plot"])]
    lag: bool,

    /// Also write a chart of bytes and packets per second, by packet and direction, as SVG
    #[arg(long, value_name = "FILE.svg", value_parser = svg_file)]
    plot: Option<PathBuf>,

    #[command(flatten)]
    overwrite: Overwrite,

    #[command(flatten)]
    protocols: Protocols,

    #[command(flatten)]
    memory: Memory,
}

/// The columns of the table.
const COLUMNS: &[Choice<Sort>] = &[
    ("bytes", "Bytes, inflated", Sort::Bytes),
    ("wire", "Bytes on the wire", Sort::Wire),
    ("packets", "Packets", Sort::Packets),
    ("mean", "Mean bytes", Sort::Mean),
    ("largest", "Bytes of the largest", Sort::Largest),
    ("name", "Names", Sort::Name),
];

pub(crate) fn run(arguments: &Arguments, output: &Output) -> anyhow::Result<Done> {
    let catalog = arguments.protocols.catalog()?;
    let condition = arguments.condition.compile(&catalog, output)?;
    let files = capture_files(&arguments.captures)?;
    let reading = Reading::new(&files, true, &catalog, &arguments.memory, output);
    if arguments.lag {
        return lag(arguments, files, reading, output);
    }
    let selection = Selection { condition, sessions: arguments.session.clone() };
    let has_condition = selection.condition.is_some();
    let counted = InOrder::new(files.len(), move |place, outlet| {
        outlet.put(selection.count(&files[place], &reading), 0);
    })?;
    let (mut stats, mut damage) = (Stats::default(), Vec::new());
    let (mut sessions, mut matched) = (BTreeSet::new(), false);
    let mut mismatches: Vec<VersionMismatch> = Vec::new();
    for counted in counted {
        stats.merge(counted.stats);
        sessions.extend(counted.sessions);
        matched |= counted.matched;
        for found in counted.mismatches {
            if mismatches.iter().all(|known| known.client != found.client) {
                mismatches.push(found);
            }
        }
        damage.extend(counted.damage);
    }
    has_all(&arguments.session, &sessions)?;
    if has_condition && !matched {
        output.warning("no packet matches");
    }
    mismatches.iter().for_each(|mismatch| output.warning(&mismatch.to_string()));
    let report = stats.report(arguments.sort);
    let report = match arguments.top {
        Some(top) => report.top(top as usize),
        None => report,
    };
    if let Some(path) = &arguments.plot {
        arguments.overwrite.write(path, report.svg())?;
    }
    if arguments.json {
        output.json(&report.json())?;
    } else {
        let mut table = String::new();
        report.write_table(&mut table);
        output.lines(table.trim_end())?;
    }
    last_error(damage, output).map_or(Ok(Done::Yes), Err)
}

/// Prints when sessions lagged, and where that came from.
fn lag(
    arguments: &Arguments,
    files: Vec<PathBuf>,
    reading: Reading,
    output: &Output,
) -> anyhow::Result<Done> {
    let wanted = arguments.session.clone();
    let followed = InOrder::new(files.len(), move |place, outlet| {
        let (mut lag, mut sessions) = (Lag::default(), BTreeSet::new());
        let damage = follow(&files[place], &reading, &wanted, &mut lag, &mut sessions).err();
        outlet.put((lag, sessions, damage), 0);
    })?;
    let (mut lag, mut sessions, mut damage) = (Lag::default(), BTreeSet::new(), Vec::new());
    for (of_file, found, damaged) in followed {
        lag.merge(of_file);
        sessions.extend(found);
        damage.extend(damaged);
    }
    has_all(&arguments.session, &sessions)?;
    let report = lag.into_report();
    if arguments.json {
        output.json(&report.json())?;
    } else {
        let mut page = String::new();
        report.write_text(&mut page);
        output.lines(page.trim_end())?;
    }
    last_error(damage, output).map_or(Ok(Done::Yes), Err)
}

/// Follows the wanted sessions of a capture, or all of them, and adds those that it has.
fn follow(
    path: &Path,
    reading: &Reading,
    wanted: &[u64],
    lag: &mut Lag,
    sessions: &mut BTreeSet<u64>,
) -> anyhow::Result<()> {
    let mut input = Input::open(&[path.to_owned()], reading)?;
    lag.begin(&path.display().to_string());
    for entry in input.by_ref() {
        let session = entry.context().session;
        if wanted.is_empty() || wanted.contains(&session) {
            if !wanted.is_empty() {
                sessions.insert(session);
            }
            lag.write(&entry)?;
        }
    }
    lag.finish()?;
    input.end()
}

/// Checks that all wanted sessions were found.
fn has_all(wanted: &[u64], found: &BTreeSet<u64>) -> anyhow::Result<()> {
    match wanted.iter().find(|it| !found.contains(it)) {
        Some(session) => bail!("there is no session {session}"),
        None => Ok(()),
    }
}

/// Which entries are counted.
struct Selection {
    condition: Option<Expr>,
    /// All sessions if empty.
    sessions: Vec<u64>,
}

/// The counts of a capture.
#[derive(Default)]
struct Counted {
    stats: Stats,
    /// Those of the wanted sessions that it has.
    sessions: BTreeSet<u64>,
    /// `true` if a packet was counted.
    matched: bool,
    mismatches: Vec<VersionMismatch>,
    damage: Option<anyhow::Error>,
}

impl Selection {
    fn count(&self, path: &Path, reading: &Reading) -> Counted {
        let mut counted = Counted::default();
        counted.damage = self.count_into(path, reading, &mut counted).err();
        counted
    }

    fn count_into(
        &self,
        path: &Path,
        reading: &Reading,
        counted: &mut Counted,
    ) -> anyhow::Result<()> {
        let mut input = Input::open(&[path.to_owned()], reading)?;
        let mut versions = VersionCheck::default();
        counted.stats.begin();
        for entry in input.by_ref() {
            if !self.sessions.is_empty() {
                let session = entry.context().session;
                if !self.sessions.contains(&session) {
                    continue;
                }
                counted.sessions.insert(session);
            }
            if let (Entry::Packet(record), Some(condition)) = (&entry, &self.condition)
                && !condition.matches(record)
            {
                continue;
            }
            counted.matched |= entry.record().is_some();
            counted.mismatches.extend(versions.take(&entry));
            counted.stats.write(&entry)?;
        }
        input.end()
    }
}

/// Parses the name of an SVG file.
fn svg_file(text: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(text);
    if path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("svg")) {
        Ok(path)
    } else {
        Err("expected a file name that ends in `.svg`".to_owned())
    }
}
