//! Filter files: what `check` says, and that `proxy` says the same.

use crate::support::{Program, refuses, scratch_file, text};

#[test]
fn check_and_proxy_refuse_a_capture_name_that_stands_for_no_format() {
    let file = scratch_file("ring.toml");
    let rules = |name: &str| {
        format!("[capture]\nfile = '{name}'\nring = '30s'\n[[rule]]\nwrite = 'start'\n")
    };
    for (name, why) in [
        ("x.txt", "`x.txt`: a capture's name ends in `.jsonl`, `.pcapng` or `.pcap`"),
        ("{x}.jsonl", "unknown placeholder `{x}`"),
    ] {
        std::fs::write(&file, rules(name)).unwrap();
        let (status, said) = Program::mitmcraft(&["check", text(&file)]).finish();
        assert_eq!(status.code(), Some(1), "{said}");
        assert!(said.contains(why) && said.contains(":2:8\n"), "{said}");
        let said = refuses(&["proxy", "127.0.0.1:1", "-l", "127.0.0.1:0", "-f", text(&file)]);
        assert!(said.contains(why) && said.contains(":2:8\n"), "{said}");
    }
    std::fs::write(&file, rules("{player}.pcapng.zst")).unwrap();
    Program::mitmcraft(&["check", text(&file)]).succeed();
}
