use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, anyhow, bail};
use clap::{Args, ValueEnum};
use mitmcraft::auth::{Endpoints, Profile, Secret, SessionService, Wanted, read_profile};
use mitmcraft::proxy::{Authority, Http, Keeper, Tokens};
use mitmcraft::session::{Admitted, AuthMode, ClientLeg};

use super::{Services, store};
use crate::cli::output::Output;

/// Who authenticates where.
#[derive(Debug, Args)]
pub(crate) struct Choice {
    /// Who authenticates where: nobody; the proxy as your account; or the client too
    #[arg(long, value_enum, value_name = "MODE", default_value_t = Mode::Offline, help_heading = "Accounts")]
    auth: Mode,

    /// Which of the accounts that are logged in; without it the one logged in last
    #[arg(
        long,
        value_name = "NAME",
        conflicts_with = "access_token_file",
        help_heading = "Accounts"
    )]
    account: Option<String>,

    /// Join with the access token in this file (`-` is stdin) instead of a logged-in account; or
    /// put it into MITMCRAFT_ACCESS_TOKEN
    #[arg(long, value_name = "FILE", help_heading = "Accounts")]
    access_token_file: Option<PathBuf>,

    /// Whose access token it is: a name, a UUID, or NAME:UUID, which looks nothing up
    #[arg(long, value_name = "WHO", help_heading = "Accounts")]
    profile: Option<Wanted>,

    /// Let every verified player play as the account, with `--auth verify`
    #[arg(long, help_heading = "Accounts")]
    as_account: bool,

    /// Do not encrypt towards the client, with `--auth account`: for clients without any account
    #[arg(long, help_heading = "Accounts")]
    plain_client: bool,

    /// The session service to join and to verify with, instead of Mojang's
    #[arg(long, value_name = "URL", default_value = SessionService::MOJANG, help_heading = "Accounts")]
    session_server: String,

    #[command(flatten)]
    services: Services,
}

/// Who authenticates where.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Mode {
    /// Both legs as the server asks, without an account
    Offline,
    /// The server sees the account, whoever the client is
    Account,
    /// The same, for clients that prove who they are
    Verify,
}

impl Choice {
    /// What sessions do, and who speaks to the session service for them.
    pub(crate) async fn settle(
        self,
        output: &Output,
    ) -> anyhow::Result<(AuthMode, Option<Authority>)> {
        let service = SessionService::new(&self.session_server)
            .with_context(|| format!("`--session-server {}`", self.session_server))?;
        if self.auth != Mode::Verify && self.as_account {
            bail!("`--as-account` needs `--auth verify`");
        }
        if self.auth != Mode::Account && self.plain_client {
            bail!("`--plain-client` needs `--auth account`");
        }
        if self.auth == Mode::Offline {
            if self.account.is_some() || self.access_token_file.is_some() {
                bail!("an account is given, but not used: add `--auth account` or `--auth verify`");
            }
            return Ok((AuthMode::Offline, None));
        }
        if is_open(&self.session_server) {
            output.warning(
                "`--session-server` is not encrypted: anybody on the way sees the account's token",
            );
        }
        let http = Http::new()?;
        let endpoints = self.services.endpoints()?;
        let token = access_token(self.access_token_file.as_deref())?;
        let (profile, tokens) = match token {
            Some(token) => {
                let profile = owner(&http, &endpoints, &service, &token, self.profile).await;
                let profile = profile.context("cannot tell whose access token it is")?;
                (profile, Tokens::Given(token))
            }
            None => logged_in(&http, endpoints, self.account.as_deref())?,
        };
        let whose = match self.auth {
            Mode::Verify => "clients must prove who they are",
            _ => "clients are not verified: whoever can connect plays as it",
        };
        output.note(&format!("the server sees the account `{}`; {whose}", profile.name));
        let mode = match self.auth {
            Mode::Offline => AuthMode::Offline,
            Mode::Account => AuthMode::Account {
                profile: profile.clone(),
                client: if self.plain_client { ClientLeg::Plain } else { ClientLeg::AsServer },
            },
            Mode::Verify => AuthMode::Verify {
                profile: profile.clone(),
                admitted: if self.as_account { Admitted::Anyone } else { Admitted::Owner },
            },
        };
        Ok((mode, Some(Authority::new(http, service, profile, tokens))))
    }
}

/// The token that the user has given. None: none.
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
        bail!("`--access-token-file` holds no token: want one word and nothing else");
    }
    Ok(Some(Secret::new(token)))
}

/// Whose token it is.
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
    let (service, response) = http.ask(&requests, PATIENCE).await?;
    Ok(read_profile(&service, &response)?)
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
                anyhow!("`{name}` is not logged in (there is {names}): run `mitmcraft login`")
            }
            _ => anyhow!(
                "nobody is logged in: run `mitmcraft login`, or give a token with \
                 `--access-token-file`"
            ),
        });
    };
    let profile = account.profile.clone();
    let keeper = Keeper::new(account.clone(), store, http.clone(), endpoints);
    Ok((profile, Tokens::Kept(Arc::new(keeper))))
}

/// Whether others can read what is sent there.
fn is_open(url: &str) -> bool {
    let Some(rest) = url.strip_prefix("http://") else { return false };
    let host = rest.split('/').next().unwrap_or_default();
    let own = ["localhost", "127.", "[::1]"];
    !own.iter().any(|own| host.starts_with(own))
}

/// How long a look-up may take.
const PATIENCE: Duration = Duration::from_secs(20);
