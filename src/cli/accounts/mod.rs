//! Accounts on the command line.

mod auth_listen;
mod jvm_args;
mod login;
mod logout;
mod options;
mod own_account;

use std::path::PathBuf;

use anyhow::{Context as _, anyhow};
use clap::Args;
use mitmcraft::proxy::AccountStore;
use mitmcraft_engine::auth::Endpoints;

use auth_listen::AuthListen;
pub(super) use jvm_args::{JvmArgsArguments, jvm_args};
pub(super) use login::{LoginArguments, login};
pub(super) use logout::{LogoutArguments, logout};
pub(super) use options::{AccountOptions, Credentials, Settled};
pub(super) use own_account::{OwnAccount, OwnCredentials};

/// Addresses of the services for accounts.
#[derive(Debug, Args)]
pub(super) struct Services {
    /// Read addresses of Microsoft's and Minecraft's services from a TOML file, with the keys
    /// device_code, token, xbox, xsts, minecraft, profile, lookup, and scope
    #[arg(long, value_name = "FILE", help_heading = "Accounts")]
    auth_endpoints: Option<PathBuf>,

    /// Scope that your application requests from Microsoft; for an application of Xbox Live,
    /// `service::user.auth.xboxlive.com::MBI_SSL` [default: XboxLive.signin offline_access]
    #[arg(long, value_name = "SCOPE", help_heading = "Accounts")]
    auth_scope: Option<String>,
}

impl Services {
    fn endpoints(&self) -> anyhow::Result<Endpoints> {
        let scope = self.auth_scope.as_deref();
        let Some(path) = &self.auth_endpoints else {
            return Ok(scope.map_or_else(Endpoints::default, Endpoints::of_scope));
        };
        let name = || format!("cannot use `{}`, see `--auth-endpoints`", path.display());
        let text = std::fs::read_to_string(path).with_context(name)?;
        Endpoints::parse(&text, scope).with_context(name)
    }
}

/// Returns the account file in the user's state folder.
fn store() -> anyhow::Result<AccountStore> {
    Ok(AccountStore::new(&state_folder()?))
}

/// Returns the folder of what the program keeps for the user.
pub(super) fn state_folder() -> anyhow::Result<PathBuf> {
    let folder = std::env::var_os("MITMCRAFT_STATE_DIR").filter(|folder| !folder.is_empty());
    Ok(match folder {
        Some(folder) => PathBuf::from(folder),
        None => {
            let folders = directories::BaseDirs::new()
                .ok_or_else(|| anyhow!("no home folder found: set MITMCRAFT_STATE_DIR"))?;
            folders.state_dir().unwrap_or_else(|| folders.data_local_dir()).join("mitmcraft")
        }
    })
}
