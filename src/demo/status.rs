use serde_json::json;

use super::end::VERSION;

/// The answer to a Server List Ping, JSON.
pub(super) fn status() -> String {
    json!({
        "version": { "name": "1.8", "protocol": VERSION },
        "players": {
            "max": MAX_PLAYERS,
            "online": 2,
            "sample": [
                { "name": "Alex", "id": "61699b2e-d327-4a01-9f1e-0ea8c3f06bc6" },
                { "name": "Steffi", "id": "8667ba71-b85a-4004-af54-457a9734eed7" },
            ],
        },
        "description": {
            "text": "mitmcraft ",
            "color": "gold",
            "bold": true,
            "extra": [
                { "text": "demo", "color": "aqua", "bold": false },
                { "text": "\nWhat is said between ", "color": "gray", "bold": false },
                { "text": "client", "color": "green", "bold": false },
                { "text": " and ", "color": "gray", "bold": false },
                { "text": "sérver ☃", "color": "light_purple", "bold": false },
            ],
        },
        "favicon": FAVICON,
    })
    .to_string()
}

/// What the server says to have room for.
pub(super) const MAX_PLAYERS: u8 = 20;

/// 64 x 64 pixels: a block of grass with a window in it.
const FAVICON: &str = "data:image/png;base64,\
    iVBORw0KGgoAAAANSUhEUgAAAEAAAABABAMAAABYR2ztAAAAGFBMVEV4p/9qqjpPhiuGXjxrSS0rKyv/003///+No6+g\
    AAAAm0lEQVR42r2T0Q2EQAhEbYEWaIEWaIEWbMH2PW5EFL3Pm5dsMMPbhLi7i6oIFpAvVUUWgtABwm4xhR7tiSpDqPYv\
    iSGYiWAl7maq/iE3ZM4Q8hMhqp1AZAgYrEeccAQQg9rCEGqwiO1CROU8wT2F9aCFc8i/CnVEU6jD4wjvP4or1JDzwiDn\
    CPcnMx8PQ6iLkfXeRMIQ7IWrThB2aG2t2Am7qZYAAAAASUVORK5CYII=";

#[cfg(test)]
mod tests {
    use super::*;
    use base64::Engine as _;
    use base64::prelude::BASE64_STANDARD;
    use serde_json::Value as Json;

    #[test]
    fn the_status_has_what_a_client_shows() {
        let status: Json = serde_json::from_str(&status()).unwrap();
        assert_eq!(status["version"], json!({ "name": "1.8", "protocol": 47 }));
        assert_eq!(status["players"]["online"], 2);
        let favicon = status["favicon"].as_str().unwrap();
        let png = favicon.strip_prefix("data:image/png;base64,").unwrap();
        assert_eq!(BASE64_STANDARD.decode(png).unwrap()[1..4], *b"PNG");
    }
}
