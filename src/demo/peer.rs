use std::io;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::{self, Instant};

use super::DemoError;
use super::end::End;
use super::message::Received;

/// One end of a connection, sans-IO. Time is that since the connection was made.
pub(super) trait Peer {
    fn on_packet(&mut self, now: Duration, packet: &Received) -> Result<(), DemoError>;

    fn on_timeout(&mut self, now: Duration) -> Result<(), DemoError>;

    /// It is over, and this is why.
    fn on_error(&mut self, error: DemoError);

    fn end(&self) -> &End;

    fn end_mut(&mut self) -> &mut End;

    /// The player, as the server knows it.
    fn player(&self) -> Option<&str> {
        None
    }

    /// Whether the connection is to be closed once all is written.
    fn is_over(&self) -> bool;

    /// When [`Peer::on_timeout`] wants to be called.
    fn timeout(&self) -> Duration;

    /// Takes what happened.
    fn handle(&mut self, now: Duration, input: Input<'_>) {
        if self.is_over() {
            return;
        }
        let state = self.end().state();
        let done = match input {
            Input::Received(bytes) => {
                self.end_mut().receive(bytes);
                self.take_packets(now)
            }
            Input::Timeout => self.on_timeout(now),
            Input::Closed => Err(DemoError::Closed(state)),
            Input::Failed(source) => Err(DemoError::Io { state, source }),
        };
        if let Err(error) = done {
            self.on_error(error);
        }
    }

    fn take_packets(&mut self, now: Duration) -> Result<(), DemoError> {
        while !self.is_over()
            && let Some(packet) = self.end_mut().poll()?
        {
            self.on_packet(now, &packet)?;
        }
        Ok(())
    }
}

/// What happens to a [`Peer`].
#[derive(Debug)]
pub(super) enum Input<'a> {
    Received(&'a [u8]),
    Timeout,
    /// The other end will not send any more.
    Closed,
    Failed(io::Error),
}

/// Gives a peer its socket until it is over; [`close`] comes next. Dropping the future loses
/// nothing.
pub(super) async fn run(peer: &mut impl Peer, socket: &mut TcpStream) {
    let start = Instant::now();
    let mut buffer = vec![0; READ_SIZE];
    let mut writable = true;
    let (mut reader, mut writer) = socket.split();
    while !peer.is_over() {
        let waits = writable && !peer.end().pending().is_empty();
        let full = writable && peer.end().is_full();
        let deadline = start + peer.timeout();
        tokio::select! {
            read = reader.read(&mut buffer), if !full => {
                let input = match read {
                    Ok(0) => Input::Closed,
                    Ok(count) => Input::Received(&buffer[..count]),
                    Err(error) => Input::Failed(error),
                };
                peer.handle(start.elapsed(), input);
            }
            written = writer.write(peer.end().pending()), if waits => match written {
                Ok(count) => peer.end_mut().advance(count),
                // What the peer had sent before it went can still be read.
                Err(_) => writable = false,
            },
            () = time::sleep_until(deadline) => peer.handle(start.elapsed(), Input::Timeout),
        }
    }
}

/// Writes what there is, says that this was all, and waits a moment for the peer to go: with
/// unread bytes in the socket, closing it would take back what was written last.
pub(super) async fn close(peer: &mut impl Peer, mut socket: TcpStream) {
    // A peer that is gone already, or does not read, has only itself to blame.
    let _ = time::timeout(LINGER, write_rest(peer.end_mut(), &mut socket)).await;
}

async fn write_rest(end: &mut End, socket: &mut TcpStream) -> io::Result<()> {
    while !end.pending().is_empty() {
        let count = socket.write(end.pending()).await?;
        end.advance(count);
    }
    socket.shutdown().await?;
    let mut buffer = [0; 1024];
    while socket.read(&mut buffer).await? > 0 {}
    Ok(())
}

/// Bytes of one read: little enough that reading and writing take turns.
const READ_SIZE: usize = 16 << 10;

/// How long a peer may take to read the last bytes.
const LINGER: Duration = Duration::from_secs(1);
