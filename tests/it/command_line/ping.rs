//! `ping`, `query` and `demo`.

use std::io::{BufRead as _, Read as _, Write as _};
use std::net::TcpListener;

use mitmcraft_engine::ping::{Answerer, Form, Reply, Status};
use serde_json::{Value as Json, json};

use crate::support::refusing::Refusing;
use crate::support::{Program, fails, scratch_file, show, text};

#[test]
fn a_server_that_is_down_is_exit_code_1_with_the_reason() {
    let (tcp, udp) = (Refusing::tcp(), Refusing::udp());
    for (arguments, reason) in [
        (["ping", &tcp.address(), "--form", "auto"], "cannot connect: connection refused"),
        (["query", &udp.address(), "--timeout", "5m"], "no server listens on UDP port"),
    ] {
        let said = fails(&arguments, 1);
        assert!(said.contains(reason), "{said}");
    }
    assert!(fails(&["ping", "no such host"], 2).contains("invalid server"));
}

#[test]
fn an_old_server_is_asked_in_its_own_form() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    // Knows what came before 1.4, and closes on all else.
    std::thread::spawn(move || {
        for socket in listener.incoming() {
            let mut socket = socket.unwrap();
            let mut asked = [0; 64];
            let count = socket.read(&mut asked).unwrap();
            if asked[..count] == [0xfe] {
                let mut status = Status::new(Form::Beta, "§4Old");
                (status.online, status.max) = (Some(1), Some(2));
                let mut answerer = Answerer::new(status);
                answerer.handle_received(&asked[..count]);
                let Reply::Close(answer) = answerer.handle_quiet() else { panic!() };
                socket.write_all(&answer).unwrap();
            }
        }
    });
    let said = Program::mitmcraft(&["ping", &address, "--json"]).succeed();
    let status: Json = serde_json::from_str(&said).unwrap();
    assert_eq!((&status["form"], &status["motd"]), (&json!("beta"), &json!("Old")));
    let reason = fails(&["ping", &address, "--form", "1.7"], 1);
    assert!(reason.contains("the server closed the connection without an answer"), "{reason}");
}

#[test]
fn the_whole_demo_shows_every_generation_through_the_proxy() {
    let jsonl = scratch_file("demo-all/demo.jsonl");
    let folder = jsonl.parent().unwrap();
    std::fs::create_dir_all(folder).unwrap();
    let pcapng = folder.join("demo.pcapng");
    let printed = Program::mitmcraft(&["demo", "--all", "--folder", text(folder)]);
    let printed = printed.succeed();
    for (name, field) in [
        ("0xfe legacy_server_list_ping", "serverPort="),
        ("0xff kick_disconnect", "motd=\"mitmcraft demo, as the proxy has it\""),
        ("0x00 server_info", "response="),
        ("0x00 stat", "full="),
        ("0x33 map_chunk", "compressedChunkData="),
        ("0x21 map_chunk", "chunkData="),
    ] {
        let found = printed.lines().any(|line| line.contains(name) && line.contains(field));
        assert!(found, "{name} {field}\n{printed}");
    }
    assert_eq!(show(&jsonl), show(&pcapng));
}

#[test]
fn the_demo_shows_what_it_is_for_and_ends_with_the_next_steps() {
    let folder = scratch_file("demo-next");
    let mut demo = Program::mitmcraft(&["demo", "--folder", text(&folder)]);
    let printed: Vec<String> = demo.take_stdout().lines().map(Result::unwrap).collect();
    let status = demo.end_unread();
    let said = demo.errors();
    assert!(status.success(), "{said}");
    // Of more than 700 packets of movement, a few lines remain.
    assert!(printed.len() < 400, "{} lines", printed.len());
    assert!(printed.iter().any(|line| line.contains("/s")), "{printed:?}");
    let (table, rest) = said.split_once("what the rules did:\n").unwrap();
    let rows = table.lines().skip_while(|line| !line.contains("on the wire")).count();
    assert_eq!(rows, 13, "a head, ten rows, the others and the total: {table}");
    for (mark, effect) in [
        ("~ ", "// rule `shout`"),
        ("✗ ", "// rule `answer /help ourselves`"),
        ("+ ", "// rule `answer /help ourselves`"),
        ("  ", "// boom"),
    ] {
        let found = rest.lines().any(|line| line.starts_with(mark) && line.ends_with(effect));
        assert!(found, "{mark}{effect}: {rest}");
    }
    let (_, next) = rest.split_once("next:\n").unwrap();
    let verbs: Vec<&str> =
        next.lines().map(|line| line.split_whitespace().nth(1).unwrap()).collect();
    assert_eq!(verbs, ["show", "view", "proxy"]);
    // The server has said good-bye, and what it counts is what the client counts.
    let shown = show(&folder.join("demo.jsonl"));
    assert_eq!(shown.matches("kick_disconnect").count(), 1, "{shown}");
    let closed = shown.lines().rfind(|line| line.contains(" closed after ")).unwrap();
    let number = |text: &str, before: &str, after: &str| {
        let rest = &text[text.find(before).unwrap() + before.len()..];
        rest[..rest.find(after).unwrap()].to_owned()
    };
    assert_eq!(number(rest, "the client sent ", " packets"), number(closed, "; → ", " packets"));
    let made = shown.lines().filter(|line| line.starts_with("+ ")).count();
    let received: usize = number(rest, " and received ", ",").parse().unwrap();
    let came: usize = number(closed, "; ← ", " packets").parse().unwrap();
    assert_eq!(received, came + made);
}

#[test]
fn an_interrupted_demo_completes_its_captures() {
    let folder = scratch_file("demo-interrupted");
    let mut demo = Program::mitmcraft(&["demo", "--folder", text(&folder)]);
    let mut lines = demo.take_stdout().lines();
    let played = lines.by_ref().map(Result::unwrap).any(|line| line.contains("map_chunk"));
    assert!(played, "{}", demo.errors());
    demo.interrupt();
    let reading = std::thread::spawn(move || lines.for_each(drop));
    let status = demo.end_unread();
    reading.join().unwrap();
    let said = demo.errors();
    assert!(status.success() && !said.contains("error: "), "{status}: {said}");
    assert!(said.contains("stopping: ") && said.contains("  total"), "{said}");
    assert!(said.contains("written: ") && !said.contains("the client sent"), "{said}");
    for file in ["demo.jsonl", "demo.pcapng"] {
        let printed = show(&folder.join(file));
        assert!(printed.contains("stopped by the user"), "{file}: {printed}");
    }
}
