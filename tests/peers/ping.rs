//! `ping`, `query` and the relay of Query, with independent servers and clients.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, UdpSocket};
use std::process::Command;
use std::time::{Duration, SystemTime};

use crate::support::{PATIENCE, Program, read_lines, root, scratch_file, text};
use mitmcraft_engine::ping::{Answerer, Form, Reply, Status};
use mitmcraft_engine::query::{FullStat, QueryServer};
use mitmcraft_protocol::packet::Timestamp;
use serde_json::{Value as Json, json};

#[test]
fn pings_a_server_of_node_in_every_form() {
    let mut server = Program::node("server.js", &["--port", "0", "--sessions", "0"]);
    let address = format!("127.0.0.1:{}", server.port());
    for form in ["auto", "1.7", "1.6", "1.4", "beta"] {
        let output = Program::mitmcraft(&["ping", &address, "--form", form, "--json"]).succeed();
        let status: Json = serde_json::from_str(&output).unwrap();
        let expected = if form == "auto" { "1.7" } else { form };
        assert_eq!(status["form"], expected, "{output}");
        assert_eq!(status["max"], 20, "{output}");
        assert!(status["latency_ms"].as_f64().unwrap() > 0.0, "{output}");
        if expected == "1.7" {
            assert_eq!(status["motd"], "mötd ☃ 2nd part");
            assert_eq!((&status["version"], &status["protocol"]), (&json!("1.8.8"), &json!(47)));
            assert_eq!(status["sample"][1]["name"], "Alex");
        } else {
            assert_eq!(status["motd"], "A Minecraft server", "{output}");
            let version = if form == "beta" { Json::Null } else { json!("1.8.8") };
            assert_eq!(status["version"], version, "{output}");
        }
    }
}

#[test]
fn shows_the_status_and_writes_the_icon() {
    let mut server = Program::node("server.js", &["--port", "0", "--sessions", "0"]);
    let address = format!("127.0.0.1:{}", server.port());
    let icon = scratch_file("icon.png");
    let arguments = ["--color", "always", "ping", &address, "--icon", icon.to_str().unwrap()];
    let output = Program::mitmcraft(&arguments).succeed();
    let motd = "motd     \x1b[33mmötd ☃\x1b[0m\x1b[33;1m 2nd part\x1b[0m\n";
    assert!(output.starts_with(motd), "{output:?}");
    assert!(
        output.contains("version  1.8.8 (protocol 47)\nplayers  2/20: Steve, Alex\n"),
        "{output}"
    );
    assert!(std::fs::read(icon).unwrap().starts_with(b"\x89PNG\r\n\x1a\n"));
}

#[test]
fn mcstatus_reads_the_answers_of_the_answerer() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    std::thread::spawn(move || listener.incoming().for_each(|socket| answer(&mut socket.unwrap())));
    let legacy: Json = serde_json::from_str(&python("legacy", &port).succeed()).unwrap();
    let expected = json!({
        "motd": "§4Zoë §r中文", "version": "1.8.9", "protocol": 47, "online": 3, "max": 20,
    });
    assert_eq!(legacy, expected);
    let status: Json = serde_json::from_str(&python("status", &port).succeed()).unwrap();
    assert_eq!(status["description"], "§4Zoë §r中文");
    assert_eq!(status["version"], json!({ "name": "1.8.9", "protocol": 47 }));
}

