use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::header::{self, HeaderMap, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use sha1::{Digest as _, Sha1};
use tokio::sync::Semaphore;
use tokio::time::timeout;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};

use super::files::{file, guarded, refusal};
use super::{Access, Audience, Client, Opener};
use crate::proxy::{
    Accepted, ColorStore, ControlHandle, Listener, Newcomers, RuleEditor, Stop, random_key,
};
use crate::store::Store;
use mitmcraft_engine::auth::Secret;
use mitmcraft_protocol::schema::Catalog;

/// Options of a [`WebServer`].
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct WebOptions {
    /// The entries to browse.
    pub store: Arc<Store>,
    /// The known protocol versions.
    pub catalog: Arc<Catalog>,
    /// Who connects.
    pub audience: Audience,
    /// `true` if the store is fed by a run.
    pub live: bool,
    /// The address at which the game reaches the run.
    pub listening: Option<String>,
    /// Lets them control the sessions of a run.
    pub control: Option<ControlHandle>,
    /// Lets them change the filter files of a run.
    pub rules: Option<RuleEditor>,
    /// The colours of packets at first, and where others are kept; the usual ones if absent.
    pub colors: Option<ColorStore>,
    /// The token that opens the page; a new random one if absent.
    pub token: Option<Arc<Secret>>,
    /// Lets pages open other captures in place of the store.
    pub opener: Option<Opener>,
}

impl WebOptions {
    /// Creates the options of a page on which a complete store is browsed.
    #[must_use]
    pub fn new(store: Arc<Store>, catalog: Arc<Catalog>) -> Self {
        let audience = Audience::Page;
        Self {
            store,
            catalog,
            audience,
            live: false,
            listening: None,
            control: None,
            rules: None,
            colors: None,
            token: None,
            opener: None,
        }
    }
}

/// Serves the interface in a browser, or the one for programs.
#[derive(Debug)]
pub struct WebServer {
    listener: Listener,
    desk: Arc<Desk>,
}

/// What all connections share.
#[derive(Debug)]
pub(super) struct Desk {
    pub(super) access: Access,
    pub(super) options: WebOptions,
    shown: Mutex<Shown>,
    /// One permit per page or program.
    places: Arc<Semaphore>,
    /// WebSockets that have not sent the token yet.
    newcomers: Newcomers,
    stop: Stop,
}

/// The packets that pages get.
#[derive(Debug, Clone)]
pub(super) struct Shown {
    /// A text that is another one for each.
    pub(super) run: String,
    pub(super) store: Arc<Store>,
    /// Stops once others take their place.
    replaced: Stop,
}

impl Shown {
    fn new(store: Arc<Store>) -> Self {
        Self { run: random_key(), store, replaced: Stop::new() }
    }
}

impl WebServer {
    /// Maximum number of concurrent connections, for the listener.
    pub const MAX_CONNECTIONS: usize = 32;

    /// Maximum number of pages, or of programs, at a time.
    pub const MAX_PAGES: usize = 8;

    /// Creates a server.
    ///
    /// # Errors
    /// If the address of the listener is not known.
    pub fn new(listener: Listener, options: WebOptions) -> io::Result<Self> {
        let token = options.token.clone();
        let token = token.unwrap_or_else(|| Arc::new(Secret::new(random_key())));
        let access = Access::new(token, listener.local_addr()?, options.audience);
        let places = Arc::new(Semaphore::new(Self::MAX_PAGES));
        let stop = Stop::new();
        let newcomers = Newcomers::new(Self::MAX_PAGES);
        let shown = Mutex::new(Shown::new(Arc::clone(&options.store)));
        let desk = Desk { access, options, shown, places, newcomers, stop };
        Ok(Self { listener, desk: Arc::new(desk) })
    }

    /// Returns the URL of the page, or of the WebSocket for programs, with the token. Who has it can see and do
    /// everything.
    #[must_use]
    pub fn url(&self) -> String {
        self.desk.access.url()
    }

    /// Returns the bound address.
    ///
    /// # Errors
    /// If the operating system does not report it.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves until `stop`.
    pub async fn run(self, stop: &Stop) {
        let Self { listener, desk } = self;
        let newcomers = Newcomers::new(MAX_NEWCOMERS);
        let serve = |accepted: io::Result<Accepted>| {
            let Accepted { socket, refused: None, .. } = accepted.ok()? else { return None };
            let desk = Arc::clone(&desk);
            let answer = service_fn(move |request| {
                let answered = desk.answer(request);
                async move { Ok::<_, Infallible>(guarded(answered)) }
            });
            let mut newcomer = newcomers.arrive();
            Some(async move {
                // A browser that goes away or is too slow gets no answer.
                let served = http1::Builder::new()
                    .timer(TokioTimer::new())
                    .header_read_timeout(PATIENCE)
                    .max_buf_size(MAX_HEAD)
                    .serve_connection(TokioIo::new(socket), answer)
                    .with_upgrades();
                tokio::select! {
                    _ = served => {}
                    () = newcomer.must_go() => {}
                }
            })
        };
        tokio::select! {
            () = listener.run(stop, serve) => {}
            () = stop.stopped() => {}
        }
        desk.stop.stop("the run has ended");
        // Each client leaves its place once it has been told.
        let _ = timeout(PATIENCE, desk.places.acquire_many(Self::MAX_PAGES as u32)).await;
    }
}

