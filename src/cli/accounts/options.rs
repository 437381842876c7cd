use std::net::SocketAddr;

use clap::{Args, ValueEnum};
use mitmcraft::proxy::{AuthEndpoint, Authority, Http, LentJoins, endpoint_key};
use mitmcraft_engine::auth::{GameServices, Secret, SessionService};
use mitmcraft_engine::session::{Admitted, AuthMode, ClientLeg};

use super::{AuthListen, OwnAccount, OwnCredentials, state_folder};
use crate::cli::listen::bind;
use crate::cli::output::Output;

/// Options for the accounts of both connections.
#[derive(Debug, Args)]
pub(crate) struct AccountOptions {
    /// How the two connections are authenticated
    #[arg(long, value_enum, value_name = "MODE", default_value_t = Mode::Offline, help_heading = "Accounts")]
    auth: Mode,

    #[command(flatten)]
    account: OwnAccount,

    /// With `--auth verify`, let every verified player play as the account
    #[arg(long, help_heading = "Accounts")]
    as_account: bool,

    /// With `--auth account`, leave the connection to the client unencrypted, for clients without an
    /// account
    #[arg(long, help_heading = "Accounts")]
    plain_client: bool,

    /// Always use a new secret for the connection to the server, which the client does not know; all
    /// packets are then encrypted again
    #[arg(long, help_heading = "Accounts")]
    pub(crate) separate_secrets: bool,

    #[command(flatten)]
    listen: AuthListen,
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
pub(crate) enum Credentials {
    /// There are none.
    Nowhere,
    /// Games lend theirs through this address.
    Lent(SocketAddr, Http, SessionService),
    /// The user has one.
    Own(OwnCredentials),
}

impl AccountOptions {
    /// Checks the options, and reads the files that they name.
    pub(crate) fn check(&self) -> anyhow::Result<Credentials> {
        let service = self.account.service()?;
        Ok(match self.auth {
            Mode::Offline => Credentials::Nowhere,
            Mode::Client => Credentials::Lent(self.listen.address()?, Http::new()?, service),
            Mode::Account | Mode::Verify => Credentials::Own(self.account.check()?),
        })
    }

    /// Returns how sessions authenticate: binds the address of games that lend their accounts, or looks
    /// up the owner of a token.
    pub(crate) async fn settle(
        &self,
        credentials: Credentials,
        output: &Output,
    ) -> anyhow::Result<Settled> {
        let credentials = match credentials {
            Credentials::Nowhere => return Ok(Settled::new(AuthMode::Offline, None)),
            Credentials::Lent(address, http, service) => {
                self.account.warn_unprotected(output);
                let url = &self.account.session_server;
                return lent(address, url, service, http, output).await;
            }
            Credentials::Own(credentials) => credentials,
        };
        let (profile, authority) = self.account.settle(credentials, output).await?;
        let whose = match self.auth {
            Mode::Verify => "clients must be verified players",
            _ => "clients are not verified: anyone who can connect plays as it",
        };
        output.note(&format!("the server sees the account `{}`; {whose}", profile.name));
        let auth = match self.auth {
            Mode::Verify => AuthMode::Verify {
                profile,
                admitted: if self.as_account { Admitted::Anyone } else { Admitted::Owner },
            },
            _ => AuthMode::Account {
                profile,
                client: if self.plain_client { ClientLeg::Plain } else { ClientLeg::AsServer },
            },
        };
        Ok(Settled::new(auth, Some(authority)))
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
    let joins = LentJoins::default();
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

/// Advice shown to a player whose game has not lent its account.
const ADVICE: &str = "start it with the JVM arguments that `mitmcraft jvm-args` prints (before 1.16 with \
     `--authlib-injector JAR`), or restart it if you have";
