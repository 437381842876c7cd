//! `proxy`: what it says when something is wrong, and what is left behind.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};

use crate::support::game::{Upstream, first_body, hello};
use crate::support::refusing::Refusing;
use crate::support::{Program, read_lines, refuses, root, scratch_file, text, wait_for};

#[test]
fn a_busy_port_is_named_with_a_free_one() {
    let busy = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = busy.local_addr().unwrap().to_string();
    let said = refuses(&["proxy", "127.0.0.1:1", "-l", &address]);
    assert!(said.contains(&format!("cannot listen on {address}")), "{said}");
    assert!(said.contains("is free: `-l 127.0.0.1:"), "{said}");
}

#[test]
fn an_unknown_host_is_an_error_at_once() {
    let said = refuses(&["proxy", "no-such-host.invalid:25565", "-l", "127.0.0.1:0"]);
    assert!(said.contains("cannot find the host `no-such-host.invalid`"), "{said}");
}

#[test]
fn a_word_that_is_no_server_says_what_is_wanted() {
    let said = refuses(&["proxy", "mc.example.org:port"]);
    assert!(said.contains("expected `host`, `host:port` or `[ipv6]:port`"), "{said}");
}

#[test]
fn a_scheme_before_the_server_is_named_as_what_has_to_go() {
    let said = refuses(&["proxy", "http://mc.example.org"]);
    assert!(said.contains("or `[ipv6]:port`, without `http://`"), "{said}");
}

#[test]
fn a_file_that_cannot_be_written_is_an_error_before_anything_is_relayed() {
    let said =
        refuses(&["proxy", "127.0.0.1:1", "-l", "127.0.0.1:0", "-w", "/no/such/dir/x.jsonl"]);
    assert!(said.contains("/no/such/dir/x.jsonl"), "{said}");
}

#[test]
fn an_unknown_ending_names_those_that_are_known() {
    let said = refuses(&["proxy", "127.0.0.1:1", "-l", "127.0.0.1:0", "-w", "capture.doc"]);
    assert!(
        said.contains(".jsonl") && said.contains(".pcapng") && said.contains(".pcap"),
        "{said}"
    );
    let capture = root().join("captures/session-1.8.jsonl");
    let said = refuses(&["convert", text(&capture), "out.csv"]);
    assert!(said.contains("`show --fields .. --csv` prints a table"), "{said}");
}

#[test]
fn a_server_that_cannot_be_read_is_named_once_on_the_screen_and_by_show_and_stats() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        for socket in listener.incoming() {
            let mut socket = socket.unwrap();
            let unknown = b"\x02\x7f\x01".repeat(20);
            socket.write_all(&unknown).unwrap();
            std::thread::spawn(move || socket.read_to_end(&mut Vec::new()));
        }
    });
    let capture = scratch_file("other-version.jsonl");
    let mut proxy = Program::proxy(&address, &["-w", text(&capture)]);
    let port = proxy.listening();
    let sessions: Vec<TcpStream> = (0..2)
        .map(|_| {
            let mut client = TcpStream::connect(("127.0.0.1", port)).unwrap();
            client.write_all(&hello(2)).unwrap();
            client.read_exact(&mut [0; 60]).unwrap();
            client
        })
        .collect();
    drop(sessions);
    let sentence = "sends what cannot be read: 12 of its first 12 packets do not decode";
    let first = proxy.wait_for_error(sentence);
    proxy.interrupt();
    let said = first + &proxy.finish().1;
    assert_eq!(said.matches(sentence).count(), 1, "{said}");
    for verb in ["show", "stats"] {
        let (_, said) = Program::mitmcraft(&[verb, text(&capture)]).succeed_with_errors();
        assert_eq!(said.matches(sentence).count(), 1, "{verb}: {said}");
    }
}

