//! The interface for programs, with the client in `examples/control`, between real peers.

use std::net::TcpStream;
use std::process::Command;

use serde_json::{Value as Json, json};
use tokio_tungstenite::tungstenite::{self, Message};

use crate::support::{Program, root, scratch_file, text};

fn python(arguments: &[&str]) -> Command {
    let mut command = Command::new(root().join("tests/real/venv/bin/python"));
    command.args(arguments).current_dir(root());
    command
}

#[test]
fn a_program_drives_a_session_that_is_encrypted_and_compressed() {
    let server_log = scratch_file("server.log");
    let options = ["--port", "0", "--log", text(&server_log), "--threshold", "64", "--encrypt"];
    let mut server = Program::node("server.js", &[&options[..], &["--allow-quit"]].concat());
    let upstream = format!("127.0.0.1:{}", server.port());
    let rules = scratch_file("rules.toml");
    std::fs::write(&rules, "# none yet\n").unwrap();
    let options = ["-f", text(&rules), "--control", "127.0.0.1:0"];
    let mut proxy = Program::proxy(&upstream, &options);
    let port = proxy.listening().to_string();
    let said = proxy.wait_for_error("programs control the run at ");
    let url = said.split("at ").nth(1).unwrap().to_owned();
    let mut program = Program::start("control.py", python(&["tests/real/control.py", &url]));
    assert_eq!(program.line(), "ready");
    let client = Program::node("client.js", &["--port", &port]).succeed();
    let told = program.succeed();
    let told: Json = serde_json::from_str(&told).unwrap();
    let output = server.succeed();
    proxy.interrupt();
    proxy.succeed();

    let chat =
        |text: &str, player: &str| json!({ "translate": "chat.type.text", "with": [player, text] });
    let (own, other) = ("hello from a real client", "hello from a program");
    let dropped = "Grüße, 你好, мир 🎮🧱 ☃";
    // Who sent what, and what became of it; the text of a chat message is JSON.
    let packets: Vec<Json> = told["packets"].as_array().unwrap().clone();
    let short: Vec<(String, Json)> = packets
        .iter()
        .map(|it| {
            let words = [0, 1, 2, 3].map(|index| it[index].as_str().unwrap());
            let content = it[4].as_object().unwrap();
            let message = content.get("message").or_else(|| content.get("reason")).unwrap();
            let inner = serde_json::from_str(message.as_str().unwrap());
            (words.join(" "), inner.unwrap_or_else(|_| message.clone()))
        })
        .collect();
    let welcome = json!({ "text": "Welcome ☃ ", "extra": [{ "text": "Tester", "bold": true }] });
    let expected = [
        ("clientbound chat pass server", welcome),
        ("serverbound chat rewrite client", json!(own)),
        ("serverbound chat send proxy", json!(other)),
        ("serverbound chat drop client", json!(dropped)),
        ("clientbound chat send proxy", chat(dropped, "Program")),
        ("clientbound chat rewrite server", chat(other, "Tester")),
        ("clientbound chat send proxy", chat(own, "Tester")),
        ("serverbound chat drop client", json!("bye")),
        ("clientbound kick_disconnect send proxy", json!({ "text": "kicked by a program" })),
    ];
    // The answer of the program and the echo of the server are in either order.
    let sorted = |mut them: Vec<(String, Json)>| {
        them.sort_by_key(|it| format!("{it:?}"));
        them
    };
    assert_eq!(
        sorted(short),
        sorted(expected.map(|(words, text)| (words.to_owned(), text)).to_vec())
    );
    assert_eq!(told["closed"], "ended by hand: kicked by a program");
    assert_eq!(
        told["refused"],
        json!(["wrong token", "did you mean `message`?", "session 1 is not open"])
    );
    assert_eq!(
        (&told["saved"], &told["sessions"]),
        (&json!(["faulty", "saved"]), &json!(["Tester"]))
    );
    // What is sent instead of a held packet is not judged by rules: they have only seen the welcome.
    let heard = json!([{ "name": "note chat", "matched": 1, "acted": 1, "failed": 0 }]);
    assert_eq!(told["heard"], heard);

    // The witnesses at both ends.
    let chats: Vec<&str> = output.lines().filter(|it| it.contains("\"chat\"")).collect();
    assert_eq!(chats, [format!(r#"{{"event":"chat","message":"{other}"}}"#)]);
    assert!(client.contains(r#"{"event":"kicked","reason":{"text":"kicked by a program"}}"#));
    for text in [own, dropped] {
        assert!(client.contains(&format!(r#"{{"event":"echo","message":"{text}"}}"#)), "{client}");
    }
    assert!(std::fs::read_to_string(&rules).unwrap().contains("note chat"));
}

/// Libraries that nobody here wrote check the answer to their request each in their own way.
#[test]
fn every_client_of_websockets_follows_a_run_to_its_end() {
    let mut proxy = Program::proxy("127.0.0.1:1", &["--control", "127.0.0.1:0"]);
    let said = proxy.wait_for_error("programs control the run at ");
    let url = said.split("at ").nth(1).unwrap();
    let node = |kind| {
        let mut command = Command::new("node");
        // Node has its own behind this option before version 22.
        command.args(["--experimental-websocket", "programs.js", kind, url]);
        command.current_dir(root().join("tests/real"));
        Program::start(kind, command)
    };
    let [nodes, pythons] = [
        ["own", "ws", "websocket", "faye-websocket"],
        ["websockets", "websocket-client", "aiohttp", "tornado"],
    ];
    let mut programs: Vec<_> = nodes.into_iter().map(node).collect();
    // No more than eight at a time may be connected.
    programs.extend(
        pythons.map(|kind| Program::start(kind, python(&["tests/real/programs.py", kind, url]))),
    );
    for program in &mut programs {
        assert_eq!(program.line(), "welcome");
    }
    proxy.interrupt();
    for program in programs {
        assert_eq!(program.succeed(), "closed 1001\n");
    }
    proxy.succeed();
}

#[test]
fn tungstenite_follows_a_run_to_its_end() {
    let mut proxy = Program::proxy("127.0.0.1:1", &["--control", "127.0.0.1:0"]);
    let said = proxy.wait_for_error("programs control the run at ");
    let (url, token) = said.split("at ").nth(1).unwrap().split_once('#').unwrap();
    let address = url.trim_start_matches("ws://").split('/').next().unwrap();
    let stream = TcpStream::connect(address).unwrap();
    let (mut socket, _) = tungstenite::client(url, stream).unwrap();
    socket.send(Message::text(json!({ "token": token }).to_string())).unwrap();
    let hello: Json = serde_json::from_str(socket.read().unwrap().to_text().unwrap()).unwrap();
    assert!(hello.get("hello").is_some(), "{hello}");
    proxy.interrupt();
    let closed = loop {
        if let Message::Close(frame) = socket.read().unwrap() {
            break frame.map(|it| u16::from(it.code));
        }
    };
    assert_eq!(closed, Some(1001));
    // The answer to the Close frame is sent by reading on.
    assert!(matches!(socket.read(), Err(tungstenite::Error::ConnectionClosed)));
    proxy.succeed();
}

/// Both do the same; the page on the interface has the one in JavaScript.
#[test]
fn the_examples_that_hold_chat_change_it() {
    let page = std::fs::read_to_string(root().join("docs/control.md")).unwrap();
    let script = std::fs::read_to_string(root().join("examples/control/shout.js")).unwrap();
    assert!(page.contains(&script[script.find("const [address").unwrap()..]));
    for example in ["shout.js", "shout.py"] {
        let mut server = Program::node("server.js", &["--port", "0", "--allow-quit"]);
        let upstream = format!("127.0.0.1:{}", server.port());
        let mut proxy = Program::proxy(&upstream, &["--control", "127.0.0.1:0"]);
        let port = proxy.listening().to_string();
        let said = proxy.wait_for_error("programs control the run at ");
        let url = said.split("at ").nth(1).unwrap();
        let path = format!("examples/control/{example}");
        let command = if example.ends_with("js") {
            let mut command = Command::new("node");
            command.args(["--experimental-websocket", &path, url]).current_dir(root());
            command
        } else {
            python(&[&path, url])
        };
        let mut program = Program::start(example, command);
        // It waits once its condition is set.
        Program::start("watch", python(&["-c", WATCH, url])).succeed();
        let mut client = Program::node("sayer.js", &["--port", &port]);
        assert_eq!(client.event()["event"], "ready");
        for line in ["hello", "Grüße", "again"] {
            client.tell(line);
            assert_eq!(program.line(), format!("session 1: {line}"), "{example}");
            let heard = client.event();
            assert_eq!(heard["text"], line.to_uppercase().as_str(), "{example}: {heard}");
        }
        proxy.interrupt();
        proxy.succeed();
        program.finish();
        client.finish();
        server.finish();
    }
}

#[test]
fn the_example_that_holds_chat_ends_with_the_run() {
    let mut proxy = Program::proxy("127.0.0.1:1", &["--control", "127.0.0.1:0"]);
    let said = proxy.wait_for_error("programs control the run at ");
    let url = said.split("at ").nth(1).unwrap();
    let shout = Program::start("shout.py", python(&["examples/control/shout.py", url]));
    // It waits once its condition is set.
    let watch = python(&["-c", WATCH, url]);
    Program::start("watch", watch).succeed();
    proxy.interrupt();
    assert_eq!(shout.succeed_with_errors(), (String::new(), String::new()));
    proxy.succeed();
}

/// Waits until another program holds packets.
const WATCH: &str = r#"import sys
sys.path.append("examples/control")
from mitmcraft import Control
with Control(sys.argv[1]) as control:
    next(push for push in control.pushes() if push.get("push") == "control" and push["break"])
"#;
