use std::path::PathBuf;

use clap::Args;
use mitmcraft_engine::capture::Sink as _;
use mitmcraft_engine::lint::Linter;
use mitmcraft_engine::text::Verbosity;

use super::args::{Memory, Overwrite, Protocols, capture_files};
use super::exit::Done;
use super::input::Input;
use super::output::Output;

/// Check the packets of servers by the game's rules: find packets that do not decode or that the
/// game would refuse
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  mitmcraft lint --capture session.jsonl
  mitmcraft lint --capture a.jsonl b.pcapng --junit results.xml
  mitmcraft lint --capture session.jsonl --json | jq '.findings[].rule'

Prints, for each kind of error, the first packet, the place in its bytes and what the player \
sees, and then a matrix of versions and rules. docs/lint.md lists the rules with their sources.

Exit code: 0 without findings, 1 with findings. A damaged or truncated capture is judged up to \
the damage; the exit code is then 2.")]
pub(crate) struct Arguments {
    /// Captures in any format; `-` is stdin. A folder means all captures in it and its subfolders;
    /// a quoted pattern (`'logs/*.jsonl.zst'`) means the files that match it
    #[arg(long, required = true, num_args = 1.., value_name = "FILE")]
    capture: Vec<PathBuf>,

    /// Also write the matrix as XML, in the format of JUnit
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,

    /// Print JSON
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    overwrite: Overwrite,

    #[command(flatten)]
    protocols: Protocols,

    #[command(flatten)]
    memory: Memory,
}

pub(crate) fn run(arguments: &Arguments, output: &Output) -> anyhow::Result<Done> {
    let catalog = arguments.protocols.catalog()?;
    if let Some(path) = &arguments.junit {
        arguments.overwrite.check(path)?;
    }
    let mut linter = Linter::default();
    let mut damage = None;
    for path in &capture_files(&arguments.capture)? {
        let mut input = Input::open(path, true, &catalog, &arguments.memory, output)?;
        linter.begin(&path.display().to_string());
        for entry in input.by_ref() {
            linter.write(&entry)?;
        }
        damage = damage.or_else(|| input.end().err());
    }
    linter.finish()?;
    let report = linter.report();
    if let Some(path) = &arguments.junit {
        let options = Output::line_options(Verbosity::Main, false);
        arguments.overwrite.write(path, report.junit(&options))?;
    }
    if arguments.json {
        output.json(&report.json())?;
    } else {
        let mut text = String::new();
        let options = Output::line_options(Verbosity::Main, output.colors_stdout());
        report.write_text(&mut text, &options);
        output.line(text.trim_end())?;
    }
    match damage {
        Some(error) => Err(error),
        None if report.findings().is_empty() => Ok(Done::Yes),
        None => Ok(Done::No),
    }
}