#[cfg(unix)]
#[test]
fn a_full_disk_stops_a_run_that_shall_and_the_other_capture_is_complete() {
    let full = scratch_file("full.jsonl");
    std::os::unix::fs::symlink("/dev/full", &full).unwrap();
    let good = scratch_file("good.jsonl");
    let upstream = Upstream::answering();
    let options = ["-w", text(&full), "-w", text(&good), "--on-log-error", "stop"];
    let mut proxy = Program::proxy(&upstream.address, &options);
    let mut client = TcpStream::connect(("127.0.0.1", proxy.listening())).unwrap();
    client.write_all(&hello(2)).unwrap();
    // Players read nothing of files.
    let mut told = Vec::new();
    client.read_to_end(&mut told).unwrap();
    let told = String::from_utf8_lossy(&told);
    assert!(told.contains("The proxy is shutting down") && !told.contains("full"), "{told}");
    let said = proxy.wait_for_error("cannot write");
    assert!(said.contains("full.jsonl") && said.contains("free space"), "{said}");
    let (status, _) = proxy.finish();
    assert_eq!(status.code(), Some(2));
    let lines = read_lines(&good);
    assert!(lines.iter().any(|line| line["packet"] == "login_start"));
    assert_eq!(lines.last().unwrap()["event"], "close");
}

/// A folder that is a file has no room for the captures of sessions.
#[test]
fn a_session_without_a_file_ends_a_run_that_shall_stop_and_shows_in_the_exit_code_of_others() {
    for (policy, code) in [("stop", 2), ("drop", 1)] {
        let folder = scratch_file(&format!("folder-{policy}"));
        let capture = folder.join("{session}.jsonl");
        let upstream = Upstream::answering();
        let options = ["-w", text(&capture), "--on-log-error", policy];
        let mut proxy = Program::proxy(&upstream.address, &options);
        let port = proxy.listening();
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::write(&folder, "a file").unwrap();
        let mut client = TcpStream::connect(("127.0.0.1", port)).unwrap();
        client.write_all(&hello(2)).unwrap();
        proxy.wait_for_error("session 1");
        if policy == "drop" {
            proxy.interrupt();
        }
        let (status, _) = proxy.finish();
        assert_eq!(status.code(), Some(code), "{policy}");
    }
}

#[test]
fn a_player_whose_server_is_down_is_told_so_and_it_is_recorded() {
    let down = Refusing::tcp();
    let capture = scratch_file("down.jsonl");
    let mut proxy = Program::proxy(&down.address(), &["-w", text(&capture)]);
    let port = proxy.listening();
    for (next, expected) in [(2, "cannot reach"), (1, "cannot reach")] {
        let mut client = TcpStream::connect(("127.0.0.1", port)).unwrap();
        client.write_all(&hello(next)).unwrap();
        let answer = first_body(&mut client);
        let answer = String::from_utf8_lossy(&answer).into_owned();
        assert!(answer.contains(expected) && answer.contains("connection refused"), "{answer}");
    }
    proxy.interrupt();
    proxy.succeed();
    let lines = read_lines(&capture);
    let closes: Vec<_> = lines.iter().filter(|line| line["event"] == "close").collect();
    assert_eq!(closes.len(), 2);
    let reason = closes[0]["reason"].as_str().unwrap();
    assert!(reason.contains("cannot reach"), "{reason}");
}

#[test]
fn what_was_captured_before_a_kill_is_there() {
    let capture = scratch_file("killed.jsonl");
    let upstream = Upstream::answering();
    let mut proxy = Program::proxy(&upstream.address, &["-w", text(&capture)]);
    let mut client = TcpStream::connect(("127.0.0.1", proxy.listening())).unwrap();
    client.write_all(&hello(2)).unwrap();
    first_body(&mut client);
    // Within a second it is in the file: that is the promise, and the test waits for the fact.
    let found = wait_for(|| std::fs::read_to_string(&capture).unwrap().contains("\"success\""));
    assert!(found, "{}", std::fs::read_to_string(&capture).unwrap());
    drop(proxy);
    let names: Vec<String> = read_lines(&capture)
        .iter()
        .filter_map(|line| line["packet"].as_str().map(str::to_owned))
        .collect();
    assert_eq!(names, ["set_protocol", "set_protocol", "login_start", "success"]);
}

/// Becomes a command that no signal is ignored by.
const WITH_SIGNALS: &str = "
import os, signal, sys
for name in 'SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT':
    signal.signal(getattr(signal, name), signal.SIG_DFL)
os.execv(sys.argv[1], sys.argv[1:])
";

