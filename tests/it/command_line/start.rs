//! A start that fails changes nothing: a proxy once truncated its `-w` files before it found that
//! its port was busy, and destroyed the capture of the proxy that was running there.

use std::net::{TcpListener, UdpSocket};
use std::path::Path;

use crate::support::refusing::Refusing;
use crate::support::{Program, mitmcraft, refuses, root, scratch_file, text, wait_for};

#[test]
fn a_busy_port_leaves_the_old_capture_as_it_was() {
    let busy = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = busy.local_addr().unwrap().to_string();
    let said = fails_and_keeps(&["proxy", "127.0.0.1:1"], &["-l", &address]);
    assert!(said.contains(&format!("cannot listen on {address}")), "{said}");
    for service in ["--metrics", "--web", "--control"] {
        let said = fails_and_keeps(&PROXY, &[service, &address]);
        assert!(said.contains(&format!("cannot listen on {address}")), "{said}");
    }
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
    let found = "cannot find the host `no-such-host.invalid`: check its spelling and your DNS";
    assert!(said.contains(found), "{said}");
    // The error of the operating system says the same in other words.
    assert!(!said.contains("lookup") && !said.contains("known"), "{said}");
}

#[test]
fn a_proxy_on_an_ipv6_address_cannot_be_announced_and_leaves_the_old_capture_as_it_was() {
    let said = fails_and_keeps(&PROXY[..2], &["-l", "[::1]:0", "--lan"]);
    assert!(said.contains("`--lan` needs an IPv4 address"), "{said}");
}

#[test]
fn an_account_that_is_not_logged_in_leaves_the_old_capture_as_it_was() {
    let said = fails_and_keeps(&PROXY, &["--auth", "account"]);
    assert!(said.contains("mitmcraft login"), "{said}");
}

