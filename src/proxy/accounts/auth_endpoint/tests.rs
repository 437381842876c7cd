mod authlib;

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::AuthEndpoint;
use crate::proxy::{Http, LentJoins, Listener, Notices, RunNotice, Stop};
use mitmcraft_engine::auth::{GameServices, LentAccount, Secret};

/// A session service that gives these answers, a connection each; its address, and the requests. It never
/// answers a request whose answer is empty. `{url}` in an answer stands for the address.
fn service(answers: &'static [&'static str]) -> (String, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (own, (sender, requests)) = (url.clone(), channel());
    std::thread::spawn(move || {
        let mut silent = Vec::new();
        for answer in answers {
            let (mut socket, _) = listener.accept().unwrap();
            let mut request = Vec::new();
            let mut buffer = [0; 4096];
            while !is_whole(&request) {
                let count = socket.read(&mut buffer).unwrap();
                request.extend_from_slice(&buffer[..count]);
            }
            sender.send(String::from_utf8(request).unwrap()).unwrap();
            match *answer {
                "" => silent.push(socket),
                answer => socket.write_all(answer.replace("{url}", &own).as_bytes()).unwrap(),
            }
        }
        // Silent connections stay open until the endpoint gives up.
        for mut socket in silent {
            let _ = socket.read(&mut [0]);
        }
    });
    (url, requests)
}

/// Returns whether a request has all of its body.
fn is_whole(request: &[u8]) -> bool {
    let text = String::from_utf8_lossy(request).to_lowercase();
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
    let length = head.split("content-length: ").nth(1).and_then(|it| it.lines().next());
    body.len() >= length.map_or(0, |it| it.parse().unwrap())
}

/// An endpoint in front of a session service.
struct Running {
    address: SocketAddr,
    joins: LentJoins,
    stop: Stop,
    /// The failed logins of games, as they are reported to the user.
    reported: Arc<Mutex<Vec<String>>>,
}

async fn start(session_server: &str) -> Running {
    let listener = Listener::bind("127.0.0.1:0".parse().unwrap(), AuthEndpoint::MAX_CLIENTS);
    let listener = listener.await.unwrap();
    let address = listener.local_addr().unwrap();
    let key = Secret::new("k3y");
    let services = GameServices::new(address.to_string(), key, session_server).unwrap();
    let (joins, stop) = (LentJoins::default(), Stop::new());
    let endpoint = AuthEndpoint::new(listener, services, Http::new().unwrap(), joins.clone());
    let (stopping, reported) = (stop.clone(), Arc::<Mutex<Vec<String>>>::default());
    let seen = Arc::clone(&reported);
    let notices = Notices::new(Arc::new(move |notice| match notice {
        RunNotice::GameJoinFails(error) => seen.lock().unwrap().push(error.to_string()),
        other => panic!("{other:?}"),
    }));
    tokio::spawn(async move { endpoint.run(&stopping, &notices).await });
    Running { address, joins, stop, reported }
}

impl Running {
    /// Sends a request with these headers, and returns the answer.
    async fn ask(&self, line: &str, headers: &str, body: &str) -> String {
        let request = format!(
            "{line} HTTP/1.1\r\nHost: {}\r\nContent-Length: {}\r\n{headers}\r\n{body}",
            self.address,
            body.len()
        );
        self.send(&request).await
    }

    async fn send(&self, request: &str) -> String {
        let mut socket = TcpStream::connect(self.address).await.unwrap();
        // An endpoint that refuses a request need not read all of it.
        let _ = socket.write_all(request.as_bytes()).await;
        let mut answer = Vec::new();
        let _ = socket.read_to_end(&mut answer).await;
        String::from_utf8(answer).unwrap()
    }

    async fn join(&self) -> String {
        let headers = "Content-Type: application/json; charset=utf-8\r\nUser-Agent: Java/21\r\n";
        self.ask("POST /k3y/session/session/minecraft/join", headers, JOIN).await
    }

    fn reported(&self) -> Vec<String> {
        self.reported.lock().unwrap().clone()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.stop("the test is over");
    }
}

