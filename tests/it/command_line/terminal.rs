use std::io::Write as _;
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::support::game::{Upstream, hello};
use crate::support::{Program, mitmcraft, root, scratch_file};

#[test]
fn whoever_closes_the_pipe_has_seen_enough() {
    let capture = root().join("captures/session-1.8.jsonl");
    let capture = capture.to_str().unwrap();
    let pages = scratch_file("man");
    for arguments in [
        vec!["show", capture],
        vec!["protocols"],
        vec!["protocols", "47"],
        vec!["config"],
        vec!["completions", "bash"],
        vec!["man", pages.to_str().unwrap()],
        vec!["--help"],
        vec!["proxy", "--help"],
    ] {
        let mut command = mitmcraft();
        command.args(&arguments).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success() && said.is_empty(), "{arguments:?}: {said}");
    }
}

#[test]
fn a_proxy_whose_screen_goes_away_ends_with_0() {
    let upstream = Upstream::answering();
    let mut command = Command::new("sh");
    let script = format!(
        "{{ {} proxy {} -l 127.0.0.1:0; echo ended $? >&2; }} | head -n 1",
        env!("CARGO_BIN_EXE_mitmcraft"),
        upstream.address
    );
    command.args(["-c", &script]);
    let mut shell = Program::start("sh", command);
    let port = shell.listening();
    // A line after the first finds nobody; how many lines one read of the first takes, nobody knows.
    let mut clients = Vec::new();
    while clients.len() < 500 && !shell.errors().contains("ended ") {
        let Ok(mut client) = TcpStream::connect(("127.0.0.1", port)) else { break };
        let _ = client.write_all(&hello(2));
        clients.push(client);
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(shell.wait_for_error("ended "), "ended 0");
    drop(clients);
    assert!(shell.succeed().contains("opened"));
}

#[test]
fn a_page_that_others_can_reach_is_warned_about() {
    let capture = root().join("captures/status-1.8.jsonl");
    for (address, warned) in [("0.0.0.0:0", true), ("127.0.0.1:0", false)] {
        let options = ["view", capture.to_str().unwrap(), "--web", address];
        let mut view = Program::mitmcraft(&options);
        view.wait_for_error("http://127.0.0.1:");
        let errors = view.errors();
        assert_eq!(errors.contains("from the network, without encryption"), warned, "{errors}");
        view.interrupt();
        view.succeed();
    }
}

#[test]
fn colour_is_where_it_is_wanted_and_nowhere_else() {
    let capture = root().join("captures/session-1.8.jsonl");
    let lines: [&[&str]; 3] =
        [&["show", capture.to_str().unwrap()], &["--help"], &["proxy", "a b"]];
    for line in lines {
        for (variables, option, wanted) in [
            (&[][..], None, false),
            (&[("CLICOLOR_FORCE", "1")][..], None, true),
            (&[("CLICOLOR_FORCE", "1")][..], Some("never"), false),
            (&[("NO_COLOR", "1")][..], None, false),
            (&[("NO_COLOR", "1")][..], Some("always"), true),
            (&[("MITMCRAFT_COLOR", "always")][..], None, true),
        ] {
            let mut command = mitmcraft();
            command.env_remove("NO_COLOR").args(line);
            command.envs(variables.iter().copied());
            command.args(option.map(|option| format!("--color={option}")));
            let output = command.output().unwrap();
            let all = [output.stdout, output.stderr].concat();
            let colored = all.windows(2).any(|bytes| bytes == b"\x1b[");
            assert_eq!(colored, wanted, "{line:?} {variables:?} {option:?}");
        }
    }
}