#[test]
fn pings_of_other_clients_pass_through_the_proxy_and_are_recorded() {
    let mut real = Program::node("server.js", &["--port", "0", "--sessions", "0"]);
    let real = format!("127.0.0.1:{}", real.port());
    let server = UdpSocket::bind("127.0.0.1:0").unwrap();
    let upstream = server.local_addr().unwrap().to_string();
    std::thread::spawn(move || answer_queries(&server));
    let capture = scratch_file("query.jsonl");
    let query = ["--query", "127.0.0.1:0", "--query-upstream", &upstream];
    let mut proxy = Program::proxy(&real, &[&["-w", text(&capture)], &query[..]].concat());
    let tcp_port = proxy.listening().to_string();
    let tcp = format!("127.0.0.1:{tcp_port}");
    let line = proxy.wait_for_error("relaying Query on ");
    let address = line.split("relaying Query on ").nth(1).unwrap().split(' ').next().unwrap();
    let port = address.rsplit(':').next().unwrap().to_owned();

    let legacy: Json = serde_json::from_str(&python("legacy", &tcp_port).succeed()).unwrap();
    let expected = json!({
        "motd": "A Minecraft server", "version": "1.8.8", "protocol": 47, "online": 0, "max": 20,
    });
    assert_eq!(legacy, expected);
    let status: Json = serde_json::from_str(&python("status", &tcp_port).succeed()).unwrap();
    assert_eq!(status["version"], json!({ "name": "1.8.8", "protocol": 47 }));
    for form in ["1.7", "1.6", "1.4", "beta"] {
        let output = Program::mitmcraft(&["ping", &tcp, "--form", form, "--json"]).succeed();
        let status: Json = serde_json::from_str(&output).unwrap();
        assert_eq!((&status["form"], &status["max"]), (&json!(form), &json!(20)), "{output}");
    }

    let found: Json = serde_json::from_str(&python("query", &port).succeed()).unwrap();
    let expected = json!({
        "motd": "Ein Süßer", "map": "world", "players": ["Notch", "jeb_"], "online": 2, "max": 20,
    });
    assert_eq!(found, expected);
    let full = Program::mitmcraft(&["query", address, "--json"]).succeed();
    let full: Json = serde_json::from_str(&full).unwrap();
    assert_eq!(full["values"][0], json!(["hostname", "Ein Süßer"]));
    assert_eq!(full["players"], json!(["Notch", "jeb_"]));
    let basic = Program::mitmcraft(&["query", address, "--basic"]).succeed();
    assert!(basic.starts_with("motd     Ein Süßer\ngame     SMP\nmap      world\n"), "{basic}");
    // The first datagram has no answer; the answer to the second shows that both were relayed.
    let stranger = UdpSocket::bind("127.0.0.1:0").unwrap();
    stranger.set_read_timeout(Some(PATIENCE)).unwrap();
    stranger.send_to(b"\xfe\xfd\x09\x00", address).unwrap();
    stranger.send_to(b"\xfe\xfd\x09\0\0\0\x01", address).unwrap();
    assert!(stranger.recv(&mut [0; 64]).unwrap() > 5);
    proxy.interrupt();
    proxy.succeed();
    let lines = read_lines(&capture);
    let of = |session: u64| -> Vec<String> {
        let lines = lines.iter().filter(|line| line["session"] == session);
        lines
            .map(|line| line["packet"].as_str().or_else(|| line["event"].as_str()).unwrap().into())
            .collect()
    };
    let legacy = ["open", "state", "legacy_server_list_ping", "kick_disconnect", "close"];
    let ping = ["open", "set_protocol", "set_protocol", "state", "ping_start", "server_info"];
    let query = ["open", "handshake", "handshake", "stat", "stat", "close"];
    assert_eq!(of(1), legacy);
    assert_eq!(of(2)[..6], ping);
    assert_eq!(of(3)[..6], ping);
    for session in 4..=6 {
        assert_eq!(of(session), legacy, "{session}");
    }
    for session in 7..=9 {
        assert_eq!(of(session), query, "{session}");
    }
    assert_eq!(of(10), ["open", "handshake", "handshake", "handshake", "close"]);
    let answers = lines.iter().filter(|line| line["packet"] == "kick_disconnect");
    let answers: Vec<&Json> = answers.map(|line| &line["fields"]).collect();
    assert_eq!(answers.len(), 4);
    for answer in answers {
        assert_eq!((&answer["motd"], &answer["max"]), (&json!("A Minecraft server"), &json!(20)));
    }
    let stat = lines.iter().find(|line| line["packet"] == "stat" && line["dir"] == "clientbound");
    assert_eq!(stat.unwrap()["fields"]["full"]["values"][0]["value"], "Ein Süßer");
    let cut = lines.iter().find(|line| line["session"] == 10 && line["packet"] == "handshake");
    assert!(cut.unwrap()["error"].as_str().unwrap().starts_with("sessionId: "), "{cut:?}");
    assert_eq!(cut.unwrap()["at"], 1);
}

fn answer(socket: &mut std::net::TcpStream) {
    let mut status = Status::new(Form::V1_7, "§4Zoë §r中文");
    status.version = Some("1.8.9".into());
    (status.protocol, status.online, status.max) = (Some(47), Some(3), Some(20));
    let mut answerer = Answerer::new(status);
    socket.set_read_timeout(Some(Duration::from_secs(1))).unwrap();
    let mut buffer = [0; 1024];
    loop {
        let reply = match socket.read(&mut buffer) {
            Ok(0) => return,
            Ok(count) => answerer.handle_received(&buffer[..count]),
            Err(_) => answerer.handle_quiet(),
        };
        match reply {
            Reply::Wait => {}
            Reply::Send(bytes) => socket.write_all(&bytes).unwrap(),
            Reply::Close(bytes) => return socket.write_all(&bytes).unwrap(),
            Reply::Other(bytes) => panic!("no ping: {bytes:02x?}"),
        }
    }
}

fn answer_queries(socket: &UdpSocket) {
    let server = QueryServer::new(42);
    let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    let stat = FullStat {
        values: vec![
            pair("hostname", "Ein Süßer"),
            pair("gametype", "SMP"),
            pair("game_id", "MINECRAFT"),
            pair("version", "1.8.9"),
            pair("plugins", ""),
            pair("map", "world"),
            pair("numplayers", "2"),
            pair("maxplayers", "20"),
            pair("hostport", "25565"),
            pair("hostip", "127.0.0.1"),
        ],
        players: vec!["Notch".into(), "jeb_".into()],
    };
    let mut buffer = [0; 2048];
    loop {
        let (count, client) = socket.recv_from(&mut buffer).unwrap();
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
        let at = Timestamp::default().plus(now);
        if let Some(answer) = server.answer(at, client, &buffer[..count], &stat) {
            socket.send_to(&answer, client).unwrap();
        }
    }
}

/// Queries a server with mcstatus.
fn python(what: &str, port: &str) -> Program {
    let python = root().join("tests/real/venv/bin/python");
    assert!(python.is_file(), "mcstatus is missing: run `tests/run`");
    let mut command = Command::new(python);
    command.arg(root().join("tests/real/ask.py")).args([what, port]);
    Program::start("ask.py", command)
}
