use anyhow::{anyhow, bail};
use clap::Args;
use mitmcraft_engine::auth::Accounts;

use super::store;
use crate::cli::exit::Done;
use crate::cli::output::Output;

/// Remove an account's tokens from this machine
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  mitmcraft logout
  mitmcraft logout --account Steve
  mitmcraft logout --all

To revoke the application's access: https://account.live.com/consent/Manage")]
pub(crate) struct LogoutArguments {
    /// Player to log out, if there are several accounts
    #[arg(long, value_name = "NAME")]
    account: Option<String>,

    /// Log out of all accounts
    #[arg(long, conflicts_with = "account")]
    all: bool,
}

pub(crate) fn logout(arguments: &LogoutArguments, output: &Output) -> anyhow::Result<Done> {
    let store = store()?;
    let accounts = store.load()?;
    let names: Vec<String> = accounts.names().into_iter().map(str::to_owned).collect();
    let leaving = match (&arguments.account, names.as_slice()) {
        (Some(name), _) => vec![name.clone()],
        (None, []) => {
            output.note("no account is logged in");
            return Ok(Done::No);
        }
        (None, [_]) => names,
        (None, _) if arguments.all => names,
        (None, _) => bail!(
            "several accounts are logged in ({}): choose one with `--account`, or use `--all`",
            names.join(", ")
        ),
    };
    let gone = store.update(|accounts: &mut Accounts| {
        let gone = leaving.iter().filter_map(|name| accounts.remove(name));
        gone.map(|account| account.profile.name).collect::<Vec<_>>()
    })?;
    match gone.as_slice() {
        [] => Err(anyhow!("`{}` is not logged in", leaving.join(", "))),
        gone => {
            output.note(&format!("logged out: {}", gone.join(", ")));
            Ok(Done::Yes)
        }
    }
}
