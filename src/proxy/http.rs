use std::error::Error as _;
use std::time::Duration;

use thiserror::Error;

use super::Clock;
use crate::auth::{AuthError, Body, Method, Request, Response, Retry, Secret};

/// Asks services over HTTP. Cheap to clone.
///
/// It goes straight to them, whatever proxies the system knows of, and follows no redirection: a
/// token goes where its user has said, and nowhere else.
#[derive(Debug, Clone)]
pub struct Http {
    client: reqwest::Client,
    clock: Clock,
}

/// Why nothing can be asked over HTTP.
#[derive(Debug, Error)]
#[error("cannot use HTTPS: {0}")]
pub struct HttpError(String);

impl Http {
    /// Takes the certificates that the system trusts.
    ///
    /// # Errors
    /// When the system has none that can be used.
    pub fn new() -> Result<Self, HttpError> {
        // It fails when there is one already, which is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = reqwest::Client::builder()
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .connect_timeout(TRY)
            .user_agent(concat!("mitmcraft/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(|error| HttpError(cause(&error)))?;
        Ok(Self { client, clock: Clock::new() })
    }

    /// Asks the first of these, again while it is down; the next when it is not found there. Gives
    /// who has answered, and what.
    ///
    /// # Errors
    /// [`AuthError`] when nobody answers within `patience`.
    pub async fn ask(
        &self,
        requests: &[Request],
        patience: Duration,
    ) -> Result<(String, Response), AuthError> {
        let mut retry = Retry::new(self.clock.now(), patience);
        let mut requests = requests.iter().peekable();
        let Some(mut request) = requests.next() else {
            return Err(AuthError::Refused("nobody is to be asked".into()));
        };
        loop {
            let service = request.service().to_owned();
            let limit = retry.left(self.clock.now()).min(TRY);
            let outcome = self.once(request, limit).await;
            let response = outcome.as_ref().ok();
            if response.is_some_and(|response| response.status == 404)
                && let Some(next) = requests.next()
            {
                request = next;
                continue;
            }
            match retry.after(self.clock.now(), response) {
                Some(pause) => tokio::time::sleep(pause).await,
                None => {
                    let unreachable =
                        |cause| AuthError::Unreachable { service: service.clone(), cause };
                    return outcome.map(|it| (service.clone(), it)).map_err(unreachable);
                }
            }
        }
    }

    /// Asks once.
    async fn once(&self, request: &Request, limit: Duration) -> Result<Response, String> {
        let mut builder = match request.method {
            Method::Get => self.client.get(&request.url),
            Method::Post => self.client.post(&request.url),
        };
        builder = match &request.body {
            Body::None => builder,
            Body::Json(json) => {
                builder.header("content-type", "application/json").body(json.expose().to_owned())
            }
            Body::Form(fields) => {
                let fields: Vec<_> =
                    fields.iter().map(|(name, value)| (*name, value.expose())).collect();
                builder.form(&fields)
            }
        };
        if let Some(bearer) = &request.bearer {
            builder = builder.bearer_auth(bearer.expose());
        }
        let answering = builder.header("accept", "application/json").timeout(limit).send();
        let mut response = answering.await.map_err(|error| cause(&error))?;
        let status = response.status().as_u16();
        let retry_after = response.headers().get("retry-after");
        let retry_after = retry_after.and_then(|it| it.to_str().ok()?.trim().parse().ok());
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| cause(&error))? {
            if body.len() + chunk.len() > LARGEST {
                return Err("the answer is too large".into());
            }
            body.extend_from_slice(&chunk);
        }
        let body = Secret::new(String::from_utf8_lossy(&body).into_owned());
        Ok(Response { status, retry_after: retry_after.map(Duration::from_secs), body })
    }
}

/// What is at the bottom of it, in words. The URL is no part of it.
fn cause(error: &reqwest::Error) -> String {
    if error.is_timeout() {
        return "no answer in time".into();
    }
    let mut bottom = error.source();
    while let Some(below) = bottom.and_then(std::error::Error::source) {
        bottom = Some(below);
    }
    match bottom {
        Some(cause) => match cause.downcast_ref::<std::io::Error>() {
            Some(error) => super::upstream::explain(error),
            None => cause.to_string(),
        },
        None => "the request failed".into(),
    }
}

/// How long one try may take.
const TRY: Duration = Duration::from_secs(8);

/// Largest answer, in bytes: a profile with its skin has 2 KiB.
const LARGEST: usize = 256 << 10;