const JOIN: &str = r#"{"accessToken":"ey.token","selectedProfile":"b50ad385829d3141a2167e7d7539ba7f","serverId":"-1f"}"#;

const JOINED: &str = "HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n";
const FORBIDDEN: &str = "HTTP/1.1 403 Forbidden\r\nconnection: close\r\ncontent-type: application/json\r\n\
                         content-length: 25\r\n\r\n{\"error\":\"Invalid token\"}\n";
const MISSING: &str = "HTTP/1.1 404 x\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";

#[tokio::test]
async fn a_join_is_passed_on_unchanged_and_remembered_once_the_service_accepts_it() {
    let (url, requests) = service(&[JOINED]);
    let running = start(&url).await;
    let answer = running.join().await;
    assert!(answer.starts_with("HTTP/1.1 204"), "{answer}");
    let request = requests.recv().unwrap();
    let (head, body) = request.split_once("\r\n\r\n").unwrap();
    let head = head.to_lowercase();
    assert!(head.starts_with("post /session/minecraft/join http/1.1\r\n"), "{head}");
    assert!(head.contains("content-type: application/json; charset=utf-8"), "{head}");
    assert!(head.contains("user-agent: java/21"), "{head}");
    assert!(!head.contains("k3y") && !head.contains(&running.address.to_string()), "{head}");
    assert_eq!(body, JOIN);
    assert_eq!(running.joins.take("-1e"), None);
    let account = LentAccount {
        id: 0xb50a_d385_829d_3141_a216_7e7d_7539_ba7f,
        token: Secret::new("ey.token"),
    };
    assert_eq!(running.joins.take("-1f"), Some(account));
    assert_eq!(running.joins.take("-1f"), None, "a hash counts once");
}

#[tokio::test]
async fn headers_about_one_connection_go_no_further() {
    const ANSWER: &str =
        "HTTP/1.1 204 x\r\nConnection: close, X-Hop\r\nX-Hop: 1\r\nX-End: 2\r\n\r\n";
    let (url, requests) = service(&[ANSWER]);
    let running = start(&url).await;
    let headers = "Connection: close, X-Mine\r\nX-Mine: 3\r\nX-Far: 4\r\n";
    let answer = running.ask("POST /k3y/session/session/minecraft/join", headers, JOIN).await;
    let (answer, request) = (answer.to_lowercase(), requests.recv().unwrap().to_lowercase());
    assert!(answer.contains("x-end: 2") && !answer.contains("x-hop"), "{answer}");
    assert!(request.contains("x-far: 4") && !request.contains("x-mine"), "{request}");
}

#[tokio::test]
async fn a_join_with_an_expired_token_is_answered_by_the_service_and_reported() {
    // The session service's answer, and that of Minecraft's services, which some versions are given.
    const EXPIRED: &str = "HTTP/1.1 401 Unauthorized\r\nconnection: close\r\ncontent-type: application/json\r\n\
                           content-length: 57\r\n\r\n{\"path\":\"/session/minecraft/join\",\"error\":\"Unauthorized\"}";
    for (answer, status, body) in
        [(FORBIDDEN, "403 Forbidden", "Invalid token"), (EXPIRED, "401 Unauthorized", "\"path\"")]
    {
        let (url, _requests) = service(Box::leak(Box::new([answer])));
        let running = start(&url).await;
        let answer = running.join().await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{answer}");
        assert!(answer.contains("application/json") && answer.contains(body), "{answer}");
        assert_eq!(running.joins.take("-1f"), None);
        let reported = running.reported();
        assert_eq!(
            reported,
            [
                "the game's access token is refused: it has expired; restart the game from its launcher"
            ]
        );
    }
}

