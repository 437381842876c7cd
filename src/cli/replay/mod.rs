mod client;
mod filters;
mod live_filters;
mod play;
mod progress;
pub(super) mod regress;
mod server;

use clap::{Args, Subcommand};

use super::exit::Done;
use super::output::Output;
use super::run::block_on;

/// Play a capture to clients, to a server, or through rules
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  mitmcraft replay server session.jsonl -l 127.0.0.1:25566
  mitmcraft replay client session.jsonl mc.example.org
  mitmcraft replay filters session.jsonl -f rules.toml")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    Server(server::Arguments),
    Client(client::Arguments),
    Filters(filters::Arguments),
}

pub(crate) fn run(arguments: Arguments, output: &Output) -> anyhow::Result<Done> {
    match arguments.verb {
        Verb::Server(arguments) => block_on(server::run(arguments, output)),
        Verb::Client(arguments) => block_on(client::run(arguments, output)),
        Verb::Filters(arguments) => filters::run(arguments, output),
    }
}
