use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value as Json;
use thiserror::Error;

use super::{AuthError, Body, LentAccount, Profile, Request, Response, Secret};
use mitmcraft_protocol::schema::parse_uuid;

/// A session service, which verifies players: Mojang's, or another one with the same API.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionService {
    /// Base addresses for `/session/minecraft/..`, the likelier one first.
    bases: Vec<String>,
}

/// The reason why the address of a service is invalid.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum UrlError {
    /// The address has another form.
    #[error("expected `https://HOST[:PORT][/PATH]`, or `http://` for a service of your own")]
    Form,
    /// The address contains a user or a password, which would be printed.
    #[error("an address must not contain a user or a password")]
    Password,
}

impl SessionService {
    /// Address of Mojang's service.
    pub const MOJANG: &str = "https://sessionserver.mojang.com";

    /// Creates a service from the address of a session server, or of a whole Yggdrasil service whose
    /// session server is at `sessionserver` below it (authlib-injector's form). The last part of the path
    /// decides which one is tried first; the other one is tried if that responds with 404.
    ///
    /// # Errors
    /// If the address is invalid.
    pub fn new(url: &str) -> Result<Self, UrlError> {
        let url = check_url(url)?;
        let url = url.strip_suffix(CALLS).unwrap_or(url);
        let last = url.rsplit('/').next().unwrap_or_default();
        let (own, below) = (url.to_owned(), format!("{url}/sessionserver"));
        let is_whole =
            url.matches('/').count() > 2 && !["session", "sessionserver"].contains(&last);
        Ok(Self { bases: if is_whole { vec![below, own] } else { vec![own, below] } })
    }

    /// Returns requests that tell the service that the account with this UUID joins the server with this
    /// hash. Each is an alternative for when the one before is not found (404).
    #[must_use]
    pub fn join(&self, id: u128, token: &Secret, server_hash: &str) -> Vec<Request> {
        let body = Body::json(&serde_json::json!({
            "accessToken": token.expose(),
            "selectedProfile": format!("{id:032x}"),
            "serverId": server_hash,
        }));
        self.at("join", |url| Request::post(url, body.clone()))
    }

    /// Returns requests that ask whether the player `name` has joined the server with this hash.
    #[must_use]
    pub fn has_joined(&self, name: &str, server_hash: &str) -> Vec<Request> {
        let name = escape(name);
        let query = format!("hasJoined?username={name}&serverId={server_hash}");
        self.at(&query, Request::get)
    }

    /// Returns requests for the profile of a UUID.
    #[must_use]
    pub fn profile(&self, id: u128) -> Vec<Request> {
        self.at(&format!("profile/{id:032x}"), Request::get)
    }

    /// Reads a request to join, as a game sends it: the account, and the server hash. `None` if it is
    /// malformed.
    #[must_use]
    pub fn read_join_request(body: &[u8]) -> Option<(LentAccount, String)> {
        let json: Json = serde_json::from_slice(body).ok()?;
        let text = |key: &str| json.get(key)?.as_str();
        let id = parse_uuid(text("selectedProfile")?)?;
        let token = Secret::new(text("accessToken")?);
        Some((LentAccount { id, token }, text("serverId")?.to_owned()))
    }

    /// Returns the addresses of `path`, which begins with a slash, each an alternative for when the one
    /// before is not found (404).
    pub(super) fn addresses(&self, path: &str) -> Vec<String> {
        self.bases.iter().map(|base| format!("{base}{path}")).collect()
    }

    /// Reads the response to [`join`](Self::join).
    ///
    /// # Errors
    /// If the account may not join.
    pub fn read_join(service: &str, response: &Response) -> Result<(), AuthError> {
        if response.is_success() {
            return Ok(());
        }
        let json = response.json();
        let error = json["error"].as_str().unwrap_or_default();
        match response.status {
            403 if error.contains("InsufficientPrivileges") => Err(AuthError::Multiplayer),
            403 if error.contains("UserBanned") => Err(AuthError::Banned),
            // Without an error code, as some services and firewalls send it, the token is to blame.
            401 | 403 => Err(AuthError::Token),
            _ => Err(AuthError::of(service, response)),
        }
    }

    /// Reads the response to [`has_joined`](Self::has_joined), which contains the player's profile.
    ///
    /// # Errors
    /// If the player is not verified.
    pub fn read_has_joined(
        service: &str,
        name: &str,
        response: &Response,
    ) -> Result<Profile, AuthError> {
        match response.status {
            200 => Profile::from_json(&response.json())
                .ok_or_else(|| AuthError::Answer { service: service.to_owned(), status: 200 }),
            204 | 403 => Err(AuthError::NotJoined { name: name.to_owned() }),
            _ => Err(AuthError::of(service, response)),
        }
    }

    fn at(&self, call: &str, request: impl Fn(String) -> Request) -> Vec<Request> {
        self.addresses(&format!("{CALLS}/{call}")).into_iter().map(request).collect()
    }
}

/// Checks an address, and returns it without trailing slashes.
pub(super) fn check_url(url: &str) -> Result<&str, UrlError> {
    let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
    let host = rest.and_then(|rest| rest.split('/').next()).ok_or(UrlError::Form)?;
    if host.contains('@') {
        return Err(UrlError::Password);
    }
    let odd = |char: char| char.is_whitespace() || char.is_control() || "?#\"<>".contains(char);
    if host.is_empty() || url.contains(odd) {
        return Err(UrlError::Form);
    }
    Ok(url.trim_end_matches('/'))
}