#[tokio::test]
async fn a_service_that_is_down_is_told_to_the_game_and_the_user() {
    const DOWN: &str = "HTTP/1.1 503 x\r\nconnection: close\r\ncontent-length: 4\r\n\r\ndown";
    let (url, _requests) = service(&[DOWN]);
    let running = start(&url).await;
    let answer = running.join().await;
    assert!(answer.starts_with("HTTP/1.1 503") && answer.ends_with("down"), "{answer}");
    let host = url.trim_start_matches("http://");
    assert_eq!(running.reported(), [format!("{host} is down (status 503): try again later")]);
    assert_eq!(running.joins.take("-1f"), None);
}

/// The time of this test is simulated: it jumps to the limit as soon as nothing else can happen.
#[tokio::test(start_paused = true)]
async fn a_silent_service_is_told_to_the_game_and_the_user() {
    let (url, _requests) = service(&[""]);
    let running = start(&url).await;
    let answer = running.join().await;
    assert!(answer.starts_with("HTTP/1.1 504"), "{answer}");
    assert!(answer.contains("the service cannot be reached: no answer in time"), "{answer}");
    let reported = running.reported().concat();
    assert!(reported.starts_with("cannot reach 127.0.0.1:"), "{reported}");
    assert!(reported.contains("no answer in time"), "{reported}");
    assert!(!reported.contains("ey.") && !answer.contains("ey."), "{reported} {answer}");
    assert_eq!(running.joins.take("-1f"), None);
}

#[tokio::test]
async fn a_game_that_waits_for_the_service_holds_up_no_other() {
    let (url, requests) = service(&["", JOINED]);
    let running = start(&url).await;
    let silent = running.join();
    tokio::pin!(silent);
    let asked = tokio::task::spawn_blocking(move || requests.recv().map(|_| requests).unwrap());
    let requests = tokio::select! {
        answer = &mut silent => panic!("{answer}"),
        requests = asked => requests.unwrap(),
    };
    let answer = tokio::select! {
        answer = &mut silent => panic!("{answer}"),
        answer = running.join() => answer,
    };
    assert!(answer.starts_with("HTTP/1.1 204"), "{answer}");
    assert!(requests.recv().is_ok());
    assert!(running.joins.take("-1f").is_some());
}

#[tokio::test]
async fn a_service_that_is_not_there_is_told_without_the_token() {
    let gone = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
    gone.bind(&SocketAddr::from(([127, 0, 0, 1], 0)).into()).unwrap();
    let address = gone.local_addr().unwrap().as_socket().unwrap();
    let running = start(&format!("http://{address}")).await;
    let answer = running.join().await;
    assert!(answer.starts_with("HTTP/1.1 502"), "{answer}");
    assert!(answer.contains("cannot be reached: connection refused"), "{answer}");
    assert!(!answer.contains("ey."), "{answer}");
    let reported = running.reported().concat();
    assert!(reported.contains("connection refused") && !reported.contains("ey."), "{reported}");
    assert_eq!(running.joins.take("-1f"), None);
}

#[tokio::test]
async fn another_layout_of_the_service_is_tried_if_the_first_does_not_know_the_path() {
    let (url, requests) = service(&[MISSING, JOINED]);
    let running = start(&url).await;
    assert!(running.join().await.starts_with("HTTP/1.1 204"));
    let paths = [(); 2].map(|()| requests.recv().unwrap().lines().next().unwrap().to_owned());
    assert_eq!(paths[0], "POST /session/minecraft/join HTTP/1.1");
    assert_eq!(paths[1], "POST /sessionserver/session/minecraft/join HTTP/1.1");
    assert!(running.joins.take("-1f").is_some());
}

/// The request for the key with which a game signs chat (since 1.19), as authlib sends it.
#[tokio::test]
async fn the_key_for_signed_chat_is_the_players_own() {
    const KEY: &str = "HTTP/1.1 200 x\r\nconnection: close\r\ncontent-length: 26\r\n\r\n{\"publicKeySignatureV2\":1}";
    let (url, requests) = service(&[KEY]);
    let running = start(&format!("{url}/sessionserver")).await;
    let headers = "Authorization: Bearer ey.token\r\nContent-Type: application/json\r\n";
    let answer = running.ask("POST /k3y/services/player/certificates", headers, "").await;
    assert!(answer.ends_with("{\"publicKeySignatureV2\":1}"), "{answer}");
    let request = requests.recv().unwrap().to_lowercase();
    assert!(
        request.starts_with("post /minecraftservices/player/certificates http/1.1\r\n"),
        "{request}"
    );
    assert!(request.contains("authorization: bearer ey.token\r\n"), "{request}");
}

