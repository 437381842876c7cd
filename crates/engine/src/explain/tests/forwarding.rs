//! What proxies forward in front of servers that do not read it.

use super::*;
use crate::lint::tests::planted::body::{Body, body};
use crate::lint::{LintSide, Linter};
use mitmcraft_protocol::schema::State;

const PLAYER: [u8; 16] = [0xb5; 16];

const OTHER: [u8; 16] = [0x1a; 16];

/// The versions that have questions of plugins in the login, and one from before.
const VERSIONS: [i32; 3] = [393, 754, 765];

/// A handshake's host, as BungeeCord sends it.
fn forwards() -> String {
    format!("localhost\x00203.0.113.7\0{}", "b5".repeat(16))
}

fn asked(script: Script) -> Script {
    let question = body().varint(7).text("velocity:player_info").raw(&[4]);
    script.server_in(State::Login, "login_plugin_request", question)
}

fn answered(script: Script, data: &Body) -> Script {
    let answer = body().varint(7).i8(1).raw(&data.bytes);
    script.client_in(State::Login, "login_plugin_response", answer)
}

fn unanswered(script: Script) -> Script {
    script.client_in(State::Login, "login_plugin_response", body().varint(7).i8(0))
}

fn signed(id: &[u8; 16]) -> Body {
    let player = body().raw(&[7; 32]).varint(1).text("203.0.113.7");
    player.raw(id).text("Steve").varint(0)
}

fn let_in(script: Script, id: &[u8; 16]) -> Script {
    let hex: String = id.iter().map(|byte| format!("{byte:02x}")).collect();
    let dashed = [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-");
    let id = if script.version < 735 { body().text(&dashed) } else { body().raw(id) };
    let name = id.text("Steve");
    let success = if script.version >= 759 { name.varint(0) } else { name };
    script.server_in(State::Login, "success", success)
}

/// The packets that the linter finds forwarding in, and the reasons.
fn found(script: &Script) -> Vec<(u64, String)> {
    let mut linter = Linter::new(LintSide::Server);
    script.entries.iter().for_each(|entry| linter.write(entry).unwrap());
    linter.finish().unwrap();
    let findings = linter.report().findings.into_iter();
    let findings = findings.filter(|it| it.rule == "forwarding-unread");
    findings.map(|it| (it.packet().unwrap().seq(), it.reason)).collect()
}

#[test]
fn a_question_of_velocity_that_no_proxy_answers_is_found() {
    for version in VERSIONS {
        let script = unanswered(asked(Script::login(version)));
        let [(3, reason)] = &found(&script)[..] else { panic!("{version}: {:?}", found(&script)) };
        assert!(reason.contains("the client has none"), "{reason}");
        let explained = explained(script.close("closed by the server"));
        assert_eq!(first(&explained), Some((3, "forwarding-unread".to_owned())), "{version}");
        assert_eq!(explained.evidence[0].certainty, Certainty::Likely);
        // A large one is not kept.
        let question = body().varint(7).text("velocity:player_info").raw(&[4; 5000]);
        let script = Script::login(version);
        let script = script.server_in(State::Login, "login_plugin_request", question);
        assert_eq!(found(&unanswered(script)), []);
    }
}

#[test]
fn a_handshake_that_forwards_to_a_server_that_asks_otherwise_is_found() {
    for version in VERSIONS {
        let script = asked(Script::dialled(version, &forwards()));
        let [(3, reason)] = &found(&script)[..] else { panic!("{version}: {:?}", found(&script)) };
        assert!(reason.contains("BungeeCord's"), "{reason}");
    }
}

#[test]
fn a_server_that_lets_in_another_player_than_is_forwarded_is_found() {
    for version in [47, 393, 754, 765] {
        let forwarding = || Script::dialled(version, &forwards());
        let script = let_in(forwarding(), &OTHER);
        let [(3, reason)] = &found(&script)[..] else { panic!("{version}: {:?}", found(&script)) };
        let (forwarded, own) = ("b5".repeat(16), "1a".repeat(16));
        assert!(reason.contains(&forwarded) && reason.contains(&own), "{reason}");
        assert_eq!(found(&let_in(forwarding(), &PLAYER)), []);
        assert_eq!(found(&let_in(Script::login(version), &OTHER)), []);
    }
    for version in VERSIONS {
        let answered = || answered(asked(Script::login(version)), &signed(&PLAYER));
        assert_eq!(found(&let_in(answered(), &PLAYER)), [], "{version}");
        let found = found(&let_in(answered(), &OTHER));
        assert_eq!(found.len(), 1, "{version}: {found:?}");
        assert_eq!(found[0].0, 5);
    }
}

#[test]
fn words_about_forwarding_are_found_and_explained_with_what_is_forwarded() {
    let words =
        "If you wish to use IP forwarding, please enable it in your BungeeCord config as well!";
    for version in VERSIONS {
        for (script, forwarded) in
            [(Script::login(version), false), (Script::dialled(version, &forwards()), true)]
        {
            let script = script.kick(State::Login, words);
            let [(3, reason)] = &found(&script)[..] else { panic!("{:?}", found(&script)) };
            assert!(reason.starts_with("the server says `If you wish"), "{reason}");
            let long =
                Script::login(version).kick(State::Login, &format!("{words}{}", "x".repeat(5000)));
            assert!(found(&long)[0].1.len() < 500, "{version}");
            let explained =
                explained(script.close(&format!("disconnected by the server: {words}")));
            assert_eq!(first(&explained), Some((1, "forwarding-missing".to_owned())));
            let reason = &explained.evidence[0].finding.reason;
            assert_eq!(reason.contains("forwards `203.0.113.7`"), forwarded, "{reason}");
            let rules = explained.evidence.iter().map(|it| &*it.finding.rule);
            assert!(!rules.collect::<Vec<_>>().contains(&"forwarding-unread"));
        }
    }
}

#[test]
fn a_proxy_header_at_which_a_server_closes_is_the_likely_cause() {
    for version in VERSIONS {
        let header = b"PROXY TCP4 198.51.100.7 192.0.2.7 51000 25565\r\n";
        let script = Script::behind(version, header).close("closed by the server");
        let explained = explained(script);
        assert_eq!(first(&explained), Some((1, "proxy-header-refused".to_owned())), "{version}");
        // A server that answers has read it.
        let script = let_in(Script::behind(version, header), &PLAYER);
        let explained = explain(script.close("closed by the server").entries);
        let rules: Vec<_> =
            explained.sessions[0].evidence.iter().map(|it| &*it.finding.rule).collect();
        assert!(!rules.contains(&"proxy-header-refused"), "{rules:?}");
    }
}
