use std::io;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time;

use super::status::status;
use crate::ping::{Answerer, Reply, Status};

/// What somebody who has come speaks, with the first bytes of it.
#[derive(Debug)]
pub(super) enum Door {
    /// Frames, as since 1.7.
    Java(Vec<u8>),
    Alpha(Vec<u8>),
}

/// Hears what a client speaks. A ping from before 1.7 is answered here and now; then, and when
/// nothing comes, there is nobody to be served.
pub(super) async fn open(socket: &mut TcpStream, patience: Duration) -> Option<Door> {
    let mut buffer = [0; 1024];
    let read = time::timeout(patience, socket.read(&mut buffer)).await.ok()?.ok()?;
    let first = &buffer[..read];
    match first {
        [] => None,
        [LOGIN | HANDSHAKE, ..] => Some(Door::Alpha(first.to_vec())),
        [PING, ..] => answer(socket, first.to_vec(), patience).await.ok()?.map(Door::Java),
        _ => Some(Door::Java(first.to_vec())),
    }
}

/// Answers a ping; gives the bytes back if they are none.
async fn answer(
    socket: &mut TcpStream,
    first: Vec<u8>,
    patience: Duration,
) -> io::Result<Option<Vec<u8>>> {
    let status = Status::from_json(&status()).map_err(io::Error::other)?;
    let mut answerer = Answerer::new(status);
    let mut reply = answerer.handle_received(&first);
    let give_up = time::Instant::now() + patience;
    let mut buffer = [0; 1024];
    loop {
        match reply {
            Reply::Send(bytes) => socket.write_all(&bytes).await?,
            Reply::Close(bytes) => {
                socket.write_all(&bytes).await?;
                socket.shutdown().await?;
                // With unread bytes in the socket, closing it would take the answer back.
                let _ = time::timeout(QUIET, socket.read(&mut buffer)).await;
                return Ok(None);
            }
            Reply::Other(bytes) => return Ok(Some(bytes)),
            Reply::Wait => {}
        }
        reply = match time::timeout(QUIET, socket.read(&mut buffer)).await {
            Ok(Ok(count @ 1..)) => answerer.handle_received(&buffer[..count]),
            Err(_) if time::Instant::now() < give_up => answerer.handle_quiet(),
            // No more will come: what has come is all.
            Ok(Ok(0)) => match answerer.handle_quiet() {
                Reply::Wait => return Ok(None),
                reply => reply,
            },
            Ok(_) | Err(_) => return Ok(None),
        };
    }
}

/// The first byte of a login from before 1.7, with a handshake and without one, and of a ping.
const HANDSHAKE: u8 = 0x02;
const LOGIN: u8 = 0x01;
const PING: u8 = 0xfe;

/// A ping that has not grown for so long is whole.
const QUIET: Duration = Duration::from_millis(100);
