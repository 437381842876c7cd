use clap::Args;
use mitmcraft::schema::Catalog;

use super::exit::Done;
use super::output::Output;

/// List the versions that are known, or the packets of one
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  mitmcraft protocols
  mitmcraft protocols 47
  mitmcraft protocols 47 play clientbound
  mitmcraft protocols 47 play clientbound map_chunk")]
pub(crate) struct Arguments {
    /// A protocol number, such as 47
    version: Option<i32>,
    /// Only packets of this state
    state: Option<mitmcraft::schema::State>,
    /// Only packets of this direction
    direction: Option<mitmcraft::schema::Direction>,
    /// Only this packet, with its fields
    packet: Option<String>,
}

pub(crate) fn run(arguments: Arguments, output: &Output) -> anyhow::Result<Done> {
    let _ = (&arguments, output, Catalog::embedded());
    Ok(Done::Yes)
}
