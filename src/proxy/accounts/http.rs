use std::error::Error as _;
use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use reqwest::header::HeaderMap;
use thiserror::Error;

use crate::proxy::Clock;
use mitmcraft_engine::auth::{
    AuthError, Body, Method, Request, RequestError, Response, Retry, Secret,
};
use mitmcraft_engine::link::NetworkError;
use mitmcraft_protocol::packet::Cause;

/// An HTTP client for account services. Cheap to clone.
///
/// It ignores the HTTP proxies of the system and does not follow redirections: a token is sent to
/// the address that its owner chose, and nowhere else.
#[derive(Debug, Clone)]
pub struct Http {
    client: reqwest::Client,
    clock: Clock,
}

/// A request that is passed on as it came.
#[derive(Clone)]
pub(in crate::proxy) struct ForwardedRequest {
    pub(in crate::proxy) method: reqwest::Method,
    pub(in crate::proxy) headers: HeaderMap,
    pub(in crate::proxy) body: Bytes,
}

/// The response to a request that was passed on.
pub(in crate::proxy) struct ForwardedResponse {
    pub(in crate::proxy) status: reqwest::StatusCode,
    pub(in crate::proxy) headers: HeaderMap,
    pub(in crate::proxy) body: Bytes,
}

/// The reason why HTTPS cannot be used.
#[derive(Debug, Error)]
#[error("cannot use HTTPS: {0}")]
pub struct HttpError(RequestError);

