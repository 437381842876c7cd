use std::io;
use std::net::SocketAddr;

use tokio::net::UdpSocket;

use super::status::MAX_PLAYERS;
use crate::proxy::Clock;
use crate::query::{FullStat, QueryServer};

/// Answers Query until it is aborted. `secret` makes the tokens.
pub(super) async fn answer(socket: UdpSocket, secret: u64) -> io::Result<()> {
    let (server, clock, stat) =
        (QueryServer::new(secret), Clock::new(), stat(socket.local_addr()?));
    let mut buffer = vec![0; LONGEST];
    loop {
        // What cannot be received or sent is lost, as datagrams are.
        let Ok((count, client)) = socket.recv_from(&mut buffer).await else { continue };
        if let Some(answer) = server.answer(clock.now(), client, &buffer[..count], &stat) {
            let _ = socket.send_to(&answer, client).await;
        }
    }
}

fn stat(address: SocketAddr) -> FullStat {
    let (host, port, max) =
        (address.ip().to_string(), address.port().to_string(), MAX_PLAYERS.to_string());
    let values = [
        ("hostname", "mitmcraft demo"),
        ("gametype", "SMP"),
        ("game_id", "MINECRAFT"),
        ("version", "1.8"),
        ("plugins", ""),
        ("map", "world"),
        ("numplayers", "2"),
        ("maxplayers", &max),
        ("hostport", &port),
        ("hostip", &host),
    ];
    FullStat {
        values: values.map(|(key, value)| (key.to_owned(), value.to_owned())).to_vec(),
        players: vec!["Alex".into(), "Steffi".into()],
    }
}

/// No request has as many bytes.
const LONGEST: usize = 2048;
