use thiserror::Error;

use mitmcraft_protocol::packet::Cause;

/// The reason why a request to a service has no response.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum RequestError {
    /// The service did not answer in time.
    #[error("no answer in time")]
    Timeout,
    /// The response is larger than any that the services send.
    #[error("the answer is too large")]
    TooLarge,
    /// There is nothing to ask.
    #[error("there is no request")]
    NoRequest,
    /// The connection or HTTP failed, as the HTTP client reports it.
    #[error("{0}")]
    Failed(Cause),
}
