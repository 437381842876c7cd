use anyhow::bail;
use clap::Args;
use mitmcraft::auth::{GameServices, SessionService};
use mitmcraft::proxy::endpoint_key;

use super::{AuthListen, state_folder};
use crate::cli::exit::Done;
use crate::cli::output::Output;

/// Print the JVM arguments with which a game lends its account to `proxy --auth client`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  mitmcraft jvm-args
  mitmcraft jvm-args --auth-listen 127.0.0.1:9000

Put the line into the JVM arguments of a launcher profile of its own, and start the game with this
profile while `mitmcraft proxy --auth client` is running: otherwise that game reaches no service.
The line holds a random path that only you should know, and stays valid. For 1.16 and later.")]
pub(crate) struct JvmArgsArguments {
    #[command(flatten)]
    listen: AuthListen,
}

pub(crate) fn jvm_args(arguments: &JvmArgsArguments, output: &Output) -> anyhow::Result<Done> {
    let address = arguments.listen.address()?;
    if address.port() == 0 {
        bail!("`--auth-listen {address}` has no fixed port: choose one, also for `proxy`");
    }
    let key = endpoint_key(&state_folder()?)?;
    let services = GameServices::new(address.to_string(), key, SessionService::MOJANG)?;
    output.line(&services.jvm_arguments())?;
    Ok(Done::Yes)
}
