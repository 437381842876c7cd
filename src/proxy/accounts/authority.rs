use std::sync::Arc;
use std::time::Duration;

use crate::proxy::{Http, Keeper, LentJoins};
use mitmcraft_engine::auth::{AuthError, LentAccount, Profile, Secret, SessionService};

/// Client of the session service, for the sessions of a run. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Authority {
    http: Http,
    service: Arc<SessionService>,
    accounts: Accounts,
}

/// The accounts that join servers.
#[derive(Debug, Clone)]
enum Accounts {
    /// One for all sessions.
    Own(Profile, Tokens),
    /// Those that games lend.
    Lent(LentJoins),
}

/// Source of an account's access token.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Tokens {
    /// A fixed token.
    Given(Secret),
    /// The token of a logged-in account, renewed when needed.
    Kept(Arc<Keeper>),
}

impl Authority {
    /// Creates a client for the account `profile`.
    #[must_use]
    pub fn new(http: Http, service: SessionService, profile: Profile, tokens: Tokens) -> Self {
        Self { http, service: Arc::new(service), accounts: Accounts::Own(profile, tokens) }
    }

    /// Creates a client for the accounts that games lend.
    #[must_use]
    pub fn lending(http: Http, service: SessionService, joins: LentJoins) -> Self {
        Self { http, service: Arc::new(service), accounts: Accounts::Lent(joins) }
    }

    /// Tells the service that the account joins the server with this hash. `lent` is the hash under which
    /// the client's game has joined, if it lends the account.
    pub(in crate::proxy) async fn join(
        &self,
        server_hash: &str,
        lent: Option<&str>,
    ) -> Result<(), AuthError> {
        match &self.accounts {
            Accounts::Own(profile, tokens) => {
                let token = tokens.token().await?;
                self.join_as(LentAccount { id: profile.id, token }, server_hash).await
            }
            Accounts::Lent(joins) => {
                let account = lent.and_then(|hash| joins.take(hash)).ok_or(AuthError::NotLent)?;
                self.join_as(account, server_hash).await.map_err(AuthError::of_lent)
            }
        }
    }

    /// Asks the service whether the player `name` has joined the server with this hash.
    pub(in crate::proxy) async fn verify(
        &self,
        name: &str,
        server_hash: &str,
    ) -> Result<Profile, AuthError> {
        let requests = self.service.has_joined(name, server_hash);
        let (service, response) = self.http.ask(&requests, PATIENCE).await?;
        SessionService::read_has_joined(&service, name, &response)
    }

    async fn join_as(&self, account: LentAccount, server_hash: &str) -> Result<(), AuthError> {
        let requests = self.service.join(account.id, &account.token, server_hash);
        let (service, response) = self.http.ask(&requests, PATIENCE).await?;
        SessionService::read_join(&service, &response)
    }
}

impl Tokens {
    async fn token(&self) -> Result<Secret, AuthError> {
        match self {
            Self::Given(token) => Ok(token.clone()),
            Self::Kept(keeper) => keeper.token().await,
        }
    }
}

/// Maximum time for an answer of the service, with retries: the server waits 30 s for the login.
const PATIENCE: Duration = Duration::from_secs(20);
