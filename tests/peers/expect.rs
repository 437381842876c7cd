//! Expectations of sessions of real peers: live in the proxy, in a replay against a real server, and
//! offline in the captures of both, with the same results.

use std::path::Path;

use crate::support::{Program, scratch_file, text};

const TESTS: &str = r#"
[[expect]]
name = "a position within 5 min"
after = 'success'
when = 'position and clientbound'
within = "5m"
count = ">= 1"

[[expect]]
name = "keep-alives are answered"
after = 'keep_alive and clientbound'
when = 'keep_alive and serverbound'
same = ["keepAliveId"]
within = "5m"

[[expect]]
name = "in order"
after = 'success'
order = ['login and clientbound', 'position and clientbound', 'kick_disconnect']

[[expect]]
name = "few bytes of chunks"
when = 'map_chunk or map_chunk_bulk'
bytes = "<= 1M"

[[expect]]
name = "all clients join"
when = 'success'
per = "run"
"#;

const BROKEN: &str = r#"
[[expect]]
name = "nobody speaks"
after = 'success'
when = 'serverbound and chat'
never = true
"#;

#[test]
fn sessions_of_real_peers_are_judged_live_and_in_their_captures_alike() {
    let tests = scratch_file("tests.toml");
    for (expectations, code) in [(TESTS.to_owned(), 0), (format!("{TESTS}{BROKEN}"), 1)] {
        std::fs::write(&tests, expectations).unwrap();
        let mut server =
            Program::node("server.js", &["--port", "0", "--small", "--encrypt", "--sessions", "2"]);
        let upstream = format!("127.0.0.1:{}", server.port());
        let (capture, junit) = (scratch_file("judged.pcapng"), scratch_file("judged.xml"));
        let options = ["-f", text(&tests), "-w", text(&capture), "--junit", text(&junit)];
        let mut proxy = Program::proxy(&upstream, &options);
        let port = proxy.listening().to_string();
        Program::node("client.js", &["--port", &port]).succeed();
        proxy.interrupt();
        let (status, said) = proxy.fail();
        assert_eq!(status.code(), Some(code), "{said}");
        assert_eq!(table(&said), offline(&capture, &tests, code));
        assert!(said.contains("5 passed, "), "{said}");
        let live = std::fs::read_to_string(&junit).unwrap();
        assert!(live.contains(&format!(" failures=\"{code}\"")), "{live}");

        // The recorded client against the same server, which may have ended before its first keep-alive.
        let again = scratch_file("again.jsonl");
        let arguments = ["replay", "client", text(&capture), &upstream, "-q", "--patience", "300"];
        let options = ["-f", text(&tests), "-w", text(&again)];
        let (status, said) = Program::mitmcraft(&[&arguments[..], &options].concat()).finish();
        assert_eq!(status.code(), Some(code), "{said}");
        assert_eq!(table(&said), offline(&again, &tests, code));
        server.succeed();
    }
}

/// Judges a capture, and returns the table.
fn offline(capture: &Path, tests: &Path, code: i32) -> String {
    let (status, said) = Program::mitmcraft(&["expect", text(capture), "-f", text(tests)]).finish();
    assert_eq!(status.code(), Some(code), "{said}");
    table(&said)
}

/// Returns the failures, without the name of the capture, and the table.
fn table(said: &str) -> String {
    let lines = said
        .lines()
        .skip_while(|line| !line.starts_with("failed: ") && !line.starts_with("result "));
    let lines = lines.filter(|line| !line.starts_with("failed: "));
    let place = |line: &str| match line.split_once(", session ") {
        Some((capture, rest)) if !capture.contains("session ") => format!("  session {rest}"),
        _ => line.to_owned(),
    };
    lines.map(place).collect::<Vec<_>>().join("\n")
}
