use super::exit::Done;
use super::output::Output;
use clap::Args;

/// X
#[derive(Debug, Args)]
pub(crate) struct Arguments {}

pub(crate) fn run(_arguments: Arguments, _output: &Output) -> anyhow::Result<Done> {
    Ok(Done::Yes)
}
