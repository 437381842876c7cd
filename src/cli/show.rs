use clap::Args;
use super::exit::Done;
use super::output::Output;

/// X
#[derive(Debug, Args)]
pub(crate) struct Arguments {}

pub(crate) fn run(_arguments: Arguments, _output: &Output) -> anyhow::Result<Done> {
    Ok(Done::Yes)
}
