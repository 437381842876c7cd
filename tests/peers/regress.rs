//! Another build of a real server is compared with a recorded one.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value as Json;

use crate::support::{Program, scratch_file, text};

/// 1.8, 1.16.5, 1.20.4 and 1.21.4.
const VERSIONS: [&str; 4] = ["47", "754", "765", "769"];

/// Sessions at the same time: what takes the time is waiting.
const AT_ONCE: usize = 12;

/// What another build does otherwise in each of these versions, as a filter file, and what is reported of it: the
/// kind, the packet and the fields. `CHAT` and `TEXT` stand for `chat` and `message`, since 1.19 `system_chat` and
/// `content`.
const PLANTED: [(&str, &str); 12] = [
    // A packet dropped, twice, and one more, in three ways.
    (
        "[[rule]]\nwhen = 'clientbound and custom_payload and channel contains \"noise\"'\ndrop = true",
        "missing custom_payload",
    ),
    ("[[rule]]\nwhen = 'clientbound and CHAT'\nlimit = 1\ndrop = true", "missing CHAT"),
    ("[[rule]]\nwhen = 'kick_disconnect'\ncopy = 1", "new kick_disconnect"),
    (
        "[[rule]]\nwhen = 'clientbound and custom_payload and channel contains \"noise\"'\ncopy = 1",
        "new custom_payload",
    ),
    (
        "[[rule]]\nwhen = 'clientbound and login'\nlimit = 1\nsend = [{ to = 'client', packet = \
         'update_health', fields = { health = 20.0, food = 20, foodSaturation = 5.0 } }]",
        "new update_health",
    ),
    // A field off by one, others changed, data cut off.
    (
        "[[rule]]\nwhen = 'clientbound and login'\nlimit = 1\nset = { maxPlayers = '=maxPlayers + 1' }",
        "changed login maxPlayers",
    ),
    (
        "[[rule]]\nwhen = 'clientbound and login'\nlimit = 1\nset = { reducedDebugInfo = true }",
        "changed login reducedDebugInfo",
    ),
    (
        "[[rule]]\nwhen = 'clientbound and custom_payload and channel contains \"noise\"'\nset = { channel = 'test:other' }",
        "changed custom_payload channel",
    ),
    (
        "[[rule]]\nwhen = 'clientbound and custom_payload and channel contains \"big\"'\nset = { data = '=data' }\ntruncate = 40",
        "changed custom_payload data",
    ),
    (
        "[[rule]]\nwhen = 'clientbound and CHAT'\nlimit = 1\nset = { TEXT = '\"other\"' }",
        "changed CHAT TEXT",
    ),
    (
        "[[rule]]\nwhen = 'kick_disconnect'\nset = { reason = '\"other\"' }",
        "changed kick_disconnect reason",
    ),
    // Another order.
    (
        "[[rule]]\nwhen = 'clientbound and custom_payload and channel contains \"big\"'\ndelay = \"300ms\"\nreorder = true",
        "moved custom_payload",
    ),
];

/// The same with packets that only 1.21.4 has: a wrong entry of a registry, and others.
const LATER: [(&str, &str); 3] = [
    ("[[rule]]\nwhen = 'store_cookie'\nset = { key = 'test:other' }", "changed store_cookie key"),
    (
        "[[rule]]\nwhen = 'clientbound and system_chat and isActionBar == false'\nlimit = 1\nset = { isActionBar = true }",
        "changed system_chat isActionBar",
    ),
    (
        "[[rule]]\nwhen = 'registry_data'\nlimit = 1\nset = { id = 'minecraft:other' }",
        "changed registry_data id",
    ),
];

