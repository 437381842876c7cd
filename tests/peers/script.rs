//! Scripts in Lua between real peers.

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

    let count = |log: &std::path::Path, direction: &str, name: &str| {
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
