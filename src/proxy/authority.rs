use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use super::{Http, Keeper};
use crate::auth::{AuthError, Profile, Secret, SessionService};

/// Who speaks to the session service for the sessions of a run. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Authority {
    http: Http,
    service: Arc<SessionService>,
    profile: Profile,
    tokens: Tokens,
}

/// Where an account's access token comes from.
#[derive(Debug, Clone)]
pub enum Tokens {
    /// It is what it is.
    Given(Secret),
    /// It is that of an account that is logged in.
    Kept(Arc<Keeper>),
}

/// The answer to a question that takes a while.
pub(super) type Answering<T> = Pin<Box<dyn Future<Output = Result<T, AuthError>> + Send>>;

impl Authority {
    /// Speaks for that account.
    #[must_use]
    pub fn new(http: Http, service: SessionService, profile: Profile, tokens: Tokens) -> Self {
        Self { http, service: Arc::new(service), profile, tokens }
    }

    /// Tells the service that the account joins the server of that hash.
    pub(super) fn join(self, server_hash: String) -> Answering<()> {
        Box::pin(async move {
            let token = self.tokens.token().await?;
            let requests = self.service.join(&self.profile, &token, &server_hash);
            let (service, response) = self.http.ask(&requests, PATIENCE).await?;
            SessionService::read_join(&service, &response)
        })
    }

    /// Asks the service whether the player of that name has joined the server of that hash.
    pub(super) fn verify(self, name: String, server_hash: String) -> Answering<Profile> {
        Box::pin(async move {
            let requests = self.service.has_joined(&name, &server_hash);
            let (service, response) = self.http.ask(&requests, PATIENCE).await?;
            SessionService::read_has_joined(&service, &name, &response)
        })
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

/// How long the service may take in all: the server waits 30 s for the login.
const PATIENCE: Duration = Duration::from_secs(20);
