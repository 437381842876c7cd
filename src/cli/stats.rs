use std::collections::BTreeSet;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use mitmcraft_engine::analysis::{Sort, Stats, VersionCheck};
use mitmcraft_engine::capture::{Entry, Sink as _};

use super::args::{Condition, Memory, Overwrite, Protocols, capture_files};
use super::exit::Done;
use super::input::Input;
use super::output::Output;

/// Summarize captures: packets, bytes, plugin channels, round trips, and packets that do not decode
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  mitmcraft stats session.jsonl
  mitmcraft stats --sort packets --top 10 session.pcapng
  mitmcraft stats --where 'clientbound and play' --plot timeline.svg session.jsonl
  mitmcraft stats --json session.jsonl | jq '.packets[0]'

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
    #[arg(long, value_enum, value_name = "COLUMN", default_value_t = Column::Bytes)]
    sort: Column,

    /// Show only the first N packets and channels, and the sum of the others
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    top: Option<u32>,

    /// Print JSON
    #[arg(long)]
    json: bool,

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

/// A column of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Column {
    /// Bytes, inflated
    Bytes,
    /// Bytes on the wire
    Wire,
    /// Packets
    Packets,
    /// Mean bytes
    Mean,
    /// Bytes of the largest
    Largest,
    /// Names
    Name,
}

pub(crate) fn run(arguments: &Arguments, output: &Output) -> anyhow::Result<Done> {
    let catalog = arguments.protocols.catalog()?;
    let condition = arguments.condition.compile(&catalog, output)?;
    let mut stats = Stats::default();
    let mut damage = None;
    let (mut sessions, mut matched) = (BTreeSet::new(), false);
    let (mut versions, mut mismatches) = (VersionCheck::default(), Vec::new());
    for path in &capture_files(&arguments.captures)? {
        stats.begin();
        let mut input = Input::open(path, true, &catalog, &arguments.memory, output)?;
        for entry in input.by_ref() {
            let session = entry.context().session;
            sessions.insert(session);
            if !arguments.session.is_empty() && !arguments.session.contains(&session) {
                continue;
            }
            if let (Entry::Packet(record), Some(condition)) = (&entry, &condition)
                && !condition.matches(record)
            {
                continue;
            }
            matched |= entry.record().is_some();
            mismatches.extend(versions.take(&entry));
            stats.write(&entry)?;
        }
        damage = damage.or_else(|| input.end().err());
    }
    for session in arguments.session.iter().filter(|it| !sessions.contains(it)) {
        output.warning(&format!("there is no session {session}"));
    }
    if condition.is_some() && !matched {
        output.warning("no packet matches");
    }
    mismatches.iter().for_each(|mismatch| output.warning(&mismatch.to_string()));
    let report = stats.report(arguments.sort.into());
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
        output.line(table.trim_end())?;
    }
    match damage {
        Some(error) => Err(error),
        None => Ok(Done::Yes),
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

impl From<Column> for Sort {
    fn from(column: Column) -> Self {
        match column {
            Column::Bytes => Self::Bytes,
            Column::Wire => Self::Wire,
            Column::Packets => Self::Packets,
            Column::Mean => Self::Mean,
            Column::Largest => Self::Largest,
            Column::Name => Self::Name,
        }
    }
}
