//! Addresses that refuse connections or datagrams, and that no other process can take meanwhile.

use std::net::{SocketAddr, UdpSocket};

use socket2::{Domain, Socket, Type};

/// An address on the loopback interface that refuses connections or datagrams. The port is taken
/// until this is dropped, so that no other process gets it meanwhile.
pub struct Refusing {
    held: Socket,
    address: SocketAddr,
}

impl Refusing {
    /// Refuses connections with a socket that is bound and does not listen.
    pub fn tcp() -> Self {
        Self::bind(Type::STREAM)
    }

    /// Refuses datagrams with a socket that is connected to another peer.
    pub fn udp() -> Self {
        let refusing = Self::bind(Type::DGRAM);
        let peer = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        refusing.held.connect(&peer.into()).unwrap();
        refusing
    }

    fn bind(kind: Type) -> Self {
        let socket = Socket::new(Domain::IPV4, kind, None).unwrap();
        socket.bind(&SocketAddr::from(([127, 0, 0, 1], 0)).into()).unwrap();
        let address = socket.local_addr().unwrap().as_socket().unwrap();
        Self { held: socket, address }
    }

    /// Returns the address as an argument.
    pub fn address(&self) -> String {
        self.address.to_string()
    }
}
