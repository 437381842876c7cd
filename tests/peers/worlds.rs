//! What prismarine-provider-anvil, anvil-parser2 and nbtlib read in the worlds that `convert` makes of chunks: block for
//! block what prismarine-chunk read in the packets.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use mitmcraft_engine::capture::{Entry, Record, Sink as _, create_sink};
use mitmcraft_protocol::schema::Release;
use serde_json::Value as Json;

use crate::chunks::packet;
use crate::support::{Program, convert, root, scratch_file, text};

/// The packets with the chunks of a version, by their coordinates, and what prismarine-chunk says of them.
type Chunks = BTreeMap<(i32, i32), (Record, Json)>;

#[test]
fn worlds_have_the_blocks_that_were_sent() {
    let (status, out) = Program::node("chunks.js", &[]).finish();
    assert!(status.success(), "{out}");
    // Of the same chunk, the last counts.
    let mut sent: BTreeMap<String, Chunks> = BTreeMap::new();
    for line in out.lines() {
        let line: Json = serde_json::from_str(line).unwrap();
        // Some of 1.8 are not chunks, but unload one.
        let is_chunk = line["name"] == "map_chunk" && line["names"] != serde_json::json!([]);
        if !is_chunk || line["states"].is_null() {
            continue;
        }
        let record = Record::passed(packet(&line));
        let fields = record.packet.value().unwrap();
        let int = |name| i32::try_from(fields.get(name).unwrap().as_int().unwrap()).unwrap();
        let version = line["version"].as_str().unwrap().to_owned();
        sent.entry(version).or_default().insert((int("x"), int("z")), (record, line));
    }
    assert!(sent.len() > 20, "{:?}", sent.keys());
    let (mut arguments, mut worlds) = (Vec::new(), Vec::new());
    for (version, chunks) in &sent {
        let capture = scratch_file(&format!("{version}.jsonl"));
        let mut sink = create_sink(&capture, &Default::default()).unwrap();
        for (record, _) in chunks.values() {
            sink.write(&Entry::Packet(record.clone())).unwrap();
        }
        sink.finish().unwrap();
        let world = scratch_file(version);
        let paths = [&capture, &world].map(|path| path.to_str().unwrap());
        let (status, out) =
            Program::mitmcraft(&["convert", paths[0], paths[1], "--format", "world"]).finish();
        assert!(status.success(), "{version}: {out}");
        let (record, first) = chunks.values().next().unwrap();
        let is_new = record.packet.context().protocol.release() >= Release::V26_1;
        let regions =
            world.join(if is_new { "dimensions/minecraft/overworld/region" } else { "region" });
        let places = chunks.keys().map(|(x, z)| format!("{x},{z}"));
        let places: Vec<String> = places.collect();
        let (bottom, top) = (first["bottom"].to_string(), first["top"].to_string());
        let shown = regions.to_str().unwrap().to_owned();
        // prismarine-provider-anvil reads other blocks of 1.17 than anvil-parser2, and knows no 26.1.
        if !is_new && version != "1.17.1" {
            let head = [version.clone(), shown.clone(), bottom.clone(), top.clone()];
            arguments.push([&head[..], &places[..]].concat().join(":"));
        }
        if ["1.17.1", "26.1"].contains(&&**version) {
            worlds.push((version, world, [vec![shown, bottom, top], places].concat()));
        }
    }
    let arguments: Vec<&str> = arguments.iter().map(|it| &**it).collect();
    let (status, out) = Program::node("worlds.js", &arguments).finish();
    assert!(status.success(), "{out}");
    let (mut blocks, mut read) = (0, BTreeSet::new());
    for line in out.lines() {
        let line: Json = serde_json::from_str(line).unwrap();
        let version = line["version"].as_str().unwrap();
        let place = ["x", "z"].map(|name| i32::try_from(line[name].as_i64().unwrap()).unwrap());
        let (_, theirs) = &sent[version][&(place[0], place[1])];
        assert_eq!(line["states"], theirs["states"], "{version} {place:?}");
        blocks += line["count"].as_u64().unwrap();
        read.insert((version.to_owned(), place[0], place[1]));
    }
    assert!(blocks > 500_000, "{blocks}");
    assert_eq!(worlds.len(), 2);
    for (version, world, arguments) in worlds {
        for line in python(&world, &arguments) {
            let (Some(x), Some(z)) = (line["x"].as_i64(), line["z"].as_i64()) else {
                assert!(line["data"].as_i64().unwrap() > 2000, "{line}");
                continue;
            };
            let (x, z) = (i32::try_from(x).unwrap(), i32::try_from(z).unwrap());
            assert_eq!(line["named"], sent[version][&(x, z)].1["named"], "{version} {x} {z}");
            read.insert((version.clone(), x, z));
        }
    }
    let all = sent
        .iter()
        .flat_map(|(version, chunks)| chunks.keys().map(|(x, z)| (version.clone(), *x, *z)));
    assert_eq!(read, all.collect());
}

