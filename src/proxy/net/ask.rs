use std::hash::{BuildHasher as _, RandomState};
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use thiserror::Error;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpStream, UdpSocket};
use tokio::time::{Instant, timeout, timeout_at};

use super::query::SILENCE;
use super::route::Route;
use crate::proxy::{Clock, ConnectError};
use mitmcraft_engine::link::{NetworkError, Upstream};
use mitmcraft_engine::ping::{Form, Ping, PingError, Status};
use mitmcraft_engine::query::{Kind, Query, QueryError, QueryOptions, Stat};

/// The reason why a ping or query has no result.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum AskError {
    /// The server cannot be reached.
    #[error("cannot connect to {server}: {cause}")]
    Connect {
        /// The server.
        server: Upstream,
        /// Why.
        cause: ConnectError,
    },
    /// The connection broke.
    #[error("lost the connection: {0}")]
    Lost(NetworkError),
    /// No program listens on the port.
    #[error("no server listens on UDP port {0}: is `enable-query` set, and this its `query.port`?")]
    Closed(u16),
    /// The answer to the ping is invalid or missing.
    #[error(transparent)]
    Ping(#[from] PingError),
    /// The answer to the query is invalid or missing.
    #[error(transparent)]
    Query(#[from] QueryError),
}

/// Pings a server in one form, on a new connection.
///
/// # Errors
/// If there is no valid answer within `patience`.
pub async fn ping(
    clock: &Clock,
    server: &Upstream,
    form: Form,
    patience: Duration,
) -> Result<Status, AskError> {
    let give_up = Instant::now() + patience;
    let connecting = TcpStream::connect((server.host.as_str(), server.port));
    let mut socket = match timeout_at(give_up, connecting).await {
        Ok(Ok(socket)) => socket,
        Ok(Err(error)) => {
            return Err(cannot_connect(server, ConnectError::Unreachable(error.into())));
        }
        Err(_) => return Err(cannot_connect(server, ConnectError::Timeout(patience))),
    };
    ping_over(clock, &mut socket, server, form, give_up).await
}

/// Asks a server whether it enforces signed chat; `None` if its status does not say.
pub(super) async fn enforces_signed_chat(clock: &Clock, route: Route) -> Option<bool> {
    let server = route.upstream.clone();
    let give_up = Instant::now() + POLICY_PATIENCE;
    let (mut socket, _noted) = timeout_at(give_up, route.connect()).await.ok()?.ok()?;
    let status = ping_over(clock, &mut socket, &server, Form::V1_7, give_up).await;
    status.ok()?.enforces_signed_chat()
}

async fn ping_over(
    clock: &Clock,
    socket: &mut TcpStream,
    server: &Upstream,
    form: Form,
    give_up: Instant,
) -> Result<Status, AskError> {
    // Delayed small packets would only increase the measured latency.
    let _ = socket.set_nodelay(true);
    let mut ping = Ping::new(clock.now(), form, &server.host, server.port)?;
    let mut buffer = vec![0; READ];
    loop {
        let output = ping.take_output();
        let exchange = async {
            socket.write_all(&output).await?;
            socket.read(&mut buffer).await
        };
        let count = match timeout_at(give_up, exchange).await {
            Err(_) => return Ok(ping.handle_timeout()?),
            Ok(Ok(0)) => return Ok(ping.handle_closed()?),
            Ok(Ok(count)) => count,
            Ok(Err(error)) => {
                return ping.handle_closed().map_err(|_| AskError::Lost(error.into()));
            }
        };
        if let Some(status) = ping.handle_received(clock.now(), &buffer[..count])? {
            return Ok(status);
        }
    }
}

/// Requests a stat from a server over UDP.
///
/// # Errors
/// If there is no valid answer after all tries.
pub async fn query(
    clock: &Clock,
    server: &Upstream,
    kind: Kind,
    options: QueryOptions,
) -> Result<Stat, AskError> {
    let unreachable =
        |error: io::Error| cannot_connect(server, ConnectError::Unreachable(error.into()));
    let found = tokio::net::lookup_host((server.host.as_str(), server.port)).await;
    let mut addresses = found.map_err(unreachable)?.peekable();
    let mut outcome = Err(unreachable(io::Error::other("no address")));
    while let Some(address) = addresses.next() {
        // The next one is tried after an error, and if it has not answered within a second.
        let asking = async {
            let socket = connected(address).await.map_err(unreachable)?;
            query_over(&socket, clock, server.port, kind, options).await
        };
        outcome = match addresses.peek() {
            None => asking.await,
            Some(_) => match timeout(SILENCE, asking).await {
                Ok(outcome) => outcome,
                Err(_) => continue,
            },
        };
        if outcome.is_ok() {
            break;
        }
    }
    outcome
}

async fn query_over(
    socket: &UdpSocket,
    clock: &Clock,
    port: u16,
    kind: Kind,
    options: QueryOptions,
) -> Result<Stat, AskError> {
    let mut query = Query::new(clock.now(), kind, random() as u32, options)?;
    let mut buffer = vec![0; DATAGRAM];
    loop {
        if let Some(datagram) = query.take_output() {
            socket.send(&datagram).await.map_err(|error| lost(error, port))?;
        }
        let give_up = clock.instant(query.poll_timeout()).into();
        match timeout_at(give_up, socket.recv(&mut buffer)).await {
            Err(_) => query.handle_timeout(clock.now())?,
            Ok(Ok(count)) => {
                if let Some(stat) = query.handle_received(clock.now(), &buffer[..count])? {
                    return Ok(stat);
                }
            }
            Ok(Err(error)) => return Err(lost(error, port)),
        }
    }
}

/// Returns the error of a UDP socket towards a port: a host without a program there may say so.
fn lost(error: io::Error, port: u16) -> AskError {
    match error.kind() {
        io::ErrorKind::ConnectionRefused => AskError::Closed(port),
        _ => AskError::Lost(error.into()),
    }
}

/// Returns a socket that exchanges datagrams with `server` only.
pub(super) async fn connected(server: SocketAddr) -> io::Result<UdpSocket> {
    let any: SocketAddr = match server {
        SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
        SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
    };
    let socket = UdpSocket::bind(any).await?;
    socket.connect(server).await?;
    Ok(socket)
}

fn cannot_connect(server: &Upstream, cause: ConnectError) -> AskError {
    AskError::Connect { server: server.clone(), cause }
}

/// Returns a random number: the standard library seeds its hashers from the operating system.
fn random() -> u64 {
    RandomState::new().hash_one(0)
}

/// Time that a server may take to say whether it enforces signed chat.
const POLICY_PATIENCE: Duration = Duration::from_secs(5);

/// Bytes read at a time: a status with an icon has about 10 KiB.
const READ: usize = 16 << 10;

/// Maximum bytes of a datagram.
pub(super) const DATAGRAM: usize = 64 << 10;
