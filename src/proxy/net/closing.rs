//! How connections end: so that the last bytes arrive.

use std::net::Shutdown;
use std::time::Duration;

#[cfg(target_os = "linux")]
use rustix::event::{PollFd, PollFlags, Timespec};
use socket2::SockRef;
use tokio::io::AsyncReadExt as _;
use tokio::net::TcpStream;

/// Closes a connection so that the last bytes written arrive: closing a socket with unread bytes resets
/// the connection, and the peer may lose what it has not read yet.
pub(in crate::proxy) async fn close(mut socket: TcpStream) {
    let _ = SockRef::from(&socket).shutdown(Shutdown::Write);
    let drain = async {
        let mut scrap = [0; 1024];
        while let Ok(1..) = socket.read(&mut scrap).await {}
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

/// The longest time for which a connection of a session that is over stays open, for the peer to read the last bytes.
pub(super) const PATIENCE: Duration = Duration::from_secs(30);

/// The longest time for which a connection stays open after the user has stopped its session, for the peer to read the
/// last bytes.
pub(super) const STOP_PATIENCE: Duration = Duration::from_secs(2);

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use tokio::net::TcpListener;

    use super::*;

    #[tokio::test]
    async fn a_peer_that_sends_without_a_pause_keeps_no_thread() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut peer = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (accepted, _) = listener.accept().await.unwrap();
        SockRef::from(&peer).set_send_buffer_size(4 << 20).unwrap();
        peer.set_nonblocking(true).unwrap();
        let mut waiting = 0;
        while let Ok(count) = peer.write(&[0; 1 << 16]) {
            waiting += count;
        }
        assert!(waiting > 1 << 20, "{waiting}");
        drop(peer);
        let closing = tokio::spawn(close(accepted));
        let mut turns = 0;
        while !closing.is_finished() {
            turns += 1;
            tokio::task::yield_now().await;
        }
        assert!(turns > waiting >> 19, "{turns} turns while {waiting} bytes were read");
    }
}
