//! `protocols`, and `check`, which reads the same descriptions.

use crate::support::{Program, refuses, scratch_file, text};

#[test]
fn check_tells_every_fault_of_a_filter_file_with_its_place() {
    let file = scratch_file("rules.toml");
    std::fs::write(&file, "[[rule]]\nwhen = 'chat and message > 3'\ndorp = true\n").unwrap();
    let (status, said) = Program::mitmcraft(&["check", "--for", "1.8.9", text(&file)]).finish();
    assert_eq!(status.code(), Some(1), "{said}");
    assert!(said.contains("rules.toml:2:") && said.contains("rules.toml:3:1"), "{said}");
    assert!(said.contains("did you mean `drop`?"), "{said}");
    std::fs::write(&file, "[[rule]]\nwhen = 'chat'\ndrop = true\n").unwrap();
    Program::mitmcraft(&["check", text(&file)]).succeed();
}

#[test]
fn protocols_lists_versions_packets_and_fields() {
    let versions = Program::mitmcraft(&["protocols"]).succeed();
    assert!(versions.lines().any(|line| line.trim().starts_with("47  ")), "{versions}");
    let fields =
        Program::mitmcraft(&["protocols", "1.8.9", "play", "clientbound", "map_chunk"]).succeed();
    assert!(fields.contains("0x21  map_chunk") && fields.contains("bitMap: integer"), "{fields}");
    let said = refuses(&["protocols", "1.99"]);
    assert!(said.contains("unknown version `1.99`"), "{said}");
}
