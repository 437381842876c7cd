//! A server of Alpha of November 2010, which `tests/real/mineserver` builds, behind the proxy.

use std::io::Write as _;
use std::net::TcpListener;
use std::process::Command;

use crate::support::{Program, read_lines, scratch_file, text};
use serde_json::Value as Json;

#[test]
#[ignore = "needs the program that `tests/real/mineserver` builds, in MINESERVER_PROGRAM: `tests/run --long` does both"]
fn a_server_of_2010_plays_a_recorded_session_through_the_proxy() {
    let program = std::env::var("MINESERVER_PROGRAM").expect("MINESERVER_PROGRAM is not set");
    let folder = scratch_file("mineserver");
    std::fs::create_dir_all(folder.join("world")).unwrap();
    std::fs::write(folder.join("world/level.dat"), level()).unwrap();
    // It takes no port of the system's choice.
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let config = format!(
        "ip = \"127.0.0.1\"\nport = {}\nmapdir = \"world\"\nuserlimit = 5\nmap_release_time = 10\n",
        free.port()
    );
    std::fs::write(folder.join("config.cfg"), config).unwrap();
    for file in ["admin.txt", "motd.txt", "rules.txt", "items.txt"] {
        std::fs::write(folder.join(file), "\n").unwrap();
    }
    let mut command = Command::new(program);
    command.current_dir(&folder);
    let mut server = Program::start("mineserver", command);
    while !server.line().contains("Listening on") {}

    let capture = scratch_file("alpha.jsonl");
    let mut proxy = Program::proxy(&free.to_string(), &["-w", text(&capture)]);
    let address = format!("127.0.0.1:{}", proxy.listening());
    let recorded = concat!(env!("CARGO_MANIFEST_DIR"), "/captures/session-alpha.jsonl");
    let replay = ["replay", "client", recorded, &address, "--patience", "0.5s"];
    let (_, told) = Program::mitmcraft(&replay).fail();
    assert!(told.contains("1 session in the game, 1 replayed to the end"), "{told}");
    proxy.interrupt();
    proxy.succeed();

    let lines = read_lines(&capture);
    let packets: Vec<&Json> = lines.iter().filter(|line| line["packet"].is_string()).collect();
    let bad: Vec<_> = packets.iter().filter(|line| line["error"].is_string()).collect();
    assert!(bad.is_empty(), "{bad:?}");
    let count = |name: &str, direction: &str| {
        packets.iter().filter(|it| it["packet"] == name && it["dir"] == direction).count()
    };
    assert!(packets.iter().all(|it| it["protocol"] == 5 && it["family"] == "alpha"));
    assert_eq!(count("login", "clientbound"), 1);
    assert!(count("map_chunk", "clientbound") > 0);
    // What the client says comes back: the server has understood it.
    let said = |direction: &str, part: &str| {
        packets.iter().any(|it| {
            it["packet"] == "chat"
                && it["dir"] == direction
                && it["fields"]["message"].as_str().is_some_and(|text| text.contains(part))
        })
    };
    let line = packets.iter().find(|it| it["packet"] == "chat" && it["dir"] == "serverbound");
    let line = line.unwrap()["fields"]["message"].as_str().unwrap();
    assert!(said("clientbound", line), "{line}");
}

/// Returns a world's file: where players begin, the time and the seed.
fn level() -> Vec<u8> {
    let mut nbt = b"\x0a\0\0\x0a\0\x04Data".to_vec();
    for (name, value) in [("SpawnX", 0), ("SpawnY", 70), ("SpawnZ", 0)] {
        nbt.extend([3, 0, name.len() as u8]);
        nbt.extend(name.bytes().chain(i32::to_be_bytes(value)));
    }
    for (name, value) in [("Time", 0), ("RandomSeed", 42)] {
        nbt.extend([4, 0, name.len() as u8]);
        nbt.extend(name.bytes().chain(i64::to_be_bytes(value)));
    }
    nbt.extend([0, 0]);
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(&nbt).unwrap();
    gzip.finish().unwrap()
}
