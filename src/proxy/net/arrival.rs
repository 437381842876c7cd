use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::AsyncReadExt as _;
use tokio::net::TcpStream;

use super::route::canonical;
use crate::proxy::RefusalError;
use mitmcraft_engine::link::{Addresses, Preamble, PreambleRead};

/// Returns the addresses of a connection without a PROXY header. An IPv4 client of an IPv6 socket is one of IPv4.
pub(super) fn plain(socket: &TcpStream, client: SocketAddr) -> Addresses {
    Addresses {
        source: canonical(client),
        destination: canonical(socket.local_addr().unwrap_or(client)),
    }
}

/// Reads a PROXY header, and no byte after it. Returns the addresses that it contains.
///
/// # Errors
/// If there is no valid header.
pub(super) async fn announced(
    socket: &mut TcpStream,
    client: SocketAddr,
) -> Result<Addresses, RefusalError> {
    match tokio::time::timeout(PATIENCE, header(socket, client)).await {
        Ok(preamble) => Ok(preamble?.addresses.unwrap_or_else(|| plain(socket, client))),
        Err(_) => Err(RefusalError::PreambleLate { client, limit: PATIENCE }),
    }
}

async fn header(socket: &mut TcpStream, client: SocketAddr) -> Result<Preamble, RefusalError> {
    let lost = |cause: io::Error| RefusalError::PreambleLost { client, cause: cause.into() };
    let mut bytes = Vec::new();
    loop {
        let read =
            Preamble::read(&bytes).map_err(|cause| RefusalError::Preamble { client, cause })?;
        let missing = match read {
            PreambleRead::Whole(preamble) => return Ok(preamble),
            PreambleRead::Missing(count) => count,
        };
        let taken = bytes.len();
        bytes.resize(taken + missing, 0);
        let count = socket.read(&mut bytes[taken..]).await.map_err(lost)?;
        if count == 0 {
            return Err(RefusalError::PreambleClosed { client });
        }
        bytes.truncate(taken + count);
    }
}

/// Returns the original destination of a redirected connection.
///
/// # Errors
/// If the connection was not redirected.
#[cfg(target_os = "linux")]
pub(super) fn original_destination(socket: &TcpStream) -> io::Result<SocketAddr> {
    let local = socket.local_addr()?;
    let reference = socket2::SockRef::from(socket);
    // An IPv4 client of a socket that listens on all of IPv6 is redirected by the rules of IPv4.
    let found = if local.ip().to_canonical().is_ipv4() {
        reference.original_dst_v4()?
    } else {
        reference.original_dst_v6()?
    };
    found.as_socket().ok_or_else(|| io::ErrorKind::AddrNotAvailable.into())
}

#[cfg(not(target_os = "linux"))]
pub(super) fn original_destination(_: &TcpStream) -> io::Result<SocketAddr> {
    Err(io::ErrorKind::Unsupported.into())
}

/// `true` if the operating system reports the original destination of redirected connections.
pub(super) const CAN_BE_TRANSPARENT: bool = cfg!(target_os = "linux");

/// How long a PROXY header may take: load balancers send it at once.
const PATIENCE: Duration = Duration::from_secs(10);