#[test]
fn another_run_of_a_server_does_not_deviate_and_another_build_does() {
    let again = VERSIONS.len() * (1 + PLANTED.len()) + LATER.len() + 1;
    let options = ["--numbers", &VERSIONS.join(","), "--again", &again.to_string()];
    let mut server = Program::node("versions.js", &options);
    let upstream = format!("127.0.0.1:{}", server.port());
    let baseline = scratch_file("baseline.jsonl");
    let mut proxy = Program::proxy(&upstream, &["-w", text(&baseline)]);
    server.tell(&proxy.listening().to_string());
    while server.event()["event"] != "visited" {}
    proxy.interrupt();
    proxy.succeed();

    let normalisation = unhurried();
    let regress = |upstream: &str, version: &str, more: &[&str]| {
        let session = session_of(&baseline, version).to_string();
        let normalise = ["--normalise", text(&normalisation)];
        let arguments = ["regress", text(&baseline), upstream, "--session", &session];
        let arguments = [&arguments[..], &normalise].concat();
        Program::mitmcraft(&[&arguments, more].concat())
    };
    let runs = VERSIONS.map(|version| (version, regress(&upstream, version, &[])));
    for (version, run) in runs {
        let (status, said) = run.finish();
        assert_eq!(status.code(), Some(0), "{version}: {said}");
    }
    let mut failures = Vec::new();
    let everywhere = PLANTED.iter().flat_map(|plant| VERSIONS.map(|version| (plant, version)));
    let later = LATER.iter().map(|plant| (plant, VERSIONS[3]));
    let plants: Vec<_> = everywhere.chain(later).collect();
    for plants in plants.chunks(AT_ONCE) {
        let runs = plants.iter().map(|((rules, deviation), version)| {
            let (chat, field) = match version.parse::<i32>().unwrap() {
                ..759 => ("chat", "message"),
                _ => ("system_chat", "content"),
            };
            let named = |text: &str| text.replace("CHAT", chat).replace("TEXT", field);
            let (file, junit) = (scratch_file("build.toml"), scratch_file("regress.xml"));
            fs::write(&file, named(rules)).unwrap();
            let mut build = Program::proxy(&upstream, &["-f", text(&file)]);
            let address = format!("127.0.0.1:{}", build.listening());
            let run = regress(&address, version, &["--json", "--junit", text(&junit)]);
            (named(rules), named(deviation), build, junit, run)
        });
        for (rules, deviation, build, junit, run) in runs.collect::<Vec<_>>() {
            let (status, said) = run.finish();
            let report: Json = serde_json::from_str(&said).unwrap();
            let found: Vec<String> =
                report["deviations"].as_array().unwrap().iter().map(described).collect();
            let xml = fs::read_to_string(&junit).unwrap();
            if (status.code(), &found[..]) != (Some(1), &[deviation][..])
                || !xml.contains("failures=\"1\"")
            {
                failures.push(format!("{rules}\nfound {found:?}\n{said}\n{xml}"));
            }
            build.interrupt();
            build.succeed();
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    let junit = scratch_file("regress.xml");
    let (status, _) = regress(&upstream, "769", &["--junit", text(&junit)]).finish();
    assert_eq!(status.code(), Some(0));
    let xml = fs::read_to_string(&junit).unwrap();
    assert!(xml.contains("failures=\"0\""), "{xml}");
    server.succeed();
}

/// A server that lets players appear at random places. What its packets mean is checked as well.
///
/// In the recorded session each side has waited for the other, and the replay does so again: what comes in which order
/// does not depend on how fast the two are.
#[test]
fn flying_squid_has_no_finding_and_does_not_deviate_between_two_runs() {
    let normalisation = unhurried();
    for version in ["1.8.8", "1.16.5", "1.20.4", "1.21.4"] {
        let mut server = Program::node("squid.js", &["--version", version, "--sessions", "3"]);
        let upstream = format!("127.0.0.1:{}", server.port());
        let visit = ["lint", &upstream, "--versions", version];
        let briefly = ["--stay", "0", "--pause", "0", "--patience", "0.5"];
        let said = Program::mitmcraft(&[&visit[..], &briefly].concat()).succeed();
        assert!(said.contains("join, spawn") && said.contains("leave"), "{said}");
        assert!(said.ends_with("\n0 findings\n"), "{said}");
        has_left(&mut server);

        let baseline = scratch_file("squid.jsonl");
        let mut proxy = Program::proxy(&upstream, &["-w", text(&baseline)]);
        let port = proxy.listening().to_string();
        Program::node("turns.js", &["--version", version, "--port", &port]).succeed();
        has_left(&mut server);
        proxy.interrupt();
        proxy.succeed();
        let linted = Program::mitmcraft(&["lint", "--capture", text(&baseline)]).succeed();
        assert!(linted.ends_with("\n0 findings\n"), "{linted}");

        let options = ["--normalise", text(&normalisation), "--patience", "60"];
        let arguments = [&["regress", text(&baseline), &upstream], &options[..]].concat();
        let (status, said) = Program::mitmcraft(&arguments).finish();
        assert_eq!(status.code(), Some(0), "{version}: {said}");
        server.succeed();
    }
}

/// Waits until a player has left a flying-squid server: it lets nobody in twice at a time.
fn has_left(server: &mut Program) {
    while server.event()["event"] != "left" {}
}

/// Returns a normalisation for two runs on this machine: how late a keep-alive or the time of day comes depends on what
/// else runs here.
fn unhurried() -> PathBuf {
    let normalisation = scratch_file("normalise.toml");
    fs::write(&normalisation, "late = \"1h\"\n").unwrap();
    normalisation
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
