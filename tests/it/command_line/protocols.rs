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
fn a_partial_description_changes_the_version_that_it_extends() {
    let file = scratch_file("mymod.json");
    let mine = r#"{ "extends": "1.8.9", "play": { "toClient": {
        "packets": { "0x70": "mymod_health" },
        "types": { "packet_mymod_health": ["container", [{ "name": "hearts", "type": "u8" }]] }
    } } }"#;
    std::fs::write(&file, mine).unwrap();
    let rules = scratch_file("rules.toml");
    std::fs::write(&rules, "[[rule]]\nwhen = 'mymod_health.hearts < 3'\ndrop = true\n").unwrap();
    let options = ["-f", text(&rules), "--protocol", text(&file)];
    let mut proxy = Program::proxy("127.0.0.1:9", &options);
    proxy.listening();
    proxy.interrupt();
    proxy.succeed();
    std::fs::write(&file, mine.replace("packet_mymod_health", "packet_mymod")).unwrap();
    let said = refuses(&[&["proxy", "127.0.0.1:9"], &options[..]].concat());
    let fault = "play.toClient.packets: `mymod_health` has no type `packet_mymod_health`";
    assert!(said.contains(fault), "{said}");
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
