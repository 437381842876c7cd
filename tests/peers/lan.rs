//! `proxy --lan` in network namespaces of the test's own: what games hear on two machines.

use serde_json::json;

use crate::support::{program, root};

#[test]
fn games_hear_of_the_proxy_where_they_can_reach_it_and_nowhere_else() {
    let mut command = std::process::Command::new("unshare");
    command.args(["--net", "--map-root-user", "python3"]).arg(root().join("tests/real/lan.py"));
    command.arg(program());
    command.args(["127.0.0.1:25566", "10.9.0.1:25567", "0.0.0.0:25568", "[::]:25569"]);
    let output = command.output().expect("`unshare` of util-linux runs");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stderr}");
    let heard: Vec<serde_json::Value> = String::from_utf8(output.stdout)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let announcement =
        |port: u16, from| json!([[format!("[MOTD]mitmcraft[/MOTD][AD]{port}[/AD]"), from]]);
    let everywhere = |port| {
        let heard = announcement(port, "10.9.0.1");
        json!({ "here": heard, "there": heard })
    };
    let local = json!({ "here": announcement(25566, "127.0.0.1"), "there": [] });
    assert_eq!(heard, [local, everywhere(25567), everywhere(25568), everywhere(25569)]);
}
