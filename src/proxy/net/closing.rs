//! How connections end: so that the last bytes arrive.

use std::io::ErrorKind;
use std::net::Shutdown;
use std::time::Duration;

#[cfg(target_os = "linux")]
use rustix::event::{PollFd, PollFlags, Timespec};
use socket2::SockRef;
use tokio::net::TcpStream;

/// Closes a connection so that the last bytes written arrive: closing a socket with unread bytes resets
/// the connection, and the peer may lose what it has not read yet.
pub(in crate::proxy) async fn close(socket: TcpStream) {
    let _ = SockRef::from(&socket).shutdown(Shutdown::Write);
    let drain = async {
        let mut scrap = [0; 1024];
        while socket.readable().await.is_ok() {
            match socket.try_read(&mut scrap) {
                Ok(0) => break,
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(_) => break,
            }
        }
    };
    let _ = tokio::time::timeout(DRAIN, drain).await;
}

/// Resets a connection once the bytes before it have left, for which the peer has `patience`.
#[cfg(target_os = "linux")]
pub(super) async fn reset(socket: TcpStream, patience: Duration) {
    // From now on the socket is writable when nothing waits to be sent. A reset discards what does.
    let asked = SockRef::from(&socket).set_tcp_notsent_lowat(1);
    let has_left = || {
        let mut polled = [PollFd::new(&socket, PollFlags::OUT)];
        !matches!(rustix::event::poll(&mut polled, Some(&Timespec::default())), Ok(0))
    };
    let leaving = async {
        while asked.is_ok() && !has_left() {
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    };
    let _ = tokio::time::timeout(patience, leaving).await;
    let _ = SockRef::from(&socket).set_linger(Some(Duration::ZERO));
}

/// Closes a connection: other systems do not say whether the bytes before a reset have left.
#[cfg(not(target_os = "linux"))]
pub(super) async fn reset(socket: TcpStream, _: Duration) {
    close(socket).await;
}

/// How long to wait before the send queue is looked at again.
#[cfg(target_os = "linux")]
const LOOK_AGAIN: Duration = Duration::from_millis(5);

/// How long to wait for a peer to close after us.
const DRAIN: Duration = Duration::from_millis(500);
