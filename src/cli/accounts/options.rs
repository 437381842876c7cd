use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, anyhow, bail};
use clap::{Args, ValueEnum};
use mitmcraft::proxy::{AuthEndpoint, Authority, Http, Keeper, LentJoins, Tokens, endpoint_key};
use mitmcraft_engine::auth::{
    Endpoints, GameServices, Profile, Secret, SessionService, Wanted, read_profile,
};
use mitmcraft_engine::session::{Admitted, AuthMode, ClientLeg};

use super::{AuthListen, Services, state_folder, store};
use crate::cli::notice::auth_error;
use crate::cli::output::Output;
use crate::cli::run::bind;

/// Options for the accounts of both connections.
#[derive(Debug, Args)]
pub(crate) struct AccountOptions {
    /// How the two connections are authenticated
    #[arg(long, value_enum, value_name = "MODE", default_value_t = Mode::Offline, help_heading = "Accounts")]
    auth: Mode,

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

    /// With `--auth verify`, let every verified player play as the account
    #[arg(long, help_heading = "Accounts")]
    as_account: bool,

    /// With `--auth account`, leave the connection to the client unencrypted, for clients without an
    /// account
    #[arg(long, help_heading = "Accounts")]
    plain_client: bool,

    /// Session service for joining and verifying
    #[arg(long, value_name = "URL", default_value = SessionService::MOJANG, help_heading = "Accounts")]
    session_server: String,

    #[command(flatten)]
    listen: AuthListen,

    #[command(flatten)]
    services: Services,
}

/// The authentication of all sessions of a run, with what it needs.
pub(crate) struct Settled {
    pub(crate) auth: AuthMode,
    /// The client of the session service; `None` if no session needs it.
    pub(crate) authority: Option<Authority>,
    /// Where games find their services, if they lend their accounts.
    pub(crate) endpoint: Option<AuthEndpoint>,
    /// The JVM arguments of these games. They hold the path that only the user and the games know.
    pub(crate) jvm_arguments: Option<Secret>,
}

impl Settled {
    fn new(auth: AuthMode, authority: Option<Authority>) -> Self {
        Self { auth, authority, endpoint: None, jvm_arguments: None }
    }
}

/// How the two connections are authenticated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Mode {
    /// No authentication; both connections are encrypted if the server requests it
    Offline,
    /// Each game lends its own account to the proxy: see `mitmcraft jvm-args`
    Client,
    /// The proxy joins with your account; clients are not verified
    Account,
    /// The proxy joins with your account; clients must be verified players
    Verify,
}

/// The account or service with which sessions authenticate: checked, but neither looked up nor bound.
pub(crate) struct Credentials(Option<(SessionService, Http, Source)>);

/// Where accounts come from.
enum Source {
    /// Games lend theirs through this address.
    Lent(SocketAddr),
    /// The user has logged in.
    LoggedIn(Profile, Tokens),
    /// The user supplied a token, whose owner may have to be looked up.
    Token(Secret, Endpoints),
}

impl AccountOptions {
    /// Checks the options, and reads the files that they name.
    pub(crate) fn check(&self) -> anyhow::Result<Credentials> {
        let service = SessionService::new(&self.session_server)
            .with_context(|| format!("`--session-server {}`", self.session_server))?;
        let (http, source) = match self.auth {
            Mode::Offline => return Ok(Credentials(None)),
            Mode::Client => (Http::new()?, Source::Lent(self.listen.address()?)),
            Mode::Account | Mode::Verify => {
                let (http, endpoints) = (Http::new()?, self.services.endpoints()?);
                let source = match access_token(self.access_token_file.as_deref())? {
                    Some(token) => Source::Token(token, endpoints),
                    None => {
                        let (profile, tokens) =
                            logged_in(&http, endpoints, self.account.as_deref())?;
                        Source::LoggedIn(profile, tokens)
                    }
                };
                (http, source)
            }
        };
        Ok(Credentials(Some((service, http, source))))
    }

    /// Returns how sessions authenticate: binds the address of games that lend their accounts, or looks
    /// up the owner of a token.
    pub(crate) async fn settle(
        &self,
        credentials: Credentials,
        output: &Output,
    ) -> anyhow::Result<Settled> {
        let Credentials(Some((service, http, source))) = credentials else {
            return Ok(Settled::new(AuthMode::Offline, None));
        };
        if is_unprotected(&self.session_server) {
            output.warning(
                "`--session-server` is not encrypted: anyone on the way can read the account's token",
            );
        }
        let (profile, tokens) = match source {
            Source::Lent(address) => {
                return lent(address, &self.session_server, service, http, output).await;
            }
            Source::LoggedIn(profile, tokens) => (profile, tokens),
            Source::Token(token, endpoints) => {
                let wanted = self.profile.clone();
                let profile = owner(&http, &endpoints, &service, &token, wanted).await;
                let profile = profile.context("cannot find the owner of the access token")?;
                (profile, Tokens::Given(token))
            }
        };
        let whose = match self.auth {
            Mode::Verify => "clients must be verified players",
            _ => "clients are not verified: anyone who can connect plays as it",
        };
        output.note(&format!("the server sees the account `{}`; {whose}", profile.name));
        let auth = match self.auth {
            Mode::Verify => AuthMode::Verify {
                profile: profile.clone(),
                admitted: if self.as_account { Admitted::Anyone } else { Admitted::Owner },
            },
            _ => AuthMode::Account {
                profile: profile.clone(),
                client: if self.plain_client { ClientLeg::Plain } else { ClientLeg::AsServer },
            },
        };
        Ok(Settled::new(auth, Some(Authority::new(http, service, profile, tokens))))
    }
}

/// Binds the address at which games find their services, and lets them lend their accounts.
async fn lent(
    address: SocketAddr,
    session_server: &str,
    service: SessionService,
    http: Http,
    output: &Output,
) -> anyhow::Result<Settled> {
    let listener = bind(address, AuthEndpoint::MAX_CLIENTS, "--auth-listen").await?;
    let address = listener.local_addr()?;
    let key = endpoint_key(&state_folder()?)?;
    let services = GameServices::new(address.to_string(), key, session_server)?;
    let joins = LentJoins::new();
    output.note(&format!(
        "each game joins with its own account, through {address}: start it with the JVM arguments \
         that `mitmcraft jvm-args` prints"
    ));
    Ok(Settled {
        auth: AuthMode::Client { advice: ADVICE.to_owned() },
        authority: Some(Authority::lending(http.clone(), service, joins.clone())),
        jvm_arguments: Some(Secret::new(services.jvm_arguments())),
        endpoint: Some(AuthEndpoint::new(listener, services, http, joins)),
    })
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

/// Advice shown to a player whose game has not lent its account.
const ADVICE: &str = "start it with the JVM arguments that `mitmcraft jvm-args` prints (before 1.16 with \
     `--authlib-injector JAR`), or restart it if you have";

/// Maximum time of a look-up.
const PATIENCE: Duration = Duration::from_secs(20);
