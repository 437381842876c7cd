//! PicoLimbo, a server of every version from 1.7.2 to 26.2 with layouts of its own, which `tests/real/picolimbo`
//! builds: what `lint` finds in it, and a player of 26.2 through the proxy.

use std::net::TcpListener;
use std::path::PathBuf;
use std::process::Command;
use std::{io, thread};

use base64::prelude::{BASE64_STANDARD, Engine as _};
use mitmcraft_protocol::schema::{Catalog, Direction, Value};
use serde_json::Value as Json;

use crate::support::{Program, read_lines, root, scratch_file, text};

/// Every section of a world of blocks is there, and those of air have a form that the game has since 1.18: one
/// kind of block without a palette. Before, its byte is the length of an empty palette, and the game reads 4 bits
/// per block. In the end, a world without blocks, the packet announces no section and has 16 of them (80 bytes).
///
/// PicoLimbo@8e61aa30: `crates/minecraft_packets/src/play/chunk_data_and_update_light_packet.rs` (both masks)
/// and `data/palette_container.rs` (`SingleValued`), which ask no version before 1.18. The game shows air either
/// way, so the findings are uncertain.
const AT_FAULT: std::ops::RangeInclusive<i32> = 735..=756;

#[test]
#[ignore = "needs the program that `tests/real/picolimbo` builds, in PICOLIMBO_PROGRAM: `tests/run --long` does both"]
fn a_server_of_forty_versions_has_no_finding_but_true_ones() {
    let is_release = |name: &str| name.bytes().all(|it| it == b'.' || it.is_ascii_digit());
    let releases = Catalog::embedded()
        .versions()
        .filter(|(number, names)| *number <= NEWEST && names.iter().any(|name| is_release(name)));
    let releases: Vec<i32> = releases.map(|(number, _)| number).collect();
    assert!(releases.len() > 40 && releases.contains(&4), "{releases:?}");
    for (world, reason) in [
        (World::Blocks, "0 longs, and 4 bits per entry need 256"),
        (World::Empty, "80 bytes are left after the last section"),
    ] {
        let (mut server, upstream) = limbo(&world);
        let mut told = server.take_stdout();
        thread::spawn(move || io::copy(&mut told, &mut io::sink()));
        // Visits take a few seconds, in which hardly anything happens.
        let visits = releases.chunks(releases.len().div_ceil(4)).map(|numbers| {
            let list: Vec<String> = numbers.iter().map(i32::to_string).collect();
            let briefly =
                ["--stay", "0", "--pause", "0", "--patience", "0.1", "--json", "--strict"];
            let arguments = ["lint", &upstream, "--versions", &list.join(",")];
            (numbers, Program::mitmcraft(&[&arguments[..], &briefly].concat()))
        });
        for (numbers, lint) in visits.collect::<Vec<_>>() {
            let (status, said) = lint.finish();
            let report: Json = serde_json::from_str(&said).unwrap();
            let visits = report["visits"].as_array().unwrap();
            let visited = visits.iter().map(|visit| visit["protocol"].as_i64().unwrap());
            assert!(visited.eq(numbers.iter().map(|it| i64::from(*it))), "{said}");
            for visit in visits {
                let stages: Vec<&str> =
                    visit["stages"].as_array().unwrap().iter().filter_map(Json::as_str).collect();
                let has_configuration = visit["protocol"].as_i64() >= Some(764);
                assert_eq!(stages.contains(&"configuration"), has_configuration, "{visit}");
                for stage in ["status", "login", "join", "spawn", "leave"] {
                    assert!(stages.contains(&stage), "{visit}");
                }
                assert_eq!(visit["failed"], false, "{visit}");
            }
            let expected: Vec<i32> =
                numbers.iter().copied().filter(|it| AT_FAULT.contains(it)).collect();
            let findings = report["findings"].as_array().unwrap();
            assert_eq!(findings.len(), expected.len(), "{said}");
            for finding in findings {
                assert_eq!(finding["rule"], "chunk-invalid", "{finding}");
                assert_eq!(finding["certain"], false, "{finding}");
                assert_eq!(finding["packet"], "map_chunk", "{finding}");
                // As far as it sees: two chunks on each side.
                assert_eq!(finding["count"], 25, "{finding}");
                let version = finding["version"].as_str().unwrap();
                let number = Catalog::embedded().by_name(version).unwrap().version();
                assert!(expected.contains(&number), "{finding}");
                assert!(finding["reason"].as_str().unwrap().contains(reason), "{finding}");
            }
            assert_eq!(status.code(), Some(i32::from(!expected.is_empty())), "{said}");
        }
        assert!(!server.has_ended());
    }
}

