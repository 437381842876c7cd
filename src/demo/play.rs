use std::net::SocketAddr;
use std::sync::Arc;

use super::client::{Client, Visit};
use super::{DemoError, DemoOptions, DemoReport};
use crate::proxy::{EngineRunner, LogHandle, Stop};
use mitmcraft_engine::link::Upstream;

/// Visits a 1.8 server as a client: requests its status, pings it, and on a second connection logs
/// in, plays for [`DemoOptions::duration`], and says farewell. The server need not be a
/// [`DemoServer`](super::DemoServer), but must kick a player who says [`DemoOptions::farewell`].
///
/// Records the packets that the client sees in `log`.
///
/// # Errors
/// [`DemoError`] for whatever keeps the player from being kicked in the end.
///
/// # Panics
/// Outside of a tokio runtime with time and I/O.
pub async fn play(
    address: SocketAddr,
    options: DemoOptions,
    log: LogHandle,
) -> Result<DemoReport, DemoError> {
    visit(address, options, log, &[Visit::Status, Visit::Game]).await
}

/// Visits an Alpha server (protocol 5) as a client: logs in, plays for [`DemoOptions::duration`], and
/// says farewell, as [`play`] does.
///
/// # Errors
/// [`DemoError`] for whatever keeps the player from being kicked in the end.
///
/// # Panics
/// Outside of a tokio runtime with time and I/O.
pub async fn play_alpha(
    address: SocketAddr,
    options: DemoOptions,
    log: LogHandle,
) -> Result<DemoReport, DemoError> {
    visit(address, options, log, &[Visit::Alpha]).await
}

async fn visit(
    address: SocketAddr,
    options: DemoOptions,
    log: LogHandle,
    visits: &[Visit],
) -> Result<DemoReport, DemoError> {
    let options = Arc::new(options);
    let (runner, stop) = (EngineRunner::new(log), Stop::new());
    let server = Upstream { host: address.ip().to_string(), port: address.port() };
    let mut report = DemoReport::default();
    for visit in visits {
        let client = |opening| Client::new(Arc::clone(&options), &opening, *visit, report);
        let client = runner.connect(&server, &stop, client).await?;
        report = client.expect("nothing stops it").finish()?;
    }
    Ok(report)
}
