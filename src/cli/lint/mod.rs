mod live;

use std::path::PathBuf;

use clap::Args;
use mitmcraft_engine::lint::{LintReport, LintSide, Linter};

use super::args::{Choice, Memory, OutputFiles, Protocols, one_of};
use super::exit::{Done, last_error};
use super::input::{InOrder, Input, Reading, capture_files};
use super::output::Output;
use super::report::ReportOutput;
use super::run::block_on;

/// Find packets that the game would refuse
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  mitmcraft lint localhost:25565
  mitmcraft lint localhost --versions 1.20.4..latest --junit results.xml
  mitmcraft lint localhost --versions 1.8.9,1.21.4 -w visits.jsonl
  mitmcraft lint --capture session.jsonl
  mitmcraft lint --capture session.jsonl --side both
  mitmcraft lint --capture a.jsonl b.pcapng --json | jq '.findings[].rule'

With a server, joins it as several versions of the game, one after the other. The player walks, \
chats, and asks to be teleported and killed (let it use `/tp` and `/kill`), respawns and leaves. \
Only join servers that are your own.

Prints, for each kind of error, the first packet, the place in its bytes and what follows, \
and then a matrix of versions and rules. `mitmcraft help lint-guide` lists the rules with \
their sources.

Exit code: 0 without findings that count, 1 with such findings, or if the server has ended a visit, has refused \
a version of `--versions`, or has let no version in. A damaged or truncated capture is judged up to \
the damage; the exit code is then 2.")]
pub(crate) struct Arguments {
    #[command(flatten)]
    live: live::LiveArguments,

    /// Captures in any format; `-` is stdin. A folder means all captures in it and its subfolders;
    /// a quoted pattern (`'logs/*.jsonl.zst'`) means the files that match it
    #[arg(
        long,
        required_unless_present = "upstream",
        conflicts_with = "upstream",
        num_args = 1..,
        value_name = "FILE"
    )]
    capture: Vec<PathBuf>,

    /// Whose packets to judge in captures
    #[arg(
        long,
        default_value = "server",
        value_parser = one_of(SIDES),
        conflicts_with = "upstream"
    )]
    side: LintSide,

    /// Count all findings as failures, not only certain ones after which the session cannot go on
    #[arg(long)]
    strict: bool,

    /// Also write the matrix as XML, in the format of JUnit
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
    if let Some(path) = &arguments.junit {
        arguments.files.overwrite.check(path)?;
    }
    if let Some(upstream) = &arguments.live.upstream {
        let (report, recorded) = block_on(live::visit(arguments, upstream, output))?;
        return Ok(recorded.and(print(arguments, report, output)?));
    }
    let catalog = arguments.protocols.catalog()?;
    let (files, side) = (capture_files(&arguments.capture)?, arguments.side);
    let reading = Reading::new(&files, true, &catalog, &arguments.memory, output);
    let judged = InOrder::new(files.len(), move |place, outlet| {
        let mut linter = Linter::new(side);
        let damage = Input::judge(&files[place], &reading, &mut linter, Linter::begin).err();
        outlet.put((linter, damage), 0);
    })?;
    let (mut linter, mut damage) = (Linter::default(), Vec::new());
    for (judged, damaged) in judged {
        linter.merge(judged);
        damage.extend(damaged);
    }
    let done = print(arguments, linter.report(), output)?;
    last_error(damage, output).map_or(Ok(done), Err)
}

/// Prints the report, and writes it to the file of `--junit`.
fn print(arguments: &Arguments, report: LintReport, output: &Output) -> anyhow::Result<Done> {
    let Arguments { junit, json, files, strict, .. } = arguments;
    let report = report.strict(*strict);
    ReportOutput::create(junit.as_deref(), *json, files.overwrite)?.print(&report, true, output)
}

const SIDES: &[Choice<LintSide>] = &[
    ("server", "What the server sends, as a client of its version takes it", LintSide::Server),
    ("client", "What the client sends, as a server of its version takes it", LintSide::Client),
    ("both", "What both send", LintSide::Both),
];