#[test]
fn holding_needs_someone_who_decides() {
    let said = refuses(&["proxy", "localhost", "--intercept", "chat"]);
    assert!(said.contains("`--intercept` needs `--tui`, `--web` or `--control`"), "{said}");
    let options = ["--control", "127.0.0.1:0", "--intercept", "serverbound and chat"];
    let mut proxy = Program::proxy("127.0.0.1:1", &options);
    proxy.listening();
    let said = proxy.wait_for_error("programs control the run at ");
    let (_, url) = said.split_once("at ").unwrap();
    assert!(url.starts_with("ws://127.0.0.1:") && url.contains("/socket#"), "{said}");
    proxy.interrupt();
    proxy.succeed();
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

#[test]
fn a_server_that_cannot_be_reached_leaves_the_old_capture_as_it_was() {
    let nobody = Refusing::tcp();
    let capture = root().join("captures/session-1.8.jsonl");
    let said = fails_and_keeps(&["replay", "client", text(&capture), &nobody.address()], &[]);
    assert!(said.contains("connection refused"), "{said}");
    let expect = ["--expect", "--ignore", "[0]"];
    let said = fails_and_keeps(&["replay", "client", text(&capture), &nobody.address()], &expect);
    assert!(said.contains("`--ignore`"), "{said}");
}

#[test]
fn a_capture_that_cannot_be_read_leaves_the_old_one_as_it_was() {
    let damaged = scratch_file("damaged.jsonl");
    std::fs::write(&damaged, "{\"t\":1,\n").unwrap();
    let damaged = text(&damaged);
    for ending in ["jsonl", "pcapng", "mcpr"] {
        let old = scratch_file(&format!("old.{ending}"));
        fails_and_keeps_file(&["convert", damaged, text(&old)], &old);
    }
    let rules = scratch_file("rules.toml");
    std::fs::write(&rules, "[[rule]]\nname = 'lag'\nwhen = 'play'\ndelay = '1s'\n").unwrap();
    let said = fails_and_keeps(&["replay", "filters", damaged, "-f", text(&rules)], &[]);
    assert!(said.contains("could not be read"), "{said}");
    let said = fails_and_keeps(&["decode", damaged], &[]);
    assert!(said.contains(damaged), "{said}");
}

#[test]
fn a_capture_that_is_not_fit_to_be_a_replay_leaves_the_old_replay_as_it_was() {
    let capture = root().join("captures/session-1.8.jsonl");
    let old = scratch_file("old.mcpr");
    let said =
        fails_and_keeps_file(&["convert", text(&capture), text(&old), "--session", "99"], &old);
    assert!(said.contains("no session that reaches the game"), "{said}");
    assert!(!old.with_extension("mcpr.part").exists(), "an unfinished replay is left over");
}

/// `--open` once opened the page before the login, and a login that failed left a dead page behind.
#[cfg(target_os = "linux")]
#[test]
fn the_browser_is_opened_last_and_not_by_a_start_that_fails() {
    use std::os::unix::fs::PermissionsExt as _;

    let folder = scratch_file("programs");
    std::fs::create_dir(&folder).unwrap();
    let (browser, opened) = (folder.join("xdg-open"), folder.join("opened"));
    std::fs::write(&browser, format!("#!/bin/sh\necho opened >> '{}'\n", text(&opened))).unwrap();
    std::fs::set_permissions(&browser, std::fs::Permissions::from_mode(0o755)).unwrap();
    let start = |options: &[&str]| {
        let mut command = mitmcraft();
        command.args(PROXY).args(["--web", "127.0.0.1:0", "--open"]).args(options);
        command.env("PATH", &folder).env("MITMCRAFT_ACCESS_TOKEN", "t0ken");
        Program::start("mitmcraft", command)
    };
    let (nobody, endpoints) = (Refusing::tcp(), scratch_file("endpoints.toml"));
    std::fs::write(&endpoints, format!("profile = 'http://{}/profile'\n", nobody.address()))
        .unwrap();
    let (status, said) = start(&["--auth", "account", "--auth-endpoints", text(&endpoints)]).fail();
    assert_eq!(status.code(), Some(2), "{said}");
    assert!(said.contains("cannot find the owner of the access token"), "{said}");
    let (status, said) = start(&["--key-log", "/nowhere/keys.log"]).fail();
    assert_eq!(status.code(), Some(2), "{said}");
    assert!(!opened.exists(), "a start that failed has opened the browser");
    let mut proxy = start(&[]);
    proxy.listening();
    assert!(wait_for(|| opened.exists()), "{}", proxy.errors());
    proxy.interrupt();
    let (_, said) = proxy.succeed_with_errors();
    assert!(said.contains("in a browser"), "{said}");
    assert_eq!(std::fs::read_to_string(&opened).unwrap(), "opened\n", "once in three starts");
}

#[test]
fn the_page_has_the_same_url_in_all_runs_only_if_its_token_is_kept() {
    let state = scratch_file("state");
    let token = |options: &[&str]| {
        let mut command = mitmcraft();
        command.args(PROXY).args(["--web", "127.0.0.1:0"]).args(options);
        command.env("MITMCRAFT_STATE_DIR", &state);
        let mut proxy = Program::start("mitmcraft", command);
        proxy.listening();
        let said = proxy.wait_for_error("in a browser");
        proxy.interrupt();
        proxy.succeed();
        let (_, token) = said.split_once("/#").unwrap();
        token.chars().take_while(char::is_ascii_hexdigit).collect::<String>()
    };
    let keep = ["--web-token", "keep"];
    let kept = token(&keep);
    assert_eq!((kept.len(), &token(&keep)), (32, &kept));
    assert_ne!(token(&[]), kept);
    std::fs::write(state.join("web-token"), "none").unwrap();
    let mut command = mitmcraft();
    command.args(PROXY).args(["--web", "127.0.0.1:0"]).args(keep);
    command.env("MITMCRAFT_STATE_DIR", &state);
    let (status, said) = Program::start("mitmcraft", command).fail();
    assert_eq!(status.code(), Some(2), "{said}");
    assert!(said.contains("web-token` does not contain 32 hex digits: delete it"), "{said}");
}

/// Runs a command line that must fail before it touches the capture of its first `-w`; stderr.
fn fails_and_keeps(verb: &[&str], options: &[&str]) -> String {
    let capture = scratch_file("old.jsonl");
    fails_and_keeps_file(&[verb, &["-w", text(&capture)], options].concat(), &capture)
}

/// Runs a command line that may replace `file`, and must fail before it touches it; stderr.
fn fails_and_keeps_file(words: &[&str], file: &Path) -> String {
    std::fs::write(file, OLD).unwrap();
    let said = refuses(&[words, &["--overwrite"]].concat());
    assert_eq!(std::fs::read_to_string(file).unwrap(), OLD, "{words:?}: {said}");
    said
}

const PROXY: [&str; 4] = ["proxy", "127.0.0.1:1", "-l", "127.0.0.1:0"];

const OLD: &str = "an old capture\n";
