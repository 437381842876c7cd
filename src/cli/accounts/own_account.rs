use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, anyhow, bail};
use clap::Args;
use mitmcraft::proxy::{Authority, Http, Keeper, Tokens};
use mitmcraft_engine::auth::{Endpoints, Profile, Secret, SessionService, Wanted, read_profile};

use super::{Services, store};
use crate::cli::notice::auth_error;
use crate::cli::output::Output;

/// Options for the user's own account.
#[derive(Debug, Args)]
pub(crate) struct OwnAccount {
    /// Account to use [default: the account that logged in last]
    #[arg(
        long,
        value_name = "NAME",
        conflicts_with = "access_token_file",
        help_heading = "Accounts"
    )]
    account: Option<String>,

    /// Join with the access token in this file (`-` is stdin), or in MITMCRAFT_ACCESS_TOKEN, instead
    /// of a logged-in account
    #[arg(long, value_name = "FILE", help_heading = "Accounts")]
    access_token_file: Option<PathBuf>,

    /// Owner of the access token: a name, a UUID, or NAME:UUID (no look-up needed)
    #[arg(long, value_name = "WHO", help_heading = "Accounts")]
    profile: Option<Wanted>,

    /// Session service for joining and verifying
    #[arg(long, value_name = "URL", default_value = SessionService::MOJANG, help_heading = "Accounts")]
    pub(super) session_server: String,

    #[command(flatten)]
    services: Services,
}

/// The user's own account: checked, but its owner is not looked up.
pub(crate) struct OwnCredentials {
    service: SessionService,
    http: Http,
    source: Source,
}

/// Where the account comes from.
enum Source {
    /// The user has logged in.
    LoggedIn(Profile, Tokens),
    /// The user supplied a token, whose owner may have to be looked up.
    Token(Secret, Endpoints),
}

impl OwnAccount {
    /// Checks the address of the session service.
    pub(super) fn service(&self) -> anyhow::Result<SessionService> {
        SessionService::new(&self.session_server)
            .with_context(|| format!("`--session-server {}`", self.session_server))
    }

    /// Warns if the way to the session service is not protected.
    pub(super) fn warn_unprotected(&self, output: &Output) {
        if is_unprotected(&self.session_server) {
            output.warning(
                "`--session-server` is not encrypted: anyone on the way can read the account's token",
            );
        }
    }

    /// Checks the options, and reads the files that they name.
    pub(crate) fn check(&self) -> anyhow::Result<OwnCredentials> {
        let (service, http, endpoints) =
            (self.service()?, Http::new()?, self.services.endpoints()?);
        let source = match access_token(self.access_token_file.as_deref())? {
            Some(token) => Source::Token(token, endpoints),
            None => {
                let (profile, tokens) = logged_in(&http, endpoints, self.account.as_deref())?;
                Source::LoggedIn(profile, tokens)
            }
        };
        Ok(OwnCredentials { service, http, source })
    }

    /// Returns the account, and what joins with it: looks up the owner of a token.
    pub(crate) async fn settle(
        &self,
        credentials: OwnCredentials,
        output: &Output,
    ) -> anyhow::Result<(Profile, Authority)> {
        self.warn_unprotected(output);
        let OwnCredentials { service, http, source } = credentials;
        let (profile, tokens) = match source {
            Source::LoggedIn(profile, tokens) => (profile, tokens),
            Source::Token(token, endpoints) => {
                let wanted = self.profile.clone();
                let profile = owner(&http, &endpoints, &service, &token, wanted).await;
                let profile = profile.context("cannot find the owner of the access token")?;
                (profile, Tokens::Given(token))
            }
        };
        Ok((profile.clone(), Authority::new(http, service, profile, tokens)))
    }
}

/// Returns the access token that the user supplied, if any.
fn access_token(file: Option<&Path>) -> anyhow::Result<Option<Secret>> {
    let text = match file {
        Some(path) if path.as_os_str() == "-" => std::io::read_to_string(std::io::stdin()),
        Some(path) => std::fs::read_to_string(path),
        None => match std::env::var("MITMCRAFT_ACCESS_TOKEN") {
            Ok(text) if !text.trim().is_empty() => Ok(text),
            _ => return Ok(None),
        },
    };
    let text =
        text.map(Secret::new).context("cannot read the access token, see `--access-token-file`")?;
    let token = text.expose().trim();
    if token.is_empty() || token.contains(|char: char| char.is_whitespace() || char.is_control()) {
        bail!("the access token is not a single word, see `--access-token-file`");
    }
    Ok(Some(Secret::new(token)))
}

/// Finds the owner of a token.
async fn owner(
    http: &Http,
    endpoints: &Endpoints,
    service: &SessionService,
    token: &Secret,
    wanted: Option<Wanted>,
) -> anyhow::Result<Profile> {
    let requests = match wanted {
        Some(Wanted::Known(profile)) => return Ok(profile),
        Some(Wanted::Id(id)) => service.profile(id),
        Some(Wanted::Name(name)) => vec![endpoints.look_up(&name)],
        None => vec![endpoints.own_profile(token)],
    };
    let (service, response) = http.ask(&requests, PATIENCE).await.map_err(auth_error)?;
    read_profile(&service, &response).map_err(auth_error)
}

fn logged_in(
    http: &Http,
    endpoints: Endpoints,
    name: Option<&str>,
) -> anyhow::Result<(Profile, Tokens)> {
    let store = store()?;
    let accounts = store.load()?;
    let Some(account) = accounts.find(name) else {
        let names = accounts.names().join(", ");
        return Err(match name {
            Some(name) if !names.is_empty() => {
                anyhow!("`{name}` is not logged in (logged in: {names}): run `mitmcraft login`")
            }
            _ => anyhow!(
                "no account is logged in: run `mitmcraft login`, or pass a token with \
                 `--access-token-file`"
            ),
        });
    };
    let profile = account.profile.clone();
    let keeper = Keeper::new(account.clone(), store, http.clone(), endpoints);
    Ok((profile, Tokens::Kept(Arc::new(keeper))))
}

/// Returns whether requests to `url` are unencrypted and leave this machine.
fn is_unprotected(url: &str) -> bool {
    let Some(rest) = url.strip_prefix("http://") else { return false };
    let host = rest.split('/').next().unwrap_or_default();
    let local = ["localhost", "127.", "[::1]"];
    !local.iter().any(|local| host.starts_with(local))
}

/// Maximum time of a look-up.
const PATIENCE: Duration = Duration::from_secs(20);