impl Http {
    /// Creates a client that trusts the certificates of the operating system.
    ///
    /// # Errors
    /// If there are none.
    pub fn new() -> Result<Self, HttpError> {
        // This fails if a provider is installed already.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = reqwest::Client::builder()
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .connect_timeout(TRY)
            .user_agent(concat!("mitmcraft/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(|error| HttpError(request_error(error)))?;
        Ok(Self { client, clock: Clock::new() })
    }

    /// Sends the first of `requests`, and retries while its service is down. If it is not found (404),
    /// continues with the next one. Returns the service that answered, and its response.
    ///
    /// # Errors
    /// [`AuthError::Unreachable`] if no service answers within `patience`.
    pub async fn ask(
        &self,
        requests: &[Request],
        patience: Duration,
    ) -> Result<(String, Response), AuthError> {
        let mut retry = Retry::new(self.clock.now(), patience);
        let mut requests = requests.iter().peekable();
        let Some(mut request) = requests.next() else {
            let (service, cause) = ("no service".into(), RequestError::NoRequest);
            return Err(AuthError::Unreachable { service, cause });
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

    /// Sends a request once to the first of `urls`. If that does not know its path (404), continues with
    /// the next one.
    ///
    /// # Errors
    /// If a service does not answer in time.
    pub(in crate::proxy) async fn pass_on(
        &self,
        urls: &[String],
        request: &ForwardedRequest,
    ) -> Result<ForwardedResponse, RequestError> {
        let mut outcome = Err(RequestError::NoRequest);
        for url in urls {
            let ForwardedRequest { method, headers, body } = request.clone();
            let request = self.client.request(method, url).headers(headers).body(body);
            let mut response = request.timeout(PASSED_ON).send().await.map_err(request_error)?;
            let (status, headers) = (response.status(), std::mem::take(response.headers_mut()));
            let body = read_body(response, LARGEST_PASSED_ON).await?.into();
            let missing = status == reqwest::StatusCode::NOT_FOUND;
            outcome = Ok(ForwardedResponse { status, headers, body });
            if !missing {
                break;
            }
        }
        outcome
    }

    /// Sends a request once.
    async fn once(&self, request: &Request, limit: Duration) -> Result<Response, RequestError> {
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
        let response = answering.await.map_err(request_error)?;
        let status = response.status().as_u16();
        let retry_after = response.headers().get("retry-after");
        let retry_after = retry_after.and_then(|it| it.to_str().ok()?.trim().parse().ok());
        let body = read_body(response, LARGEST).await?;
        let body = Secret::new(String::from_utf8_lossy(&body).into_owned());
        Ok(Response { status, retry_after: retry_after.map(Duration::from_secs), body })
    }
}

/// Reads the body of a response, up to `limit` bytes.
async fn read_body(mut response: reqwest::Response, limit: usize) -> Result<Vec<u8>, RequestError> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(request_error)? {
        if body.len() + chunk.len() > limit {
            return Err(RequestError::TooLarge);
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

/// An error of the HTTP client, in the words of its innermost cause, without the URL.
#[derive(Debug, Error)]
struct Failure(reqwest::Error);

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut bottom = self.0.source();
        while let Some(below) = bottom.and_then(std::error::Error::source) {
            bottom = Some(below);
        }
        match bottom.map(|cause| (cause, cause.downcast_ref())) {
            Some((_, Some(error))) => NetworkError::explain(error, f),
            Some((cause, None)) => write!(f, "{cause}"),
            None => f.write_str("the request failed"),
        }
    }
}

/// Returns why a request failed.
fn request_error(error: reqwest::Error) -> RequestError {
    match error.is_timeout() {
        true => RequestError::Timeout,
        false => RequestError::Failed(Cause::new(Failure(error))),
    }
}

/// Maximum time of one try.
const TRY: Duration = Duration::from_secs(8);

/// Maximum time of a request that is passed on: the game waits as long.
const PASSED_ON: Duration = Duration::from_secs(15);

/// Largest response to a request that is passed on, in bytes.
const LARGEST_PASSED_ON: usize = 1 << 20;

/// Largest response, in bytes: a profile with its skin has 2 KiB.
const LARGEST: usize = 256 << 10;

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::{SocketAddr, TcpListener};

    use super::*;

    /// A service that gives these answers, a connection each, then none; its address.
    fn service(answers: &'static [&'static str]) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        std::thread::spawn(move || {
            let mut silent = Vec::new();
            for answer in answers {
                let (mut socket, _) = listener.accept().unwrap();
                let mut request = [0; 4096];
                let _ = socket.read(&mut request).unwrap();
                match *answer {
                    "" => silent.push(socket),
                    answer => socket.write_all(answer.as_bytes()).unwrap(),
                }
            }
            // The silent ones stay open until the client gives up.
            for mut socket in silent {
                let _ = socket.read(&mut [0; 1]);
            }
        });
        address
    }

    fn get(address: &str, path: &str) -> Request {
        let url = format!("http://{address}/{path}");
        Request { method: Method::Get, url, bearer: None, body: Body::None }
    }

    async fn ask(paths: &[&str], address: &str, patience: Duration) -> Result<u16, AuthError> {
        let requests: Vec<_> = paths.iter().map(|path| get(address, path)).collect();
        let asked = Http::new().unwrap().ask(&requests, patience).await;
        asked.map(|(service, response)| {
            assert_eq!(service, address);
            response.status
        })
    }

    const LONG: Duration = Duration::from_secs(20);
    const DOWN: &str =
        "HTTP/1.1 503 x\r\nretry-after: 0\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";
    const OK: &str = "HTTP/1.1 200 x\r\nconnection: close\r\ncontent-length: 2\r\n\r\n{}";
    const MISSING: &str = "HTTP/1.1 404 x\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";
    const MOVED: &str =
        "HTTP/1.1 302 x\r\nlocation: /\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";

    #[tokio::test]
    async fn a_service_that_is_down_is_asked_again() {
        assert_eq!(ask(&["a"], &service(&[DOWN, DOWN, OK]), LONG).await, Ok(200));
        let address = service(&[DOWN, DOWN, DOWN, DOWN]);
        assert_eq!(ask(&["a"], &address, LONG).await, Ok(503));
    }

    #[tokio::test]
    async fn what_is_not_found_is_asked_for_in_the_next_place() {
        assert_eq!(ask(&["a", "b"], &service(&[MISSING, OK]), LONG).await, Ok(200));
        assert_eq!(ask(&["a", "b"], &service(&[MISSING, MISSING]), LONG).await, Ok(404));
    }

    #[tokio::test]
    async fn a_redirection_is_not_followed() {
        assert_eq!(ask(&["a"], &service(&[MOVED]), LONG).await, Ok(302));
    }

    #[tokio::test]
    async fn a_silent_service_and_one_that_is_not_there_are_told_apart() {
        let short = Duration::from_millis(300);
        let cause = |asked: Result<u16, AuthError>| match asked {
            Err(AuthError::Unreachable { cause, .. }) => cause.to_string(),
            other => panic!("{other:?}"),
        };
        assert_eq!(cause(ask(&["a"], &service(&[""]), short).await), "no answer in time");
        // Bound and not listening: refuses connections, and nobody else gets the port.
        let gone =
            socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
        gone.bind(&SocketAddr::from(([127, 0, 0, 1], 0)).into()).unwrap();
        let address = gone.local_addr().unwrap().as_socket().unwrap().to_string();
        assert_eq!(cause(ask(&["a"], &address, short).await), "connection refused");
    }
}
