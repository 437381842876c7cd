use std::convert::Infallible;
use std::future::poll_fn;
use std::io;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use http_body_util::Full;
use hyper::header::{self, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::sync::watch;

use super::page::{Moment, page};
use crate::proxy::net::{Accepted, Newcomers, close};
use crate::proxy::{Listener, LogHandle, LogView, Stop, response};
use mitmcraft_engine::filter::RuleSet;

/// Serves the metrics page to Prometheus.
#[derive(Debug)]
pub struct MetricsServer {
    listener: Listener,
    source: Arc<Source>,
}

/// The data of the page.
#[derive(Debug)]
struct Source {
    log: LogView,
    rules: watch::Receiver<Vec<RuleSet>>,
    started: f64,
}

impl MetricsServer {
    /// Creates a server of the metrics of `log` and the counts of `rules`.
    #[must_use]
    pub fn new(listener: Listener, rules: watch::Receiver<Vec<RuleSet>>, log: &LogHandle) -> Self {
        let started = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let source = Source { log: log.view(), rules, started: started.as_secs_f64() };
        Self { listener, source: Arc::new(source) }
    }

    /// Serves until `stop`; requests that are not answered by then are dropped. Of more than 16 clients,
    /// the longest connected is dropped.
    pub async fn run(self, stop: &Stop) {
        let Self { listener, source } = self;
        let clients = Newcomers::new(MAX_CLIENTS);
        let accept = |accepted: io::Result<Accepted>| {
            let socket = accepted.ok()?.socket;
            let source = Arc::clone(&source);
            let mut client = clients.arrive();
            Some(async move {
                // A client that is too slow gets no answer.
                tokio::select! {
                    _ = tokio::time::timeout(PATIENCE, serve(socket, source)) => {}
                    () = client.must_go() => {}
                }
            })
        };
        tokio::select! {
            () = listener.run(stop, accept) => {}
            () = stop.stopped() => {}
        }
    }
}

impl Source {
    fn answer<B>(&self, request: &Request<B>) -> Response<Full<Bytes>> {
        match (request.method(), request.uri().path()) {
            (&Method::GET | &Method::HEAD, "/metrics") => {
                response(StatusCode::OK, PROMETHEUS, self.page())
            }
            (&Method::GET | &Method::HEAD, "/") => response(StatusCode::OK, HTML, ROOT),
            (&Method::GET | &Method::HEAD, _) => {
                response(StatusCode::NOT_FOUND, TEXT, "not found: see /metrics\n")
            }
            _ => {
                let text = "method not allowed: use GET\n";
                let mut response = response(StatusCode::METHOD_NOT_ALLOWED, TEXT, text);
                response.headers_mut().insert(header::ALLOW, GET_AND_HEAD);
                response
            }
        }
    }

    fn page(&self) -> String {
        let rules = self.rules.borrow().iter().flat_map(RuleSet::counts).collect();
        let moment = Moment {
            rules,
            depth: self.log.depth(),
            limit: self.log.limit(),
            started: self.started,
        };
        page(&self.log.metrics, &moment)
    }
}

/// Answers one request.
async fn serve(socket: TcpStream, source: Arc<Source>) {
    let answer =
        service_fn(|request| std::future::ready(Ok::<_, Infallible>(source.answer(&request))));
    let mut connection = http1::Builder::new()
        .keep_alive(false)
        .max_buf_size(MAX_HEAD)
        .serve_connection(TokioIo::new(socket), answer);
    // A request that is not HTTP has its answer, too.
    let _ = poll_fn(|context| connection.poll_without_shutdown(context)).await;
    close(connection.into_parts().io.into_inner()).await;
}

/// Content type of Prometheus' text format.
const PROMETHEUS: &str = "text/plain; version=0.0.4; charset=utf-8";

const HTML: &str = "text/html; charset=utf-8";

const TEXT: &str = "text/plain";

const GET_AND_HEAD: HeaderValue = HeaderValue::from_static("GET, HEAD");

/// The page for a person who opens the address in a browser.
const ROOT: &str = "<!doctype html><title>mitmcraft</title><a href=\"metrics\">metrics</a>\n";

/// Maximum number of concurrent clients: a scraper or two have one each for some milliseconds.
const MAX_CLIENTS: usize = 16;

/// Maximum time of a request with its answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// Maximum bytes of a request's head.
const MAX_HEAD: usize = 16 << 10;

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;
    use crate::proxy::{LogOptions, LogWriter};

    #[tokio::test]
    async fn answers_what_is_asked_for_and_says_what_else_is_wanted() {
        let listener = Listener::bind(([127, 0, 0, 1], 0).into(), usize::MAX).await.unwrap();
        let address = listener.local_addr().unwrap();
        let (log, _writer) = LogWriter::start(Vec::new(), LogOptions::default()).unwrap();
        let server = MetricsServer::new(listener, watch::channel(Vec::new()).1, &log);
        let stop = Stop::new();
        let running = tokio::spawn({
            let stop = stop.clone();
            async move { server.run(&stop).await }
        });
        let long = format!("GET /metrics HTTP/1.1\r\na: {}\r\n\r\n", "a".repeat(2 * MAX_HEAD));
        for (request, status, text) in [
            ("GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n", "200 OK", "mitmcraft_build_info"),
            ("GET /metrics?name[]=a HTTP/1.0\r\n\r\n", "200 OK", "mitmcraft_build_info"),
            ("GET / HTTP/1.1\r\n\r\n", "200 OK", "metrics</a>"),
            ("GET /metric HTTP/1.1\r\n\r\n", "404 Not Found", "see /metrics"),
            ("POST /metrics HTTP/1.1\r\n\r\n", "405 Method Not Allowed", "allow: GET, HEAD\r\n"),
            ("GET /metrics HTTP/2\r\n\r\n", "400 Bad Request", ""),
            ("\x10\0\x2f\x09localhost\r\n\r\n", "400 Bad Request", ""),
            (&long, "431 Request Header Fields Too Large", ""),
        ] {
            let mut client = TcpStream::connect(address).await.unwrap();
            client.write_all(request.as_bytes()).await.unwrap();
            let mut answer = String::new();
            client.read_to_string(&mut answer).await.unwrap();
            // HTTP/1.0 is answered in its own version.
            let (_, rest) = answer.split_once(' ').expect(request);
            assert!(rest.starts_with(&format!("{status}\r\n")), "{request}: {answer}");
            assert!(answer.contains(text), "{answer}");
            let (head, body) = answer.split_once("\r\n\r\n").unwrap();
            assert!(head.contains(&format!("content-length: {}", body.len())), "{answer}");
        }
        let mut client = TcpStream::connect(address).await.unwrap();
        client.write_all(b"HEAD / HTTP/1.1\r\n\r\n").await.unwrap();
        let mut answer = String::new();
        client.read_to_string(&mut answer).await.unwrap();
        let length = format!("content-length: {}\r\n", ROOT.len());
        assert!(answer.contains(&length) && answer.ends_with("\r\n\r\n"), "{answer}");
        stop.stop("the test is over");
        running.await.unwrap();
    }
}
