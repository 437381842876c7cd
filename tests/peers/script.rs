//! Scripts in Lua between real peers.

use std::path::Path;

use crate::support::{Program, read_lines, root, scratch_file, text};

const SCRIPT: &str = r#"
on('serverbound and chat and message == "hello from a real client"', function(packet, session)
  packet.message = packet.message:upper()
  session:send("client", "chat", {message = {text = "from the script"}, position = 0})
end)
on('clientbound and chat and message contains "HELLO FROM"', function(packet)
  packet.message = packet.message:gsub("HELLO FROM A REAL CLIENT", "hello from a real client")
end)
on("arm_animation", function(packet) packet:drop() end)
on_close(function(session) log("good bye,", session.player) end)
"#;

/// All examples run too, on every packet.
#[test]
fn scripts_change_an_encrypted_and_compressed_session() {
    let (server_log, client_log) = (scratch_file("server.log"), scratch_file("client.log"));
    let options = ["--port", "0", "--log", text(&server_log), "--threshold", "64", "--encrypt"];
    let mut server = Program::node("server.js", &options);
    let upstream = format!("127.0.0.1:{}", server.port());
    let (capture, script) = (scratch_file("script.jsonl"), scratch_file("script.lua"));
    std::fs::write(&script, SCRIPT).unwrap();
    let mut options = vec!["-w", text(&capture), "--script", text(&script)];
    let examples = std::fs::read_dir(root().join("examples/scripts")).unwrap();
    let examples: Vec<_> = examples.map(|it| it.unwrap().path()).collect();
    assert_eq!(examples.len(), 6);
    options.extend(examples.iter().flat_map(|example| ["--script", text(example)]));
    let mut proxy = Program::proxy(&upstream, &options);
    let port = proxy.listening().to_string();
    let client = Program::node("client.js", &["--port", &port, "--log", text(&client_log)]);
    let client = client.succeed();
    // The server received it in capitals; the client got its own text back.
    let echo = r#"{"event":"echo","message":"hello from a real client"}"#;
    assert!(client.contains(echo), "{client}");
    let output = server.succeed();
    assert!(output.contains("HELLO FROM A REAL CLIENT"), "{output}");
    assert!(!output.contains("hello from a real client"), "{output}");
    proxy.interrupt();
    let (_, said) = proxy.succeed_with_errors();
    assert!(said.contains("session 1: good bye, Tester"), "{said}");
    assert!(!said.contains("script error"), "{said}");

    let count = |log: &Path, direction: &str, name: &str| {
        let lines = read_lines(log).into_iter();
        lines.filter(|line| line["dir"] == direction && line["name"] == name).count()
    };
    assert_eq!(count(&client_log, "serverbound", "arm_animation"), 1);
    assert_eq!(count(&server_log, "serverbound", "arm_animation"), 0);
    let sent = count(&server_log, "clientbound", "chat");
    assert_eq!(count(&client_log, "clientbound", "chat"), sent + 1, "one made by the script");
    let lines = read_lines(&capture);
    let brand = lines.iter().find(|line| line["packet"] == "custom_payload").unwrap();
    assert_eq!(brand["comment"], "rule `brand.lua:4`; brand translated", "{brand}");
    let went = lines.iter().find(|line| line["of"] == brand["seq"]).unwrap();
    assert_eq!(
        went["fields"]["data"], "D3Byb3hpZWQgdmFuaWxsYQ==",
        "its length, \"proxied vanilla\""
    );
}

const EXPECTED: &str = r#"
[[rule]]
name = "no arms"
when = 'arm_animation'
drop = true

[[expect]]
name  = "the script answers"
when  = 'clientbound and chat and message contains "from the script"'
count = 1
"#;

/// Returns how many packets of that name are in the log of an end.
fn count(log: &Path, direction: &str, name: &str) -> usize {
    let lines = read_lines(log).into_iter();
    lines.filter(|line| line["dir"] == direction && line["name"] == name).count()
}

