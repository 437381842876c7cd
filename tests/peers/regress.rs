//! Another build of a real server is compared with a recorded one.

use std::fs;
use std::path::Path;

use serde_json::Value as Json;

use crate::support::{Program, scratch_file, text};

/// 1.8, 1.16.5, 1.20.4 and 1.21.4.
const VERSIONS: [&str; 4] = ["47", "754", "765", "769"];

/// What another build does otherwise, and what is reported of it: the kind, the packet and the fields.
const PLANTED: [(&str, &str); 7] = [
    (
        "when = 'clientbound and custom_payload and channel contains \"noise\"'\ndrop = true",
        "missing custom_payload",
    ),
    (
        "when = 'clientbound and login'\nlimit = 1\nset = { maxPlayers = '=maxPlayers + 1' }",
        "changed login maxPlayers",
    ),
    (
        "when = 'clientbound and custom_payload and channel contains \"big\"'\nset = { data = '=data' }\ntruncate = 40",
        "changed custom_payload data",
    ),
    ("when = 'store_cookie'\nset = { key = 'test:other' }", "changed store_cookie key"),
    (
        "when = 'clientbound and system_chat and isActionBar == false'\nlimit = 1\nset = { isActionBar = true }",
        "changed system_chat isActionBar",
    ),
    (
        "when = 'registry_data'\nlimit = 1\nset = { id = 'minecraft:other' }",
        "changed registry_data id",
    ),
    ("when = 'kick_disconnect'\ncopy = 1", "new kick_disconnect"),
];

#[test]
fn another_run_of_a_server_does_not_deviate_and_another_build_does() {
    let again = (VERSIONS.len() + PLANTED.len() + 1).to_string();
    let options = ["--numbers", &VERSIONS.join(","), "--again", &again];
    let mut server = Program::node("versions.js", &options);
    let upstream = format!("127.0.0.1:{}", server.port());
    let baseline = scratch_file("baseline.jsonl");
    let mut proxy = Program::proxy(&upstream, &["-w", text(&baseline)]);
    server.tell(&proxy.listening().to_string());
    while server.event()["event"] != "visited" {}
    proxy.interrupt();
    proxy.succeed();

    // How late a keep-alive comes depends on the machine here, and no rule plants it.
    let normalisation = scratch_file("normalise.toml");
    fs::write(&normalisation, "late = \"1h\"\n").unwrap();
    let regress = |upstream: &str, version: &str, more: &[&str]| {
        let session = session_of(&baseline, version).to_string();
        let normalise = ["--normalise", text(&normalisation)];
        let arguments = ["regress", text(&baseline), upstream, "--session", &session];
        let arguments = [&arguments[..], &normalise].concat();
        Program::mitmcraft(&[&arguments, more].concat()).finish()
    };
    for version in VERSIONS {
        let (status, said) = regress(&upstream, version, &[]);
        assert_eq!(status.code(), Some(0), "{version}: {said}");
    }
    let junit = scratch_file("regress.xml");
    for (rule, deviation) in PLANTED {
        let rules = scratch_file("build.toml");
        fs::write(&rules, format!("[[rule]]\n{rule}\n")).unwrap();
        let mut build = Program::proxy(&upstream, &["-f", text(&rules)]);
        let build_address = format!("127.0.0.1:{}", build.listening());
        let more = ["--json", "--junit", text(&junit), "--overwrite"];
        let (status, said) = regress(&build_address, "769", &more);
        assert_eq!(status.code(), Some(1), "{rule}: {said}");
        let report: Json = serde_json::from_str(&said).unwrap();
        let found: Vec<String> =
            report["deviations"].as_array().unwrap().iter().map(described).collect();
        assert_eq!(found, [deviation], "{rule}");
        let xml = fs::read_to_string(&junit).unwrap();
        assert!(xml.contains("failures=\"1\""), "{xml}");
        build.interrupt();
        build.succeed();
    }
    let (status, _) = regress(&upstream, "769", &["--junit", text(&junit), "--overwrite"]);
    assert_eq!(status.code(), Some(0));
    let xml = fs::read_to_string(&junit).unwrap();
    assert!(xml.contains("failures=\"0\""), "{xml}");
    server.succeed();
}

/// A server that lets players appear at random places. What its packets mean is checked as well.
#[test]
fn flying_squid_has_no_finding_and_does_not_deviate_between_two_runs() {
    for version in ["1.8.8", "1.16.5", "1.20.4", "1.21.4"] {
        let mut server = Program::node("squid.js", &["--version", version, "--sessions", "2"]);
        let upstream = format!("127.0.0.1:{}", server.port());
        let baseline = scratch_file("squid.jsonl");
        let visit = ["lint", &upstream, "--versions", version, "-w", text(&baseline)];
        let briefly = ["--stay", "0", "--pause", "0", "--patience", "0.5"];
        let said = Program::mitmcraft(&[&visit[..], &briefly].concat()).succeed();
        assert!(said.contains("join, spawn") && said.contains("leave"), "{said}");
        assert!(said.ends_with("\n0 findings\n"), "{said}");
        let arguments = ["regress", text(&baseline), &upstream];
        let (status, said) = Program::mitmcraft(&arguments).finish();
        assert_eq!(status.code(), Some(0), "{version}: {said}");
        server.succeed();
    }
}

/// Returns the kind, the packet and the changed fields of a deviation.
fn described(deviation: &Json) -> String {
    let [kind, packet] = ["kind", "packet"].map(|key| deviation[key].as_str().unwrap());
    let changes = deviation["changes"].as_array().into_iter().flatten();
    let fields = changes.map(|change| change["path"].as_str().unwrap());
    [kind, packet].into_iter().chain(fields).collect::<Vec<_>>().join(" ")
}

/// Returns the number of the session of that protocol number.
fn session_of(capture: &Path, version: &str) -> u64 {
    let version: i64 = version.parse().unwrap();
    let lines = crate::support::read_lines(capture);
    let line = lines.iter().find(|line| line["protocol"] == version).unwrap();
    line["session"].as_u64().unwrap()
}
