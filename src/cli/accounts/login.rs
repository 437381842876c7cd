use anyhow::anyhow;
use clap::Args;
use mitmcraft::auth::Chain;
use mitmcraft::proxy::{Http, walk};

use super::{Services, store};
use crate::cli::exit::Done;
use crate::cli::output::Output;

/// Log in with a Microsoft account, for servers in online mode
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  mitmcraft login --client-id 01234567-89ab-cdef-0123-456789abcdef
  MITMCRAFT_CLIENT_ID=01234567-.. mitmcraft login
  mitmcraft login --account Steve

A code is shown, to be typed in a browser on any machine. The tokens are kept in the state folder
(`mitmcraft/accounts.json` there, or in MITMCRAFT_STATE_DIR), which only you can read; `logout`
removes them. The account logged in last is the one that `proxy --auth account` takes.

Microsoft lets an application in by its client id, and Minecraft's services only those that Mojang
has approved. There is none for mitmcraft: register an application of your own (personal Microsoft
accounts, public client flows allowed), and ask for permission at https://aka.ms/mce-reviewappid.")]
pub(crate) struct LoginArguments {
    /// The application that asks, as Microsoft has registered it
    #[arg(long, value_name = "ID")]
    client_id: Option<String>,

    /// The player that is meant: another account is refused
    #[arg(long, value_name = "NAME")]
    account: Option<String>,

    #[command(flatten)]
    services: Services,
}

pub(crate) fn login(arguments: &LoginArguments, output: &Output) -> anyhow::Result<Done> {
    let endpoints = arguments.services.endpoints()?;
    let store = store()?;
    let client_id = arguments.client_id.clone().filter(|id| !id.is_empty()).ok_or_else(|| {
        anyhow!(
            "no client id: give your application's with `--client-id` or MITMCRAFT_CLIENT_ID, see \
             `mitmcraft login --help`"
        )
    })?;
    let http = Http::new()?;
    let chain = Chain::login(endpoints, client_id);
    let show = |code: &mitmcraft::auth::DeviceCode| {
        output.note(&format!(
            "open {} and type {} (within {} minutes)",
            code.url,
            code.code,
            code.lives.as_secs().div_ceil(60)
        ));
    };
    let runtime = tokio::runtime::Runtime::new()?;
    let account = runtime.block_on(walk(&http, chain, show))?;
    let name = account.profile.name.clone();
    if let Some(wanted) = arguments.account.as_deref().filter(|it| !it.eq_ignore_ascii_case(&name))
    {
        return Err(anyhow!(
            "that account is `{name}`, not `{wanted}`: nothing is kept; sign out in the browser first"
        ));
    }
    store.update(|accounts| accounts.put(account))?;
    output.note(&format!("logged in as `{name}`, kept in `{}`", store.path().display()));
    Ok(Done::Yes)
}
