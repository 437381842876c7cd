//! Real programs of Beta 1.7.3 to 1.6.4. Here, clients and servers of 1.4.7 to 1.6.4 with tables of their own:
//! releases of node-minecraft-protocol from 2013.

mod beta;
mod cuberite;
mod saved;

use std::process::Command;

use crate::online::{Online, services};
use crate::support::{Program, read_lines, root, scratch_file, text};
use serde_json::Value as Json;

/// Starts a peer of a release.
fn peer(release: &str, role: &[&str]) -> Program {
    let folder = root().join("tests/real/old");
    assert!(folder.join("node_modules/ursa").is_dir(), "run `npm ci --prefix tests/real/old`");
    let mut command = Command::new("node");
    // Their key exchange uses the padding that all versions of the game use.
    command.args(["--no-warnings", "--security-revert=CVE-2023-46809"]);
    command.arg(folder.join("play.js")).arg(release).args(role);
    let mut peer = Program::start("play.js", command);
    assert!(peer.line().contains("Reverting"), "node says so first");
    peer
}

#[test]
fn old_clients_play_encrypted_on_old_servers_and_everything_is_decoded() {
    for (release, name) in [("1.4.7", 51), ("1.5.1", 60), ("1.6.1", 73), ("1.6.4", 78)] {
        let mut server = peer(release, &["server"]);
        let upstream = format!("127.0.0.1:{}", server.port());
        let capture = scratch_file("old.jsonl");
        let mut proxy = Program::proxy(&upstream, &["-w", text(&capture)]);
        let port = proxy.listening().to_string();
        let client = peer(release, &["client", &port]).succeed();
        let server = server.succeed();
        proxy.interrupt();
        proxy.succeed();

        assert!(client.contains("you said hello ☃"), "{client}");
        let lines = read_lines(&capture);
        let packets: Vec<&Json> = lines.iter().filter(|line| line["id"].is_u64()).collect();
        assert!(packets.iter().all(|it| it["error"].is_null() && it["packet"].is_string()));
        assert!(packets.iter().all(|it| it["protocol"] == name && it["family"] == "legacy"));
        // Every packet that an end has read is in the capture, in order.
        for (direction, log) in [("clientbound", client), ("serverbound", server)] {
            let got = log.lines().filter_map(|line| {
                let event: Json = serde_json::from_str(line).ok()?;
                event["id"].as_u64()
            });
            let arrived = packets.iter().filter(|it| it["dir"] == direction);
            let arrived = arrived.filter(|it| it["verdict"] != "rewrite");
            let arrived: Vec<u64> = arrived.filter_map(|it| it["id"].as_u64()).collect();
            assert_eq!(got.collect::<Vec<_>>(), arrived, "{release}, {direction}");
        }
        let named = |name: &str| packets.iter().find(|it| it["packet"] == name).unwrap();
        assert_eq!(named("spawn_position")["fields"]["location"]["x"], -5);
        assert_eq!(named("update_health")["fields"]["foodSaturation"], 2.5);
        assert_eq!(named("position_look")["fields"]["stance"], 65.62);
        let state = lines.iter().rfind(|line| line["event"] == "state").unwrap();
        assert!(state.to_string().contains("\"encrypted\":true"), "{state}");
    }
}

/// Each player once as the game asks, with the old calls of the session service, and once as the proxy does, with
/// today's.
#[test]
fn an_account_joins_old_servers_in_online_mode_and_verified_players_may_play_as_it() {
    for (release, auth, has_account) in [
        ("1.4.7", "account", false),
        ("1.5.1", "verify", true),
        ("1.6.1", "account", true),
        ("1.6.4", "verify", true),
    ] {
        let (services, url) = services(&[]);
        let mut server = peer(release, &["server", "0", &url]);
        let upstream = format!("127.0.0.1:{}", server.port());
        let mut online = Online::start(&upstream, &url, &["--auth", auth]);
        let port = online.port();
        let mut client = vec!["client", &port];
        if has_account {
            client.push(&url);
        }
        let client = peer(release, &client).succeed();
        assert!(client.contains("you said hello ☃"), "{release}, {auth}: {client}");
        let server = server.succeed();
        assert!(server.contains(r#"{"event":"login","name":"Steve"}"#), "{server}");
        let lines = online.finish();
        let packets: Vec<&Json> = lines.iter().filter(|line| line["id"].is_u64()).collect();
        assert!(packets.iter().all(|it| it["error"].is_null() && it["packet"].is_string()));
        services.signal("TERM");
        let calls = services.succeed();
        let count = |path: &str| {
            let called = |line: &&str| line.contains(path) && line.contains("\"status\":20");
            calls.lines().filter(called).count()
        };
        // The proxy joins for the server, which asks in its own way; these clients join whenever they have an account.
        let verifies = usize::from(auth == "verify");
        assert_eq!(count("/session/minecraft/join"), 1, "{calls}");
        assert_eq!(count("/game/checkserver.jsp"), 1, "{calls}");
        assert_eq!(count("/game/joinserver.jsp"), usize::from(has_account), "{calls}");
        assert_eq!(count("/session/minecraft/hasJoined"), verifies, "{calls}");
    }
}