#[test]
fn every_signal_that_asks_for_the_end_completes_the_captures() {
    for signal in ["INT", "TERM", "HUP", "QUIT"] {
        let capture = scratch_file(&format!("{signal}.jsonl"));
        let upstream = Upstream::answering();
        // `nohup` and shells in the background let tests inherit signals that are ignored.
        let mut command = std::process::Command::new("python3");
        command.args(["-c", WITH_SIGNALS, env!("CARGO_BIN_EXE_mitmcraft"), "proxy"]);
        command.args([&upstream.address, "-l", "127.0.0.1:0", "-q", "-w", text(&capture)]);
        let mut proxy = Program::start("mitmcraft", command);
        let mut client = TcpStream::connect(("127.0.0.1", proxy.listening())).unwrap();
        client.write_all(&hello(2)).unwrap();
        first_body(&mut client);
        proxy.signal(signal);
        let (_, said) = proxy.succeed_with_errors();
        assert!(said.contains("total"), "{signal}: {said}");
        let lines = read_lines(&capture);
        let last = lines.last().unwrap();
        assert_eq!(
            (&last["event"], &last["reason"]),
            (&"close".into(), &"stopped by the user".into())
        );
    }
}

#[test]
fn a_hangup_that_the_caller_ignores_ends_nothing() {
    let upstream = Upstream::answering();
    let mut command = std::process::Command::new("sh");
    command.args(["-c", "trap '' HUP; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_mitmcraft")]);
    command.args(["proxy", &upstream.address, "-l", "127.0.0.1:0", "-q"]);
    let mut proxy = Program::start("mitmcraft", command);
    let port = proxy.listening();
    proxy.signal("HUP");
    let mut client = TcpStream::connect(("127.0.0.1", port)).unwrap();
    client.write_all(&hello(2)).unwrap();
    assert_eq!(first_body(&mut client)[0], 2);
    proxy.interrupt();
    proxy.succeed();
}

#[test]
fn many_sessions_at_once_each_have_their_own_lines() {
    let capture = scratch_file("many.jsonl");
    let upstream = Upstream::answering();
    let mut proxy = Program::proxy(&upstream.address, &["-w", text(&capture)]);
    let port = proxy.listening();
    let mut clients: Vec<_> = (0..50)
        .map(|_| {
            let mut client = TcpStream::connect(("127.0.0.1", port)).unwrap();
            client.write_all(&hello(2)).unwrap();
            client
        })
        .collect();
    for client in &mut clients {
        assert_eq!(first_body(client)[0], 2);
    }
    proxy.interrupt();
    proxy.succeed();
    drop(clients);
    let lines = read_lines(&capture);
    for session in 1..=50 {
        let own = lines.iter().filter(|line| line["session"] == session);
        let seqs: Vec<u64> = own.clone().filter_map(|line| line["seq"].as_u64()).collect();
        // The last one tells the player that the proxy ends.
        assert_eq!(seqs, [1, 2, 3, 4, 5], "session {session}");
        let last = own.filter(|line| line["seq"] == 5).map(|line| line["packet"].as_str());
        assert_eq!(last.collect::<Vec<_>>(), [Some("kick_disconnect")]);
    }
}

#[test]
fn listens_and_connects_on_ipv6() {
    // Needs IPv6 on the loopback interface: sysctl net.ipv6.conf.lo.disable_ipv6=0
    let upstream = Upstream::answering_on("[::1]:0");
    let mut proxy = Program::mitmcraft(&["proxy", &upstream.address, "-l", "[::1]:0", "-q"]);
    let mut client = TcpStream::connect(("::1", proxy.listening())).unwrap();
    client.write_all(&hello(2)).unwrap();
    assert_eq!(first_body(&mut client)[0], 2);
    proxy.interrupt();
    proxy.succeed();
}

#[cfg(unix)]
#[test]
fn a_signal_that_means_nothing_ends_nothing() {
    let upstream = Upstream::answering();
    let mut proxy = Program::proxy(&upstream.address, &[]);
    let port = proxy.listening();
    ["USR1", "USR2", "ALRM"].into_iter().for_each(|name| proxy.signal(name));
    let mut client = TcpStream::connect(("127.0.0.1", port)).unwrap();
    client.write_all(&hello(2)).unwrap();
    assert!(!first_body(&mut client).is_empty());
    proxy.interrupt();
    proxy.succeed();
}
