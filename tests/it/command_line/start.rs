//! A start that fails changes nothing: a proxy once truncated its `-w` files before it found that
//! its port was busy, and destroyed the capture of the proxy that was running there.

use std::net::{TcpListener, UdpSocket};

use crate::support::{refuses, root, scratch_file, text};

#[test]
fn a_busy_port_leaves_the_old_capture_as_it_was() {
    let busy = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = busy.local_addr().unwrap().to_string();
    let said = fails_and_keeps(&["proxy", "127.0.0.1:1"], &["-l", &address]);
    assert!(said.contains(&format!("cannot listen on {address}")), "{said}");
    let said = fails_and_keeps(&PROXY, &["--metrics", &address]);
    assert!(said.contains(&format!("cannot listen on {address}")), "{said}");
    let capture = root().join("captures/session-1.8.jsonl");
    let said = fails_and_keeps(&["replay", "server", text(&capture)], &["-l", &address]);
    assert!(said.contains(&format!("cannot listen on {address}")), "{said}");
}

#[test]
fn an_unusable_query_address_leaves_the_old_capture_as_it_was() {
    let busy = UdpSocket::bind("127.0.0.1:0").unwrap();
    let address = busy.local_addr().unwrap().to_string();
    let said = fails_and_keeps(&PROXY, &["--query", &address]);
    assert!(said.contains(&format!("cannot listen on {address}")), "{said}");
    let upstream = ["--query", "127.0.0.1:0", "--query-upstream", "no-such-host.invalid"];
    let said = fails_and_keeps(&PROXY, &upstream);
    assert!(said.contains("unknown host `no-such-host.invalid`"), "{said}");
}

#[test]
fn an_account_that_is_not_logged_in_leaves_the_old_capture_as_it_was() {
    let said = fails_and_keeps(&PROXY, &["--auth", "account"]);
    assert!(said.contains("mitmcraft login"), "{said}");
}

#[test]
fn a_key_log_that_cannot_be_written_leaves_the_old_capture_as_it_was() {
    let folder = scratch_file("no-such-folder");
    let key_log = folder.join("keys.log");
    let said = fails_and_keeps(&PROXY, &["--key-log", text(&key_log)]);
    assert!(said.contains("cannot append to the key log"), "{said}");
}

#[test]
fn a_capture_that_cannot_be_created_leaves_the_other_one_as_it_was() {
    let folder = scratch_file("no-such-folder");
    let lost = folder.join("a.jsonl");
    let lost = text(&lost);
    for (write, named) in
        [("session.txt", "session.txt"), ("{sesion}.jsonl", "{sesion}"), (lost, lost)]
    {
        let said = fails_and_keeps(&PROXY, &["-w", write]);
        assert!(said.contains(named), "{said}");
    }
}

#[test]
fn a_faulty_filter_file_leaves_the_old_capture_as_it_was_and_is_named_an_error_once() {
    let rules = scratch_file("rules.toml");
    std::fs::write(&rules, "[[rule]]\nname = 'lag'\nwhen = 'play'\ndelay = 'soon'\n").unwrap();
    let rules = text(&rules);
    let said = fails_and_keeps(&PROXY, &["-f", rules]);
    // Faults were rendered with their prefix, and printed with another.
    assert!(said.starts_with("error: ") && !said.contains("error: error:"), "{said}");
    assert!(said.contains(&format!(" --> {rules}:4:")), "{said}");
    let said = fails_and_keeps(&PROXY, &["-f", "no-such-rules.toml"]);
    assert!(said.starts_with("error: no-such-rules.toml: cannot read: "), "{said}");
}

/// Runs a command line that must fail before it touches the capture of its first `-w`; stderr.
fn fails_and_keeps(verb: &[&str], options: &[&str]) -> String {
    let capture = scratch_file("old.jsonl");
    std::fs::write(&capture, OLD).unwrap();
    let said = refuses(&[verb, &["-w", text(&capture)], options].concat());
    assert_eq!(std::fs::read_to_string(&capture).unwrap(), OLD, "{options:?}: {said}");
    said
}

const PROXY: [&str; 4] = ["proxy", "127.0.0.1:1", "-l", "127.0.0.1:0"];

const OLD: &str = "an old capture\n";
