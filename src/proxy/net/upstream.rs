use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;
use std::time::Duration;

use hickory_resolver::TokioResolver;
use hickory_resolver::proto::rr::RData;
use thiserror::Error;

use mitmcraft_engine::link::Upstream;

/// A server as a user names it: `host`, `host:port`, `[ipv6]:port` or `ipv6`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpstreamName {
    /// Name or address; IPv6 without brackets.
    pub host: String,
    /// `None` to look up an SRV record, and use [`UpstreamName::DEFAULT_PORT`] if there is none.
    pub port: Option<u16>,
}

/// The reason why a server's name is invalid or unknown.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum UpstreamError {
    /// The text is not a valid name.
    #[error(
        "invalid server `{text}`: expected `host`, `host:port` or `[ipv6]:port`{}",
        without(text)
    )]
    Syntax {
        /// The text.
        text: String,
    },
    /// The name has no address.
    #[error("cannot find the host `{host}`: check its spelling and your DNS")]
    Unknown {
        /// The name.
        host: String,
        /// The error of the operating system.
        cause: io::Error,
    },
}

/// Returns what is wrong with a text.
fn without(text: &str) -> String {
    if let Some((scheme, _)) = text.split_once("://") {
        return format!(", without `{scheme}://`");
    }
    // A zone has a meaning on one machine only.
    let (bare, zone) = text.split_once('%').unwrap_or((text, ""));
    let bare = bare.trim_matches(['[', ']']);
    let address = |text: &str| text.parse::<std::net::Ipv6Addr>().ok();
    let (ip, port) = bare.rsplit_once(':').unwrap_or((bare, ""));
    let found = address(bare).map(|ip| (ip, "25565"));
    if let Some((ip, port)) = found.or_else(|| Some((address(ip.trim_end_matches(']'))?, port))) {
        let zone = if zone.is_empty() { "" } else { "; zones (`%`) are not supported" };
        return format!(", such as `[{ip}]:{port}`{zone}");
    }
    match text.rsplit_once(':') {
        Some((_, port)) if port.parse::<u16>().is_err() || port == "0" => {
            "; a port is a number from 1 to 65535".to_owned()
        }
        _ => String::new(),
    }
}

impl UpstreamName {
    /// Default port of the game.
    pub const DEFAULT_PORT: u16 = 25565;
}

impl FromStr for UpstreamName {
    type Err = UpstreamError;

    fn from_str(text: &str) -> Result<Self, UpstreamError> {
        let fault = || UpstreamError::Syntax { text: text.to_owned() };
        let port = |port: &str| match port.parse::<u16>() {
            Ok(0) | Err(_) => Err(fault()),
            Ok(port) => Ok(port),
        };
        let (host, port) = match text.strip_prefix('[') {
            Some(rest) => {
                let (host, rest) = rest.split_once(']').ok_or_else(fault)?;
                host.parse::<std::net::Ipv6Addr>().map_err(|_| fault())?;
                match rest.strip_prefix(':') {
                    Some(number) => (host, Some(port(number)?)),
                    None if rest.is_empty() => (host, None),
                    None => return Err(fault()),
                }
            }
            None if text.parse::<std::net::Ipv6Addr>().is_ok() => (text, None),
            None => match text.split_once(':') {
                Some((host, number)) => (host, Some(port(number)?)),
                None => (text, None),
            },
        };
        let valid = !host.is_empty()
            && host.len() <= 255
            && !host.chars().any(|char| char.is_whitespace() || "/@[]".contains(char));
        if !valid {
            return Err(fault());
        }
        Ok(Self { host: host.to_owned(), port })
    }
}

impl fmt::Display for UpstreamName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let port = self.port.unwrap_or(Self::DEFAULT_PORT);
        Upstream { host: self.host.clone(), port }.fmt(f)
    }
}

