use std::fmt;
use std::time::Duration;

use serde_json::Value as Json;

use super::Secret;

/// What is done with a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// It is read.
    Get,
    /// It is given something.
    Post,
}

/// What a request carries.
#[derive(Clone, PartialEq, Eq)]
pub enum Body {
    /// Nothing.
    None,
    /// JSON. It may hold secrets.
    Json(Secret),
    /// The fields of a form. They may hold secrets.
    Form(Vec<(&'static str, Secret)>),
}

impl Body {
    pub(super) fn json(json: &Json) -> Self {
        Self::Json(Secret::new(json.to_string()))
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "None",
            Self::Json(_) => "Json",
            Self::Form(_) => "Form",
        })
    }
}

/// What is to be asked over HTTP.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// What is done.
    pub method: Method,
    /// With what. No secret is in it.
    pub url: String,
    /// Who asks, as `Authorization: Bearer` has it.
    pub bearer: Option<Secret>,
    /// With what in it.
    pub body: Body,
}

impl Request {
    pub(super) fn get(url: String) -> Self {
        Self { method: Method::Get, url, bearer: None, body: Body::None }
    }

    pub(super) fn post(url: String, body: Body) -> Self {
        Self { method: Method::Post, url, bearer: None, body }
    }

    /// Who is asked, for messages: host and port of the URL.
    #[must_use]
    pub fn service(&self) -> &str {
        let behind = self.url.split_once("://").map_or(&*self.url, |(_, rest)| rest);
        behind.split(['/', '?']).next().unwrap_or(behind)
    }
}

/// What was answered.
#[derive(Clone, PartialEq, Eq)]
pub struct Response {
    /// The HTTP status.
    pub status: u16,
    /// How long to wait before asking again, if it says.
    pub retry_after: Option<Duration>,
    /// The body. It may hold secrets.
    pub body: Secret,
}

impl Response {
    /// The body as JSON; null when it is none.
    pub(super) fn json(&self) -> Json {
        serde_json::from_str(self.body.expose()).unwrap_or_default()
    }

    pub(super) fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }
}

impl fmt::Debug for Response {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Response").field("status", &self.status).finish_non_exhaustive()
    }
}
