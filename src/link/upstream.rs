use std::fmt;

/// A server by name, as a client that connected to it directly would say in its handshake: behind
/// an SRV record that is the record's target.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Upstream {
    /// Name or address, IPv6 without brackets.
    pub host: String,
    /// TCP port.
    pub port: u16,
}

impl fmt::Display for Upstream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.host.contains(':') {
            true => write!(f, "[{}]:{}", self.host, self.port),
            false => write!(f, "{}:{}", self.host, self.port),
        }
    }
}