#[tokio::test]
async fn authlib_injector_is_told_about_mojang_without_a_request() {
    let running = start(mitmcraft_engine::auth::SessionService::MOJANG).await;
    for line in ["GET /k3y", "GET /k3y/"] {
        let answer = running.ask(line, "", "").await;
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.1 200"), "{head}");
        assert!(head.contains("x-authlib-injector-api-location: /k3y/\r\n"), "{head}");
        let json: serde_json::Value = serde_json::from_str(body).unwrap();
        assert_eq!(json["meta"]["feature.no_mojang_namespace"], true);
        assert_eq!(json["skinDomains"], serde_json::json!([]));
    }
}

#[tokio::test]
async fn authlib_injector_joins_at_its_own_path_and_gets_the_keys_of_another_operator() {
    const KEYS: &str = "HTTP/1.1 200 x\r\nconnection: close\r\ncontent-length: 26\r\n\r\n{\"signaturePublickey\":\"-\"}\n";
    let (url, requests) = service(&[KEYS, JOINED]);
    let running = start(&url).await;
    let answer = running.ask("GET /k3y/", "User-Agent: Java/1.8\r\n", "").await;
    assert!(answer.contains("signaturePublickey"), "{answer}");
    assert!(requests.recv().unwrap().starts_with("GET / HTTP/1.1\r\n"));
    // Of authlib 1.5, in 1.7 to 1.15.
    let headers = "Content-Type: application/json; charset=utf-8\r\nUser-Agent: Java/1.8.0_51\r\n";
    let target = "POST /k3y/sessionserver/session/minecraft/join";
    assert!(running.ask(target, headers, JOIN).await.starts_with("HTTP/1.1 204"));
    assert!(requests.recv().unwrap().starts_with("POST /session/minecraft/join HTTP/1.1\r\n"));
    assert!(running.joins.take("-1f").is_some());
}

#[tokio::test]
async fn a_web_page_another_host_and_other_paths_reach_no_service() {
    // A service that answered would make the test fail: nobody listens.
    let running = start("http://127.0.0.1:9").await;
    let target = "POST /k3y/session/session/minecraft/join";
    for (line, headers, status) in [
        (target, "Origin: https://evil.org\r\n", "403"),
        (target, "Sec-Fetch-Site: cross-site\r\n", "403"),
        ("OPTIONS /k3y/session/session/minecraft/join", "Origin: null\r\n", "403"),
        ("POST /wrong/session/session/minecraft/join", "", "404"),
        ("POST /session/minecraft/join", "", "404"),
        ("POST http://evil.org/k3y/session/session/minecraft/join", "", "404"),
        ("GET /k3y/evil.org/", "", "404"),
        ("CONNECT evil.org:443", "", "404"),
    ] {
        let answer = running.ask(line, headers, JOIN).await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{line} {headers}: {answer}");
        assert!(answer.contains("errorMessage") && !answer.contains("ey."), "{answer}");
        assert!(!answer.to_lowercase().contains("access-control"), "{answer}");
    }
    let elsewhere = format!("{target} HTTP/1.1\r\nHost: evil.org:8767\r\n\r\n");
    assert!(running.send(&elsewhere).await.starts_with("HTTP/1.1 403"));
    assert_eq!(running.joins.take("-1f"), None);
}

#[tokio::test]
async fn a_request_that_is_too_large_is_refused() {
    let running = start("http://127.0.0.1:9").await;
    let body = "x".repeat((64 << 10) + 1);
    let answer = running.ask("POST /k3y/services/player/report", "", &body).await;
    assert!(answer.starts_with("HTTP/1.1 413"), "{answer}");
}
