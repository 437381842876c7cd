//! Options for accounts and keys that cannot work together.

use crate::support::{Program, refuses, scratch_file};

#[test]
fn a_key_log_that_cannot_be_written_is_told_before_anything_begins() {
    let said =
        refuses(&["proxy", "127.0.0.1:1", "-l", "127.0.0.1:0", "--key-log", "/nowhere/keys.log"]);
    assert!(said.contains("`/nowhere/keys.log`") && said.contains("--key-log"), "{said}");
}

#[test]
fn what_does_not_go_together_is_told_before_anything_begins() {
    let state = scratch_file("no-state");
    for (options, words) in [
        (&["--auth", "account"][..], "no account is logged in"),
        (&["--as-account"], "--auth verify"),
        (&["--auth", "verify", "--plain-client"], "--auth account"),
        (&["--account", "Steve"], "--auth account"),
        (&["--auth", "client", "--account", "Steve"], "--auth account"),
        (&["--auth", "client", "--auth-listen", "0.0.0.0:8767"], "not a loopback address"),
        (&["--auth-listen", "127.0.0.1:9000"], "--auth client"),
        (&["--auth", "account", "--session-server", "s.org"], "https://HOST"),
        (&["--auth", "account", "--access-token-file", "/nowhere"], "--access-token-file"),
    ] {
        let proxy = ["proxy", "127.0.0.1:1", "-l", "127.0.0.1:0"];
        let proxy = Program::with_state(&state, &[&proxy[..], options].concat());
        let (status, said) = proxy.fail();
        assert_eq!(status.code(), Some(2), "{options:?}: {said}");
        assert!(said.contains(words), "{options:?}: {said}");
    }
}

#[test]
fn the_line_for_a_launcher_stays_the_same_and_leads_to_the_address_that_is_listened_on() {
    let state = scratch_file("jvm-args");
    let line = |options: &[&str]| {
        let program = Program::with_state(&state, &[&["jvm-args"], options].concat());
        program.succeed()
    };
    let printed = line(&[]);
    let key = std::fs::read_to_string(state.join("auth-endpoint")).unwrap();
    let session =
        format!("-Dminecraft.api.session.host=http://127.0.0.1:8767/{}/session", key.trim());
    assert!(printed.split_whitespace().any(|argument| argument == session), "{printed}");
    assert_eq!(printed.lines().count(), 1);
    assert_eq!(line(&[]), printed);
    let injector = format!("-javaagent:a.jar=http://127.0.0.1:8767/{}/\n", key.trim());
    assert_eq!(line(&["--authlib-injector", "a.jar"]), injector);
    let other = line(&["--auth-listen", "[::1]:9000"]);
    assert_eq!(other, printed.replace("127.0.0.1:8767", "[::1]:9000"));
    for (address, words) in [("10.0.0.5:8767", "not a loopback address"), ("127.0.0.1:0", "port")] {
        let program = Program::with_state(&state, &["jvm-args", "--auth-listen", address]);
        let (status, said) = program.fail();
        assert_eq!(status.code(), Some(2), "{said}");
        assert!(said.contains(words), "{said}");
    }
}
