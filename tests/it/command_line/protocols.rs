//! `protocols`, and `check`, which reads the same descriptions.

use serde_json::{Value as Json, json};

use crate::support::{Program, fails, refuses, root, scratch_file, text, write_reports};

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

#[test]
fn a_dissector_is_not_written_for_what_has_no_sessions() {
    let file = scratch_file("none.lua");
    for name in ["legacy-ping", "query"] {
        let said = refuses(&["wireshark", name, "1.8.9", "-o", text(&file)]);
        assert!(said.contains(&format!("`{name}` has no sessions")), "{said}");
        assert!(!file.exists());
    }
}

#[test]
fn import_describes_a_version_by_its_reports() {
    let (folder, file) = (scratch_file("reports"), scratch_file("new.json"));
    write_reports(&folder);
    let import = ["protocols", "import", text(&folder), "--extends", "26.3", "-o", text(&file)];
    let (_, said) = Program::mitmcraft(&import).succeed_with_errors();
    assert!(
        said.contains("26.4 (protocol 778), with the layouts of 26.3 (protocol 777):"),
        "{said}"
    );
    assert!(
        said.contains(
            "1 new: without a layout, read as bytes\n  play          clientbound 0x01  blink\n"
        ),
        "{said}"
    );
    assert!(said.contains("\n  play clientbound: keep_alive\n"), "{said}");
    assert!(said.contains("gone") && said.contains(" (level_chunk_with_light)"), "{said}");
    // The file is refused when it exists, and its number is not that of its name.
    let before = std::fs::read(&file).unwrap();
    let said = refuses(&import);
    assert!(said.contains("--overwrite"), "{said}");
    let show = ["protocols", "26.4", "play", "clientbound", "--protocol", text(&file)];
    let packets = Program::mitmcraft(&show).succeed();
    assert!(
        packets.contains("0x00  keep_alive\n") && packets.contains("0x01  blink\n"),
        "{packets}"
    );
    assert_eq!(packets.lines().count(), 2, "{packets}");
    let listed = Program::mitmcraft(&[&import[..], &["--overwrite", "--json"]].concat()).succeed();
    let listed: Json = serde_json::from_str(&listed).unwrap();
    assert_eq!(listed["extends"], json!({ "protocol": 777, "version": "26.3" }));
    let basis = |name: &str| {
        let packets = listed["packets"].as_array().unwrap();
        let found = packets.iter().find(|it| it["packet"] == name && it["state"] == "play");
        found.unwrap()["basis"].clone()
    };
    assert_eq!(["map_chunk", "blink", "chat_message"].map(basis), ["gone", "new", "unproven"]);
    assert_eq!(listed["names"]["item"]["count"], 2);
    assert_eq!(std::fs::read(&file).unwrap(), before);
    let to_stdout = Program::mitmcraft(&import[..5]).succeed();
    assert_eq!(to_stdout.as_bytes(), before);
    let jar = scratch_file("the server.jar");
    std::fs::write(&jar, "").unwrap();
    let command = Program::mitmcraft(&["protocols", "import", text(&jar)]).succeed();
    let start = "java -DbundlerMainClass=net.minecraft.data.Main -jar '/";
    assert!(
        command.starts_with(start) && command.ends_with("the server.jar' --reports\n"),
        "{command}"
    );
}

#[test]
fn import_tells_what_is_wrong_with_reports_and_writes_nothing() {
    let file = scratch_file("none.json");
    let refused = |change: &dyn Fn(&std::path::Path), more: &[&str]| {
        let folder = scratch_file("reports");
        write_reports(&folder);
        change(&folder);
        let said =
            refuses(&[&["protocols", "import", text(&folder), "-o", text(&file)], more].concat());
        assert!(!file.exists(), "{said}");
        said
    };
    let gone = |name: &'static str| {
        move |folder: &std::path::Path| std::fs::remove_file(folder.join(name)).unwrap()
    };
    let said = refused(&gone("packets.json"), &[]);
    assert!(
        said.contains("has no `packets.json`, which the game's data generator writes since 1.21"),
        "{said}"
    );
    let said = refused(&gone("blocks.json"), &[]);
    assert!(said.contains("cannot read `") && said.contains("/blocks.json`: "), "{said}");
    let said = refused(&gone("version.json"), &["--number", "778"]);
    assert!(said.contains("name it with `--number N --name VERSION`"), "{said}");
    let said = refused(
        &|folder| {
            std::fs::write(
                folder.join("packets.json"),
                r#"{ "play": { "clientbound": { "a": {} } } }"#,
            )
            .unwrap()
        },
        &[],
    );
    assert!(said.contains("packets.json: play.clientbound.a: no `protocol_id`"), "{said}");
    let said = refused(&|folder| std::fs::write(folder.join("version.json"), "{}").unwrap(), &[]);
    assert!(
        said.contains("/version.json` has no `protocol_version`: name it with `--number`"),
        "{said}"
    );
    // A name that no description may have is none of the layouts.
    let long = "9".repeat(101);
    let said = refused(&|_| (), &["--number", "778", "--name", &long]);
    assert!(said.contains("'--name <VERSION>': expected up to 100 bytes of text"), "{said}");
    let said = refused(
        &|folder| {
            let version = json!({ "protocol_version": 778, "name": long });
            std::fs::write(folder.join("version.json"), version.to_string()).unwrap();
        },
        &[],
    );
    assert!(said.contains("name: expected a text of up to 100 bytes"), "{said}");
    assert!(!said.contains("--extends"), "{said}");
    let said = refused(&|_| (), &["--number", "777", "--name", "26.3", "--extends", "26.3"]);
    assert!(said.contains("extends: protocol 777 is the version of the reports"), "{said}");
    let said = refuses(&["protocols", "import", "no-such-folder"]);
    assert!(said.contains("`no-such-folder` is not a folder, nor the jar of a server"), "{said}");
}

