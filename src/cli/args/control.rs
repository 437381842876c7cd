use std::net::SocketAddr;

use anyhow::Context as _;
use clap::Args;
use mitmcraft::web::{Audience, WebOptions, WebServer};

use super::listen_address;
use super::web::warn_of_exposure;
use crate::cli::listen::bind;
use crate::cli::output::Output;

/// `--control`, the interface for programs.
#[derive(Debug, Args)]
pub(crate) struct Control {
    /// Let programs follow and control the sessions over a WebSocket at this address [default:
    /// 127.0.0.1:8768]. Only a program that has the printed URL is answered
    #[arg(
        long,
        value_name = "ADDR",
        num_args = 0..=1,
        default_missing_value = "127.0.0.1:8768",
        value_parser = listen_address
    )]
    control: Option<SocketAddr>,
}

impl Control {
    /// Returns whether the interface is asked for.
    pub(crate) fn is_on(&self) -> bool {
        self.control.is_some()
    }

    /// Warns if programs on other machines can connect.
    pub(crate) fn warn(&self, output: &Output) {
        warn_of_exposure("the interface for programs", "control", self.control, output);
    }

    /// Binds the address, if the interface is asked for. `options` are those of the page.
    pub(crate) async fn bind(&self, options: WebOptions) -> anyhow::Result<Option<WebServer>> {
        let Some(address) = self.control else { return Ok(None) };
        let listener = bind(address, WebServer::MAX_CONNECTIONS, "--control").await?;
        let mut options = options;
        options.audience = Audience::Programs;
        options.colors = options.colors.map(|it| it.unkept());
        Ok(Some(WebServer::new(listener, options).context("cannot listen")?))
    }
}
