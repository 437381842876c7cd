//! Accounts on the command line.

mod login;
mod logout;
mod options;

use std::path::PathBuf;

use anyhow::{Context as _, anyhow};
use clap::Args;
use mitmcraft::auth::Endpoints;
use mitmcraft::proxy::AccountStore;

pub(super) use login::{LoginArguments, login};
pub(super) use logout::{LogoutArguments, logout};
pub(super) use options::AccountOptions;

/// Addresses of the services for accounts.
#[derive(Debug, Args)]
pub(super) struct Services {
    /// Replace addresses of Microsoft's and Minecraft's services by those in a TOML file:
    /// device_code, token, xbox, xsts, minecraft, profile, lookup
    #[arg(long, value_name = "FILE", help_heading = "Accounts")]
    auth_endpoints: Option<PathBuf>,
}

impl Services {
    fn endpoints(&self) -> anyhow::Result<Endpoints> {
        let Some(path) = &self.auth_endpoints else { return Ok(Endpoints::default()) };
        let name = || format!("cannot use `{}`, see `--auth-endpoints`", path.display());
        Endpoints::parse(&std::fs::read_to_string(path).with_context(name)?).with_context(name)
    }
}

/// Returns the account file in the user's state folder.
fn store() -> anyhow::Result<AccountStore> {
    let folder = std::env::var_os("MITMCRAFT_STATE_DIR").filter(|folder| !folder.is_empty());
    let folder = match folder {
        Some(folder) => PathBuf::from(folder),
        None => {
            let folders = directories::BaseDirs::new()
                .ok_or_else(|| anyhow!("no home folder found: set MITMCRAFT_STATE_DIR"))?;
            folders.state_dir().unwrap_or_else(|| folders.data_local_dir()).join("mitmcraft")
        }
    };
    Ok(AccountStore::new(&folder))
}