#[test]
#[ignore = "needs the program that `tests/real/picolimbo` builds, in PICOLIMBO_PROGRAM: `tests/run --long` does both"]
fn a_player_and_a_server_of_26_2_with_layouts_of_their_own_are_understood() {
    let (mut server, upstream) = limbo(&World::Empty);
    let capture = scratch_file("limbo.jsonl");
    let mut proxy = Program::proxy(&upstream, &["-w", text(&capture), "--keep-host"]);
    let port = proxy.listening().to_string();
    let mut player = Command::new(root().join("tests/real/venv/bin/python"));
    player.arg(root().join("tests/real/amp_player.py")).arg(port).arg("--leave");
    let heard = Program::start("amp_player.py", player).succeed();
    assert!(heard.contains("PositionChanged"), "{heard}");
    // What the player did, as the server has understood it.
    let mut told = Vec::new();
    while !told.last().is_some_and(|line: &String| line.contains("Amp left the game")) {
        told.push(server.line());
    }
    for said in ["Amp joined the game", "<Amp> hello from AMP", "<Amp> bye"] {
        assert_eq!(told.iter().filter(|line| line.contains(said)).count(), 1, "{said}: {told:?}");
    }
    proxy.interrupt();
    proxy.succeed();

    let lines = read_lines(&capture);
    let packets: Vec<&Json> = lines.iter().filter(|line| line["body"].is_string()).collect();
    for (place, line) in packets.iter().enumerate() {
        // The handshake, which is that of 1.8, says the version.
        let version = if place == 0 { 47 } else { NEWEST };
        assert_eq!(line["protocol"], version, "{line}");
        let protocol = Catalog::embedded().find(version).unwrap().protocol;
        for key in ["error", "guess", "diagnostics", "comment"] {
            assert!(line[key].is_null(), "{key}: {line}");
        }
        let state = line["state"].as_str().unwrap().parse().unwrap();
        let direction = match line["dir"].as_str() {
            Some("clientbound") => Direction::Clientbound,
            _ => Direction::Serverbound,
        };
        let packet = protocol.named(state, direction, line["packet"].as_str().unwrap()).unwrap();
        let encoded = protocol.encode(packet, &Value::from_json(&line["fields"])).unwrap();
        assert_eq!(BASE64_STANDARD.encode(encoded), line["body"].as_str().unwrap(), "{line}");
    }
    let count = |direction: &str, name: &str| {
        packets.iter().filter(|it| it["dir"] == direction && it["packet"] == name).count()
    };
    // The player leaves while chunks come.
    assert!((1..=25).contains(&count("clientbound", "map_chunk")));
    assert!(count("clientbound", "registry_data") > 10);
    assert_eq!(count("serverbound", "chat_message"), 2);
}

/// 26.2, the newest version of both.
const NEWEST: i32 = 776;

enum World {
    Blocks,
    Empty,
}

/// Starts a server that verifies nobody, and returns its address.
fn limbo(world: &World) -> (Program, String) {
    let program = std::env::var_os("PICOLIMBO_PROGRAM").expect("PICOLIMBO_PROGRAM is not set");
    let program = PathBuf::from(program);
    let sources = program.ancestors().nth(3).unwrap();
    let (dimension, blocks) = match world {
        World::Blocks => ("overworld", sources.join("data/schematics/spawn.schem")),
        World::Empty => ("end", PathBuf::new()),
    };
    // It takes no port of the system's choice.
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let config = format!(
        r#"
bind = "{free}"
[compression]
threshold = 64
[world]
spawn_position = [0.0, 100.0, 0.0]
spawn_rotation = [0.0, 0.0]
time = "day"
dimension = "{dimension}"
[world.experimental]
view_distance = 2
lock_time = true
schematic_file = "{}"
[boss_bar]
enabled = true
title = "<bold>Welcome</bold>"
health = 0.5
color = "pink"
division = 6
[title]
enabled = true
title = "<bold>Welcome</bold>"
subtitle = "to the limbo"
fade_in = 10
stay = 70
fade_out = 20
"#,
        blocks.display()
    );
    let file = scratch_file("limbo.toml");
    std::fs::write(&file, config).unwrap();
    let mut command = Command::new(program);
    command.arg("--skip-banner").arg("-c").arg(file);
    let mut server = Program::start("pico_limbo", command);
    while !server.line().contains("Listening on") {}
    (server, free.to_string())
}
