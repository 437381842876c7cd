use std::convert::Infallible;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Incoming;
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;

use super::problem::Problem;
use super::rate::Rate;
use crate::proxy::accounts::{ForwardedRequest, ForwardedResponse};
use crate::proxy::net::Accepted;
use crate::proxy::{Clock, Http, LentJoins, Listener, Newcomers, Notices, RunNotice, Stop};
use mitmcraft_engine::auth::{
    self, AuthError, GameRequest, GameRoute, GameServices, Secret, SessionService, service_of,
};
use tokio::sync::watch;

/// Serves the web services of the game to games on this machine.
#[derive(Debug)]
pub struct AuthEndpoint {
    listener: Listener,
    services: GameServices,
    http: Http,
    joins: LentJoins,
}

/// The state that all requests share.
#[derive(Debug)]
struct Handler {
    services: GameServices,
    http: Http,
    joins: LentJoins,
    notices: Notices,
    rate: Mutex<Rate>,
    clock: Clock,
}

impl AuthEndpoint {
    /// Maximum number of concurrent connections, for the listener.
    pub const MAX_CLIENTS: usize = 64;

    /// Creates an endpoint of `services`, which remembers logins in `joins`.
    #[must_use]
    pub fn new(listener: Listener, services: GameServices, http: Http, joins: LentJoins) -> Self {
        Self { listener, services, http, joins }
    }

    /// Serves until `stop`, and reports failed logins of games to `notices`; requests that are not
    /// answered by then are dropped.
    pub async fn run(self, stop: &Stop, notices: &Notices) {
        let Self { listener, services, http, joins } = self;
        let (notices, rate, clock) = (notices.clone(), Mutex::default(), Clock::new());
        let newcomers = Newcomers::new(MAX_NEWCOMERS);
        let handler = Arc::new(Handler { services, http, joins, notices, rate, clock });
        let serve = |accepted: io::Result<Accepted>| {
            let Accepted { socket, refused: None, .. } = accepted.ok()? else { return None };
            let handler = Arc::clone(&handler);
            let mut newcomer = newcomers.arrive();
            let (known, mut is_known) = watch::channel(false);
            let answer = service_fn(move |request| {
                let (handler, known) = (Arc::clone(&handler), known.clone());
                async move { Ok::<_, Infallible>(handler.answer(request, &known).await) }
            });
            Some(async move {
                let connection = http1::Builder::new()
                    .keep_alive(false)
                    .max_buf_size(MAX_HEAD)
                    .serve_connection(TokioIo::new(socket), answer);
                // A game that is too slow, or closes early, gets no answer.
                let connection = tokio::time::timeout(PATIENCE, connection);
                tokio::pin!(connection);
                let stays = tokio::select! {
                    _ = &mut connection => return,
                    known = is_known.wait_for(|known| *known) => known.is_ok(),
                    () = newcomer.must_go() => false,
                };
                drop(newcomer);
                if stays {
                    let _ = connection.await;
                }
            })
        };
        tokio::select! {
            () = listener.run(stop, serve) => {}
            () = stop.stopped() => {}
        }
    }
}

impl Handler {
    /// Answers a request. Sets `known` if it is one of a game.
    async fn answer(
        &self,
        request: Request<Incoming>,
        known: &watch::Sender<bool>,
    ) -> Response<Full<Bytes>> {
        match self.handle(request, known).await {
            Ok(response) => response,
            Err(problem) => problem.answer(),
        }
    }

    async fn handle(
        &self,
        request: Request<Incoming>,
        known: &watch::Sender<bool>,
    ) -> Result<Response<Full<Bytes>>, Problem> {
        let (head, body) = request.into_parts();
        let route = self.services.route(GameRequest {
            method: head.method.as_str(),
            target: &head.uri.to_string(),
            host: head.headers.get(header::HOST).and_then(|host| host.to_str().ok()),
            from_page: head.headers.contains_key(header::ORIGIN)
                || head.headers.contains_key("sec-fetch-site"),
        })?;
        known.send_replace(true);
        let admitted =
            self.rate.lock().unwrap_or_else(PoisonError::into_inner).admits(self.clock.now());
        if !admitted {
            return Err(Problem::TooMany);
        }
        let body = Limited::new(body, MAX_BODY).collect().await.map_err(|_| Problem::Body)?;
        let headers = end_to_end(&head.headers);
        let request = ForwardedRequest { method: head.method, headers, body: body.to_bytes() };
        let answered = match &route {
            GameRoute::Pass(urls) => self.http.pass_on(urls, &request).await?,
            GameRoute::Join(urls) => self.join(urls, &request).await?,
            GameRoute::Discovery(url) => self.discover(url, &request).await?,
            GameRoute::Metadata(Some(url)) => {
                self.http.pass_on(std::slice::from_ref(url), &request).await?
            }
            GameRoute::Metadata(None) => ForwardedResponse {
                status: StatusCode::OK,
                headers: HeaderMap::from_iter([(header::CONTENT_TYPE, JSON)]),
                body: MOJANG_METADATA.into(),
            },
        };
        let mut response = Response::new(Full::new(answered.body));
        *response.status_mut() = answered.status;
        *response.headers_mut() = end_to_end(&answered.headers);
        if matches!(route, GameRoute::Metadata(_)) {
            let location = HeaderValue::from_str(self.services.api_location().expose());
            response.headers_mut().extend(location.map(|it| (API_LOCATION, it)));
        }
        Ok(response)
    }