/// Escapes a name for a URL.
pub(super) fn escape(text: &str) -> String {
    utf8_percent_encode(text, ESCAPED).to_string()
}

/// The bytes that are escaped: all but the unreserved characters of RFC 3986.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'_').remove(b'-').remove(b'.').remove(b'~');

/// Where the calls of a session service are, below its address.
pub(super) const CALLS: &str = "/session/minecraft";

#[cfg(test)]
mod tests {
    use super::*;

    fn response(status: u16, body: &str) -> Response {
        Response { status, retry_after: None, body: Secret::new(body) }
    }

    fn steve() -> Profile {
        Profile { name: "Steve".into(), id: 0xb50a_d385_829d_3141_a216_7e7d_7539_ba7f }
    }

    fn urls(base: &str) -> Vec<String> {
        let requests = SessionService::new(base).unwrap().has_joined("Ste ve", "-1f");
        requests.into_iter().map(|it| it.url).collect()
    }

    #[test]
    fn a_session_server_and_a_whole_yggdrasil_service_are_asked_in_their_own_places() {
        let call = "session/minecraft/hasJoined?username=Ste%20ve&serverId=-1f";
        for (base, first, second) in [
            ("https://s.org", "https://s.org", "https://s.org/sessionserver"),
            ("https://s.org/", "https://s.org", "https://s.org/sessionserver"),
            (
                "https://s.org/session",
                "https://s.org/session",
                "https://s.org/session/sessionserver",
            ),
            (
                "http://s.org:81/api/yggdrasil",
                "http://s.org:81/api/yggdrasil/sessionserver",
                "http://s.org:81/api/yggdrasil",
            ),
            (
                "https://s.org/api/yggdrasil/sessionserver/",
                "https://s.org/api/yggdrasil/sessionserver",
                "https://s.org/api/yggdrasil/sessionserver/sessionserver",
            ),
            ("https://s.org/session/minecraft", "https://s.org", "https://s.org/sessionserver"),
        ] {
            assert_eq!(
                urls(base),
                [format!("{first}/{call}"), format!("{second}/{call}")],
                "{base}"
            );
        }
    }

    #[test]
    fn what_is_no_address_is_told() {
        for wrong in ["", "s.org", "ftp://s.org", "https://", "https://s.org/?x", "https://s .org"]
        {
            assert_eq!(SessionService::new(wrong), Err(UrlError::Form), "{wrong}");
        }
        assert_eq!(SessionService::new("https://me:pw@s.org"), Err(UrlError::Password));
    }

    #[test]
    fn join_carries_the_token_in_its_body_alone() {
        let service = SessionService::new(SessionService::MOJANG).unwrap();
        let request = &service.join(steve().id, &Secret::new("ey.token"), "-1f")[0];
        assert_eq!(request.url, "https://sessionserver.mojang.com/session/minecraft/join");
        let Body::Json(body) = &request.body else { panic!("{request:?}") };
        assert_eq!(
            body.expose(),
            r#"{"accessToken":"ey.token","selectedProfile":"b50ad385829d3141a2167e7d7539ba7f","serverId":"-1f"}"#
        );
        let printed = format!("{request:?}");
        assert!(!printed.contains("ey.") && !printed.contains("829d"), "{printed}");
    }

    #[test]
    fn every_answer_to_join_has_its_meaning() {
        let read = |status, body| SessionService::read_join("s.org", &response(status, body));
        assert_eq!(read(204, ""), Ok(()));
        assert_eq!(read(200, ""), Ok(()));
        let invalid = r#"{"error":"ForbiddenOperationException","errorMessage":"Invalid token"}"#;
        assert_eq!(read(403, invalid), Err(AuthError::Token));
        assert_eq!(read(401, ""), Err(AuthError::Token));
        let privileges = r#"{"error":"InsufficientPrivilegesException"}"#;
        assert_eq!(read(403, privileges), Err(AuthError::Multiplayer));
        assert_eq!(read(403, r#"{"error":"UserBannedException"}"#), Err(AuthError::Banned));
        assert_eq!(read(429, ""), Err(AuthError::TooMany { service: "s.org".into() }));
        assert_eq!(read(503, ""), Err(AuthError::Down { service: "s.org".into(), status: 503 }));
        assert_eq!(read(404, ""), Err(AuthError::Answer { service: "s.org".into(), status: 404 }));
    }

    #[test]
    fn every_answer_to_has_joined_has_its_meaning() {
        let read = |status, body| {
            SessionService::read_has_joined("s.org", "Steve", &response(status, body))
        };
        let body = r#"{"id":"b50ad385829d3141a2167e7d7539ba7f","name":"Steve","properties":[]}"#;
        assert_eq!(read(200, body), Ok(steve()));
        let not_joined = Err(AuthError::NotJoined { name: "Steve".into() });
        assert_eq!(read(204, ""), not_joined);
        assert_eq!(read(403, ""), not_joined);
        for (status, body) in [(200, "<html>"), (200, "{}"), (302, "")] {
            assert_eq!(
                read(status, body),
                Err(AuthError::Answer { service: "s.org".into(), status })
            );
        }
        assert_eq!(read(500, ""), Err(AuthError::Down { service: "s.org".into(), status: 500 }));
    }
}
