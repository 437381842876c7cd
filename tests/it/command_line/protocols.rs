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
    assert!(fields.contains("0x21  map_chunk") && fields.contains("bitMap: u16"), "{fields}");
    for words in [
        &["47", "0x21"][..],
        &["1.8.9", "clientbound", "33"],
        &["47", "map_chunk"],
        &["47", "level_chunk_with_light"],
    ] {
        let found = Program::mitmcraft(&[&["protocols"], words].concat()).succeed();
        assert!(found.contains("bitMap: u16"), "{found}");
    }
    // A state and a packet of another state.
    let login = Program::mitmcraft(&["protocols", "47", "login"]).succeed();
    assert!(login.contains("0x01  encryption_begin (hello)\n"), "{login}");
    assert!(
        login.contains("play          clientbound 0x01  login\n    entityId: i32\n"),
        "{login}"
    );
    assert_eq!(login.matches("entityId").count(), 1, "{login}");
    let boss = Program::mitmcraft(&["protocols", "latest", "boss_bar", "--json"]).succeed();
    let boss: serde_json::Value = serde_json::from_str(&boss).unwrap();
    assert_eq!((&boss["dir"], &boss["id"]), (&"clientbound".into(), &9.into()));
    let health = serde_json::json!({ "path": "health", "wire": "f32", "if": "action is 0 or 2" });
    assert!(boss["fields"].as_array().unwrap().contains(&health), "{boss}");
    let said = refuses(&["protocols", "1.99"]);
    assert!(said.contains("unknown version `1.99`"), "{said}");
    let said = refuses(&["protocols", "47", "play", "mapchunk"]);
    assert!(said.contains("no such packet in protocol 47: did you mean `map_chunk`?"), "{said}");
}

#[test]
fn protocols_diff_says_what_two_versions_do_not_share() {
    let diff = |words: &[&str]| {
        let (status, said) = Program::mitmcraft(&[&["protocols", "diff"], words].concat()).finish();
        (status.code(), said)
    };
    let (code, _) = diff(&["1.8", "47"]);
    assert_eq!(code, Some(0));
    let out = scratch_file("diff.txt");
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_mitmcraft"));
    let status = command
        .args(["protocols", "diff", "26.2", "26.3"])
        .stdout(std::fs::File::create(&out).unwrap())
        .status()
        .unwrap();
    assert_eq!(status.code(), Some(1));
    let said = std::fs::read_to_string(&out).unwrap();
    for line in [
        "+ play          clientbound 0x25  add_transient_block",
        "- play          serverbound 0x3f  arm_animation (swing)",
        "~ play          clientbound 0x32  login  (was 0x31)",
        "    - worldState.previousGamemode: u8",
        "    + worldState.previousGamemode: VarInt",
    ] {
        assert!(said.lines().any(|it| it == line), "{line}: {said}");
    }
    assert!(!said.contains("bundle_delimiter"), "{said}");
    assert!(refuses(&["protocols", "diff", "47"]).contains("compares two versions"));
    let (code, only) = diff(&["26.2", "26.3", "play", "clientbound", "login"]);
    let packets: Vec<&str> = only.lines().filter(|line| !line.starts_with(' ')).collect();
    assert_eq!(
        (code, packets),
        (Some(1), vec!["~ play          clientbound 0x32  login  (was 0x31)"])
    );
    assert_eq!(diff(&["26.2", "26.3", "status"]), (Some(0), String::new()));
    assert!(refuses(&["protocols", "diff", "47", "5", "chta"]).contains("no such packet"));
}

#[test]
fn protocols_before_1_7_are_known_by_name() {
    let list = Program::mitmcraft(&["protocols"]).succeed();
    for line in ["    alpha-5  a1.2.3\n", "legacy-ping  before 1.7\n", "      query  before 1.7\n"]
    {
        assert!(list.contains(line), "{list}");
    }
    let chunk = Program::mitmcraft(&["protocols", "alpha-5", "map_chunk"]).succeed();
    assert!(chunk.contains("0x33  map_chunk") && chunk.contains("    sizeX: "), "{chunk}");
    assert_eq!(Program::mitmcraft(&["protocols", "a1.2.3", "map_chunk"]).succeed(), chunk);
    assert!(Program::mitmcraft(&["protocols", "query"]).succeed().contains("status"));
    assert!(
        Program::mitmcraft(&["protocols", "legacy-ping"]).succeed().contains("kick_disconnect")
    );
    assert!(
        list.contains(" beta-1.7.3  beta-1.7, beta-1.7_01, beta-1.7.2, beta-1.7.3\n"),
        "{list}"
    );
    let slot = Program::mitmcraft(&["protocols", "beta-1.7.3", "set_slot"]).succeed();
    assert!(slot.contains("0x67  set_slot") && slot.contains("    item.blockId: i16"), "{slot}");
    assert_eq!(Program::mitmcraft(&["protocols", "beta-1.7", "set_slot"]).succeed(), slot);
    let (status, diff) = Program::mitmcraft(&["protocols", "diff", "alpha-3", "alpha-5"]).finish();
    assert_eq!(status.code(), Some(1));
    assert!(diff.contains("+ play          clientbound 0x26  entity_status"), "{diff}");
    refuses(&["protocols", "alpha-7"]);
    let file = scratch_file("old-rules.toml");
    std::fs::write(&file, "[[rule]]\nwhen = 'map_chunk and sizeX == 15'\ndrop = true\n").unwrap();
    Program::mitmcraft(&["check", "--for", "alpha-5", text(&file)]).succeed();
    std::fs::write(&file, "[[rule]]\nwhen = 'map_chunk and groundUp'\ndrop = true\n").unwrap();
    let said = Program::mitmcraft(&["check", "--for", "alpha-5", text(&file)]).succeed();
    assert!(said.contains("warning: no packet of the versions checked can match this"), "{said}");
}

#[test]
fn shells_complete_versions_topics_and_diff() {
    for (shell, words) in [
        ("bash", ["diff latest 1.7", "1.21.4", "beta-1.7.3", " captures"]),
        ("zsh", ["diff latest 1.7", "1.21.4", "beta-1.7.3", " captures"]),
    ] {
        let script = Program::mitmcraft(&["completions", shell]).succeed();
        for word in words {
            assert!(script.contains(word), "{shell}: {word}");
        }
    }
    // That of fish has options alone.
    let fish = Program::mitmcraft(&["completions", "fish"]).succeed();
    assert!(fish.contains("1.21.4\\t"), "{fish}");
    // Other numbers are accepted as before.
    Program::mitmcraft(&["protocols", "47", "chat"]).succeed();
}

#[test]
fn the_dissector_is_written_to_a_folder_that_does_not_exist_yet() {
    let file = scratch_file("plugins").join("wireshark/minecraft.lua");
    Program::mitmcraft(&["wireshark", "47", "-o", text(&file)]).succeed();
    assert!(std::fs::read_to_string(&file).unwrap().contains("Proto("));
}
