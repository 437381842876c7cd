//! `replay` between two replays, and what it refuses.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use crate::support::refusing::Refusing;
use crate::support::{Program, refuses, root, scratch_file, text};

#[test]
fn a_server_that_answers_otherwise_is_told_with_what_differs() {
    let (capture, other) = (root().join("captures/session-1.8.jsonl"), scratch_file("other.jsonl"));
    let rules = scratch_file("other.toml");
    let rule = "[[rule]]\nname = 'rude'\nwhen = 'clientbound and chat and position == 1'\n\
                set = { message = '{\"text\":\"Go away\"}' }\n";
    std::fs::write(&rules, rule).unwrap();
    let arguments =
        ["replay", "filters", text(&capture), "-f", text(&rules), "-q", "-w", text(&other)];
    let counts = Program::mitmcraft(&arguments).succeed();
    assert_eq!(counts, "rule `rude`: 1 matched, 1 acted, 0 failed\n");

    let arguments = ["replay", "server", text(&other), "-l", "127.0.0.1:0", "--pace", "lockstep"];
    let mut server = Program::mitmcraft(&arguments);
    let upstream = format!("127.0.0.1:{}", server.listening());
    let play = |options: &[&str]| {
        let arguments =
            ["replay", "client", text(&capture), &upstream, "--pace", "lockstep", "--expect"];
        let (status, told) = Program::mitmcraft(&[&arguments[..], options].concat()).finish();
        (status.code(), told)
    };
    let (status, told) = play(&[]);
    assert_eq!(status, Some(1), "{told}");
    let lines: Vec<&str> = told.lines().collect();
    assert_eq!(lines.len(), 3, "{told}");
    assert_eq!(lines[0], "session 1 (Tester) differs from the recording:");
    assert!(lines[1].starts_with("~ ") && lines[1].contains("chat"), "{told}");
    assert!(lines[2].contains("Welcome") && lines[2].contains("Go away"), "{told}");
    assert_eq!(play(&["--expect-where", "not chat"]), (Some(0), String::new()));
    assert_eq!(play(&["--ignore", "chat.message"]), (Some(0), String::new()));
    // What is compared is counted, and comparing nothing is no success.
    let say = |options: &[&str]| {
        let arguments =
            ["replay", "client", text(&capture), &upstream, "--pace", "lockstep", "--expect"];
        let mut program = Program::mitmcraft(&[&arguments[..], options].concat());
        let said = program.wait_for_error("compared");
        (program.finish().0.code(), said)
    };
    let (status, said) = say(&["--expect-where", "chat"]);
    assert!(status == Some(1) && said.contains("compared, 1 differ"), "{said}");
    let (status, said) = say(&["--expect-where", "resource_pack_send"]);
    assert!(status == Some(1) && said.contains("0 packets compared"), "{said}");
    server.interrupt();
    server.succeed();
}

#[test]
fn a_client_too_many_is_told_to_the_operator_of_a_replayed_server() {
    let capture = root().join("captures/session-1.8.jsonl");
    let arguments =
        ["replay", "server", text(&capture), "-l", "127.0.0.1:0", "--max-sessions", "1"];
    let mut server = Program::mitmcraft(&arguments);
    let port = server.listening();
    let connect = || TcpStream::connect(("127.0.0.1", port)).unwrap();
    let first = connect();
    // A legacy ping, which a server answers and then closes.
    let mut told = Vec::new();
    let mut second = connect();
    second.write_all(b"\xfe\x01").unwrap();
    second.read_to_end(&mut told).unwrap();
    drop(first);
    server.interrupt();
    let (_, said) = server.succeed_with_errors();
    let lines: Vec<&str> = said.lines().filter(|line| line.contains("turned away")).collect();
    assert_eq!(lines.len(), 1, "{said}");
    assert!(lines[0].contains("1 client") && lines[0].contains("`--max-sessions`"), "{said}");
}

#[test]
fn what_cannot_be_replayed_is_told_with_exit_code_2() {
    let said = refuses(&["replay", "server", "nothing.jsonl"]);
    assert!(said.contains("nothing.jsonl"), "{said}");
    let capture = root().join("captures/session-1.8.jsonl");
    for (options, told) in [
        (&["--session", "7"][..], "it has no session 7; those that reached the game: 1"),
        (&["--speed", "0"], "`--speed 0`: expected a factor above 0"),
        (&["--from", "#3"], "invalid point `#3`"),
        (&["--name", "much too long for a name"], "expected 1 to 16 characters"),
    ] {
        let arguments = [&["replay", "client", text(&capture), "127.0.0.1:1"][..], options];
        let said = refuses(&arguments.concat());
        assert!(said.contains(told), "{said}");
    }
    let nobody = Refusing::tcp();
    let said = refuses(&["replay", "client", text(&capture), &nobody.address()]);
    assert!(
        said.contains(&format!("cannot reach {}: connection refused", nobody.address())),
        "{said}"
    );
}

#[test]
fn calibration_says_what_it_does_and_learns_from_no_other_server() {
    let capture = root().join("captures/session-1.8.jsonl");
    let run = |served: &str| {
        let served = root().join("captures").join(served);
        let listen = ["replay", "server", text(&served), "-l", "127.0.0.1:0", "-q"];
        let mut server = Program::mitmcraft(&listen);
        let address = format!("127.0.0.1:{}", server.listening());
        let regress = ["regress", text(&capture), &address, "--calibrate", "2"];
        let (status, _, errors) = Program::mitmcraft(&regress).finish_with_errors();
        server.interrupt();
        server.finish();
        (status.code(), errors)
    };
    let (code, errors) = run("session-1.8.jsonl");
    assert_eq!(code, Some(0), "{errors}");
    for expected in ["played 1 of 2", "played 2 of 2", "425 of 425 packets will be compared"] {
        assert!(errors.contains(expected), "{errors}");
    }
    let (code, errors) = run("session-1.12.2.jsonl");
    assert_eq!(code, Some(2), "{errors}");
    assert!(errors.contains("does not behave like the recorded server"), "{errors}");
}
