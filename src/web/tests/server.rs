use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use futures_util::{SinkExt as _, StreamExt as _};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::Role;

use super::*;
use crate::proxy::{ControlHandle, FilterFiles, Listener, RuleEditor, Stop};
use crate::view::protocol::Failure;
use crate::web::files::FILES;
use crate::web::{Audience, Opener, WebOptions, WebServer};

/// A running server, with its port and token.
struct Running {
    port: u16,
    token: String,
    store: Arc<Store>,
    stop: Stop,
}

impl Running {
    async fn new() -> Self {
        Self::of(Audience::Page).await
    }

    async fn of(audience: Audience) -> Self {
        Self::with(audience, None).await
    }

    async fn with(audience: Audience, rules: Option<RuleEditor>) -> Self {
        Self::opening(audience, rules, None).await
    }

    /// Returns a server that lets pages open captures.
    async fn opening(
        audience: Audience,
        rules: Option<RuleEditor>,
        opener: Option<Opener>,
    ) -> Self {
        let address = ([127, 0, 0, 1], 0).into();
        let listener = Listener::bind(address, WebServer::MAX_CONNECTIONS).await.unwrap();
        let store = store(1000);
        let catalog = Arc::new(Catalog::embedded().clone());
        let mut options = WebOptions::new(Arc::clone(&store), Arc::clone(&catalog));
        options.control = Some(ControlHandle::start(catalog, None));
        options.audience = audience;
        options.rules = rules;
        options.opener = opener;
        let server = WebServer::new(listener, options).unwrap();
        let port = server.local_addr().unwrap().port();
        let token = server.url().split_once('#').unwrap().1.to_owned();
        let stop = Stop::new();
        let stopping = stop.clone();
        tokio::spawn(async move { server.run(&stopping).await });
        Self { port, token, store, stop }
    }

    /// Sends a request and returns the connection with the head of the response.
    async fn request(&self, head: &str) -> (TcpStream, String) {
        let mut socket = TcpStream::connect(("127.0.0.1", self.port)).await.unwrap();
        socket.write_all(head.as_bytes()).await.unwrap();
        let mut response = Vec::new();
        while !response.ends_with(b"\r\n\r\n") {
            match socket.read_u8().await {
                Ok(byte) => response.push(byte),
                Err(_) => break,
            }
        }
        (socket, String::from_utf8(response).unwrap())
    }

