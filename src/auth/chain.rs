use std::time::Duration;

use serde_json::{Value as Json, json};

use super::{Account, AuthError, Body, Endpoints, Request, Response, Secret, read_profile, xsts};
use crate::packet::Timestamp;

/// The way to an account's tokens: Microsoft, Xbox Live (who is it?), XSTS (may it?), Minecraft's
/// services, profile. It begins with a code that the user types in a browser, or with the token that
/// an earlier login has left.
///
/// Ask what [`request`](Self::request) says, tell [`handle`](Self::handle) the answer, do what the
/// [`Step`] says, and again.
#[derive(Debug)]
pub struct Chain {
    endpoints: Endpoints,
    client_id: String,
    stage: Stage,
}

/// What comes next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// The next request.
    Ask,
    /// The next request, after the user has been shown this and so long has passed.
    Show(DeviceCode, Duration),
    /// The next request, after so long.
    Wait(Duration),
    /// Nothing.
    Done(Account),
}

/// What a user has to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceCode {
    /// What to type.
    pub code: String,
    /// Where.
    pub url: String,
    /// How long that is possible.
    pub lives: Duration,
}

#[derive(Debug)]
enum Stage {
    /// A code is wanted.
    Code,
    /// The user is to type it.
    Poll {
        device_code: Secret,
        interval: Duration,
        until: Timestamp,
    },
    /// There is a token of an earlier login.
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
    /// From the beginning, with the user.
    #[must_use]
    pub fn login(endpoints: Endpoints, client_id: String) -> Self {
        Self { endpoints, client_id, stage: Stage::Code }
    }

    /// Without the user.
    #[must_use]
    pub fn refresh(endpoints: Endpoints, account: &Account) -> Self {
        let (client_id, stage) =
            (account.client_id.clone(), Stage::Refresh(account.refresh.clone()));
        Self { endpoints, client_id, stage }
    }

    /// Takes the answer to [`request`](Self::request).
    ///
    /// # Errors
    /// [`AuthError`] when the way ends here.
    pub fn handle(
        &mut self,
        now: Timestamp,
        service: &str,
        response: &Response,
    ) -> Result<Step, AuthError> {
        let json = response.json();
        let (next, step) = match &self.stage {
            Stage::Code => code(now, service, response, &json)?,
            Stage::Poll { device_code, interval, until } => {
                let error = json["error"].as_str().unwrap_or_default();
                let interval = match (response.status, error) {
                    (400, "authorization_pending") => Some(*interval),
                    (400, "slow_down") => Some(*interval + SLOWER),
                    _ => None,
                };
                match interval {
                    Some(_) if now >= *until => return Err(AuthError::CodeExpired),
                    Some(interval) => {
                        let (device_code, until) = (device_code.clone(), *until);
                        (Stage::Poll { device_code, interval, until }, Step::Wait(interval))
                    }
                    None => (tokens(service, response, &json)?, Step::Ask),
                }
            }
            Stage::Refresh(_) => (tokens(service, response, &json)?, Step::Ask),
            Stage::Xbox { refresh, .. } => {
                let (xbox, _) = xbox_token(service, response, &json)?;
                (Stage::Xsts { xbox, refresh: refresh.clone() }, Step::Ask)
            }
            Stage::Xsts { refresh, .. } => {
                let (xsts, user) = xbox_token(service, response, &json)?;
                (Stage::Minecraft { xsts, user, refresh: refresh.clone() }, Step::Ask)
            }
            Stage::Minecraft { refresh, .. } => {
                let (access, expires) = access_token(now, service, response, &json)?;
                (Stage::Profile { access, expires, refresh: refresh.clone() }, Step::Ask)
            }
            Stage::Profile { access, expires, refresh } => {
                let account = Account {
                    profile: read_profile(service, response)?,
                    access: access.clone(),
                    expires: *expires,
                    refresh: refresh.clone(),
                    client_id: self.client_id.clone(),
                };
                return Ok(Step::Done(account));
            }
        };
        self.stage = next;
        Ok(step)
    }

