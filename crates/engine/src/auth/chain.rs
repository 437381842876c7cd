use std::time::Duration;

use serde_json::{Value as Json, json};

use super::{Account, AuthError, Body, Endpoints, Request, Response, Secret, read_profile, xsts};
use mitmcraft_protocol::packet::Timestamp;

/// The requests that obtain an account's tokens: Microsoft, Xbox Live (identity), XSTS (authorization),
/// Minecraft's services, profile. The first is for a code that the user enters in a browser, or uses
/// the refresh token of an earlier login.
///
/// Send [`request`](Self::request), pass the response to [`handle`](Self::handle), do what the returned
/// [`Step`] says, and repeat.
#[derive(Debug)]
pub struct Chain {
    endpoints: Endpoints,
    client_id: String,
    stage: Stage,
}

/// The next step of a login.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Send the next request.
    Ask,
    /// Show this to the user, wait this long, then send the next request.
    Show(DeviceCode, Duration),
    /// Wait this long, then send the next request.
    Wait(Duration),
    /// The login is complete.
    Done(Account),
}

/// A code for the user to enter in a browser.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceCode {
    /// The code.
    pub code: String,
    /// The address of the page.
    pub url: String,
    /// The time for which the code is valid.
    pub lives: Duration,
}

#[derive(Debug)]
enum Stage {
    /// Request a device code.
    Code,
    /// Wait for the user to enter the code.
    Poll {
        device_code: Secret,
        interval: Duration,
        until: Timestamp,
    },
    /// Use the refresh token of an earlier login.
    Refresh(Secret),
    Xbox {
        microsoft: Secret,
        refresh: Secret,
    },
    Xsts {
        xbox: Secret,
        refresh: Secret,
    },
    Minecraft {
        xsts: Secret,
        user: String,
        refresh: Secret,
    },
    Profile {
        access: Secret,
        expires: Timestamp,
        refresh: Secret,
    },
}

impl Chain {
    /// Starts a login in which the user enters a code.
    #[must_use]
    pub fn login(endpoints: Endpoints, client_id: String) -> Self {
        Self { endpoints, client_id, stage: Stage::Code }
    }

    /// Starts the renewal of a login, without the user.
    #[must_use]
    pub fn refresh(endpoints: Endpoints, account: &Account) -> Self {
        let (client_id, stage) =
            (account.client_id.clone(), Stage::Refresh(account.refresh.clone()));
        Self { endpoints, client_id, stage }
    }

    /// Handles the response to [`request`](Self::request).
    ///
    /// # Errors
    /// If the service gives no token.
    pub fn handle(
        &mut self,
        now: Timestamp,
        service: &str,
        response: &Response,
    ) -> Result<Step, AuthError> {
        let json = response.json();
        if let Stage::Poll { interval, until, .. } = &mut self.stage
            && let (400, Some(error @ ("authorization_pending" | "slow_down"))) =
                (response.status, json["error"].as_str())
        {
            if now >= *until {
                return Err(AuthError::CodeExpired);
            }
            if error == "slow_down" {
                *interval += SLOWER;
            }
            return Ok(Step::Wait(*interval));
        }
        if !response.is_success() && !matches!(self.stage, Stage::Profile { .. }) {
            return Err(self.refusal(service, response, &json));
        }
        let next = match &self.stage {
            Stage::Code => code(now, &json),
            Stage::Poll { .. } | Stage::Refresh(_) => tokens(&json),
            Stage::Xbox { refresh, .. } => xbox_token(&json)
                .map(|(xbox, _)| (Stage::Xsts { xbox, refresh: refresh.clone() }, Step::Ask)),
            Stage::Xsts { refresh, .. } => xbox_token(&json).map(|(xsts, user)| {
                (Stage::Minecraft { xsts, user, refresh: refresh.clone() }, Step::Ask)
            }),
            Stage::Minecraft { refresh, .. } => {
                access_token(now, &json).map(|(access, expires)| {
                    (Stage::Profile { access, expires, refresh: refresh.clone() }, Step::Ask)
                })
            }
            Stage::Profile { access, expires, refresh } => {
                return Ok(Step::Done(Account {
                    profile: read_profile(service, response)?,
                    access: access.clone(),
                    expires: *expires,
                    refresh: refresh.clone(),
                    client_id: self.client_id.clone(),
                }));
            }
        };
        let status = response.status;
        let (stage, step) =
            next.ok_or_else(|| AuthError::Answer { service: service.to_owned(), status })?;
        self.stage = stage;
        Ok(step)
    }

    /// Returns the error of a response that is no success.
    fn refusal(&self, service: &str, response: &Response, json: &Json) -> AuthError {
        match self.stage {
            Stage::Code | Stage::Poll { .. } | Stage::Refresh(_) => oauth(service, response, json),
            Stage::Xbox { .. } | Stage::Xsts { .. } => xsts::refusal(service, response),
            _ if response.status == 403 => AuthError::UnapprovedClient,
            _ => AuthError::of(service, response),
        }
    }

