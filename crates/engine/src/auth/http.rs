use std::time::Duration;

use serde_json::Value as Json;

use super::Secret;

/// An HTTP method.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// GET.
    Get,
    /// POST.
    Post,
}

/// Body of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Body {
    /// No body.
    None,
    /// JSON, which may contain secrets.
    Json(Secret),
    /// Fields of a form, which may contain secrets.
    Form(Vec<(&'static str, Secret)>),
}

impl Body {
    pub(super) fn json(json: &Json) -> Self {
        Self::Json(Secret::new(json.to_string()))
    }
}

/// An HTTP request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// The method.
    pub method: Method,
    /// The URL, which contains no secret.
    pub url: String,
    /// The token for `Authorization: Bearer`, if any.
    pub bearer: Option<Secret>,
    /// The body.
    pub body: Body,
}

impl Request {
    pub(super) fn get(url: String) -> Self {
        Self { method: Method::Get, url, bearer: None, body: Body::None }
    }

    pub(super) fn post(url: String, body: Body) -> Self {
        Self { method: Method::Post, url, bearer: None, body }
    }

    /// Returns host and port of the URL, for messages.
    #[must_use]
    pub fn service(&self) -> &str {
        service_of(&self.url)
    }
}

/// Returns host and port of a URL, for messages.
pub fn service_of(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    rest.split(['/', '?']).next().unwrap_or(rest)
}

/// An HTTP response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Response {
    /// The HTTP status.
    pub status: u16,
    /// The time to wait before trying again (`Retry-After`), if given.
    pub retry_after: Option<Duration>,
    /// The body, which may contain secrets.
    pub body: Secret,
}

impl Response {
    /// Returns the body as JSON; null if it is not valid JSON.
    pub(super) fn json(&self) -> Json {
        serde_json::from_str(self.body.expose()).unwrap_or_default()
    }

    pub(super) fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }
}