#[test]
fn a_server_sends_the_blocks_of_a_world_again() {
    serve_again("1.8.8", 0, 256);
    serve_again("1.12.2", 0, 256);
    serve_again("1.16.5", 0, 256);
    serve_again("1.18.2", -64, 320);
    serve_again("1.20.4", -64, 320);
}

/// Has a flying-squid server generate hills, and another one serve the world that `convert` makes of them. Asserts that
/// both sent the same blocks.
fn serve_again(version: &str, bottom: i32, top: i32) {
    let first = recorded_world(version, "generated", &["--generation", "diamond_square"]);
    // The server writes into what it serves.
    let served = scratch_file(&format!("{version}-served"));
    fs::create_dir_all(served.join("region")).unwrap();
    fs::copy(first.join("level.dat"), served.join("level.dat")).unwrap();
    for region in regions(&first) {
        fs::copy(&region, served.join("region").join(region.file_name().unwrap())).unwrap();
    }
    let second = recorded_world(version, "sent", &["--world", text(&served)]);
    // Players begin somewhere near the spawn point.
    let known = chunk_places(&second);
    let both: Vec<_> = chunk_places(&first).into_iter().filter(|it| known.contains(it)).collect();
    assert!(both.len() >= 4, "{version}: {both:?}");
    let places: Vec<String> = both.iter().map(|(x, z)| format!("{x},{z}")).collect();
    let read = |world: &Path| {
        let regions = world.join("region");
        let head = [version, text(&regions), &format!("{bottom}"), &format!("{top}")].join(":");
        let argument = format!("{head}:{}", places.join(":"));
        Program::node("worlds.js", &[&argument]).succeed()
    };
    assert_eq!(read(&first), read(&second), "{version}");
}

/// The world that a bot sees on a flying-squid server.
fn recorded_world(version: &str, name: &str, options: &[&str]) -> PathBuf {
    let server = [&["--version", version, "--port", "0"], options].concat();
    let mut server = Program::node("squid.js", &server);
    let upstream = format!("127.0.0.1:{}", server.port());
    let capture = scratch_file(&format!("{version}-{name}.jsonl"));
    let mut proxy = Program::proxy(&upstream, &["-w", text(&capture)]);
    let port = proxy.listening().to_string();
    let bot = ["--version", version, "--port", &port, "--columns", "16"];
    Program::node("bot.js", &bot).succeed();
    server.succeed();
    proxy.interrupt();
    proxy.succeed();
    let world = scratch_file(&format!("{version}-{name}"));
    convert(&[text(&capture), text(&world), "--format", "world"]);
    world
}

fn regions(world: &Path) -> Vec<PathBuf> {
    let files = fs::read_dir(world.join("region")).unwrap();
    files.map(|it| it.unwrap().path()).collect()
}

/// The chunks of a world, as the tables of its regions have them.
fn chunk_places(world: &Path) -> BTreeSet<(i32, i32)> {
    let mut places = BTreeSet::new();
    for region in regions(world) {
        let name = region.file_name().unwrap().to_str().unwrap().to_owned();
        let numbers: Vec<i32> = name.split('.').filter_map(|it| it.parse().ok()).collect();
        let bytes = fs::read(&region).unwrap();
        let entries = bytes[..4096].chunks(4).zip(0..);
        for (_, place) in entries.filter(|(entry, _)| *entry != [0; 4]) {
            places.insert((numbers[0] * 32 + (place & 31), numbers[1] * 32 + (place >> 5)));
        }
    }
    places
}

/// What anvil-parser2 and nbtlib read.
fn python(world: &Path, arguments: &[String]) -> Vec<Json> {
    let mut python = Command::new(root().join("tests/real/venv/bin/python"));
    python.arg(root().join("tests/real/worlds.py")).arg(world).args(arguments);
    let found = python.output().unwrap();
    let out = String::from_utf8(found.stdout).unwrap();
    assert!(found.status.success(), "{}", String::from_utf8_lossy(&found.stderr));
    out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}