    /// Returns the request to send next.
    #[must_use]
    pub fn request(&self) -> Request {
        let form = |url: &str, fields: Vec<(&'static str, Secret)>| {
            let id = ("client_id", Secret::new(&*self.client_id));
            let fields = [id].into_iter().chain(fields).collect();
            Request::post(url.to_owned(), Body::Form(fields))
        };
        let scope = || Secret::new(&*self.endpoints.scope);
        let post = |url: &str, json: &Json| Request::post(url.to_owned(), Body::json(json));
        match &self.stage {
            Stage::Code => {
                // Azure's endpoint has no such field.
                let kind = self.endpoints.is_live();
                let kind = kind.then(|| ("response_type", Secret::new("device_code")));
                let fields = [("scope", scope())].into_iter().chain(kind);
                form(&self.endpoints.device_code, fields.collect())
            }
            Stage::Poll { device_code, .. } => form(
                &self.endpoints.token,
                vec![
                    ("grant_type", Secret::new("urn:ietf:params:oauth:grant-type:device_code")),
                    ("device_code", device_code.clone()),
                ],
            ),
            Stage::Refresh(token) => form(
                &self.endpoints.token,
                vec![
                    ("grant_type", Secret::new("refresh_token")),
                    ("scope", scope()),
                    ("refresh_token", token.clone()),
                ],
            ),
            Stage::Xbox { microsoft, .. } => {
                // The kind of Microsoft's token.
                let kind = if self.endpoints.is_live() { 't' } else { 'd' };
                let body = json!({
                    "Properties": {
                        "AuthMethod": "RPS",
                        "SiteName": "user.auth.xboxlive.com",
                        "RpsTicket": format!("{kind}={}", microsoft.expose()),
                    },
                    "RelyingParty": "http://auth.xboxlive.com",
                    "TokenType": "JWT",
                });
                post(&self.endpoints.xbox, &body)
            }
            Stage::Xsts { xbox, .. } => post(
                &self.endpoints.xsts,
                &json!({
                    "Properties": { "SandboxId": "RETAIL", "UserTokens": [xbox.expose()] },
                    "RelyingParty": "rp://api.minecraftservices.com/",
                    "TokenType": "JWT",
                }),
            ),
            Stage::Minecraft { xsts, user, .. } => {
                let identity = format!("XBL3.0 x={user};{}", xsts.expose());
                post(&self.endpoints.minecraft, &json!({ "identityToken": identity }))
            }
            Stage::Profile { access, .. } => self.endpoints.own_profile(access),
        }
    }
}

fn code(now: Timestamp, json: &Json) -> Option<(Stage, Step)> {
    let text = |key: &str| json[key].as_str().map(str::to_owned);
    let seconds = |key: &str| json[key].as_u64().map(Duration::from_secs);
    let device_code = Secret::new(text("device_code")?);
    let (code, url) = (text("user_code")?, text("verification_uri")?);
    let interval = seconds("interval").unwrap_or(INTERVAL);
    let lives = seconds("expires_in").unwrap_or(LIFE);
    let stage = Stage::Poll { device_code, interval, until: now.plus(lives) };
    Some((stage, Step::Show(DeviceCode { code, url, lives }, interval)))
}

/// Reads Microsoft's tokens.
fn tokens(json: &Json) -> Option<(Stage, Step)> {
    let token = |key: &str| json[key].as_str().map(Secret::new);
    let (microsoft, refresh) = (token("access_token")?, token("refresh_token")?);
    Some((Stage::Xbox { microsoft, refresh }, Step::Ask))
}

/// Returns the error of a response in which Microsoft gives no token.
fn oauth(service: &str, response: &Response, json: &Json) -> AuthError {
    match json["error"].as_str() {
        Some("authorization_declined" | "access_denied") => AuthError::Declined,
        Some("expired_token" | "code_expired" | "bad_verification_code") => AuthError::CodeExpired,
        Some("invalid_grant") => AuthError::LoginExpired,
        Some("unauthorized_client" | "invalid_client" | "invalid_request") => {
            AuthError::UnknownClient
        }
        Some(error) if response.status < 500 => {
            // The code is printed, so nothing else of the response may get into it.
            let code = error.chars().filter(|it| it.is_ascii_lowercase() || *it == '_').collect();
            AuthError::Login { code }
        }
        _ => AuthError::of(service, response),
    }
}

/// Reads a token of Xbox Live and the hash of its user.
fn xbox_token(json: &Json) -> Option<(Secret, String)> {
    let user = json["DisplayClaims"]["xui"][0]["uhs"].as_str()?;
    Some((Secret::new(json["Token"].as_str()?), user.to_owned()))
}

/// Reads the token of Minecraft's services, and when it expires.
fn access_token(now: Timestamp, json: &Json) -> Option<(Secret, Timestamp)> {
    let token = Secret::new(json["access_token"].as_str()?);
    let lives = json["expires_in"].as_u64().map_or(LIFE, Duration::from_secs);
    Some((token, now.plus(lives)))
}

/// Default interval of polls (RFC 8628, section 3.2).
const INTERVAL: Duration = Duration::from_secs(5);

/// Increase of the interval after `slow_down` (RFC 8628, section 3.5).
const SLOWER: Duration = Duration::from_secs(5);

/// Default lifetime of codes and tokens.
const LIFE: Duration = Duration::from_secs(900);

#[cfg(test)]
mod tests;
