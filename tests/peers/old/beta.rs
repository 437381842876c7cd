//! Two players of Beta 1.7.3 on mc173-server, a server of another project: what it says in chat, and what it
//! saves, tell what the packets must say.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value as Json;

use super::saved;
use crate::support::{Program, read_lines, root, scratch_file, text, wait_for};

#[test]
#[ignore = "needs the crate mc173-server in target/tools: `tests/run --long` installs it"]
fn two_players_of_beta_1_7_3_play_on_a_server_that_knows_what_it_sent() {
    let folder = scratch_file("mc173");
    fs::create_dir_all(&folder).unwrap();
    let log = folder.join("log");
    // It always listens on port 25565, so it gets a network of its own.
    let mut command = Command::new("unshare");
    command.args(["--net", "--map-root-user", "sh", "-c"]);
    command.arg("ip link set lo up && exec \"$0\" >log 2>&1");
    command.arg(root().join("target/tools/bin/mc173-server"));
    let server = Program::start("mc173", {
        command.current_dir(&folder).env("RUST_LOG", "info");
        command
    });
    assert!(wait_for(|| fs::read_to_string(&log).is_ok_and(|log| log.contains("server bound"))));
    let beside = |program: &Path| {
        let mut command = Command::new("nsenter");
        command.args(["--user", "--net", "--preserve-credentials", "--target"]);
        command.arg(server.id().to_string()).arg(program);
        command
    };
    let capture = scratch_file("beta.jsonl");
    let mut proxy = beside(Path::new(env!("CARGO_BIN_EXE_mitmcraft")));
    proxy.args(["proxy", "127.0.0.1:25565", "-l", "127.0.0.1:0", "-q", "-w", text(&capture)]);
    let mut proxy = Program::start("mitmcraft", proxy);
    let port = proxy.listening().to_string();
    let mut players = beside(Path::new("node"));
    players.arg(root().join("tests/real/old/beta.js")).arg(port);
    let told = Program::start("beta.js", players).succeed();
    proxy.interrupt();
    proxy.succeed();
    drop(server);

    let told: Vec<Json> = told.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let lines = read_lines(&capture);
    let packets: Vec<&Json> = lines.iter().filter(|line| line["body"].is_string()).collect();
    for it in &packets {
        let decoded = it["error"].is_null() && it["packet"].is_string();
        assert!(decoded && it["protocol"] == 14 && it["family"] == "legacy", "{it}");
    }
    saved::same_bytes(&told, &packets, &[]);
    what_the_server_says(&told, &packets);
    let seen: BTreeSet<&str> = packets.iter().map(|it| it["packet"].as_str().unwrap()).collect();
    for name in ["entity_metadata", "explosion", "open_window", "map_chunk", "multi_block_change"] {
        assert!(seen.contains(name), "{name}: {seen:?}");
    }
    assert!(seen.len() >= 40, "{seen:?}");
    what_the_server_saves(&folder.join("test_world/region"), &packets);
}

/// Checks that the server's answers are in the packets as text, and that other packets say the same.
fn what_the_server_says(told: &[Json], packets: &[&Json]) {
    let find = |name: &str, fields: &[(&str, Json)]| {
        packets.iter().any(|it| {
            it["packet"] == name
                && it["dir"] == "clientbound"
                && fields.iter().all(|(path, value)| it["fields"].pointer(path) == Some(value))
        })
    };
    let mut checked = BTreeSet::new();
    for answer in told.iter().filter(|it| it["event"] == "answer") {
        let [line, label, value] =
            ["line", "answer", "value"].map(|key| answer[key].as_str().unwrap());
        assert!(find("chat", &[("/message", format!("§a{label}§r {value}").into())]), "{answer}");
        let id = || Json::from(value.parse::<i64>().unwrap());
        let agrees = match line {
            "/spawn pig" | "/spawn sheep" | "/spawn creeper" | "/spawn slime" => {
                let kind = match line {
                    "/spawn pig" => 90,
                    "/spawn sheep" => 91,
                    "/spawn creeper" => 50,
                    _ => 55,
                };
                find("spawn_entity_living", &[("/entityId", id()), ("/type", kind.into())])
            }
            "/spawn boat" => find("spawn_entity", &[("/entityId", id()), ("/type", 1.into())]),
            "/spawn minecart" => find("spawn_entity", &[("/entityId", id()), ("/type", 10.into())]),
            "/weather rain" => find("game_state_change", &[("/reason", 1.into())]),
            "/weather clear" => find("game_state_change", &[("/reason", 2.into())]),
            "/effect record_13" => {
                find("world_event", &[("/effectId", 1005.into()), ("/data", 2000.into())])
            }
            "/explode" => {
                let place: Vec<f64> = serde_json::from_str(value).unwrap();
                find(
                    "explosion",
                    &[("/x", place[0].into()), ("/y", place[1].into()), ("/z", place[2].into())],
                )
            }
            _ => continue,
        };
        assert!(agrees, "{answer}");
        checked.insert(line);
    }
    assert_eq!(checked.len(), 10, "{checked:?}");
}

/// Checks that chunks which have not changed since they were sent are as the server has saved them.
fn what_the_server_saves(regions: &Path, packets: &[&Json]) {
    let saved = saved::chunks(regions);
    let changed = saved::changed(packets);
    let mut compared = BTreeSet::new();
    for it in packets.iter().filter(|it| it["packet"] == "map_chunk") {
        let contents = saved::contents(it);
        let section = &contents.columns[0].sections[0];
        let [x, bottom, z] = section.origin;
        let chunk = (x >> 4, z >> 4);
        let whole = section.len() == 16 * 16 * 128;
        let Some(level) = saved.get(&chunk).filter(|_| whole && !changed.contains(&chunk)) else {
            continue;
        };
        let blocks = array(level, "Blocks", 1 << 15);
        let halves = ["Data", "BlockLight", "SkyLight"].map(|name| array(level, name, 1 << 14));
        for (index, block) in (0..).zip(blocks) {
            let [data, block_light, sky_light] = halves.map(|it| saved::half(it, index));
            let at = index as i32;
            let (x, y, z) = (x + (at >> 11), bottom + (at & 127), z + (at >> 7 & 15));
            let state = u32::from(*block) << 4 | u32::from(data);
            assert_eq!(section.state(x, y, z), Some(state), "{x}, {y}, {z}");
            let light = (Some(block_light), Some(sky_light));
            assert_eq!(section.light(x, y, z), light, "{x}, {y}, {z}");
        }
        compared.insert(chunk);
    }
    assert!(compared.len() >= 5, "{compared:?}");
}

/// Returns the array of bytes with that name and length in NBT, whose end is missing.
fn array<'b>(nbt: &'b [u8], name: &str, length: usize) -> &'b [u8] {
    let mut head = vec![7, 0, name.len() as u8];
    head.extend(name.as_bytes());
    head.extend((length as u32).to_be_bytes());
    let start = nbt.windows(head.len()).position(|it| it == head).unwrap() + head.len();
    &nbt[start..start + length]
}