#[test]
fn prove_tells_which_layouts_packets_fit() {
    let session = root().join("captures/session-26.3.jsonl");
    let file = scratch_file("mine.json");
    let prove = ["protocols", "prove", text(&session), "--protocol", text(&file)];
    std::fs::write(&file, r#"{ "extends": "26.3" }"#).unwrap();
    let text_of = Program::mitmcraft(&prove).succeed();
    assert!(
        text_of.contains("(protocol 777): ") && text_of.contains("would fit anything"),
        "{text_of}"
    );
    let wrong = r#"{ "extends": "26.3", "play": { "toClient": { "types": {
        "packet_kick_disconnect": ["container", [{ "name": "a", "type": "u16" }]]
    } } } }"#;
    std::fs::write(&file, wrong).unwrap();
    let (status, said) = Program::mitmcraft(&prove).finish();
    assert_eq!(status.code(), Some(1), "{said}");
    let misfit = "  kick_disconnect (disconnect): 1 packet\n    1 stops at byte 3 of ";
    assert!(said.contains("1 do not fit:") && said.contains(misfit), "{said}");
    let (status, said) = Program::mitmcraft(&[&prove[..], &["--json"]].concat()).finish();
    assert_eq!(status.code(), Some(1), "{said}");
    let said: Json = serde_json::from_str(&said).unwrap();
    let misfits = said["packets"].as_array().unwrap().iter().filter(|it| it["result"] == "misfit");
    let misfits: Vec<&Json> = misfits.collect();
    assert_eq!((misfits.len(), &misfits[0]["misfits"][0]["at"]), (1, &json!(3)));
    std::fs::write(&file, r#"{ "extends": "26.3", "number": 778 }"#).unwrap();
    let said = fails(&prove, 2);
    assert!(said.contains("the captures have packets of protocol 777, none of 778"), "{said}");
}

/// Captures of a version that is not built in, with and without its description.
#[test]
fn prove_takes_the_description_in_a_capture_and_warns_of_guesses() {
    let session = std::fs::read_to_string(root().join("captures/session-26.3.jsonl")).unwrap();
    let table = scratch_file("778.json");
    std::fs::write(&table, r#"{ "extends": "26.3", "number": 778 }"#).unwrap();
    let own = scratch_file("own.jsonl");
    std::fs::write(&own, session.replace(r#""protocol":777"#, r#""protocol":778"#)).unwrap();
    let contained = scratch_file("contained.jsonl");
    let convert = ["convert", "--protocol", text(&table), text(&own), text(&contained)];
    Program::mitmcraft(&convert).succeed();
    let prove = ["protocols", "prove", text(&contained)];
    let (proven, said) = Program::mitmcraft(&prove).succeed_with_errors();
    assert!(proven.contains("(protocol 778): ") && !said.contains("warning"), "{proven}{said}");
    // The packets of a guess have the number of other layouts.
    let guess = scratch_file("guess.jsonl");
    let client = |line: &str| match line.contains(r#""event":"state""#) {
        true => line.replace(r#""protocol":777"#, r#""protocol":778"#),
        false => line.to_owned(),
    };
    let mut lines: Vec<String> = session.lines().map(client).collect();
    std::fs::write(&guess, lines.join("\n")).unwrap();
    let prove = ["protocols", "prove", text(&guess), "--protocol", text(&table)];
    let (followed, said) = Program::mitmcraft(&prove).succeed_with_errors();
    assert!(followed == proven && !said.contains("warning"), "{followed}{said}");
    // What told the states was wrong: they are followed anew.
    let misread = lines.join("\n").replace(r#""state":"play""#, r#""state":"configuration""#);
    std::fs::write(&guess, misread).unwrap();
    let (followed, said) = Program::mitmcraft(&prove).succeed_with_errors();
    assert!(followed == proven && !said.contains("warning"), "{followed}{said}");
    // Without the handshake, only the capture tells the states.
    let handshake = lines.iter().position(|line| line.contains(r#""packet":"set_protocol""#));
    lines.remove(handshake.unwrap());
    std::fs::write(&guess, lines.join("\n")).unwrap();
    let (_, said) = Program::mitmcraft(&prove).succeed_with_errors();
    assert!(said.contains("packets recorded with the layouts of another version"), "{said}");
}

#[test]
fn prove_tells_of_damage_also_if_nothing_is_proven() {
    let alpha = root().join("captures/session-alpha.jsonl");
    let said = fails(&["protocols", "prove", text(&alpha)], 2);
    assert!(said.contains("no packets from 1.7 on whose version is known"), "{said}");
    let damaged = scratch_file("damaged.jsonl");
    let session = std::fs::read_to_string(&alpha).unwrap();
    std::fs::write(&damaged, session + "{\n{}\n").unwrap();
    let said = fails(&["protocols", "prove", text(&damaged)], 2);
    assert!(said.contains("error: ") && said.contains("2 entries could not be read"), "{said}");
}
