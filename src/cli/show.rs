use std::io::{IsTerminal as _, stdout};
use std::path::PathBuf;

use clap::Args;
use mitmcraft::capture::Sink as _;

use super::args::{Condition, Memory, Protocols, Verbose};
use super::exit::Done;
use super::input::Input;
use super::output::Output;
use super::screen::Screen;
use super::stdio::is_stdio;

/// Print captures the way `proxy` prints packets live
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  mitmcraft show session.jsonl
  mitmcraft show -v session.pcapng
  mitmcraft show -Y '*chat*' session.jsonl.zst
  ssh host cat session.jsonl.gz | mitmcraft show -

A damaged or truncated capture is shown up to the damage; the exit code is then 2.")]
pub(crate) struct Arguments {
    /// Captures in any format; `-` is stdin
    #[arg(required = true, value_name = "CAPTURE")]
    captures: Vec<PathBuf>,

    #[command(flatten)]
    condition: Condition,

    #[command(flatten)]
    verbose: Verbose,

    #[command(flatten)]
    protocols: Protocols,

    #[command(flatten)]
    memory: Memory,
}

pub(crate) fn run(arguments: Arguments, output: &Output) -> anyhow::Result<Done> {
    let catalog = arguments.protocols.catalog()?;
    let condition = arguments.condition.compile(&catalog, output)?;
    let mut screen = Screen::new(arguments.verbose.verbosity(), false, output).only(condition);
    // On a terminal, the lines themselves show progress.
    let silent = !stdout().is_terminal();
    for path in &arguments.captures {
        let mut input = Input::open(path, silent, &catalog, &arguments.memory, output)?;
        let live = is_stdio(path);
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
