mod filters;

use clap::{Args, Subcommand};

use super::exit::Done;
use super::output::Output;

/// Run a capture again: against a server, against clients, or through a filter file
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    against: Against,
}

#[derive(Debug, Subcommand)]
enum Against {
    Filters(filters::Arguments),
}

pub(crate) fn run(arguments: Arguments, output: &Output) -> anyhow::Result<Done> {
    match arguments.against {
        Against::Filters(arguments) => filters::run(arguments, output),
    }
}
