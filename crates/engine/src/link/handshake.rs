use super::Upstream;
use mitmcraft_protocol::schema::{State, Value};

/// The fields of a handshake.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Handshake {
    pub(crate) version: i32,
    pub(crate) host: String,
    pub(crate) port: u16,
    /// `None` if the number is not that of a state.
    pub(crate) next: Option<State>,
    /// `true` if another server has transferred the client here.
    pub(crate) transferred: bool,
}

impl Handshake {
    /// Reads a decoded handshake. Its layout is the same in every version.
    pub(crate) fn of(value: &Value) -> Option<Self> {
        let next = value.get("nextState")?.as_int()?;
        Some(Self {
            version: value.get("protocolVersion")?.as_int()?.try_into().ok()?,
            host: value.get("serverHost")?.as_text()?.to_owned(),
            port: value.get("serverPort")?.as_int()?.try_into().ok()?,
            next: match next {
                1 => Some(State::Status),
                2 | TRANSFERRED => Some(State::Login),
                _ => None,
            },
            transferred: next == TRANSFERRED,
        })
    }

    /// Returns the address that the client connected to, without what others appended to the host.
    pub(crate) fn address(&self) -> Upstream {
        let (host, _) = split_host(&self.host);
        Upstream { host: host.to_owned(), port: self.port }
    }

    /// Replaces host and port by the upstream's; returns `None` if they are equal already. What
    /// others appended to the host is kept.
    pub(crate) fn towards(&self, upstream: &Upstream, value: &Value) -> Option<Value> {
        let (_, marker) = split_host(&self.host);
        let host = format!("{}{marker}", upstream.host);
        if host == self.host && upstream.port == self.port {
            return None;
        }
        let value = value.clone().with_field("serverHost", Value::from(host.as_str()));
        Some(value.with_field("serverPort", Value::Int(upstream.port.into())))
    }
}

/// Splits the host of a handshake from what others appended to it: after a NUL, Forge's marker and the
/// addresses that BungeeCord forwards; after `///`, those of TCPShield and RealIP; after a backslash, those
/// of infinity-filter. It begins at the first character that no host name or address has.
fn split_host(host: &str) -> (&str, &str) {
    let belongs = |it: char| it.is_alphanumeric() || ".-_:[]%".contains(it);
    host.split_at(host.find(|it| !belongs(it)).unwrap_or(host.len()))
}

/// The protocol version whose description reads the handshake and the status of every version.
pub(crate) const ANY_VERSION: i32 = 47;

/// The next state of a client that another server has transferred here: a login.
const TRANSFERRED: i64 = 3;

#[cfg(test)]
mod tests {
    use super::*;

    fn handshake(host: &str) -> Value {
        Value::map([
            ("protocolVersion", Value::Int(47)),
            ("serverHost", Value::from(host)),
            ("serverPort", Value::Int(25566)),
            ("nextState", Value::Int(2)),
        ])
    }

    fn rewritten(host: &str) -> Option<String> {
        let upstream = Upstream { host: "mc.example.org".into(), port: 25565 };
        let value = handshake(host);
        let value = Handshake::of(&value).unwrap().towards(&upstream, &value)?;
        let read = Handshake::of(&value).unwrap();
        assert_eq!((read.version, read.port, read.next), (47, 25565, Some(State::Login)));
        Some(read.host)
    }

    #[test]
    fn the_upstream_takes_the_place_of_what_the_client_dialled() {
        assert_eq!(rewritten("localhost").unwrap(), "mc.example.org");
    }

    #[test]
    fn forges_marker_and_forwarded_addresses_survive() {
        assert_eq!(rewritten("localhost\0FML\0").unwrap(), "mc.example.org\0FML\0");
        assert_eq!(rewritten("x\x001.2.3.4\0ab").unwrap(), "mc.example.org\x001.2.3.4\0ab");
        let shielded = "///203.0.113.7:54321///1700000000///c2lnbmF0dXJl";
        let sent = rewritten(&format!("play.example.net{shielded}")).unwrap();
        assert_eq!(sent, format!("mc.example.org{shielded}"));
        let both = rewritten("x///203.0.113.7:54321///1\0FML\0").unwrap();
        assert_eq!(both, "mc.example.org///203.0.113.7:54321///1\0FML\0");
        for suffix in [
            "\\\\ac734797-41b2-458a-962c-f95fc4b0ec52\\\\198.51.100.7\\\\",
            "//203.0.113.7",
            ";extra",
            " extra",
            "|a.b",
        ] {
            for host in
                ["play.example.com", "play.example.com.", "[2001:db8::1]", "münchen.example"]
            {
                let sent = rewritten(&format!("{host}{suffix}")).unwrap();
                assert_eq!(sent, format!("mc.example.org{suffix}"), "{host}{suffix}");
            }
        }
    }

    #[test]
    fn what_is_right_already_is_left_alone() {
        let upstream = Upstream { host: "localhost".into(), port: 25566 };
        let value = handshake("localhost");
        assert_eq!(Handshake::of(&value).unwrap().towards(&upstream, &value), None);
    }
}
