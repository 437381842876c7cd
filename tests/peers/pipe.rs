//! Programs that decide on packets, between real peers: the examples in Python and in Node.

use crate::support::{Program, read_lines, root, scratch_file, text};

/// A script behind the program: the client gets its own text back.
const SCRIPT: &str = r#"
on('clientbound and chat and message contains "hello from a ****"', function(packet)
  packet.message = packet.message:gsub("%*%*%*%*", "real")
end)
"#;

#[test]
fn the_examples_decide_on_chat_of_an_encrypted_and_compressed_session() {
    for (interpreter, example) in [("python3", "filter.py"), ("node", "filter.js")] {
        let example = root().join("examples/pipe").join(example);
        masks_a_word(&format!("{interpreter} '{}' real", text(&example)));
    }
}

#[test]
#[ignore = "needs the program for Windows: `tests/other/run windows`"]
fn a_program_for_windows_decides_on_chat() {
    let folder = crate::other::folder();
    let helper = folder.join("helper.exe");
    std::fs::copy(crate::other::helper(), &helper).unwrap();
    masks_a_word(&format!("'Z:{}' filter", text(&helper).replace('/', "\\")));
}

/// Plays a session in which that program masks a word of the client's chat.
fn masks_a_word(pipe: &str) {
    let server_log = scratch_file("server.log");
    let options = ["--port", "0", "--log", text(&server_log), "--threshold", "64", "--encrypt"];
    let mut server = Program::node("server.js", &options);
    let upstream = format!("127.0.0.1:{}", server.port());
    let (capture, script) = (scratch_file("pipe.jsonl"), scratch_file("pipe.lua"));
    std::fs::write(&script, SCRIPT).unwrap();
    // Every packet of the client waits for the program.
    let options = ["--pipe", pipe, "--pipe-where", "serverbound", "--pipe-timeout", "20s"];
    let more = ["--on-pipe-error", "close", "--script", text(&script), "-w", text(&capture)];
    let mut proxy = Program::proxy(&upstream, &[options, more].concat());
    let port = proxy.listening().to_string();
    let client = Program::node("client.js", &["--port", &port]).succeed();
    let echo = r#"{"event":"echo","message":"hello from a real client"}"#;
    assert!(client.contains(echo), "{pipe}: {client}");
    let output = server.succeed();
    assert!(output.contains("hello from a **** client"), "{pipe}: {output}");
    proxy.interrupt();
    let (_, said) = proxy.succeed_with_errors();
    let of_pipe: Vec<_> = said.lines().filter(|line| line.contains("--pipe")).collect();
    let [counts] = of_pipe[..] else { panic!("{pipe}: {said}") };
    assert!(counts.contains(" 1 changed") && counts.ends_with(" 0 undecided"), "{counts}");

    let lines = read_lines(&capture);
    let chats = || lines.iter().filter(|it| it["packet"] == "chat" && it["dir"] == "serverbound");
    let rewritten: Vec<_> = chats().filter(|it| it["verdict"] == "rewrite").collect();
    assert_eq!(rewritten.len(), 1, "{pipe}");
    assert_eq!(rewritten[0]["fields"]["message"], "hello from a real client");
    assert_eq!(rewritten[0]["comment"], "rule `pipe`");
    let went = lines.iter().find(|it| it["of"] == rewritten[0]["seq"]).unwrap();
    assert_eq!(went["fields"]["message"], "hello from a **** client");
    let passed = chats().filter(|it| it["verdict"] == "pass" && it["comment"].is_null());
    assert_eq!(passed.count(), 2, "{pipe}: what passes has no remark");
}