    /// What is to be asked now.
    #[must_use]
    pub fn request(&self) -> Request {
        let form = |url: &str, fields: Vec<(&'static str, Secret)>| {
            let id = ("client_id", Secret::new(&*self.client_id));
            let fields = [id].into_iter().chain(fields).collect();
            Request::post(url.to_owned(), Body::Form(fields))
        };
        let post = |url: &str, json: &Json| Request::post(url.to_owned(), Body::json(json));
        match &self.stage {
            Stage::Code => form(&self.endpoints.device_code, vec![("scope", Secret::new(SCOPE))]),
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
                    ("scope", Secret::new(SCOPE)),
                    ("refresh_token", token.clone()),
                ],
            ),
            Stage::Xbox { microsoft, .. } => post(
                &self.endpoints.xbox,
                &json!({
                    "Properties": {
                        "AuthMethod": "RPS",
                        "SiteName": "user.auth.xboxlive.com",
                        "RpsTicket": format!("d={}", microsoft.expose()),
                    },
                    "RelyingParty": "http://auth.xboxlive.com",
                    "TokenType": "JWT",
                }),
            ),
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

fn code(
    now: Timestamp,
    service: &str,
    response: &Response,
    json: &Json,
) -> Result<(Stage, Step), AuthError> {
    let text = |key: &str| json[key].as_str();
    let seconds = |key: &str| json[key].as_u64().map(Duration::from_secs);
    if !response.is_success() {
        return Err(oauth(service, response, json));
    }
    let (Some(device_code), Some(user_code), Some(url)) =
        (text("device_code"), text("user_code"), text("verification_uri"))
    else {
        return Err(nonsense(service, response));
    };
    let interval = seconds("interval").unwrap_or(INTERVAL);
    let lives = seconds("expires_in").unwrap_or(LIFE);
    let (code, url) = (user_code.to_owned(), url.to_owned());
    let device_code = Secret::new(device_code);
    let stage = Stage::Poll { device_code, interval, until: now.plus(lives) };
    Ok((stage, Step::Show(DeviceCode { code, url, lives }, interval)))
}

/// Microsoft's tokens.
fn tokens(service: &str, response: &Response, json: &Json) -> Result<Stage, AuthError> {
    if !response.is_success() {
        return Err(oauth(service, response, json));
    }
    let token = |key: &str| json[key].as_str().map(Secret::new);
    match (token("access_token"), token("refresh_token")) {
        (Some(microsoft), Some(refresh)) => Ok(Stage::Xbox { microsoft, refresh }),
        _ => Err(nonsense(service, response)),
    }
}

/// What Microsoft means when it gives no token.
fn oauth(service: &str, response: &Response, json: &Json) -> AuthError {
    match json["error"].as_str() {
        Some("authorization_declined" | "access_denied") => AuthError::Declined,
        Some("expired_token" | "code_expired" | "bad_verification_code") => AuthError::CodeExpired,
        Some("invalid_grant") => AuthError::LoginExpired,
        Some("unauthorized_client" | "invalid_client" | "invalid_request") => {
            AuthError::UnknownClient
        }
        Some(error) if response.status < 500 => {
            // The code is printed: take nothing else from the service.
            let code = error.chars().filter(|it| it.is_ascii_lowercase() || *it == '_').collect();
            AuthError::Login { code }
        }
        _ => AuthError::of(service, response),
    }
}

/// A token of Xbox Live, and the hash of the user that goes with it.
fn xbox_token(
    service: &str,
    response: &Response,
    json: &Json,
) -> Result<(Secret, String), AuthError> {
    if !response.is_success() {
        return Err(xsts::refusal(service, response));
    }
    let user = json["DisplayClaims"]["xui"][0]["uhs"].as_str();
    match (json["Token"].as_str(), user) {
        (Some(token), Some(user)) => Ok((Secret::new(token), user.to_owned())),
        _ => Err(nonsense(service, response)),
    }
}

fn access_token(
    now: Timestamp,
    service: &str,
    response: &Response,
    json: &Json,
) -> Result<(Secret, Timestamp), AuthError> {
    if response.status == 403 {
        return Err(AuthError::UnapprovedClient);
    }
    if !response.is_success() {
        return Err(AuthError::of(service, response));
    }
    let token = json["access_token"].as_str().map(Secret::new);
    let lives = json["expires_in"].as_u64().map_or(LIFE, Duration::from_secs);
    token.map(|token| (token, now.plus(lives))).ok_or_else(|| nonsense(service, response))
}

fn nonsense(service: &str, response: &Response) -> AuthError {
    AuthError::Answer { service: service.to_owned(), status: response.status }
}

/// Xbox Live, and a token for later.
const SCOPE: &str = "XboxLive.signin offline_access";

/// Between two polls when nothing else is said (RFC 8628, 3.2).
const INTERVAL: Duration = Duration::from_secs(5);

/// What `slow_down` adds to it (RFC 8628, 3.5).
const SLOWER: Duration = Duration::from_secs(5);

/// When nothing else is said.
const LIFE: Duration = Duration::from_secs(900);

#[cfg(test)]
mod tests;
