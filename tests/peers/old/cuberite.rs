//! Two players at a time of eleven versions from 1.2.5 to 1.6.4 on a Cuberite of 2014.

use std::collections::BTreeSet;
use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;

use mitmcraft_protocol::wire::{Nbt, Reader, Tag};
use serde_json::Value as Json;

use super::saved;
use crate::support::{Program, read_lines, root, scratch_file, text};

#[test]
#[ignore = "needs Cuberite at 305778f, built from its repository, in CUBERITE_PROGRAM"]
fn players_of_eleven_versions_play_on_a_server_that_knows_what_it_sent() {
    let program = PathBuf::from(std::env::var_os("CUBERITE_PROGRAM").expect("CUBERITE_PROGRAM"));
    let folder = scratch_file("cuberite");
    // It takes no port of the system's choice.
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    prepare(&folder, program.parent().unwrap(), free.port());
    let mut command = Command::new("stdbuf");
    command.arg("-oL").arg(&program).current_dir(&folder);
    let mut server = Program::start("cuberite", command);
    while !server.line().contains("Startup complete") {}

    let capture = scratch_file("cuberite.jsonl");
    let mut proxy = Program::proxy(&free.to_string(), &["-w", text(&capture)]);
    let port = proxy.listening().to_string();
    let mut told = Vec::new();
    for version in VERSIONS {
        let mut player = Command::new("node");
        player.arg(root().join("tests/real/old/cuberite.js")).args([&version.to_string(), &port]);
        let said = Program::start("cuberite.js", player).succeed();
        let said = said.lines().map(|line| serde_json::from_str(line).unwrap());
        told.push(said.collect::<Vec<Json>>());
    }
    proxy.interrupt();
    proxy.succeed();
    server.tell("stop");
    server.succeed();

    let lines = read_lines(&capture);
    let packets: Vec<&Json> = lines.iter().filter(|line| line["body"].is_string()).collect();
    for (place, it) in packets.iter().enumerate() {
        assert!(it["packet"].is_string() && it["family"] == "legacy", "{it}");
        if it["comment"] == "the connection ended within this packet" {
            // The server closes with a part of what it was writing; the hashes below show that the player got it.
            let later = |other: &&&Json| {
                other["session"] == it["session"] && other["origin"] == it["origin"]
            };
            assert!(it["origin"] == "server", "{it}");
            assert_eq!(packets[place + 1..].iter().find(later), None, "{it}");
        } else {
            assert!(it["error"].is_null(), "{it}");
        }
    }
    assert!(lines.iter().all(|it| it["raw"].is_null()), "bytes that are no packet");
    let saved = saved::chunks(&folder.join("world/region"));
    let changed = saved::changed(&packets);
    for (version, told) in VERSIONS.into_iter().zip(told) {
        // The handshake of 1.2.5 does not say the version: the login after it does.
        let session = |it: &Json| it["session"].as_u64().unwrap();
        let of_version = packets.iter().filter(|it| it["protocol"] == version);
        let sessions: BTreeSet<u64> = of_version.map(|it| session(it)).collect();
        let own: Vec<&Json> =
            packets.iter().copied().filter(|it| sessions.contains(&session(it))).collect();
        // The proxy has keys of its own, and each leg its secret.
        let keys = ["handshake", "encryption_begin", "encryption_response"];
        saved::same_bytes(&told, &own, if version < 39 { &[] } else { &keys });
        let seen: BTreeSet<&str> = own.iter().map(|it| it["packet"].as_str().unwrap()).collect();
        for name in EVERYWHERE {
            assert!(seen.contains(name), "{version}: {name}: {seen:?}");
        }
        let mut compared = 0;
        for it in own.iter().filter(|it| it["packet"] == "map_chunk") {
            let column = &saved::contents(it).columns[0];
            let chunk = (column.x, column.z);
            // What a chunk without sections says is that the player leaves it.
            if changed.contains(&chunk) || column.sections.is_empty() {
                continue;
            }
            let level = Nbt::read(&mut Reader::new(&saved[&chunk]), true).unwrap().unwrap();
            let Tag::List(sections) = get(get(&level.root, "Level"), "Sections") else { panic!() };
            for section in &sections.items {
                let Tag::Byte(height) = get(section, "Y") else { panic!() };
                let y = i32::from(*height) * 16;
                let ours = column.sections.iter().find(|it| it.origin[1] == y).unwrap();
                let [Tag::ByteArray(blocks), Tag::ByteArray(data)] =
                    ["Blocks", "Data"].map(|name| get(section, name))
                else {
                    panic!()
                };
                let states = (0..).zip(blocks).map(|(index, block)| {
                    Some(u32::from(*block) << 4 | u32::from(saved::half(data, index)))
                });
                assert!(ours.states().eq(states), "{version}: {chunk:?}, y {y}");
            }
            compared += 1;
        }
        assert!(compared > 100, "{version}: {compared}");
    }
}

/// 1.2.5, 1.3.2, 1.4.2, 1.4.5, 1.4.7, 1.5.1, 1.5.2, 1.6.1, 1.6.2, 1.6.3, 1.6.4.
const VERSIONS: [i32; 11] = [29, 39, 47, 49, 51, 60, 61, 73, 74, 77, 78];

const EVERYWHERE: [&str; 10] = [
    "block_change",
    "chat",
    "entity_metadata",
    "map_chunk",
    "named_entity_spawn",
    "player_info",
    "set_slot",
    "spawn_entity_living",
    "update_sign",
    "window_items",
];

/// Writes what the server reads when it starts.
fn prepare(folder: &Path, program: &Path, port: u16) {
    fs::create_dir_all(folder.join("world")).unwrap();
    for entry in fs::read_dir(program).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|it| it == "txt" || it == "ini") {
            fs::copy(&path, folder.join(path.file_name().unwrap())).unwrap();
        }
    }
    let settings = format!(
        "[Authentication]\nAuthenticate=0\n[MojangAPI]\nNameToUUIDServer=127.0.0.1\n\
         [Server]\nPort={port}\nPortsIPv6=\n[Worlds]\nDefaultWorld=world\n[Plugins]\n"
    );
    fs::write(folder.join("settings.ini"), settings).unwrap();
    fs::write(folder.join("webadmin.ini"), "[WebAdmin]\nEnabled=0\n").unwrap();
    // Its simulator of redstone does not survive today's compilers.
    let world = "[General]\nDimension=Overworld\nGamemode=1\n[SpawnPosition]\nX=8\nY=66\nZ=8\n\
                 [Physics]\nRedstoneSimulator=noop\n[Generator]\nGenerator=Composable\nBiomeGen=Constant\n\
                 ConstantBiome=Forest\nHeightGen=Flat\nFlatHeight=64\nCompositionGen=Biomal\n\
                 Finishers=OreNests,BottomLava,SprinkleFoliage\nStructures=\n[Seed]\nSeed=42\n";
    fs::write(folder.join("world/world.ini"), world).unwrap();
}

fn get<'t>(tag: &'t Tag, key: &str) -> &'t Tag {
    let Tag::Compound(tags) = tag else { panic!("{key}: {tag:?}") };
    tags.get(key).unwrap_or_else(|| panic!("no {key}"))
}