impl Desk {
    fn shown(&self) -> Shown {
        self.shown.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Shows the packets of another store: pages are disconnected, and get these once they connect again.
    pub(super) fn show(&self, store: Arc<Store>) {
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        let before = std::mem::replace(&mut *shown, Shown::new(store));
        before.replaced.stop("another capture was opened");
    }

    fn answer(self: &Arc<Self>, request: Request<Incoming>) -> Response<Full<Bytes>> {
        if !self.access.admits_host(request.headers()) {
            return refusal(
                StatusCode::MISDIRECTED_REQUEST,
                "this host name is not one of mitmcraft's: use the URL that it has printed\n",
            );
        }
        match (request.method(), request.uri().path()) {
            (&Method::GET, "/socket") => self.socket(request),
            (&Method::GET, _) if self.options.audience == Audience::Programs => refusal(
                StatusCode::NOT_FOUND,
                "this address is for programs, at /socket: see docs/control.md\n",
            ),
            (&Method::GET, path) => file(path)
                .unwrap_or_else(|| refusal(StatusCode::NOT_FOUND, "there is no such file\n")),
            _ => refusal(StatusCode::METHOD_NOT_ALLOWED, "only GET is answered\n"),
        }
    }

    /// Opens a WebSocket (RFC 6455, section 4.2).
    fn socket(self: &Arc<Self>, mut request: Request<Incoming>) -> Response<Full<Bytes>> {
        if !self.access.admits_origin(request.headers()) {
            return refusal(StatusCode::FORBIDDEN, "pages of other servers are refused\n");
        }
        let Some(accept) = accept(request.headers()) else {
            return refusal(StatusCode::BAD_REQUEST, "this path is for WebSockets of version 13\n");
        };
        let mut newcomer = self.newcomers.arrive();
        let upgrade = hyper::upgrade::on(&mut request);
        let desk = Arc::clone(self);
        tokio::spawn(async move {
            let Ok(upgraded) = upgrade.await else { return };
            let config = WebSocketConfig::default()
                .max_message_size(Some(MAX_MESSAGE))
                .max_frame_size(Some(MAX_MESSAGE));
            let socket = WebSocketStream::from_raw_socket(
                TokioIo::new(upgraded),
                Role::Server,
                Some(config),
            );
            let mut client = Client::new(socket.await, Arc::clone(&desk));
            let admitted = tokio::select! {
                admitted = client.admit() => admitted,
                () = newcomer.must_go() => return,
                () = desk.stop.stopped() => return,
            };
            drop(newcomer);
            if !admitted {
                return;
            }
            let Ok(_place) = Arc::clone(&desk.places).try_acquire_owned() else {
                return client.refuse(desk.options.audience.too_many()).await;
            };
            let shown = desk.shown();
            tokio::select! {
                () = client.run(&shown) => {}
                () = desk.stop.stopped() => client.dismiss("the run has ended").await,
                () = shown.replaced.stopped() => client.dismiss("another capture was opened").await,
            }
        });
        let mut response = Response::new(Full::default());
        *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
        let headers = response.headers_mut();
        headers.insert(header::CONNECTION, HeaderValue::from_static("Upgrade"));
        headers.insert(header::UPGRADE, HeaderValue::from_static("websocket"));
        headers.insert(header::SEC_WEBSOCKET_ACCEPT, accept);
        response
    }
}

/// Returns the answer to the key of a WebSocket's opening request; `None` if it is no such request.
fn accept(headers: &HeaderMap) -> Option<HeaderValue> {
    let text = |name| headers.get(name)?.to_str().ok();
    let has = |name, word: &str| {
        text(name).is_some_and(|value: &str| {
            value.split(',').any(|it| it.trim().eq_ignore_ascii_case(word))
        })
    };
    if !has(header::UPGRADE, "websocket")
        || !has(header::CONNECTION, "upgrade")
        || text(header::SEC_WEBSOCKET_VERSION) != Some("13")
    {
        return None;
    }
    let key = text(header::SEC_WEBSOCKET_KEY)?;
    let hash = Sha1::new().chain_update(key).chain_update(GUID).finalize();
    HeaderValue::from_str(&BASE64_STANDARD.encode(hash)).ok()
}

/// The text that RFC 6455 appends to a key.
const GUID: &str = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/// Maximum time until the head of a request is there.
const PATIENCE: Duration = Duration::from_secs(10);

/// Connections that have not been answered yet, at most; fewer than all connections.
const MAX_NEWCOMERS: usize = 24;

/// Maximum bytes of a request's head.
const MAX_HEAD: usize = 16 << 10;

/// Maximum bytes of a message from a page: the fields of a chunk as JSON fit.
const MAX_MESSAGE: usize = 2 << 20;
