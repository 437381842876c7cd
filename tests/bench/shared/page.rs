use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use serde_json::{Value as Json, json};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocket};

/// The page of `--web`, without a browser.
pub(crate) struct Page(WebSocket<TcpStream>);

impl Page {
    /// Opens the page at an URL, as mitmcraft prints it.
    pub(crate) fn open(url: &str) -> Self {
        let (address, token) = url.strip_prefix("http://").unwrap().split_once("/#").unwrap();
        let mut socket = TcpStream::connect(address).unwrap();
        socket.set_nodelay(true).unwrap();
        write!(
            socket,
            "GET /socket HTTP/1.1\r\nHost: {address}\r\nOrigin: http://{address}\r\n\
             Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
             Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
        )
        .unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            socket.read_exact(&mut byte).unwrap();
            head.extend(byte);
        }
        let mut page = Self(WebSocket::from_raw_socket(socket, Role::Client, None));
        page.say(&json!({ "token": token }));
        assert!(page.next().is_some_and(|hello| !hello["hello"].is_null()), "the token is refused");
        page
    }

    /// Sends a request.
    pub(crate) fn say(&mut self, request: &Json) {
        // A program that has ended takes none.
        let _ = self.0.send(Message::text(request.to_string()));
    }

    /// Returns the next message; `None` at the end.
    pub(crate) fn next(&mut self) -> Option<Json> {
        loop {
            match self.0.read() {
                Ok(Message::Text(text)) => return Some(serde_json::from_str(&text).unwrap()),
                Ok(_) => {}
                Err(_) => return None,
            }
        }
    }

    /// Returns the next message that is wanted.
    #[allow(dead_code, reason = "one of the two programs uses it")]
    pub(crate) fn until(&mut self, mut wanted: impl FnMut(&Json) -> bool) -> Json {
        loop {
            let message = self.next().expect("the page stays connected");
            if wanted(&message) {
                return message;
            }
        }
    }

    /// Does on a thread what a page does that follows the newest packets, until the program ends.
    #[allow(dead_code, reason = "one of the two programs uses it")]
    pub(crate) fn read_along(mut self) {
        std::thread::spawn(move || {
            while let Some(message) = self.next() {
                let total = message["list"]["total"].as_u64();
                if let Some(total) = total {
                    let start = total.saturating_sub(100);
                    self.say(&json!({ "id": 2, "do": "rows", "start": start, "count": 100 }));
                }
            }
        });
    }

    /// Asks and returns the answer.
    #[allow(dead_code, reason = "one of the two programs uses it")]
    pub(crate) fn ask(&mut self, mut request: Json) -> Json {
        request["id"] = 1.into();
        self.say(&request);
        self.until(|message| message["id"] == 1)
    }
}
