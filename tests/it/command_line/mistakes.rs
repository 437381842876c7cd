//! Mistakes on the command line, each with a message that says what, where and what to do.

use std::fs;

use crate::support::{Program, root, scratch_file, text};

#[test]
fn every_mistake_is_told_with_what_to_do() {
    let folder = scratch_file("");
    fs::create_dir_all(&folder).unwrap();
    let capture = root().join("captures/session-1.8.jsonl");
    let (capture, random) = (text(&capture), folder.join("random.bin"));
    fs::write(&random, [0x85, 0, 1, 2, 0xfe]).unwrap();
    let written = folder.join("session.pcapng");
    fs::write(&written, "of yesterday").unwrap();
    let named = |name: &str| text(&folder.join(name)).to_owned();
    for (line, expected) in [
        (vec!["proxy", "localhost", "-w", "session.json"], "did you mean `session.jsonl`?"),
        (
            vec!["proxy", "127.0.0.1:1", "-l", "127.0.0.1:0", "-w", &named("no/x.jsonl")],
            "there is no folder `",
        ),
        (
            vec!["proxy", "127.0.0.1:1", "-l", "127.0.0.1:0", "-w", text(&written)],
            "session-{time}.pcapng'` writes one per session",
        ),
        (
            vec!["proxy", "localhost", "-w", "x.jsonl", "--rotate", "1week"],
            "or with `s`, `min`, `h` or `d`",
        ),
        (vec!["proxy", "localhost", "-w", "x.jsonl", "--rotate", "10"], "did you mean `10M`?"),
        (vec!["proxy", "localhost", "--max-memory", "10"], "did you mean `10M`?"),
        (vec!["proxy", "localhost", "-f", capture], "this is JSON (a capture?), not TOML"),
        (vec!["proxy", capture], "is a file; expected the name of a server"),
        (vec!["proxy", "mc.example.org:99999"], "a port is a number from 1 to 65535"),
        (vec!["proxy", "mc.example.org:abc"], "a port is a number from 1 to 65535"),
        (vec!["proxy", "::1:25565"], "such as `[::1]:25565`"),
        (vec!["proxy", "fe80::1%eth0"], "such as `[fe80::1]:25565`; zones"),
        (vec!["proxy", "[::1"], "such as `[::1]:25565`"),
        (vec!["show", capture, "-Y", "tcp.port == 1"], "`session.client` and `session.server`"),
        (vec!["show", capture, "-Y", "frame.number == 1"], "`pkt.n`"),
        (vec!["stats", "--session", "9", capture], "there is no session 9"),
        (
            vec!["replay", "server", capture, "--from", "60", "--to", "10"],
            "`--from 60s` is after `--to 10s`",
        ),
        (vec!["replay", "server", capture, "--from", "60"], "is after the session's end"),
        (
            vec!["replay", "client", "localhost", capture],
            "is a file; expected the name of a server",
        ),
        (
            vec!["replay", "client", "localhost", "localhost"],
            "looks like a server, and the capture comes before it",
        ),
        (vec!["regress", "localhost", capture], "is a file; expected the name of a server"),
        (vec!["view", text(&random), "--web", "127.0.0.1:0"], "not a capture"),
    ] {
        let (status, errors) = Program::mitmcraft(&line).fail();
        assert_eq!(status.code(), Some(2), "{line:?}: {errors}");
        assert!(errors.contains(expected), "{line:?}: {errors}");
        assert!(errors.lines().count() < 8, "{line:?}: {errors}");
    }
    assert_eq!(fs::read_to_string(&written).unwrap(), "of yesterday");
}

#[test]
fn interfaces_that_others_can_reach_are_warned_of() {
    for option in ["--web", "--control"] {
        let mut proxy = Program::proxy("127.0.0.1:1", &[option, "0.0.0.0:0"]);
        let said = proxy.wait_for_error("can be reached from the network");
        assert!(said.contains("anyone who can read that traffic can control the run"), "{said}");
        proxy.interrupt();
        proxy.succeed();
    }
}
