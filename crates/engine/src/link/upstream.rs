use std::fmt;

/// The name and port of a server, as a client that connects to it directly says them in its
/// handshake: behind an SRV record, the record's target.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Upstream {
    /// The name or address, IPv6 without brackets.
    pub host: String,
    /// The TCP port.
    pub port: u16,
}

impl fmt::Display for Upstream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            write!(f, "[{}]:{}", self.host, self.port)
        } else {
            write!(f, "{}:{}", self.host, self.port)
        }
    }
}
