/// Returns whether the head of a request is complete, which is all that an answer needs.
pub(super) fn is_complete(received: &[u8]) -> bool {
    received.windows(4).any(|bytes| bytes == b"\r\n\r\n")
}

/// Returns the answer to a request of HTTP/1.0 or 1.1, after which the connection is closed.
pub(super) fn answer(request: &[u8], page: impl FnOnce() -> String) -> Vec<u8> {
    let line = request.split(|byte| *byte == b'\r').next().unwrap_or_default();
    let line = std::str::from_utf8(line).unwrap_or_default();
    let mut words = line.split(' ');
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let version = words.next().unwrap_or_default();
    if !version.starts_with("HTTP/1.") || words.next().is_some() {
        return reply(
            "400 Bad Request",
            "",
            "text/plain",
            "bad request: expected HTTP/1.0 or 1.1\n",
            true,
        );
    }
    let body = method != "HEAD";
    if !["GET", "HEAD"].contains(&method) {
        let allow = "Allow: GET, HEAD\r\n";
        return reply(
            "405 Method Not Allowed",
            allow,
            "text/plain",
            "method not allowed: use GET\n",
            true,
        );
    }
    match target.split('?').next() {
        Some("/metrics") => reply("200 OK", "", PROMETHEUS, &page(), body),
        Some("/") => {
            let text = "<!doctype html><title>mitmcraft</title><a href=\"metrics\">metrics</a>\n";
            reply("200 OK", "", "text/html; charset=utf-8", text, body)
        }
        _ => reply("404 Not Found", "", "text/plain", "not found: see /metrics\n", body),
    }
}

/// Returns the answer to a request whose head is too long.
pub(super) fn too_long() -> Vec<u8> {
    let status = "431 Request Header Fields Too Large";
    reply(status, "", "text/plain", "the request is too long\n", true)
}

fn reply(status: &str, more: &str, kind: &str, text: &str, body: bool) -> Vec<u8> {
    let length = text.len();
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\
         {more}Connection: close\r\n\r\n"
    );
    [head.as_bytes(), if body { text.as_bytes() } else { b"" }].concat()
}

/// Content type of Prometheus' text format.
const PROMETHEUS: &str = "text/plain; version=0.0.4; charset=utf-8";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_what_is_asked_for_and_says_what_else_is_wanted() {
        for (request, status) in [
            ("GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n", "200 OK"),
            ("GET /metrics?name[]=a HTTP/1.0\r\n\r\n", "200 OK"),
            ("GET / HTTP/1.1\r\n\r\n", "200 OK"),
            ("GET /metric HTTP/1.1\r\n\r\n", "404 Not Found"),
            ("POST /metrics HTTP/1.1\r\n\r\n", "405 Method Not Allowed"),
            ("GET /metrics HTTP/2\r\n\r\n", "400 Bad Request"),
            ("\x10\0\x2f\x09localhost\r\n\r\n", "400 Bad Request"),
            ("\r\n\r\n", "400 Bad Request"),
        ] {
            assert!(is_complete(request.as_bytes()));
            let answer = String::from_utf8(answer(request.as_bytes(), || "a 1\n".into())).unwrap();
            assert!(answer.starts_with(&format!("HTTP/1.1 {status}\r\n")), "{request}: {answer}");
            let (head, body) = answer.split_once("\r\n\r\n").unwrap();
            assert!(head.contains(&format!("Content-Length: {}", body.len())), "{answer}");
        }
        let head = answer(b"HEAD /metrics HTTP/1.1\r\n\r\n", || "a 1\n".into());
        let head = String::from_utf8(head).unwrap();
        assert!(head.contains("Content-Length: 4") && head.ends_with("\r\n\r\n"), "{head}");
        assert!(!is_complete(b"GET /metrics HTTP/1.1\r\n"));
    }
}
