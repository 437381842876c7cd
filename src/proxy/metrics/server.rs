use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::{oneshot, watch};

use super::http::{answer, is_complete, too_long};
use super::page::{Moment, page};
use crate::filter::RuleSet;
use crate::proxy::driver::close;
use crate::proxy::listener::Accepted;
use crate::proxy::{Listener, LogHandle, LogView, Stop};

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
        let mut clients: VecDeque<oneshot::Sender<()>> = VecDeque::new();
        let serve = |accepted: io::Result<Accepted>| {
            let socket = accepted.ok()?.socket;
            let source = Arc::clone(&source);
            clients.retain(|client| !client.is_closed());
            if clients.len() >= MAX_CLIENTS {
                clients.pop_front();
            }
            let (keep, dropped) = oneshot::channel();
            clients.push_back(keep);
            Some(async move {
                // A client that is too slow gets no answer.
                tokio::select! {
                    _ = tokio::time::timeout(PATIENCE, answer_to(socket, &source)) => {}
                    _ = dropped => {}
                }
            })
        };
        tokio::select! {
            () = listener.run(stop, serve) => {}
            () = stop.stopped() => {}
        }
    }
}

impl Source {
    fn page(&self) -> String {
        let rules = self.rules.borrow().iter().flat_map(RuleSet::counts).collect();
        let moment = Moment {
            rules,
            depth: self.log.depth(),
            limit: self.log.limit(),
            started: self.started,
        };
        page(self.log.metrics(), &moment)
    }
}

async fn answer_to(mut socket: TcpStream, source: &Source) -> io::Result<()> {
    let mut request = Vec::new();
    let mut buffer = [0; 1024];
    let answer = loop {
        let count = socket.read(&mut buffer).await?;
        request.extend_from_slice(&buffer[..count]);
        if is_complete(&request) || count == 0 {
            break answer(&request, || source.page());
        }
        if request.len() > LONGEST {
            break too_long();
        }
    };
    socket.write_all(&answer).await?;
    close(socket).await;
    Ok(())
}

/// Maximum number of concurrent clients: a scraper or two have one each for some milliseconds.
const MAX_CLIENTS: usize = 16;

/// Maximum time of a request with its answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// Maximum bytes of a request's head.
const LONGEST: usize = 16 << 10;
