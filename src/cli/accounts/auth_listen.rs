use std::net::SocketAddr;

use anyhow::bail;
use clap::Args;

use crate::cli::args::listen_address;

/// The address at which games find their services.
#[derive(Debug, Args)]
pub(crate) struct AuthListen {
    /// Address at which the proxy serves the game's web services with `--auth client`: a loopback
    /// address that stays the same
    #[arg(
        long,
        value_name = "ADDR",
        value_parser = listen_address,
        default_value = "127.0.0.1:8767",
        help_heading = "Accounts"
    )]
    auth_listen: SocketAddr,
}

impl AuthListen {
    /// Returns the address.
    pub(super) fn address(&self) -> anyhow::Result<SocketAddr> {
        let address = self.auth_listen;
        if !address.ip().is_loopback() {
            bail!(
                "`--auth-listen {address}` is not a loopback address: access tokens go there \
                 unencrypted, so they must not leave this machine"
            );
        }
        Ok(address)
    }
}
