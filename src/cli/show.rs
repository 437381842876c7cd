use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::Args;
use mitmcraft::capture::{Entries, Sink as _, Verbosity, open_capture, read_capture};
use mitmcraft::schema::Catalog;

use super::exit::Done;
use super::output::Output;
use super::screen::Screen;

/// Print captures the way `proxy` prints live
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  mitmcraft show session.jsonl
  mitmcraft show -v session.pcapng
  zcat session.jsonl.gz | mitmcraft show -

A capture that is damaged or cut off is shown up to the damage; the exit code is then 2.")]
pub(crate) struct Arguments {
    /// Captures in any format; `-` is stdin
    #[arg(required = true, value_name = "CAPTURE")]
    captures: Vec<PathBuf>,

    /// Show only packets that match
    #[arg(short = 'Y', long = "where", value_name = "EXPR")]
    condition: Option<String>,

    /// Show all fields; twice: with hex
    #[arg(short, long, action = clap::ArgAction::Count)]
    verbose: u8,
}

pub(crate) fn run(arguments: Arguments, output: &Output) -> anyhow::Result<Done> {
    let condition = arguments.condition.as_deref();
    let condition = super::proxy::parse(condition, "--where", Catalog::embedded(), output)?;
    let mut screen = Screen::new(verbosity(arguments.verbose), false, output).only(condition);
    for path in &arguments.captures {
        let entries = open(path).with_context(|| format!("cannot show `{}`", path.display()))?;
        for entry in entries {
            match entry {
                Ok(entry) => screen.write(&entry)?,
                Err(error) => {
                    screen.flush()?;
                    return Err(error).with_context(|| format!("`{}`", path.display()));
                }
            }
        }
    }
    screen.finish()?;
    Ok(Done::Yes)
}

/// How much is shown for so many `-v`.
pub(crate) fn verbosity(verbose: u8) -> Verbosity {
    match verbose {
        0 => Verbosity::Main,
        1 => Verbosity::All,
        _ => Verbosity::Hex,
    }
}

/// The entries of a capture; `-` is stdin.
pub(crate) fn open(path: &Path) -> anyhow::Result<Entries> {
    let catalog = Catalog::embedded();
    match path.as_os_str() == "-" {
        true => Ok(read_capture(std::io::BufReader::new(std::io::stdin()), catalog)?),
        false => Ok(open_capture(path, catalog)?),
    }
}
