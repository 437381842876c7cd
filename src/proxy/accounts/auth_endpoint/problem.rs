use bytes::Bytes;
use http_body_util::Full;
use hyper::{Response, StatusCode};
use serde_json::json;
use thiserror::Error;

use crate::proxy::response;
use mitmcraft_engine::auth::{GameRefusal, RequestError};

/// The reason why a request has no answer of a service. No message contains a part of the request.
#[derive(Debug, Error)]
pub(super) enum Problem {
    #[error(transparent)]
    Refused(#[from] GameRefusal),
    #[error("too many requests: wait some seconds")]
    TooMany,
    #[error("the request is too large, or incomplete")]
    Body,
    #[error("the service cannot be reached: {0}")]
    Service(#[from] RequestError),
    #[error("the service has sent no list of services")]
    Discovery,
}

impl Problem {
    /// Returns the answer to the game, in the form that it shows.
    pub(super) fn answer(&self) -> Response<Full<Bytes>> {
        let body = json!({ "error": "mitmcraft", "errorMessage": format!("mitmcraft: {self}") });
        response(self.status(), "application/json", body.to_string())
    }

    fn status(&self) -> StatusCode {
        match self {
            Self::Refused(GameRefusal::WebPage | GameRefusal::Host) => StatusCode::FORBIDDEN,
            Self::Refused(_) => StatusCode::NOT_FOUND,
            Self::TooMany => StatusCode::TOO_MANY_REQUESTS,
            Self::Body => StatusCode::PAYLOAD_TOO_LARGE,
            Self::Service(RequestError::Timeout) => StatusCode::GATEWAY_TIMEOUT,
            Self::Service(_) | Self::Discovery => StatusCode::BAD_GATEWAY,
        }
    }
}
