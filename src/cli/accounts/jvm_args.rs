use anyhow::bail;
use clap::Args;
use mitmcraft::proxy::endpoint_key;
use mitmcraft_engine::auth::{GameServices, SessionService};

use super::{AuthListen, state_folder};
use crate::cli::exit::Done;
use crate::cli::output::Output;

/// Print the JVM arguments of a game for `proxy --auth client`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  mitmcraft jvm-args
  mitmcraft jvm-args --auth-listen 127.0.0.1:9000
  mitmcraft jvm-args --authlib-injector authlib-injector.jar

Put the line into the JVM arguments of a separate launcher profile, and start the game with this \
profile while `mitmcraft proxy --auth client` is running. Without the proxy, that game cannot \
reach its services. The line contains a random path, which you should keep secret; the line stays \
valid.

Versions before 1.16 use fixed addresses, which authlib-injector \
(https://github.com/yushijinhun/authlib-injector) replaces in the game.")]
pub(crate) struct JvmArgsArguments {
    #[command(flatten)]
    listen: AuthListen,

    /// Print the argument for this authlib-injector jar instead, for versions before 1.16
    #[arg(long, value_name = "JAR", help_heading = "Accounts")]
    authlib_injector: Option<String>,
}

pub(crate) fn jvm_args(arguments: &JvmArgsArguments, output: &Output) -> anyhow::Result<Done> {
    let address = arguments.listen.address()?;
    if address.port() == 0 {
        bail!("`--auth-listen {address}` has no fixed port: choose one, also for `proxy`");
    }
    let key = endpoint_key(&state_folder()?)?;
    let services = GameServices::new(address.to_string(), key, SessionService::MOJANG)?;
    output.line(&match &arguments.authlib_injector {
        Some(jar) => services.injector_argument(jar),
        None => services.jvm_arguments(),
    })?;
    Ok(Done::Yes)
}
