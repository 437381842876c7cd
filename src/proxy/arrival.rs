use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::AsyncReadExt as _;
use tokio::net::TcpStream;

use super::preamble::{Addresses, Preamble, read};

/// What a connection says of itself before its session begins.
#[derive(Debug)]
pub(super) struct Arrival {
    /// Who the client is, and which address it has connected to.
    pub(super) addresses: Addresses,
    /// What it has sent behind its PROXY header.
    pub(super) early: Vec<u8>,
}

impl Arrival {
    /// Of a client that says nothing of itself.
    pub(super) fn plain(socket: &TcpStream, client: SocketAddr) -> Self {
        let destination = socket.local_addr().unwrap_or(client);
        Self { addresses: Addresses { source: client, destination }, early: Vec::new() }
    }

    /// Of a client that has a PROXY header to show.
    ///
    /// # Errors
    /// Why there is none.
    pub(super) async fn announced(
        socket: &mut TcpStream,
        client: SocketAddr,
    ) -> Result<Self, String> {
        let plain = Self::plain(socket, client);
        match tokio::time::timeout(PATIENCE, header(socket)).await {
            Ok(Ok((preamble, mut bytes))) => {
                let early = bytes.split_off(preamble.length);
                let addresses = preamble.addresses.unwrap_or(plain.addresses);
                Ok(Self { addresses, early })
            }
            Ok(Err(error)) => Err(format!("{client} has no PROXY header: {error}")),
            Err(_) => {
                let seconds = PATIENCE.as_secs();
                Err(format!("{client} has no PROXY header: none came within {seconds} s"))
            }
        }
    }
}

async fn header(socket: &mut TcpStream) -> io::Result<(Preamble, Vec<u8>)> {
    let mut bytes = Vec::new();
    loop {
        match read(&bytes) {
            Ok(Some(preamble)) => return Ok((preamble, bytes)),
            Ok(None) => {}
            Err(error) => return Err(io::Error::other(error)),
        }
        if socket.read_buf(&mut bytes).await? == 0 {
            return Err(io::Error::other("the connection closed before one had come"));
        }
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
