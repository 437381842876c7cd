use std::io::Write as _;
use std::net::SocketAddr;
use std::process::{Command, Stdio};
use std::sync::Arc;

use anyhow::Context as _;
use clap::{Args, ValueEnum};
use mitmcraft::proxy::kept_token;
use mitmcraft::web::{WebOptions, WebServer};
use tempfile::NamedTempFile;

use super::listen_address;
use crate::cli::accounts::state_folder;
use crate::cli::listen::bind;
use crate::cli::output::Output;

/// `--web` and `--open`, the interface in a browser.
#[derive(Debug, Args)]
pub(crate) struct Web {
    /// Browse packets in a web browser, at this address [default: 127.0.0.1:8766]. Only someone who
    /// has the printed URL can open the page
    #[arg(
        long,
        value_name = "ADDR",
        num_args = 0..=1,
        default_missing_value = "127.0.0.1:8766",
        value_parser = listen_address
    )]
    web: Option<SocketAddr>,

    /// Open the page of `--web` in the browser
    #[arg(long, requires = "web")]
    open: bool,

    /// The token in the URL of the page: `new` in each run, or `keep` the one in the state folder, so that open pages
    /// find the next run
    #[arg(
        long,
        value_name = "WHEN",
        value_enum,
        default_value_t = WebToken::New,
        requires = "web",
        hide_possible_values = true
    )]
    web_token: WebToken,
}

/// Which token opens the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum WebToken {
    /// A new one in each run
    New,
    /// The one that is kept
    Keep,
}

impl Web {
    /// Returns whether the interface is asked for.
    pub(crate) fn is_on(&self) -> bool {
        self.web.is_some()
    }

    /// Binds the address, if the interface is asked for.
    pub(crate) async fn bind(&self, options: WebOptions) -> anyhow::Result<Option<WebServer>> {
        let Some(address) = self.web else { return Ok(None) };
        let mut options = options;
        if self.web_token == WebToken::Keep {
            let token = kept_token(&state_folder()?);
            let token = token.context("cannot keep the token, see `--web-token`")?;
            options.token = Some(Arc::new(token));
        }
        let listener = bind(address, WebServer::MAX_CONNECTIONS, "--web").await?;
        Ok(Some(WebServer::new(listener, options).context("cannot listen")?))
    }

    /// Warns if others can read what the page shows.
    pub(crate) fn warn(&self, output: &Output) {
        warn_of_exposure("the page", "screens", self.web, output);
    }

    /// Opens the page in the browser, if asked for. The file that is returned must exist until the
    /// browser has read it.
    pub(crate) fn open(&self, url: &str, output: &Output) -> Option<NamedTempFile> {
        if !self.open {
            return None;
        }
        match open_in_browser(url) {
            Ok(file) => Some(file),
            Err(error) => {
                output.warning(&format!("cannot open a browser, open the URL yourself: {error}"));
                None
            }
        }
    }
}

/// Opens a URL by a file that leads to it and that only its owner can read: other users of the machine see
/// the arguments of programs, and the URL has the token.
fn open_in_browser(url: &str) -> std::io::Result<NamedTempFile> {
    let mut file = tempfile::Builder::new().prefix("mitmcraft-").suffix(".html").tempfile()?;
    writeln!(file, "<!doctype html><title>mitmcraft</title>")?;
    writeln!(file, "<meta http-equiv=\"refresh\" content=\"0; url={url}\">")?;
    file.flush()?;
    let mut command = match std::env::consts::OS {
        "macos" => Command::new("open"),
        "windows" => {
            let mut command = Command::new("cmd");
            command.args(["/c", "start", ""]);
            command
        }
        _ => Command::new("xdg-open"),
    };
    command.arg(file.path()).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn()?;
    // Its end is waited for, so that no process is left over.
    std::thread::spawn(move || child.wait());
    Ok(file)
}

/// Warns if `what` can be reached from other machines; `page` of the docs has more on it.
pub(super) fn warn_of_exposure(
    what: &str,
    page: &str,
    address: Option<SocketAddr>,
    output: &Output,
) {
    let Some(address) = address.filter(|address| !address.ip().is_loopback()) else { return };
    output.warning(&format!(
        "{what} on {address} can be reached from the network, without encryption: anyone who can read that \
         traffic can control the run; a port forwarded with SSH is safe (see `mitmcraft help {page}`)"
    ));
}
