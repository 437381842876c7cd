//! `lint` on packets of real servers, in captures and live: no finding but true ones.

use std::sync::Arc;

use mitmcraft_engine::capture::{Entry, Record, Sink as _};
use mitmcraft_engine::lint::Linter;
use mitmcraft_engine::report::Report as _;
use mitmcraft_engine::text::LineOptions;
use mitmcraft_protocol::codec::Frame;
use mitmcraft_protocol::packet::{Content, Context, Packet, Timestamp};
use mitmcraft_protocol::schema::{Catalog, Direction, State};
use serde_json::{Value as Json, json};

use crate::online::{STEVE, services};
use crate::real_packets::packets;
use crate::support::{Program, scratch_file, text};

/// The package has one of the two that a bundle is between.
const BUNDLE_DELIMITER: [u8; 1] = [0];

#[test]
fn packets_of_real_servers_have_no_finding() {
    let mut linter = Linter::default();
    let real = packets().into_iter().filter(|it| it.body != BUNDLE_DELIMITER);
    for (session, real) in (1..).zip(real) {
        // The packets of a file do not follow each other: each is a session of its own.
        linter.begin(&real.file.display().to_string());
        let protocol = Catalog::embedded().by_name(&real.version).unwrap();
        let context = Context {
            version: Some(protocol.version()),
            ..Context::new(session, Timestamp(0), ([192, 0, 2, 1], 50000).into(), protocol)
        };
        let content = Content::Frame(Frame::from_body(real.body.into()));
        let (direction, state) = (Direction::Clientbound, State::Play);
        let packet = Packet::new(Arc::new(context), 1, Timestamp(0), direction, state, content);
        linter.write(&Entry::Packet(Record::passed(packet))).unwrap();
    }
    linter.finish().unwrap();
    let report = linter.report();
    assert_eq!(report.versions().map(|(_, packets)| packets).sum::<u64>(), 3348);
    let mut text = String::new();
    report.write_text(&mut text, &LineOptions::default());
    assert!(report.findings.is_empty(), "{text}");
}

/// Everything that the player asks for, in the order of a visit.
const ALL: &str = "join, spawn, teleport, death, respawn, leave\n";

#[test]
fn all_versions_join_a_server_of_node_minecraft_protocol_without_a_finding() {
    let mut server = Program::node("versions.js", &["--visits", "9"]);
    let upstream = format!("127.0.0.1:{}", server.port());
    let (visits, junit) = (scratch_file("visits.jsonl"), scratch_file("visits.xml"));
    let briefly = ["--stay", "0", "--pause", "0", "--patience"];
    let arguments = ["lint", &upstream, "-w", text(&visits), "--junit", text(&junit)];
    let said = Program::mitmcraft(&[&arguments[..], &briefly, &["300"]].concat()).succeed();
    assert_eq!(said.matches(ALL).count(), 8, "{said}");
    assert_eq!(said.matches("status, login, configuration, join").count(), 3, "{said}");
    assert!(said.ends_with("\n0 findings\n"), "{said}");
    let xml = std::fs::read_to_string(&junit).unwrap();
    assert_eq!(xml.matches("name=\"visit\"/>").count(), 8, "{xml}");
    assert!(!xml.contains("<failure"), "{xml}");
    // The same packets are judged in the same way later.
    let later = Program::mitmcraft(&["lint", "--capture", text(&visits)]).succeed();
    assert!(said.ends_with(&later), "{later}");

    // An error on the way: the player's health ends after three bytes.
    let rules = scratch_file("error.toml");
    let rule = "[[rule]]\nwhen = 'update_health'\nset = { health = 0.0 }\ntruncate = 3\n";
    std::fs::write(&rules, rule).unwrap();
    let mut proxy = Program::proxy(&upstream, &["-f", text(&rules)]);
    let through = format!("127.0.0.1:{}", proxy.listening());
    let arguments = ["lint", &through, "--versions", "1.16.5"];
    // The death that the player waits for never comes.
    let (status, said) = Program::mitmcraft(&[&arguments[..], &briefly, &["10"]].concat()).finish();
    assert_eq!(status.code(), Some(1), "{said}");
    assert!(said.starts_with("bytes-missing in 1.16.5"), "{said}");
    assert!(
        said.contains("update_health") && said.contains("(not seen: death, respawn)"),
        "{said}"
    );
    proxy.interrupt();
    proxy.succeed();
    server.succeed();
}