    /// Passes on that an account joins a server, and remembers it if the service accepts it. The game gets
    /// its answer after that, and answers its server after the answer.
    async fn join(
        &self,
        urls: &[String],
        request: &ForwardedRequest,
    ) -> Result<ForwardedResponse, Problem> {
        let service = urls.first().map_or("the service", |url| service_of(url));
        let answered = match self.http.pass_on(urls, request).await {
            Ok(answered) => answered,
            Err(cause) => {
                let service = service.to_owned();
                self.report(&AuthError::Unreachable { service, cause: cause.clone() });
                return Err(cause.into());
            }
        };
        let response = auth::Response {
            status: answered.status.as_u16(),
            retry_after: None,
            body: Secret::new(String::from_utf8_lossy(&answered.body)),
        };
        match SessionService::read_join(service, &response) {
            Ok(()) => {
                if let Some((account, hash)) = SessionService::read_join_request(&request.body) {
                    self.joins.remember(hash, account);
                }
            }
            Err(error) => self.report(&error.of_lent()),
        }
        Ok(answered)
    }

    /// Tells the person who runs the proxy why a game cannot join a server; the game has the service's
    /// own answer.
    fn report(&self, error: &AuthError) {
        self.notices.show(&RunNotice::GameJoinFails(error));
    }

    async fn discover(
        &self,
        url: &str,
        request: &ForwardedRequest,
    ) -> Result<ForwardedResponse, Problem> {
        let mut answered = self.http.pass_on(&[url.to_owned()], request).await?;
        if answered.status.is_success() {
            let document = self.services.rewrite_discovery(&answered.body);
            answered.body = document.ok_or(Problem::Discovery)?.into();
            // It is the tag of another document.
            answered.headers.remove(header::ETAG);
        }
        Ok(answered)
    }
}

/// Returns the headers that are not about one connection. Each connection has its own of the others.
fn end_to_end(headers: &HeaderMap) -> HeaderMap {
    let named = headers.get_all(header::CONNECTION).iter().filter_map(|value| value.to_str().ok());
    let named = named.flat_map(|value| value.split(','));
    let named: Vec<HeaderName> = named.filter_map(|name| name.trim().parse().ok()).collect();
    let of_connection = |name| OF_CONNECTION.contains(name) || named.contains(name);
    let kept = headers.iter().filter(|(name, _)| !of_connection(name));
    kept.map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// The headers that are about one connection (RFC 9110, section 7.6.1, and what frames a message),
/// besides those that `Connection` names.
const OF_CONNECTION: [HeaderName; 11] = [
    header::HOST,
    header::CONTENT_LENGTH,
    header::CONNECTION,
    HeaderName::from_static("keep-alive"),
    header::PROXY_AUTHENTICATE,
    header::PROXY_AUTHORIZATION,
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
    header::EXPECT,
];

/// The header by which launchers find the API of authlib-injector.
const API_LOCATION: HeaderName = HeaderName::from_static("x-authlib-injector-api-location");

const JSON: HeaderValue = HeaderValue::from_static("application/json; charset=utf-8");

/// The metadata of Mojang's services for authlib-injector. It has their key for the signatures of skins and
/// the domains of these built in, and keeps them beside those of a document. The features are those that
/// it would turn off or replace for another operator.
const MOJANG_METADATA: &str = r#"{"meta":{"serverName":"Mojang, through mitmcraft","implementationName":"mitmcraft","feature.no_mojang_namespace":true,"feature.enable_mojang_anti_features":true,"feature.enable_profile_key":true,"feature.username_check":true},"skinDomains":[]}"#;

/// Maximum time of a request with its answer.
const PATIENCE: Duration = Duration::from_secs(30);

/// Clients that have not asked for anything yet; fewer than all, so that a game always finds a place.
const MAX_NEWCOMERS: usize = 32;

/// Maximum bytes of a request's head: a token has up to 2 KiB.
const MAX_HEAD: usize = 32 << 10;

/// Maximum bytes of a request's body: a report of chat messages is the largest.
const MAX_BODY: usize = 64 << 10;
