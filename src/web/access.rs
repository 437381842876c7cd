use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use hyper::header::{self, HeaderMap, HeaderName};

use mitmcraft_engine::auth::Secret;

/// Decides who may use the interface: who has its URL, which has the token. Of the pages in a browser, these are only
/// those that this server has served.
#[derive(Debug)]
pub(super) struct Access {
    token: Arc<Secret>,
    address: SocketAddr,
    audience: Audience,
}

/// Whom an interface over a WebSocket is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Audience {
    /// The page, which the same server serves.
    Page,
    /// Programs: no page is served.
    Programs,
}

impl Audience {
    /// Returns the message to an interface that exceeds the limit.
    pub(super) fn too_many(self) -> &'static str {
        match self {
            Self::Page => "too many pages are open: close one",
            Self::Programs => "too many programs are connected: end one",
        }
    }
}

impl Access {
    pub(super) fn new(token: Arc<Secret>, address: SocketAddr, audience: Audience) -> Self {
        Self { token, address, audience }
    }

    /// Returns the URL that opens the page, or the WebSocket for programs. The fragment is not sent to servers.
    pub(super) fn url(&self) -> String {
        let ip = match self.address.ip() {
            IpAddr::V4(ip) if ip.is_unspecified() => "127.0.0.1".to_owned(),
            IpAddr::V6(ip) if ip.is_unspecified() => "[::1]".to_owned(),
            IpAddr::V4(ip) => ip.to_string(),
            IpAddr::V6(ip) => format!("[{ip}]"),
        };
        let (scheme, path) = match self.audience {
            Audience::Page => ("http", ""),
            Audience::Programs => ("ws", "socket"),
        };
        format!("{scheme}://{ip}:{}/{path}#{}", self.address.port(), self.token.expose())
    }

    /// Returns whether the host that a request names is this machine, which it is not after DNS rebinding. Any port
    /// will do: a tunnel may have another one.
    pub(super) fn admits_host(&self, headers: &HeaderMap) -> bool {
        only(headers, header::HOST).is_some_and(|host| self.is_ours(host))
    }

    /// Returns whether a WebSocket is not opened by a page of another host than the one that it names. Every browser
    /// says which page it is; programs need not.
    pub(super) fn admits_origin(&self, headers: &HeaderMap) -> bool {
        if self.audience == Audience::Programs && !headers.contains_key(header::ORIGIN) {
            return true;
        }
        let origin = only(headers, header::ORIGIN).and_then(|it| it.strip_prefix("http://"));
        let host = only(headers, header::HOST);
        host.zip(origin).is_some_and(|(host, origin)| host.eq_ignore_ascii_case(origin))
    }

    /// Returns whether a client has the token. Takes as long for every token of the right length.
    pub(super) fn admits(&self, token: &str) -> bool {
        let ours = self.token.expose();
        let differences =
            ours.bytes().zip(token.bytes()).fold(0, |found, (one, other)| found | (one ^ other));
        ours.len() == token.len() && differences == 0
    }

    /// Returns whether `host` names the address that this server listens on.
    fn is_ours(&self, host: &str) -> bool {
        let name = match host.rsplit_once(':') {
            Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
            _ => host,
        };
        if name.eq_ignore_ascii_case("localhost") {
            return true;
        }
        let name = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
        let own = self.address.ip();
        name.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback() || ip == own || own.is_unspecified())
    }
}

/// Returns the value of a header that a request has once.
fn only(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next().filter(|_| values.next().is_none());
    value?.to_str().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access(address: &str) -> Access {
        Access::new(
            Arc::new(Secret::new("0123456789abcdef")),
            address.parse().unwrap(),
            Audience::Page,
        )
    }

    fn programs(address: &str) -> Access {
        Access { audience: Audience::Programs, ..access(address) }
    }

    fn headers(pairs: &[(HeaderName, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        pairs.iter().for_each(|(name, value)| {
            headers.append(name.clone(), value.parse().unwrap());
        });
        headers
    }

    #[test]
    fn only_names_of_this_machine_are_hosts_so_that_dns_rebinding_finds_nothing() {
        let access = access("127.0.0.1:8766");
        for (host, ours) in [
            ("127.0.0.1:8766", true),
            ("localhost:9000", true),
            ("LOCALHOST", true),
            ("[::1]:8766", true),
            ("evil.example:8766", false),
            ("127.0.0.1.evil.example:8766", false),
            ("localhost.evil.example", false),
            ("192.0.2.1:8766", false),
            ("127.0.0.1:8766@evil.example", false),
            ("", false),
        ] {
            let admitted = access.admits_host(&headers(&[(header::HOST, host)]));
            assert_eq!(admitted, ours, "{host}");
        }
        assert!(!access.admits_host(&HeaderMap::new()));
        let two = [(header::HOST, "localhost"), (header::HOST, "localhost")];
        assert!(!access.admits_host(&headers(&two)));
        let remote = self::access("192.0.2.1:8766");
        assert!(remote.admits_host(&headers(&[(header::HOST, "192.0.2.1:8766")])));
    }

    #[test]
    fn only_pages_of_the_same_host_and_programs_open_a_socket() {
        let access = access("127.0.0.1:8766");
        for (origin, ours) in [
            (&["http://127.0.0.1:8766"][..], true),
            (&["http://127.0.0.1:8767"], false),
            (&["http://evil.example"], false),
            (&["https://127.0.0.1:8766"], false),
            (&["null"], false),
            (&[""], false),
            (&[], false),
            (&["http://127.0.0.1:8766", "http://127.0.0.1:8766"], false),
        ] {
            let mut pairs = vec![(header::HOST, "127.0.0.1:8766")];
            pairs.extend(origin.iter().map(|origin| (header::ORIGIN, *origin)));
            assert_eq!(access.admits_origin(&headers(&pairs)), ours, "{origin:?}");
            // A program need not say that it is none of a browser's pages.
            let admitted = programs("127.0.0.1:8768").admits_origin(&headers(&pairs));
            assert_eq!(admitted, ours || origin.is_empty(), "{origin:?}");
        }
    }

    #[test]
    fn the_whole_token_is_needed_and_the_url_has_it_in_its_fragment() {
        let access = access("127.0.0.1:8766");
        assert!(access.admits("0123456789abcdef"));
        for token in ["", "0", "0123456789abcdee", "0123456789abcdef0", "1123456789abcdef"] {
            assert!(!access.admits(token), "{token}");
        }
        assert_eq!(access.url(), "http://127.0.0.1:8766/#0123456789abcdef");
        assert_eq!(self::access("[::]:1").url(), "http://[::1]:1/#0123456789abcdef");
        assert_eq!(programs("0.0.0.0:1").url(), "ws://127.0.0.1:1/socket#0123456789abcdef");
        assert!(!format!("{access:?}").contains("0123"));
    }
}