#[test]
fn a_server_that_verifies_players_lets_the_account_in_and_nobody_else() {
    let (mut services, url) = services(&[]);
    let mut server = Program::node("versions.js", &["--visits", "3", "--session-server", &url]);
    let upstream = format!("127.0.0.1:{}", server.port());
    let (token, visits) = (scratch_file("token"), scratch_file("account.jsonl"));
    let lint = |versions: &str, secret: &str, auth: &str| {
        std::fs::write(&token, format!("{secret}\n")).unwrap();
        let who = format!("{}:{}", STEVE.name, STEVE.id);
        let account =
            ["--access-token-file", text(&token), "--profile", &who, "--session-server", &url];
        let briefly = ["--stay", "0", "--pause", "0", "--patience", "300", "--auth", auth];
        let arguments = ["lint", &upstream, "--versions", versions, "-w", text(&visits)];
        let account = if auth == "account" { &account[..] } else { &[] };
        let arguments = [&arguments[..], &briefly, account, &["--overwrite"]].concat();
        let (status, said) = Program::mitmcraft(&arguments).finish();
        let capture = std::fs::read_to_string(&visits).unwrap();
        assert!(
            !(said.clone() + &capture).contains(secret),
            "the token is not printed or recorded"
        );
        (status.code(), said)
    };
    for (secret, auth, why) in [
        (
            STEVE.token,
            "offline",
            "Failed to verify username! (it verifies players, who need an account)",
        ),
        ("another-token", "account", "the account's access token is refused"),
    ] {
        let (code, said) = lint("1.8.9", secret, auth);
        assert_eq!(code, Some(1), "{said}");
        assert!(
            said.starts_with("1.8.9        status; not let in: ") && said.contains(why),
            "{said}"
        );
    }
    let (code, said) = lint("1.8.9,1.20.4,26.3", STEVE.token, "account");
    assert_eq!((code, said.matches(ALL).count()), (Some(0), 3), "{said}");
    assert!(said.ends_with("\n0 findings\n"), "{said}");

    // The witnesses: the server, and the services that it has asked.
    let joined = server.succeed();
    let joined = joined.lines().map(|line| serde_json::from_str(line).unwrap());
    let joined: Vec<Json> = joined.filter(|it: &Json| it["event"] == "join").collect();
    let id = "b50ad385-829d-3141-a216-7e7d7539ba7f";
    let steve = |number| json!({ "event": "join", "number": number, "name": "Steve", "id": id, "encrypted": true });
    assert_eq!(joined, [47, 765, 777].map(steve));
    let path = "/session/minecraft/";
    for (call, status) in [("hasJoined", 204), ("join", 403)]
        .into_iter()
        .chain([("join", 204), ("hasJoined", 200)].repeat(3))
    {
        let called = json!({ "event": "call", "path": format!("{path}{call}"), "status": status });
        assert_eq!(services.event(), called);
    }
}

/// mineflayer 4.25.0 sends its settings before the brand, and neither `tick_end` nor `player_loaded`.
#[test]
fn what_a_bot_does_differently_from_the_game_is_known() {
    for (version, expected) in [
        ("1.20.4", &["settings-order"][..]),
        ("1.21.4", &["loading-acted", "settings-order", "tick-end-missing"]),
    ] {
        let mut server = Program::node("squid.js", &["--version", version, "--port", "0"]);
        let upstream = format!("127.0.0.1:{}", server.port());
        let capture = scratch_file("bot.jsonl");
        let mut proxy = Program::proxy(&upstream, &["-w", text(&capture)]);
        let port = proxy.listening().to_string();
        Program::node("bot.js", &["--version", version, "--port", &port]).succeed();
        server.succeed();
        proxy.interrupt();
        proxy.succeed();
        let arguments = ["lint", "--capture", text(&capture), "--side", "client", "--json"];
        let said = Program::mitmcraft(&arguments).succeed();
        let report: Json = serde_json::from_str(&said).unwrap();
        let findings = report["findings"].as_array().unwrap().iter();
        let mut rules: Vec<&str> = findings.map(|it| it["rule"].as_str().unwrap()).collect();
        rules.sort_unstable();
        rules.dedup();
        assert_eq!(rules, expected, "{version}: {said}");
    }
}
