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
