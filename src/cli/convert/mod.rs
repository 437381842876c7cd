mod conversion;
mod map;
mod output_format;
mod packet_table;
mod whole_file;
mod world;

use std::io::{self, IsTerminal as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use clap::Args;
use mitmcraft_engine::capture::{CreateOptions, FileType, Views};
use mitmcraft_engine::text::write_info;

use self::conversion::Conversion;
use self::map::{MapConversion, is_picture};
use self::output_format::OutputFormat;
use self::packet_table::PacketTable;
use self::whole_file::WholeFile;
use self::world::{Moment, Scope, WorldConversion};
use super::args::{Condition, Memory, Only, Overwrite, PcapViews, Protocols, Redaction};
use super::exit::Done;
use super::input::{Reading, find_captures};
use super::output::Output;
use super::stdio::is_stdio;

/// Convert captures to another format, or extract a part of them
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  mitmcraft convert session.jsonl.zst session.pcapng
  mitmcraft convert -Y '*chat* or kick_disconnect' session.pcapng chat.jsonl
  mitmcraft convert --pcap-view plain,json session.jsonl session.pcapng
  mitmcraft convert --session 2 session.jsonl session.mcpr
  mitmcraft convert session.jsonl session.parquet
  mitmcraft convert --table 'chat: time, session.player, message' session.jsonl chat.parquet
  mitmcraft convert --redact session.jsonl to-share.jsonl
  mitmcraft convert session.jsonl MyWorld/ --format world
  mitmcraft convert session.jsonl map.png
  mitmcraft convert logs/ lake/ --format parquet
  mitmcraft convert 'run-*.jsonl' run.jsonl
  ssh host cat session.jsonl.gz | mitmcraft convert - - --format pcapng | wireshark -k -i -

With `--format world`, OUT becomes a world of the game, made of the chunks in all captures; if OUT ends in \
`.png`, a map of it. \
Otherwise, if OUT is a folder, each capture is converted to a file in it, several at the same time. If not, \
several captures become one: a session that goes on in the next file is one session, and a \
session whose number is taken gets another.

A damaged or truncated capture is converted up to the damage; the exit code is then 2.")]
pub(crate) struct Arguments {
    /// Captures in any format; `-` is stdin. A folder means all captures in it and its subfolders;
    /// a quoted pattern (`'logs/*.jsonl.zst'`) means the files that match it
    #[arg(required = true, value_name = "IN")]
    from: Vec<PathBuf>,

    /// The capture to write. The ending selects the format: .jsonl, .pcapng or .pcap, and .gz or
    /// .zst after it to compress; .parquet for DuckDB, Spark and the like; .mcpr for ReplayMod; .png
    /// for a map of the world; `-` is stdout. In a folder, or below a name that ends in `/`, one file per capture is written
    #[arg(required = true, value_name = "OUT")]
    to: PathBuf,

    #[command(flatten)]
    condition: Condition,

    /// Format of a capture on stdout or without an ending: jsonl, pcapng or pcap, and .gz
    /// or .zst after it; also of the files in a folder, where it may be parquet or mcpr; or world, for a folder that
    /// the game opens; or map, for a picture, or one per dimension in a folder [default: on stdout jsonl, in a folder that of each capture]
    #[arg(long, value_name = "FORMAT")]
    format: Option<OutputFormat>,

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

    /// Write the world or the map as it was then: seconds since the session began (`12.5`), a packet (`@120`),
    /// or a time (`2026-11-21T02:20:01Z`) [default: as it was last seen]
    #[arg(long, value_name = "TIME|@SEQ")]
    at: Option<Moment>,

    /// Leave the packets' bytes out of JSONL and Parquet, and write only the decoded fields
    #[arg(long)]
    no_body: bool,

    /// Add the meanings of values to JSONL and Parquet, as `meaning`:
    /// `{"type":"creeper","yaw":"90°"}`
    #[arg(long)]
    annotate: bool,

    /// Write a table with one row per packet of this name, and columns with the types of its
    /// fields: `chat: time, session.player, message`. OUT ends in .parquet
    #[arg(long, value_name = "COLUMNS", conflicts_with_all = ["only", "no_body", "annotate"])]
    table: Option<String>,

    #[command(flatten)]
    redaction: Redaction,

    #[command(flatten)]
    protocols: Protocols,

    #[command(flatten)]
    memory: Memory,
}

pub(crate) fn run(arguments: Arguments, output: &Output) -> anyhow::Result<Done> {
    let Arguments { from, to, format, mut views, session, .. } = arguments;
    let catalog = arguments.protocols.catalog()?;
    let condition = arguments.condition.compile(&catalog, output)?;
    if views.pcap_view == Views::ALL {
        // All that a capture has.
        views.pcap_view.wire = false;
    }
    if views.pcap_view.wire {
        bail!(
            "`--pcap-view {}`: only `proxy` sees what crosses the wire, a capture does not have it",
            views.pcap_view
        );
    }
    let is_world = format.as_ref().is_some_and(OutputFormat::is_world);
    let is_map = format.as_ref().map_or_else(|| is_picture(&to), OutputFormat::is_map);
    if arguments.at.is_some() && !is_world && !is_map {
        bail!("`--at` is the moment of a world: it needs `--format world`, or a map");
    }
    let folder = to.is_dir() || is_world || to.to_string_lossy().ends_with(std::path::is_separator);
    let on_stdout = match &format {
        Some(format) if !folder && !is_map => format.on_stdout.context(
            "`--format parquet` and `mcpr` are for a folder; the name of a file ends in its format",
        )?,
        _ => FileType::JSONL,
    };
    let example = match &format {
        Some(format) if folder => format.name(Path::new("capture")),
        _ => to.clone(),
    };
    if !folder || format.is_some() {
        views.check(std::slice::from_ref(&example), on_stdout)?;
    }
    let table = match &arguments.table {
        Some(_) if WholeFile::of(&example) != Some(WholeFile::Parquet) => {
            bail!("`--table` needs a file to write that ends in `.parquet`, or `--format parquet`")
        }
        Some(text) => Some(PacketTable::parse(text, &catalog)?),
        None => None,
    };
    let mut options = CreateOptions::default();
    options.bodies = !arguments.no_body;
    options.meanings = arguments.annotate;
    options.views = views.pcap_view;
    options.describe = write_info;
    options.overwrite = arguments.overwrite.overwrite;
    let files = find_captures(&from)?;
    let paths: Vec<PathBuf> = files.iter().map(|it| it.path.clone()).collect();
    let silent = !is_stdio(&to) || !io::stdout().is_terminal();
    let mut reading = Reading::new(&paths, silent, &catalog, &arguments.memory, output);
    if session.is_none() && !is_world && !is_map {
        // The threads that decode leave out what is not wanted.
        reading = reading.only(condition.clone());
    }
    if is_world || is_map {
        let for_captures = [
            ("--redact", arguments.redaction.is_on()),
            ("--only", arguments.only.is_some()),
            ("--no-body", arguments.no_body),
            ("--annotate", arguments.annotate),
        ];
        if let Some((option, _)) = for_captures.iter().find(|(_, is_set)| *is_set) {
            bail!("`{option}` is for captures, not for a world or a map");
        }
        let (scope, overwrite) =
            (Scope { at: arguments.at, session, condition }, arguments.overwrite.overwrite);
        match is_map {
            true => {
                let memory = arguments.memory.bytes();
                let conversion = MapConversion { scope, overwrite, memory };
                conversion.run(&paths, &to, folder, &reading, output)?
            }
            false => WorldConversion { scope, overwrite }.run(&paths, &to, &reading, output)?,
        }
        return Ok(Done::Yes);
    }
    let conversion = Conversion {
        options,
        on_stdout,
        condition,
        only: arguments.only,
        session,
        table,
        redaction: arguments.redaction.seed(),
    };
    match folder {
        true => conversion.into_folder(files, &to, format.as_ref(), reading, output)?,
        false => conversion.into_file(&paths, &to, reading, output)?,
    }
    Ok(Done::Yes)
}