    async fn get(&self, path: &str, host: &str) -> String {
        self.request(&format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n")).await.1
    }

    /// Opens a WebSocket from a page of `origin`.
    async fn open(&self, origin: &str) -> (TcpStream, String) {
        self.open_with(&format!("Origin: {origin}\r\n")).await
    }

    /// Opens a WebSocket with more lines in the head of the request.
    async fn open_with(&self, lines: &str) -> (TcpStream, String) {
        self.request(&format!(
            "GET /socket HTTP/1.1\r\nHost: 127.0.0.1:{}\r\n{lines}\
             Connection: keep-alive, Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
             Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
            self.port
        ))
        .await
    }

    fn origin(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Opens a WebSocket and sends a first message.
    async fn page(&self, first: &str) -> WebSocketStream<TcpStream> {
        let (socket, response) = self.open(&self.origin()).await;
        assert!(response.starts_with("HTTP/1.1 101 "), "{response}");
        // The example of RFC 6455, section 1.3.
        assert!(response.contains("s3pPLMBiTxaQ9kYGzzhZRbK+xOo="), "{response}");
        let mut page = WebSocketStream::from_raw_socket(socket, Role::Client, None).await;
        page.send(Message::text(first)).await.unwrap();
        page
    }

    /// Opens a WebSocket with the token.
    async fn welcome_page(&self) -> WebSocketStream<TcpStream> {
        let mut page = self.page(&json!({ "token": self.token }).to_string()).await;
        assert_eq!(next(&mut page).await.unwrap()["hello"]["live"], false);
        page
    }
}

/// Returns the next message; `None` once the server has closed.
async fn next(page: &mut WebSocketStream<TcpStream>) -> Option<Json> {
    loop {
        match page.next().await {
            Some(Ok(Message::Text(text))) => return Some(serde_json::from_str(&text).unwrap()),
            // A busy machine takes longer than a page may be silent.
            Some(Ok(Message::Ping(_))) => {}
            _ => return None,
        }
    }
}

/// Asks and returns the answer; pushes in between are skipped.
async fn ask(page: &mut WebSocketStream<TcpStream>, request: Json) -> Json {
    let mut request = request;
    request["id"] = 1.into();
    page.send(Message::text(request.to_string())).await.unwrap();
    loop {
        let message = next(page).await.expect("an answer");
        if message["id"] == 1 {
            return message;
        }
    }
}

/// RFC 6455, section 4.1: clients fail a connection whose answer has another word beside `Upgrade`, or compare the
/// whole line.
#[tokio::test]
async fn the_answer_to_a_websocket_has_the_headers_of_the_rfc_and_others_close() {
    for audience in [Audience::Page, Audience::Programs] {
        let running = Running::of(audience).await;
        let (_socket, response) = match audience {
            Audience::Page => running.open(&running.origin()).await,
            Audience::Programs => running.open_with("").await,
        };
        let (head, date) = response.split_once("date: ").unwrap();
        let expected = "HTTP/1.1 101 Switching Protocols\r\n\
             connection: Upgrade\r\n\
             upgrade: websocket\r\n\
             sec-websocket-accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n";
        assert!(head.starts_with(expected), "{response}");
        assert!(!head.contains("close") && date.ends_with("\r\n\r\n"), "{response}");
        assert_eq!(head.matches("connection:").count(), 1, "{response}");
        let host = format!("127.0.0.1:{}", running.port);
        for (path, host) in [("/none", &*host), ("/", "evil.example"), ("/socket", &*host)] {
            let request = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n");
            let (mut socket, response) = running.request(&request).await;
            assert!(response.contains("\r\nconnection: close\r\n"), "{response}");
            socket.read_to_end(&mut Vec::new()).await.unwrap();
        }
    }
}

#[tokio::test]
async fn pages_and_programs_are_told_that_the_run_has_ended() {
    for audience in [Audience::Page, Audience::Programs] {
        let running = Running::of(audience).await;
        let mut pages = [running.welcome_page().await, running.welcome_page().await];
        running.stop.stop("stopped by the user");
        for page in &mut pages {
            let close = loop {
                match page.next().await.unwrap().unwrap() {
                    Message::Close(close) => break close.unwrap(),
                    _ => continue,
                }
            };
            assert_eq!((u16::from(close.code), &*close.reason), (1001, "the run has ended"));
        }
    }
}

#[tokio::test]
async fn a_page_whose_link_is_dead_is_taken_for_gone() {
    let running = Running::new().await;
    let mut dead = running.welcome_page().await;
    // The clock moves only when everything waits for it.
    tokio::time::pause();
    let begun = tokio::time::Instant::now();
    // The last that is heard of it is not before that moment.
    dead.send(Message::Ping(Default::default())).await.unwrap();
    let mut bytes = [0; 4096];
    while dead.get_mut().read(&mut bytes).await.unwrap() > 0 {}
    // The page was heard some time before the clock stood still.
    let waited = begun.elapsed().as_secs();
    assert!((10..=15).contains(&waited), "{waited}");
}

/// As after the machine has slept: the time to answer begins with the question.
#[tokio::test]
async fn a_page_that_was_not_heard_for_long_is_asked_before_it_is_taken_for_gone() {
    let running = Running::new().await;
    let mut page = running.welcome_page().await;
    tokio::time::pause();
    tokio::time::advance(std::time::Duration::from_secs(60)).await;
    tokio::time::resume();
    while !matches!(page.next().await, Some(Ok(Message::Ping(_)))) {}
    let rows = ask(&mut page, json!({ "do": "rows", "start": 0, "count": 1 })).await;
    assert_eq!(rows["rows"][0]["name"], "chat");
}

#[tokio::test]
async fn a_page_with_the_token_is_answered() {
    let running = Running::new().await;
    let mut page = running.welcome_page().await;
    let rows = ask(&mut page, json!({ "do": "rows", "start": 0, "count": 1 })).await;
    assert_eq!(rows["rows"][0]["name"], "chat");
    let mut other = running.welcome_page().await;
    ask(&mut other, json!({ "do": "view", "filter": "chat", "sessions": [] })).await;
    // Each page has a list of its own.
    assert_eq!(
        ask(&mut page, json!({ "do": "rows", "start": 1, "count": 1 })).await["rows"][0]["row"],
        1
    );
    assert_eq!(
        ask(&mut other, json!({ "do": "rows", "start": 1, "count": 1 })).await["rows"][0]["row"],
        100
    );
    running.stop.stop("the test has ended");
    while next(&mut page).await.is_some() {}
}

#[cfg(unix)]
#[tokio::test]
async fn a_filter_file_that_does_not_answer_delays_only_requests_about_filter_files() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("rules.toml");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let files = FilterFiles::new(vec![pipe.clone()], Catalog::embedded().clone());
    let editor = RuleEditor::new(files, tokio::sync::watch::channel(Vec::new()).1);
    let running = Running::with(Audience::Page, Some(editor)).await;
    let mut page = running.welcome_page().await;
    for id in 100..120 {
        let request = json!({ "do": "rules", "id": id });
        page.send(Message::text(request.to_string())).await.unwrap();
    }
    let mut refused = Vec::new();
    let request = json!({ "do": "sessions", "id": 1 });
    page.send(Message::text(request.to_string())).await.unwrap();
    loop {
        let message = next(&mut page).await.expect("an answer");
        match message["id"].as_u64() {
            Some(1) => break assert!(message["error"].is_null(), "{message}"),
            Some(id) => {
                let error = message["error"]["message"].as_str().unwrap_or_default();
                assert!(error.contains("still wait for a file"), "{message}");
                refused.push(id);
            }
            None => {}
        }
    }
    assert!(!refused.is_empty() && refused.len() < 20, "{refused:?}");
    // The first is answered once somebody writes the pipe.
    let name = pipe.clone();
    let write = tokio::task::spawn_blocking(move || std::fs::write(name, "[[rule]]"));
    loop {
        let message = next(&mut page).await.expect("an answer");
        if message["id"] == 100 {
            break assert_eq!(message["files"][0]["text"], "[[rule]]", "{message}");
        }
    }
    write.await.unwrap().unwrap();
    // The others, too, so that none of them still waits.
    let both = std::fs::OpenOptions::new().read(true).write(true).open(&pipe).unwrap();
    std::fs::remove_file(&pipe).unwrap();
    drop(both);
}

#[tokio::test]
async fn commands_reach_the_controller_which_knows_when_a_page_goes() {
    let running = Running::new().await;
    let mut page = running.welcome_page().await;
    let mut other = running.welcome_page().await;
    let answer = ask(&mut page, json!({ "do": "break", "where": "chat" })).await;
    assert_eq!(answer.get("error"), None, "{answer}");
    let state = loop {
        let message = next(&mut other).await.unwrap();
        if message["push"] == "control" && !message["break"].is_null() {
            break message;
        }
    };
    assert_eq!((&state["break"]["where"], &state["interfaces"]), (&json!("chat"), &json!(2)));
    let wrong = ask(&mut page, json!({ "do": "break", "where": "mesage == 1" })).await;
    assert_eq!(wrong["error"]["hint"], "did you mean `message`?", "{wrong}");
    drop(page);
    while next(&mut other).await.unwrap()["interfaces"] != 1 {}
    // A stranger commands nothing.
    let command = json!({ "id": 1, "do": "break", "where": "" }).to_string();
    let mut stranger = running.page(&command).await;
    while next(&mut stranger).await.is_some() {}
    let mut last = running.welcome_page().await;
    let state = loop {
        let message = next(&mut last).await.unwrap();
        if message["push"] == "control" {
            break message;
        }
    };
    assert_eq!(state["break"]["where"], "chat");
}

#[tokio::test]
async fn without_the_token_nothing_is_told() {
    let running = Running::new().await;
    let wrong = json!({ "token": "0".repeat(32) }).to_string();
    let rows = json!({ "id": 1, "do": "rows", "start": 0, "count": 1 }).to_string();
    for first in [&wrong, &rows, "no json", "{\"token\":null}", "[]"] {
        let mut page = running.page(first).await;
        assert_eq!(
            next(&mut page).await.unwrap(),
            json!({
                "id": null,
                "error": {
                    "message": "wrong token", "hint": null, "start": null, "end": null,
                    "path": null,
                },
            })
        );
        // Whatever follows is not answered.
        let _ = page.send(Message::text(rows.clone())).await;
        assert_eq!(next(&mut page).await, None, "{first}");
    }
}

#[tokio::test]
async fn other_host_names_and_pages_of_other_servers_are_refused() {
    let running = Running::new().await;
    for host in ["evil.example", "evil.example:8766", "127.0.0.1.evil.example", ""] {
        for path in ["/", "/socket"] {
            let response = running.get(path, host).await;
            assert!(response.starts_with("HTTP/1.1 421 "), "{host}{path}: {response}");
        }
    }
    let other_port = format!("http://127.0.0.1:{}", running.port ^ 1);
    for origin in ["http://evil.example", "null", "https://127.0.0.1", &other_port] {
        let (_, response) = running.open(origin).await;
        assert!(response.starts_with("HTTP/1.1 403 "), "{origin}: {response}");
    }
    let response = running.get("/socket", "127.0.0.1").await;
    assert!(response.starts_with("HTTP/1.1 403 "), "{response}");
}

#[tokio::test]
async fn every_response_forbids_inline_code_other_hosts_embedding_and_keeping() {
    let running = Running::new().await;
    let mut paths: Vec<String> = FILES.iter().map(|(name, _)| format!("/{name}")).collect();
    paths.extend(["/", "/nothing", "/../Cargo.toml", "/socket"].map(str::to_owned));
    for path in paths {
        let response = running.get(&path, "localhost").await;
        for header in [
            "content-security-policy: default-src 'none'; script-src 'self'; style-src 'self'; \
             img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; \
             frame-ancestors 'none'\r\n",
            "x-content-type-options: nosniff\r\n",
            "referrer-policy: no-referrer\r\n",
            "cache-control: no-store\r\n",
            "cross-origin-resource-policy: same-origin\r\n",
        ] {
            assert!(response.contains(header), "{path}: {response}");
        }
        assert!(!response.contains("set-cookie"), "{path}");
        assert!(!response.contains("access-control-allow"), "{path}");
        let found = !["/nothing", "/../Cargo.toml", "/socket"].contains(&&*path);
        assert_eq!(response.starts_with("HTTP/1.1 200 "), found, "{path}: {response}");
    }
    let post = "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n";
    assert!(running.request(post).await.1.starts_with("HTTP/1.1 405 "));
}

#[test]
fn the_page_has_no_inline_code_and_names_no_other_host() {
    for (name, text) in FILES {
        let text = text.replace("http://www.w3.org/2000/svg", "");
        for forbidden in [
            "http://",
            "https://",
            "innerHTML",
            "outerHTML",
            "insertAdjacentHTML",
            "document.write",
            "eval(",
        ] {
            assert!(!text.contains(forbidden), "{name}: {forbidden}");
        }
        if name.ends_with(".html") {
            for forbidden in [" style=", "<style", " onclick", " onload", "javascript:", "<script>"]
            {
                assert!(!text.contains(forbidden), "{name}: {forbidden}");
            }
        }
    }
}

#[tokio::test]
async fn messages_and_pages_are_bounded() {
    let running = Running::new().await;
    let mut page = running.welcome_page().await;
    let filter = "x".repeat(3 << 20);
    let request = json!({ "id": 1, "do": "check", "filter": filter }).to_string();
    let _ = page.send(Message::text(request)).await;
    while let Some(message) = next(&mut page).await {
        assert!(message["push"].is_string(), "{message}");
    }
    let mut pages = Vec::new();
    while pages.len() < WebServer::MAX_PAGES {
        // The place of the page that was closed is free a moment later.
        let mut page = running.page(&json!({ "token": running.token }).to_string()).await;
        if next(&mut page).await.unwrap().get("hello").is_some() {
            pages.push(page);
        }
    }
    let mut page = running.page(&json!({ "token": running.token }).to_string()).await;
    let told = next(&mut page).await.unwrap();
    assert_eq!(told["error"]["message"], "too many pages are open: close one");
    let long = format!("GET /{} HTTP/1.1\r\nHost: localhost\r\n\r\n", "x".repeat(40 << 10));
    let (_, response) = running.request(&long).await;
    assert!(!response.starts_with("HTTP/1.1 200 "), "{response}");
}

/// Other programs of this machine once kept the operator out: eight WebSockets without the token, or 32
/// connections that said nothing.
#[tokio::test]
async fn silent_connections_make_room_for_the_operator() {
    let running = Running::new().await;
    let (mut silent, mut sockets) = (Vec::new(), Vec::new());
    for _ in 0..100 {
        silent.push(TcpStream::connect(("127.0.0.1", running.port)).await.unwrap());
    }
    for _ in 0..20 {
        let (socket, response) = running.open(&running.origin()).await;
        assert!(response.starts_with("HTTP/1.1 101 "), "{response}");
        sockets.push(socket);
    }
    let mut page = running.welcome_page().await;
    let rows = ask(&mut page, json!({ "do": "rows", "start": 0, "count": 1 })).await;
    assert_eq!(rows["total"], 1000);
}

#[tokio::test]
async fn a_page_that_says_nothing_loses_its_place() {
    let running = Running::new().await;
    let (socket, response) = running.open(&running.origin()).await;
    assert!(response.starts_with("HTTP/1.1 101 "), "{response}");
    // The clock goes on by itself while nothing happens.
    tokio::time::pause();
    let mut page = WebSocketStream::from_raw_socket(socket, Role::Client, None).await;
    assert_eq!(next(&mut page).await.unwrap()["error"]["message"], "wrong token");
    assert_eq!(next(&mut page).await, None);
}

#[tokio::test]
async fn a_page_that_stops_reading_delays_neither_the_store_nor_other_pages() {
    let running = Running::new().await;
    let mut silent = running.welcome_page().await;
    let mut page = running.welcome_page().await;
    // More answers than the buffers of the connection take, none of which is read.
    for _ in 0..200 {
        let request = json!({ "id": 1, "do": "rows", "start": 0, "count": 500 }).to_string();
        let sent = silent.send(Message::text(request));
        if tokio::time::timeout(std::time::Duration::from_millis(200), sent).await.is_err() {
            break;
        }
    }
    fill(&running.store, 1000, 3000);
    loop {
        let rows = ask(&mut page, json!({ "do": "rows", "start": 2999, "count": 1 })).await;
        if rows["total"] == 3000 {
            assert_eq!(rows["rows"][0]["summary"], "age=2999 (149.95 s) time=0 (06:00)");
            break;
        }
    }
    drop(silent);
}

/// Opens the WebSocket of a server for programs, as a library of Python does, and sends a first message.
async fn program(running: &Running, first: &Json) -> WebSocketStream<TcpStream> {
    let (socket, response) = running.open_with("").await;
    assert!(response.starts_with("HTTP/1.1 101 "), "{response}");
    let mut program = WebSocketStream::from_raw_socket(socket, Role::Client, None).await;
    program.send(Message::text(first.to_string())).await.unwrap();
    program
}

#[tokio::test]
async fn a_program_with_the_token_is_answered_and_told_what_it_subscribes_to() {
    let running = Running::of(Audience::Programs).await;
    let mut program = program(&running, &json!({ "token": running.token })).await;
    let mut hello = next(&mut program).await.unwrap();
    let run = hello["hello"].as_object_mut().unwrap().remove("run").unwrap();
    assert_eq!(run.as_str().unwrap().len(), 32);
    assert_ne!(run, running.token);
    assert_eq!(
        hello,
        json!({ "hello": {
            "version": env!("CARGO_PKG_VERSION"), "protocol": 1, "live": false, "listening": null, "control": true,
            "rules": false, "opens": null, "actions": [],
        } })
    );
    let subscribe = json!({ "do": "subscribe", "filter": "chat", "from": 500 });
    assert_eq!(ask(&mut program, subscribe).await["from"], 500);
    fill(&running.store, 1000, 1200);
    let mut rows = Vec::new();
    while rows.len() < 7 {
        let push = next(&mut program).await.unwrap();
        if push["push"] == "packets" {
            rows.extend(push["packets"].as_array().unwrap().iter().map(|it| it["row"].clone()));
        }
    }
    assert_eq!(Json::from(rows), json!([500, 600, 700, 800, 900, 1000, 1100]));
    // Pushes come between answers, and none is lost by them.
    let held = ask(&mut program, json!({ "do": "break", "where": "chat" })).await;
    assert_eq!(held["answer"], "done");
}

#[tokio::test]
async fn programs_need_the_token_and_are_not_pages() {
    let running = Running::of(Audience::Programs).await;
    let mut stranger = program(&running, &json!({ "token": "0".repeat(32) })).await;
    assert_eq!(next(&mut stranger).await.unwrap()["error"]["message"], "wrong token");
    assert_eq!(next(&mut stranger).await, None);
    for origin in ["http://evil.example", "null", "http://127.0.0.1"] {
        let (_, response) = running.open(origin).await;
        assert!(response.starts_with("HTTP/1.1 403 "), "{origin}: {response}");
    }
    for path in ["/", "/index.html", "/main.js"] {
        let response = running.get(path, "localhost").await;
        assert!(response.starts_with("HTTP/1.1 404 "), "{path}: {response}");
    }
    let mut programs = Vec::new();
    while programs.len() < WebServer::MAX_PAGES {
        let mut program = program(&running, &json!({ "token": running.token })).await;
        if next(&mut program).await.unwrap().get("hello").is_some() {
            programs.push(program);
        }
    }
    let mut last = program(&running, &json!({ "token": running.token })).await;
    let told = next(&mut last).await.unwrap();
    assert_eq!(told["error"]["message"], "too many programs are connected: end one");
}

#[tokio::test]
async fn a_capture_that_a_page_sends_takes_the_place_of_what_all_pages_show() {
    let opener = Opener::new(2 << 20, |sent, name| {
        let text = std::fs::read_to_string(sent.path()).unwrap();
        match text.strip_prefix("capture of ") {
            Some(packets) => Ok(store(packets.parse().unwrap())),
            None => Err(Failure::new(format!("cannot read `{name}`: not a capture"))),
        }
    });
    let running = Running::opening(Audience::Page, None, Some(opener)).await;
    let token = json!({ "token": running.token }).to_string();
    let mut first = running.page(&token).await;
    let hello = next(&mut first).await.unwrap()["hello"].clone();
    assert_eq!(hello["opens"], 2 << 20);
    let mut second = running.welcome_page().await;
    let open = |name: &str, size: u64| json!({ "do": "open", "name": name, "size": size });
    let more = |text: &[u8]| json!({ "do": "open_more", "bytes": BASE64_STANDARD.encode(text) });
    let failure = |answer: Json| answer["error"]["message"].as_str().unwrap().to_owned();

    // Pages name no path, and send no more than what fits.
    assert_eq!(failure(ask(&mut first, more(b"x")).await), "`open` must come first");
    let large = failure(ask(&mut first, open("a.pcapng", (2 << 20) + 1)).await);
    assert!(large.starts_with("`a.pcapng` is too large: 2097153 bytes, of at most 2M;"), "{large}");
    assert_eq!(failure(ask(&mut first, open("none", 0)).await), "`none` is empty");
    assert_eq!(ask(&mut first, open("../../b\n", 3)).await["answer"], "done");
    let busy = failure(ask(&mut second, open("c", 3)).await);
    assert_eq!(busy, "another page is opening a capture");
    assert!(failure(ask(&mut first, more(b"1234")).await).starts_with("`../../b` has changed"));
    assert_eq!(failure(ask(&mut first, more(b"123")).await), "`open` must come first");
    assert_eq!(ask(&mut first, open("c.txt", 3)).await["answer"], "done");
    assert!(
        failure(ask(&mut first, json!({ "do": "open_more", "bytes": "!" })).await)
            .contains("`bytes`")
    );
    assert_eq!(ask(&mut first, open("c.txt", 3)).await["answer"], "done");
    let refused = failure(ask(&mut first, more(b"abc")).await);
    assert_eq!(refused, "cannot read `c.txt`: not a capture");

    // What is shown stays until then.
    let text = b"capture of 70";
    assert_eq!(ask(&mut first, open("d", text.len() as u64)).await["answer"], "done");
    assert_eq!(ask(&mut first, more(&text[..5])).await["answer"], "done");
    let rows = json!({ "do": "rows", "start": 0, "count": 0 });
    assert_eq!(ask(&mut first, rows.clone()).await["total"], 1000);
    assert_eq!(ask(&mut first, more(&text[5..])).await["answer"], "done");
    for page in [&mut first, &mut second] {
        while next(page).await.is_some() {}
    }
    let mut again = running.page(&token).await;
    assert_ne!(next(&mut again).await.unwrap()["hello"]["run"], hello["run"]);
    ask(&mut again, json!({ "do": "view", "filter": "", "sessions": [] })).await;
    loop {
        let total = ask(&mut again, rows.clone()).await["total"].clone();
        if total == 70 {
            break;
        }
    }
}

#[tokio::test]
async fn a_page_of_a_run_opens_no_capture() {
    let running = Running::new().await;
    let mut page = running.welcome_page().await;
    let answer = ask(&mut page, json!({ "do": "open", "name": "a", "size": 1 })).await;
    let message = answer["error"]["message"].as_str().unwrap();
    assert_eq!(message, "captures are opened where captures are viewed, not while a proxy runs");
}
