use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// Parses an address to listen on. A port alone, `:PORT` and `localhost:PORT` are on this machine
/// only.
///
/// # Errors
/// Which forms an address has.
pub(crate) fn listen_address(text: &str) -> Result<SocketAddr, String> {
    let port = ["localhost:", ":"].iter().find_map(|prefix| text.strip_prefix(prefix));
    if let Ok(port) = port.unwrap_or(text).parse() {
        return Ok(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port));
    }
    text.parse().map_err(|_| {
        let hint = match text.parse::<IpAddr>() {
            Ok(IpAddr::V4(_)) => format!("`{text}:25566`"),
            Ok(IpAddr::V6(_)) => format!("`[{text}]:25566`"),
            Err(_) => "`25566`, `127.0.0.1:25566` or `[::]:25566`".to_owned(),
        };
        format!("invalid address `{text}`: expected an IP address and a port, such as {hint}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_alone_is_on_this_machine() {
        for text in ["25570", ":25570", "localhost:25570", "127.0.0.1:25570"] {
            assert_eq!(listen_address(text).unwrap().to_string(), "127.0.0.1:25570", "{text}");
        }
        assert_eq!(listen_address("0.0.0.0:1").unwrap().to_string(), "0.0.0.0:1");
        assert_eq!(listen_address("[::1]:0").unwrap().to_string(), "[::1]:0");
        for (text, hint) in [
            ("x", "`25566`, "),
            ("70000", "`25566`, "),
            ("mc.example.org:25565", "`25566`, "),
            ("0.0.0.0", "`0.0.0.0:25566`"),
            ("::1", "`[::1]:25566`"),
        ] {
            let error = listen_address(text).unwrap_err();
            assert!(error.starts_with(&format!("invalid address `{text}`: ")), "{error}");
            assert!(error.contains(hint), "{error}");
        }
    }
}
