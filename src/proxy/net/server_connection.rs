use std::net::SocketAddr;

use tokio::net::TcpStream;

use super::route::Route;
use crate::proxy::ConnectError;
use mitmcraft_engine::link::Upstream;

/// A connection to a server on which nothing has been sent yet.
///
/// A program that records what it plays connects first, so that a server that cannot be reached does
/// not cost the user an existing capture.
#[derive(Debug)]
pub struct ServerConnection {
    pub(super) socket: TcpStream,
    pub(super) local: SocketAddr,
    pub(super) peer: SocketAddr,
}

impl ServerConnection {
    /// Connects to the first address of `upstream` that answers, within 30 s.
    ///
    /// # Errors
    /// If the server cannot be reached.
    pub async fn open(upstream: &Upstream) -> Result<Self, ConnectError> {
        let (socket, _) = Route::from(upstream.clone()).connect().await?;
        let local = socket.local_addr().map_err(ConnectError::Address)?;
        let peer = socket.peer_addr().map_err(ConnectError::Address)?;
        Ok(Self { socket, local, peer })
    }
}
