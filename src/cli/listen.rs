//! Addresses at which a verb listens.

use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpListener, UdpSocket};

use anyhow::anyhow;
use mitmcraft::proxy::Listener;

/// Binds the address that `option` sets.
pub(crate) async fn bind(
    address: SocketAddr,
    max_clients: usize,
    option: &str,
) -> anyhow::Result<Listener> {
    let bound = Listener::bind(address, max_clients).await;
    bound.map_err(|error| cannot_listen(address, option, &error))
}

/// Returns why an address cannot be bound, with a hint that names `option`.
pub(crate) fn cannot_listen(address: SocketAddr, option: &str, error: &io::Error) -> anyhow::Error {
    let hint = match error.kind() {
        ErrorKind::AddrInUse => match free_port(address, option) {
            Some(port) => {
                format!("; port {port} is free: `{option} {}`", SocketAddr::new(address.ip(), port))
            }
            None => format!("; choose another with `{option}`"),
        },
        ErrorKind::PermissionDenied => "; ports below 1024 need privileges".to_owned(),
        _ => format!("; choose another with `{option}`"),
    };
    anyhow!("cannot listen on {address}: {error}{hint}")
}

/// Returns a free port above the busy one.
fn free_port(address: SocketAddr, option: &str) -> Option<u16> {
    let is_free = |port: &u16| match option {
        "--query" => UdpSocket::bind((address.ip(), *port)).is_ok(),
        _ => TcpListener::bind((address.ip(), *port)).is_ok(),
    };
    (1..50).filter_map(|step| address.port().checked_add(step)).find(is_free)
}
