use std::io::{IsTerminal as _, stdout};
use std::path::PathBuf;

use clap::Args;
use mitmcraft::capture::Sink as _;
use mitmcraft::schema::Catalog;
use mitmcraft::text::Verbosity;

use super::exit::Done;
use super::input::Input;
use super::output::Output;
use super::recording::is_stdout;
use super::screen::Screen;

/// Print captures the way `proxy` prints live
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  mitmcraft show session.jsonl
  mitmcraft show -v session.pcapng
  mitmcraft show -Y chat session.jsonl.zst
  ssh host cat session.jsonl.gz | mitmcraft show -

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
    // On a terminal the lines that go by show how far it is.
    let silent = !stdout().is_terminal();
    for path in &arguments.captures {
        let mut input = Input::open(path, silent, output)?;
        let live = is_stdout(path);
        input.by_ref().try_for_each(|entry| {
            screen.write(&entry)?;
            if live { screen.flush() } else { Ok(()) }
        })?;
        screen.flush()?;
        input.end()?;
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
