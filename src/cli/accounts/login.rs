use anyhow::anyhow;
use clap::Args;
use mitmcraft::proxy::{Http, walk};
use mitmcraft_engine::auth::Chain;

use super::{Services, store};
use crate::cli::exit::Done;
use crate::cli::notice::auth_error;
use crate::cli::output::Output;
use crate::cli::plural::count;
use crate::cli::run::block_on;

/// Log in with a Microsoft account, for servers in online mode
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  mitmcraft login --client-id 01234567-89ab-cdef-0123-456789abcdef
  MITMCRAFT_CLIENT_ID=01234567-.. mitmcraft login
  mitmcraft login --account Steve

Prints a code to enter in a browser on any machine. Tokens are stored in `accounts.json` in the \
state folder (`mitmcraft`, or MITMCRAFT_STATE_DIR), which only you can read; `logout` removes \
them. By default, `proxy --auth account` uses the account that logged in last.

Microsoft identifies applications by a client id, and Minecraft's services accept only ids that \
Mojang has approved. mitmcraft has none: register an application (personal Microsoft accounts, \
public client flows allowed), and request permission at https://aka.ms/mce-reviewappid.")]
pub(crate) struct LoginArguments {
    /// Client id of the application, as registered with Microsoft
    #[arg(long, value_name = "ID")]
    client_id: Option<String>,

    /// Accept only the account of this player
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
            "no client id: pass that of your application with `--client-id` or MITMCRAFT_CLIENT_ID, \
             see `mitmcraft login --help`"
        )
    })?;
    let http = Http::new()?;
    let chain = Chain::login(endpoints, client_id);
    let show = |code: &mitmcraft_engine::auth::DeviceCode| {
        output.note(&format!(
            "open {} and enter {} (within {})",
            code.url,
            code.code,
            count(code.lives.as_secs().div_ceil(60), "minute")
        ));
    };
    let account = block_on(async { walk(&http, chain, show).await.map_err(auth_error) })?;
    let name = account.profile.name.clone();
    if let Some(wanted) = arguments.account.as_deref().filter(|it| !it.eq_ignore_ascii_case(&name))
    {
        return Err(anyhow!(
            "the account is `{name}`, not `{wanted}`, and was not stored: sign out in the browser first"
        ));
    }
    store.update(|accounts| accounts.put(account))?;
    output.note(&format!("logged in as `{name}`, stored in `{}`", store.path().display()));
    Ok(Done::Yes)
}
