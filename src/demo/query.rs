use std::hash::{BuildHasher as _, RandomState};
use std::io;
use std::net::SocketAddr;

use tokio::net::UdpSocket;

use crate::proxy::Clock;
use mitmcraft_engine::query::{FullStat, QueryServer};

/// Answers Query until it is aborted.
pub(super) async fn answer(socket: UdpSocket) -> io::Result<()> {
    let stat = stat(socket.local_addr()?);
    // The standard library seeds its hashers from the system.
    let (server, clock) = (QueryServer::new(RandomState::new().hash_one(0)), Clock::new());
    let mut buffer = vec![0; MAX_REQUEST];
    loop {
        // What cannot be received or sent is lost, as datagrams are.
        let Ok((count, client)) = socket.recv_from(&mut buffer).await else { continue };
        if let Some(answer) = server.answer(clock.now(), client, &buffer[..count], &stat) {
            let _ = socket.send_to(&answer, client).await;
        }
    }
}

fn stat(address: SocketAddr) -> FullStat {
    let (host, port) = (address.ip().to_string(), address.port().to_string());
    let values = [
        ("hostname", "mitmcraft demo"),
        ("gametype", "SMP"),
        ("game_id", "MINECRAFT"),
        ("version", "1.8"),
        ("plugins", ""),
        ("map", "world"),
        ("numplayers", "2"),
        ("maxplayers", "20"),
        ("hostport", &port),
        ("hostip", &host),
    ];
    FullStat {
        values: values.map(|(key, value)| (key.to_owned(), value.to_owned())).to_vec(),
        players: vec!["Alex".into(), "Steffi".into()],
    }
}

/// More bytes than any request has.
const MAX_REQUEST: usize = 2048;
