use tokio::io::Interest;
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::task::coop::consume_budget;

use super::route::Noted;
use crate::proxy::ConnectError;
use mitmcraft_engine::auth::{AuthError, Profile};
use mitmcraft_engine::link::{Command, KeyMaterial, Ruling, Side, Unruled};
use mitmcraft_protocol::packet::Cause;

/// An event that wakes the driver.
pub(super) enum Event {
    Readable(Side),
    Writable,
    Connected(Result<(TcpStream, Option<Noted>), ConnectError>),
    Key(Result<Box<KeyMaterial>, rsa::Error>),
    Joined(Result<(), AuthError>),
    Policy(Option<bool>),
    Verified(Result<Profile, AuthError>),
    Timeout,
    Stop(Cause),
    Drain,
    Rules,
    Command(Command),
    Ruled(u64, Box<Result<Ruling, Unruled>>),
}

/// Waits until a socket is ready for `interest`.
pub(super) async fn ready(
    socket: &Option<TcpStream>,
    interest: Option<Interest>,
    side: Side,
) -> Event {
    let (Some(socket), Some(interest)) = (socket, interest) else {
        return std::future::pending().await;
    };
    // An error of waiting occurs again when reading.
    match socket.ready(interest).await {
        Ok(ready) if interest.is_readable() && ready.is_readable() => Event::Readable(side),
        Ok(_) => Event::Writable,
        Err(_) => Event::Readable(side),
    }
}

/// Lets other tasks run once this one has read 128 KiB, or often enough, without waiting.
///
/// The runtime interrupts a task after 128 operations, but [`TcpStream::ready`] is none for it: without this, a peer
/// that sends without a pause would keep a thread from all other sessions.
pub(super) async fn give_way(read: usize) {
    for _ in 0..=read / PER_OPERATION {
        consume_budget().await;
    }
}

/// The number of bytes read that count as an operation of the runtime.
const PER_OPERATION: usize = 1 << 10;

/// Waits for the reason why the run ends.
pub(super) async fn stop_reason(stop: &mut watch::Receiver<Option<Cause>>) -> Option<Cause> {
    stop.wait_for(Option::is_some).await.ok()?.clone()
}
