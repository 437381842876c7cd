use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;

use super::http::{answer, is_whole, too_long};
use super::page::{Moment, page};
use crate::filter::RuleSet;
use crate::proxy::driver::close;
use crate::proxy::log::Queue;
use crate::proxy::{LogHandle, Stop};

/// Where the metrics are asked for, and what they tell.
#[derive(Debug)]
pub struct MetricsOptions {
    /// Port 0 picks a free one.
    pub listen: SocketAddr,
    /// The filter files' rules, as they change.
    pub rules: watch::Receiver<Vec<RuleSet>>,
}

/// Answers Prometheus.
///
/// At most 16 clients are heard at a time, each for 10 s; further ones wait to be accepted.
#[derive(Debug)]
pub struct MetricsServer {
    listener: TcpListener,
    source: Arc<Source>,
}

/// What the page is made of.
#[derive(Debug)]
struct Source {
    queue: Queue,
    rules: watch::Receiver<Vec<RuleSet>>,
    started: f64,
}

impl MetricsServer {
    /// Listens.
    ///
    /// # Errors
    /// When the address cannot be had.
    pub async fn bind(options: MetricsOptions, log: &LogHandle) -> io::Result<Self> {
        let listener = TcpListener::bind(options.listen).await?;
        let started = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let started = started.as_secs_f64();
        let source = Source { queue: log.queue(), rules: options.rules, started };
        Ok(Self { listener, source: Arc::new(source) })
    }

    /// Where it listens.
    ///
    /// # Errors
    /// When the system does not say.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Answers until told to stop.
    pub async fn run(self, stop: &Stop) {
        let mut stopping = stop.subscribe();
        let slots = Arc::new(Semaphore::new(CLIENTS));
        let mut tasks = JoinSet::new();
        loop {
            let accept = async {
                let slot = Arc::clone(&slots).acquire_owned().await;
                (slot, self.listener.accept().await)
            };
            let (slot, accepted) = tokio::select! {
                accepted = accept => accepted,
                _ = stopping.wait_for(Option::is_some) => return,
            };
            while tasks.try_join_next().is_some() {}
            let Ok((socket, _)) = accepted else {
                // No more file descriptors, say: others may free some.
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            };
            let source = Arc::clone(&self.source);
            tasks.spawn(async move {
                // One that is too slow gets no answer, and no harm is done.
                let _ = tokio::time::timeout(PATIENCE, serve(socket, &source)).await;
                drop(slot);
            });
        }
    }
}

impl Source {
    fn page(&self) -> String {
        let rules = self.rules.borrow().iter().flat_map(RuleSet::counts).collect();
        let (queued, capacity) = self.queue.depth();
        let moment = Moment { rules, queued, capacity, started: self.started };
        page(self.queue.metrics(), &moment)
    }
}

async fn serve(mut socket: TcpStream, source: &Source) -> io::Result<()> {
    let mut request = Vec::new();
    let mut buffer = [0; 1024];
    let answer = loop {
        let count = socket.read(&mut buffer).await?;
        request.extend_from_slice(&buffer[..count]);
        if is_whole(&request) || count == 0 {
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

/// Clients at a time.
const CLIENTS: usize = 16;

/// How long one may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// Bytes of a request's head.
const LONGEST: usize = 16 << 10;
