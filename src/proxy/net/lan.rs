use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, SocketAddrV4, UdpSocket};

use socket2::SockRef;
use tokio::time::MissedTickBehavior;

use crate::proxy::{Notices, RunNotice, Stop};
use mitmcraft_engine::ping::{LAN_GROUP, LAN_INTERVAL, lan_announcement};

/// Announces a server in the game's list of worlds on the local network.
///
/// An announcement leaves only through interfaces that the server listens on, from the address that
/// it listens on, because games connect to the address that an announcement comes from.
#[derive(Debug)]
pub struct LanAnnouncer {
    listen: Ipv4Addr,
    message: Vec<u8>,
}

impl LanAnnouncer {
    /// Creates an announcer of `motd` for a server that listens on `listen`. Returns `None` if that
    /// is an IPv6 address other than `[::]`: games look for servers over IPv4 only.
    #[must_use]
    pub fn new(listen: SocketAddr, motd: &str) -> Option<Self> {
        let address = match listen.ip().to_canonical() {
            IpAddr::V4(address) => address,
            IpAddr::V6(address) if address.is_unspecified() => Ipv4Addr::UNSPECIFIED,
            IpAddr::V6(_) => return None,
        };
        Some(Self { listen: address, message: lan_announcement(motd, listen.port()) })
    }

    /// Announces the server every 1.5 s until `stop`. That no announcement could be sent is reported
    /// once.
    pub async fn run(self, notices: &Notices, stop: &Stop) {
        let mut interval = tokio::time::interval(LAN_INTERVAL);
        interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut reported = false;
        loop {
            tokio::select! {
                _ = interval.tick() => {}
                () = stop.stopped() => return,
            }
            // Interfaces come and go, as when a laptop joins a network.
            if let Err(error) = self.announce(&interfaces())
                && !reported
            {
                reported = true;
                notices.show(&RunNotice::LanFails(&error));
            }
        }
    }

    /// Sends the announcement along all routes. An error if none could be used.
    fn announce(&self, interfaces: &[Ipv4Addr]) -> io::Result<()> {
        let sent =
            routes(self.listen, interfaces).into_iter().map(|route| route.send(&self.message));
        let (mut any, mut failed) = (false, io::ErrorKind::AddrNotAvailable.into());
        for sent in sent {
            match sent {
                Ok(()) => any = true,
                Err(error) => failed = error,
            }
        }
        if any { Ok(()) } else { Err(failed) }
    }
}

/// One way for an announcement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Route {
    /// Address of the interface; the announcement comes from it.
    from: Ipv4Addr,
    to: SocketAddrV4,
}

impl Route {
    /// Sends without waiting: what does not fit into the socket's buffer is lost, as on the network.
    fn send(&self, message: &[u8]) -> io::Result<()> {
        let socket = UdpSocket::bind((self.from, 0))?;
        socket.set_nonblocking(true)?;
        // Not beyond the local network.
        socket.set_multicast_ttl_v4(1)?;
        SockRef::from(&socket).set_multicast_if_v4(&self.from)?;
        socket.send_to(message, self.to).map(drop)
    }
}

/// Returns the routes of a server that listens on `listen`, on a machine whose interfaces that are up
/// have these addresses.
fn routes(listen: Ipv4Addr, interfaces: &[Ipv4Addr]) -> Vec<Route> {
    let addresses = if listen.is_unspecified() { interfaces.to_vec() } else { vec![listen] };
    let only_loopback = addresses.iter().all(Ipv4Addr::is_loopback);
    let mut routes = Vec::new();
    for from in addresses {
        routes.push(Route { from, to: LAN_GROUP });
        // The game joins the group on its default interface only. There, it hears what this machine
        // sends to the network; on loopback, only what is sent to it alone.
        if only_loopback {
            routes
                .push(Route { from, to: SocketAddrV4::new(Ipv4Addr::LOCALHOST, LAN_GROUP.port()) });
        }
    }
    routes
}

/// Returns the IPv4 addresses of this machine's interfaces; none if the system does not tell.
fn interfaces() -> Vec<Ipv4Addr> {
    let interfaces = if_addrs::get_if_addrs().unwrap_or_default();
    let addresses = interfaces.iter().filter_map(|interface| match interface.ip() {
        IpAddr::V4(address) if !interface.is_p2p() => Some(address),
        _ => None,
    });
    addresses.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LAN: Ipv4Addr = Ipv4Addr::new(192, 168, 0, 7);
    const WIFI: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 9);

    fn multicast(from: Ipv4Addr) -> Route {
        Route { from, to: LAN_GROUP }
    }

    #[test]
    fn a_server_on_one_address_is_announced_on_its_interface_only() {
        assert_eq!(routes(WIFI, &[Ipv4Addr::LOCALHOST, LAN, WIFI]), [multicast(WIFI)]);
    }

    #[test]
    fn a_server_on_loopback_is_announced_on_this_machine_only_and_to_its_game() {
        let game = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 4445);
        let local = Ipv4Addr::LOCALHOST;
        let expected = [multicast(local), Route { from: local, to: game }];
        assert_eq!(routes(local, &[local, LAN]), expected);
        assert_eq!(routes(Ipv4Addr::UNSPECIFIED, &[local]), expected, "no network");
    }

    #[test]
    fn a_server_on_all_addresses_is_announced_once_on_each_interface() {
        let interfaces = [Ipv4Addr::LOCALHOST, LAN, WIFI];
        assert_eq!(routes(Ipv4Addr::UNSPECIFIED, &interfaces), interfaces.map(multicast));
    }

    #[test]
    fn only_addresses_that_a_game_can_connect_to_are_announced() {
        let announcer = |text: &str| LanAnnouncer::new(text.parse().unwrap(), "x");
        assert_eq!(announcer("0.0.0.0:1").unwrap().listen, Ipv4Addr::UNSPECIFIED);
        assert_eq!(announcer("[::]:1").unwrap().listen, Ipv4Addr::UNSPECIFIED);
        assert_eq!(announcer("[::ffff:10.0.0.9]:1").unwrap().listen, WIFI);
        assert!(announcer("[::1]:1").is_none());
        assert_eq!(announcer("10.0.0.9:7").unwrap().message, b"[MOTD]x[/MOTD][AD]7[/AD]");
    }
}
