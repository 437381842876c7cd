use std::fs;
use std::io::{self, BufWriter, IsTerminal as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use clap::Args;
use mitmcraft_engine::capture::{
    Compression, CreateOptions, Entry, McprSink, ParquetSink, Sink, WhereSink, check_file,
    claim_file,
};
use mitmcraft_engine::text::write_info;

use super::args::{
    Condition, Memory, Only, Overwrite, PcapViews, PlannedCaptures, Protocols, Redaction,
    StdoutFormat,
};
use super::exit::Done;
use super::input::Input;
use super::notice::{claim_error, write_error};
use super::output::Output;
use super::packet_table::PacketTable;
use super::stdio::is_stdio;

/// Convert a capture to another format, or extract a part of it
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  mitmcraft convert session.jsonl.zst session.pcapng
  mitmcraft convert -Y '*chat* or kick_disconnect' session.pcapng chat.jsonl
  mitmcraft convert --pcap-view plain,json session.jsonl session.pcapng
  mitmcraft convert --session 2 session.jsonl session.mcpr
  mitmcraft convert session.jsonl session.parquet
  mitmcraft convert --table 'chat: time, session.player, message' session.jsonl chat.parquet
  mitmcraft convert --redact session.jsonl to-share.jsonl
  ssh host cat session.jsonl.gz | mitmcraft convert - - --format pcapng | wireshark -k -i -

A damaged or truncated capture is converted up to the damage; the exit code is then 2.")]
pub(crate) struct Arguments {
    /// A capture in any format; `-` is stdin
    #[arg(value_name = "IN")]
    from: PathBuf,

    /// The capture to write. The ending selects the format: .jsonl, .pcapng or .pcap, and .gz or
    /// .zst after it to compress; .parquet for DuckDB, Spark and the like; .mcpr for ReplayMod; `-`
    /// is stdout
    #[arg(value_name = "OUT")]
    to: PathBuf,

    #[command(flatten)]
    condition: Condition,

    #[command(flatten)]
    stdout: StdoutFormat,

    #[command(flatten)]
    overwrite: Overwrite,

    #[command(flatten)]
    views: PcapViews,

    /// Keep only packets, or only events
    #[arg(long, value_enum, value_name = "KIND")]
    only: Option<Only>,

    /// Keep only this session
    #[arg(long, value_name = "N")]
    session: Option<u64>,

    /// Leave the packets' bytes out of JSONL and Parquet, and write only the decoded fields
    #[arg(long)]
    no_body: bool,

    /// Add the meanings of values to JSONL and Parquet, as `meaning`:
    /// `{"type":"creeper","yaw":"90°"}`
    #[arg(long)]
    annotate: bool,

    /// Write a table with one row per packet of this name, and columns with the types of its
    /// fields: `chat: time, session.player, message`. OUT ends in .parquet
    #[arg(long, value_name = "PACKET: COLUMN, ..", conflicts_with_all = ["only", "no_body", "annotate"])]
    table: Option<String>,

    #[command(flatten)]
    redaction: Redaction,

    #[command(flatten)]
    protocols: Protocols,

    #[command(flatten)]
    memory: Memory,
}

pub(crate) fn run(arguments: &Arguments, output: &Output) -> anyhow::Result<Done> {
    let Arguments { from, to, stdout, views, .. } = arguments;
    let catalog = arguments.protocols.catalog()?;
    let condition = arguments.condition.compile(&catalog, output)?;
    if same_file(from, to) {
        bail!("`{}` is the capture that is read: choose another name", to.display());
    }
    if views.pcap_view.wire {
        bail!(
            "`--pcap-view {}`: only `proxy` sees what crosses the wire, a capture does not have it",
            views.pcap_view
        );
    }
    views.check(std::slice::from_ref(to), stdout.format)?;
    let silent = !is_stdio(to) || !io::stdout().is_terminal();
    let mut input = Input::open(from, silent, &catalog, &arguments.memory, output)?.read_ahead()?;
    let mut options = CreateOptions::default();
    options.bodies = !arguments.no_body;
    options.meanings = arguments.annotate;
    options.views = views.pcap_view;
    options.describe = write_info;
    options.overwrite = arguments.overwrite.overwrite;
    let whole = WholeFile::of(to);
    let table = match &arguments.table {
        Some(_) if !matches!(whole, Some(WholeFile::Parquet)) => {
            bail!("`--table` needs a file to write that ends in `.parquet`")
        }
        Some(text) => Some(PacketTable::parse(text, &catalog)?),
        None => None,
    };
    let mut sinks = if let Some(whole) = whole {
        check_file(to, arguments.overwrite.overwrite).map_err(|error| claim_error(error, to))?;
        vec![(to.display().to_string(), whole.create(to, arguments, table)?)]
    } else {
        PlannedCaptures::new(std::slice::from_ref(to), stdout.format, options, None)?.create()?
    };
    let Some((_, sink)) = sinks.pop() else { return Ok(Done::Yes) };
    let only = arguments.only;
    let mut sink = WhereSink::new(arguments.redaction.seed().apply(sink), condition)
        .with_kinds(Only::packets(only), Only::events(only));
    // Between two programs a capture is live, and its reader must not wait for a full buffer.
    let live = is_stdio(from) && is_stdio(to) && stdout.format.compression == Compression::None;
    let mut found = false;
    let selected = |entry: &Entry| {
        let selected = arguments.session.is_none_or(|session| session == entry.context().session);
        found |= selected;
        selected
    };
    let written = input.by_ref().filter(selected).try_for_each(|entry| {
        sink.write(&entry)?;
        if live { sink.batch_done() } else { Ok(()) }
    });
    let written = written.and_then(|()| sink.finish());
    let ended = input.end();
    if let Some(session) = arguments.session.filter(|_| !found) {
        output.warning(&format!("there is no session {session}: nothing was written"));
    }
    let written = match whole {
        Some(_) => written.and_then(|()| fs::rename(unfinished(to), to)).inspect_err(|_| {
            // The error of writing is the one to report.
            let _ = fs::remove_file(unfinished(to));
        }),
        None => written,
    };
    written.map_err(write_error).with_context(|| format!("cannot write `{}`", to.display()))?;
    ended.map(|()| Done::Yes)
}

/// A format whose files are valid, or known to be fit, at their end only: one is written beside the file
/// that it replaces, and renamed when it is complete.
#[derive(Debug, Clone, Copy)]
enum WholeFile {
    /// A replay for ReplayMod.
    Replay,
    /// A capture in Parquet.
    Parquet,
}

impl WholeFile {
    /// Returns the format that the ending of a file's name stands for.
    fn of(path: &Path) -> Option<Self> {
        let ending = path.extension()?.to_str()?.to_ascii_lowercase();
        match &*ending {
            "mcpr" => Some(Self::Replay),
            "parquet" => Some(Self::Parquet),
            _ => None,
        }
    }

    /// Creates the file that is renamed to `path`.
    fn create(
        self,
        path: &Path,
        arguments: &Arguments,
        table: Option<PacketTable>,
    ) -> anyhow::Result<Box<dyn Sink>> {
        let create = || -> io::Result<Box<dyn Sink>> {
            // A part that a killed conversion has left is nobody's.
            let file = claim_file(&unfinished(path), true)?;
            if let Some(table) = table {
                return table.create(file);
            }
            Ok(match self {
                Self::Replay => Box::new(McprSink::new(BufWriter::new(file), arguments.session)?),
                Self::Parquet => {
                    let sink = ParquetSink::new(file)?;
                    let sink = if arguments.no_body { sink.without_bodies() } else { sink };
                    Box::new(if arguments.annotate { sink.with_meanings() } else { sink })
                }
            })
        };
        create().with_context(|| format!("cannot write `{}`", unfinished(path).display()))
    }
}

/// Returns the name that a file has until it is complete.
fn unfinished(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".part");
    name.into()
}

/// Returns whether both paths lead to the same file.
fn same_file(one: &Path, other: &Path) -> bool {
    #[cfg(unix)]
    let identity = |path: &Path| {
        use std::os::unix::fs::MetadataExt as _;
        fs::metadata(path).ok().map(|it| (it.dev(), it.ino()))
    };
    #[cfg(not(unix))]
    let identity = |path: &Path| fs::canonicalize(path).ok();
    !is_stdio(one)
        && !is_stdio(other)
        && identity(one).is_some_and(|it| Some(it) == identity(other))
}