#[test]
fn scripts_and_rules_change_what_a_replay_and_a_real_peer_say_to_each_other() {
    let recorded = root().join("captures/session-1.8.jsonl");
    let (script, rules) = (scratch_file("script.lua"), scratch_file("rules.toml"));
    std::fs::write(&script, SCRIPT).unwrap();
    std::fs::write(&rules, EXPECTED).unwrap();
    let filters = ["-f", text(&rules), "--script", text(&script)];

    // The recorded client, and a real server that encrypts and compresses.
    let (log, capture) = (scratch_file("server.log"), scratch_file("client.jsonl"));
    let options = ["--port", "0", "--small", "--log", text(&log), "--threshold", "64", "--encrypt"];
    let mut server = Program::node("server.js", &options);
    let upstream = format!("127.0.0.1:{}", server.port());
    let arguments = ["replay", "client", text(&recorded), &upstream, "-w", text(&capture)];
    let (told, said) =
        Program::mitmcraft(&[&arguments[..], &filters].concat()).succeed_with_errors();
    assert!(told.contains("1 expectation: 1 passed"), "{told}");
    assert!(said.contains("session 1: good bye, Tester"), "{said}");
    assert!(said.contains("rule `no arms`: 1 matched, 1 acted, 0 failed"), "{said}");
    let output = server.succeed();
    assert!(output.contains("HELLO FROM A REAL CLIENT"), "{output}");
    assert!(!output.contains("hello from a real client"), "{output}");
    assert_eq!(count(&log, "serverbound", "arm_animation"), 0);
    let lines = read_lines(&capture);
    let chat = |verdict: &str| {
        let chats = lines.iter().filter(|it| it["packet"] == "chat" && it["dir"] == "serverbound");
        chats.filter(|it| it["verdict"] == verdict).count()
    };
    assert_eq!((chat("pass"), chat("rewrite"), chat("send")), (2, 1, 1));
    assert!(lines.iter().all(|it| it.get("error").is_none()));

    // The recorded server, and a real client.
    let log = scratch_file("client.log");
    let arguments = [
        "replay",
        "server",
        text(&recorded),
        "-l",
        "127.0.0.1:0",
        "--encrypt",
        "--pace",
        "lockstep",
    ];
    let mut replay = Program::mitmcraft(&[&arguments[..], &filters].concat());
    let port = replay.listening().to_string();
    Program::node("client.js", &["--port", &port, "--log", text(&log)]).succeed();
    replay.interrupt();
    let (told, said) = replay.succeed_with_errors();
    assert!(told.contains("1 expectation: 1 passed"), "{told}");
    assert!(said.contains("session 1: good bye, Tester"), "{said}");
    assert!(said.contains("1 session in the game, 1 replayed to the end"), "{said}");
    assert_eq!(count(&log, "serverbound", "arm_animation"), 1);
    let recorded = read_lines(&recorded);
    let recorded =
        recorded.iter().filter(|it| it["packet"] == "chat" && it["dir"] == "clientbound");
    assert_eq!(count(&log, "clientbound", "chat"), recorded.count() + 1, "one made by the script");
}

#[test]
fn each_example_does_between_real_peers_what_it_says() {
    let mut server =
        Program::node("server.js", &["--port", "0", "--small", "--sessions", "0", "--allow-quit"]);
    let upstream = format!("127.0.0.1:{}", server.port());
    let run = |examples: &[&str]| {
        let paths: Vec<_> =
            examples.iter().map(|it| root().join(format!("examples/scripts/{it}.lua"))).collect();
        let options: Vec<_> = paths.iter().flat_map(|path| ["--script", text(path)]).collect();
        let mut proxy = Program::proxy(&upstream, &options);
        let port = proxy.listening().to_string();
        let mut client = Program::node("sayer.js", &["--port", &port]);
        assert_eq!(client.event()["event"], "ready");
        (proxy, client)
    };
    let event = |client: &mut Program, kind: &str| loop {
        let event = client.event();
        if event["event"] == kind {
            return event;
        }
    };

    let (proxy, mut client) = run(&["answer", "home", "tab-list", "jitter", "brand"]);
    client.tell("!ping");
    assert_eq!(event(&mut client, "chat")["text"], "pong");
    client.tell("!sethome");
    client.tell("!home");
    assert_eq!(event(&mut client, "chat")["text"], "/tp 8.50 4.00 8.50");
    let list = event(&mut client, "list");
    assert_eq!(list["header"], "through mitmcraft");
    assert!(list["footer"].as_str().unwrap().contains(" min "), "{list}");
    client.tell("bye");
    let end = event(&mut client, "kicked");
    assert_eq!(end["in order"], true, "jitter keeps the order: {end}");
    client.succeed();
    proxy.interrupt();
    let (_, said) = proxy.succeed_with_errors();
    assert!(said.contains("session 1: Sayer has a home"), "{said}");
    assert!(!said.contains("script error"), "{said}");
    assert!(!said.contains(" 0 matched"), "every example had something to do: {said}");

    let (proxy, mut client) = run(&["anti-spam"]);
    (0..11).for_each(|number| client.tell(&format!("message {number}")));
    assert_eq!(event(&mut client, "kicked")["text"], "Too many messages");
    client.succeed();
    proxy.interrupt();
    let (_, said) = proxy.succeed_with_errors();
    assert!(said.contains("messages dropped so far: 7"), "{said}");
    server.signal("TERM");
    let (_, output) = server.finish();
    let heard: Vec<&str> = output.lines().filter(|it| it.contains(r#""message":"#)).collect();
    let message = |text: &str| format!(r#"{{"event":"chat","message":"{text}"}}"#);
    let expected =
        ["/tp 8.50 4.00 8.50", "bye", "message 0", "message 1", "message 2"].map(message);
    assert_eq!(heard, expected);
}
