use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::AsyncReadExt as _;
use tokio::net::TcpStream;

use super::preamble::{Addresses, Preamble, Read, read};

/// The ends of a connection that says nothing of itself.
pub(super) fn plain(socket: &TcpStream, client: SocketAddr) -> Addresses {
    Addresses { source: client, destination: socket.local_addr().unwrap_or(client) }
}

/// The ends of a connection as its PROXY header has them. No byte behind the header is taken.
///
/// # Errors
/// Why there is none.
pub(super) async fn announced(
    socket: &mut TcpStream,
    client: SocketAddr,
) -> Result<Addresses, String> {
    match tokio::time::timeout(PATIENCE, header(socket)).await {
        Ok(Ok(preamble)) => Ok(preamble.addresses.unwrap_or_else(|| plain(socket, client))),
        Ok(Err(error)) => Err(format!("{client} has no PROXY header: {error}")),
        Err(_) => {
            let seconds = PATIENCE.as_secs();
            Err(format!("{client} has no PROXY header: none came within {seconds} s"))
        }
    }
}

async fn header(socket: &mut TcpStream) -> io::Result<Preamble> {
    let mut bytes = Vec::new();
    loop {
        let missing = match read(&bytes).map_err(io::Error::other)? {
            Read::Whole(preamble) => return Ok(preamble),
            Read::Missing(count) => count,
        };
        let taken = bytes.len();
        bytes.resize(taken + missing, 0);
        let count = socket.read(&mut bytes[taken..]).await?;
        if count == 0 {
            return Err(io::Error::other("the connection closed before one had come"));
        }
        bytes.truncate(taken + count);
    }
}

/// Where a redirected connection was going.
///
/// # Errors
/// When the system does not say: the connection was not redirected.
#[cfg(target_os = "linux")]
pub(super) fn original_destination(socket: &TcpStream) -> io::Result<SocketAddr> {
    let local = socket.local_addr()?;
    let reference = socket2::SockRef::from(socket);
    // An IPv4 client of a socket that listens on all of IPv6 is redirected by the rules of IPv4.
    let found = match local.ip().to_canonical().is_ipv4() {
        true => reference.original_dst_v4()?,
        false => reference.original_dst_v6()?,
    };
    found.as_socket().ok_or_else(|| io::Error::other("no address of the internet"))
}

#[cfg(not(target_os = "linux"))]
pub(super) fn original_destination(_: &TcpStream) -> io::Result<SocketAddr> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Whether this system tells where a redirected connection was going.
pub(super) const CAN_BE_TRANSPARENT: bool = cfg!(target_os = "linux");

/// How long a PROXY header may take: whoever forwards connections sends it at once.
const PATIENCE: Duration = Duration::from_secs(10);