/// Resolves the names of servers.
#[derive(Clone)]
pub struct Resolver {
    /// `None` if the system has no name servers.
    dns: Option<TokioResolver>,
}

impl Resolver {
    /// Returns host and port of a server. Without a port, looks up the SRV record of `_minecraft._tcp`.
    pub async fn resolve(&self, name: &UpstreamName) -> Upstream {
        let default = || Upstream {
            host: name.host.clone(),
            port: name.port.unwrap_or(UpstreamName::DEFAULT_PORT),
        };
        let plain = name.port.is_some()
            || name.host.parse::<IpAddr>().is_ok()
            || name.host.eq_ignore_ascii_case("localhost");
        let Some(dns) = self.dns.as_ref().filter(|_| !plain) else { return default() };
        let query = format!("_minecraft._tcp.{}.", name.host.trim_end_matches('.'));
        let Ok(Ok(found)) = tokio::time::timeout(SRV_TIMEOUT, dns.srv_lookup(query)).await else {
            return default();
        };
        let records = found.answers().iter().filter_map(|record| match &record.data {
            RData::SRV(srv) => Some(srv),
            _ => None,
        });
        let best = records.min_by_key(|srv| (srv.priority, std::cmp::Reverse(srv.weight)));
        best.map_or_else(default, |srv| Upstream {
            host: srv.target.to_utf8().trim_end_matches('.').to_owned(),
            port: srv.port,
        })
    }

    /// Checks that the server's name has an address.
    ///
    /// # Errors
    /// [`UpstreamError::Unknown`] if it has none.
    pub async fn check(&self, upstream: &Upstream) -> Result<(), UpstreamError> {
        self.addresses(upstream).await.map(|_| ())
    }

    /// Returns the addresses of the server in the system's order, at least one.
    ///
    /// # Errors
    /// [`UpstreamError::Unknown`] if it has none.
    pub async fn addresses(&self, upstream: &Upstream) -> Result<Vec<SocketAddr>, UpstreamError> {
        let fault = |cause| UpstreamError::Unknown { host: upstream.host.clone(), cause };
        let found = tokio::net::lookup_host((upstream.host.as_str(), upstream.port)).await;
        let all: Vec<SocketAddr> = found.map_err(fault)?.collect();
        if all.is_empty() { Err(fault(io::Error::other("no address"))) } else { Ok(all) }
    }
}

impl Default for Resolver {
    /// Creates a resolver with the system's configuration.
    fn default() -> Self {
        let dns = TokioResolver::builder_tokio().ok().and_then(|mut builder| {
            builder.options_mut().timeout = SRV_TIMEOUT;
            builder.options_mut().attempts = 1;
            builder.build().ok()
        });
        Self { dns }
    }
}

impl fmt::Debug for Resolver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Resolver")
    }
}

/// Timeout of an SRV look-up. Most servers have no record, and players must not wait for a slow name
/// server.
const SRV_TIMEOUT: Duration = Duration::from_secs(3);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_every_form_of_a_server() {
        for (text, host, port) in [
            ("mc.example.org", "mc.example.org", None),
            ("mc.example.org:25570", "mc.example.org", Some(25570)),
            ("127.0.0.1:1", "127.0.0.1", Some(1)),
            ("[::1]:25565", "::1", Some(25565)),
            ("[::1]", "::1", None),
            ("::1", "::1", None),
        ] {
            let name: UpstreamName = text.parse().unwrap();
            assert_eq!((name.host.as_str(), name.port), (host, port), "{text}");
        }
    }

    #[test]
    fn refuses_invalid_names_of_servers() {
        for text in [
            "",
            ":25565",
            "host:",
            "host:0",
            "host:65536",
            "host:x",
            "[::1",
            "[::1]x",
            "[x]:1",
            "a b",
            "http://a",
        ] {
            let error = text.parse::<UpstreamName>().unwrap_err().to_string();
            assert!(error.contains("invalid server"), "{text}: {error}");
        }
    }
}
