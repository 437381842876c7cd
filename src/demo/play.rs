use std::net::SocketAddr;
use std::sync::Arc;

use tokio::net::TcpStream;
use tokio::time;

use super::alpha_client::AlphaClient;
use super::client::ClientCore;
use super::demo_server::entropy;
use super::peer::{self, Peer};
use super::{DemoError, DemoOptions, DemoReport};

/// Visits a 1.8 server as a client: asks for its status, pings it, and on a second connection logs
/// in, plays for [`DemoOptions::duration`], and says farewell. The server need not be a
/// [`DemoServer`](super::DemoServer), but must kick whoever says [`DemoOptions::farewell`].
///
/// # Errors
/// [`DemoError`] for whatever keeps the player from being kicked in the end.
///
/// # Panics
/// Outside of a tokio runtime with time and I/O.
pub async fn play(address: SocketAddr, options: DemoOptions) -> Result<DemoReport, DemoError> {
    let options = Arc::new(options);
    let random = entropy(&options).map_err(DemoError::Random)?;
    let (host, port) = (address.ip().to_string(), address.port());

    let core = ClientCore::status(Arc::clone(&options), random.clone(), &host, port);
    let report = visit(core, address, &options, 0).await?;
    let core = ClientCore::game(Arc::clone(&options), random, &host, port, report);
    visit(core, address, &options, 1).await
}

/// Visits a server of Alpha (protocol 5) as a client: logs in, plays for [`DemoOptions::duration`],
/// and says farewell, as [`play`] does.
///
/// # Errors
/// [`DemoError`] for whatever keeps the player from being kicked in the end.
///
/// # Panics
/// Outside of a tokio runtime with time and I/O.
pub async fn play_alpha(
    address: SocketAddr,
    options: DemoOptions,
) -> Result<DemoReport, DemoError> {
    let core = AlphaClient::new(Arc::new(options.clone()));
    run(core, address, &options).await?.finish()
}

async fn visit(
    core: ClientCore,
    address: SocketAddr,
    options: &DemoOptions,
    connection: usize,
) -> Result<DemoReport, DemoError> {
    run(core, address, options).await?.finish(connection)
}

async fn run<P: Peer>(
    mut core: P,
    address: SocketAddr,
    options: &DemoOptions,
) -> Result<P, DemoError> {
    let connected = time::timeout(options.timeout, TcpStream::connect(address)).await;
    let connected = connected.unwrap_or_else(|late| Err(late.into()));
    let mut socket = connected.map_err(DemoError::Connect)?;
    peer::run(&mut core, &mut socket).await;
    peer::close(&mut core, socket).await;
    Ok(core)
}
