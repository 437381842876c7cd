mod client;
mod filters;
mod play;
mod progress;
mod server;

use clap::{Args, Subcommand};

use super::exit::Done;
use super::output::Output;

/// Run a capture again: against a server, against clients, or through a filter file
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  mitmcraft replay server session.jsonl -l 127.0.0.1:25566
  mitmcraft replay client session.jsonl mc.example.org
  mitmcraft replay filters session.jsonl -f rules.toml")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    against: Against,
}

#[derive(Debug, Subcommand)]
enum Against {
    Server(server::Arguments),
    Client(client::Arguments),
    Filters(filters::Arguments),
}

pub(crate) fn run(arguments: Arguments, output: &Output) -> anyhow::Result<Done> {
    match arguments.against {
        Against::Server(arguments) => server::run(arguments, output),
        Against::Client(arguments) => client::run(arguments, output),
        Against::Filters(arguments) => filters::run(arguments, output),
    }
}
