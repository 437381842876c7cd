use super::*;
use crate::capture::Outcome;
use crate::lint::tests::planted::body::body;
use crate::lint::tests::planted::packets::plants;
use mitmcraft_protocol::schema::{Direction, State};

/// Returns a test's failure if the first evidence is not of that packet and rule.
fn judge(script: Script, seq: u64, rule: &str, certainty: Certainty) -> Option<String> {
    let version = script.version;
    let report = explain(script.entries);
    let session = &report.sessions[0];
    let found = session.evidence.first();
    let found = found.map(|it| (it.seq, &*it.finding.rule, it.certainty));
    let names = session.headline().contains(&format!("packet {seq}"));
    (found != Some((seq, rule, certainty)) || !names).then(|| {
        format!("{version}: {rule} {certainty:?} at {seq}, found {found:?}\n{}", text(&report))
    })
}

/// Every error that the linter knows, each planted into a session that the client ends.
#[test]
fn a_packet_of_the_server_at_which_the_client_closes_is_the_first_evidence() {
    let (mut failures, mut planted) = (Vec::new(), 0);
    for version in VERSIONS {
        for plant in plants(version) {
            let rule = plant.rule.name();
            // These end no session, and a silence and a configuration have tests of their own.
            let others = ["uncompressed-above-threshold", "pack-hash-invalid", "server-silent"];
            if others.contains(&rule) || version >= 764 && rule == "registry-missing" {
                continue;
            }
            let with = |is_bad| {
                let mut script = Script::healthy(version);
                let (before, packets) = (script.seq, (plant.build)(is_bad));
                let at = packets.iter().position(|packet| packet.is_at_fault).unwrap_or(0);
                for packet in packets {
                    script = script.sent(&packet);
                }
                (script.close("closed by the client"), before + at as u64 + 1)
            };
            let (good, _) = with(false);
            let good = explained(good);
            let (name, is_well) = (plant.name, good.headline().contains("nothing is wrong"));
            if !is_well {
                failures.push(format!("{version}: {name}, healthy: {}", good.headline()));
                continue;
            }
            let (bad, seq) = with(true);
            let bad = explained(bad);
            let is_found = first(&bad) == Some((seq, rule.to_owned()));
            let is_sure = bad.evidence.first().is_some_and(|it| it.finding.certain);
            let expected = match good.ending.kind {
                EndKind::Left if is_sure => EndKind::Refused,
                kind => kind,
            };
            if !is_found || bad.ending.kind != expected {
                failures.push(format!("{version}: {name}: {rule} at {seq}: {}", bad.headline()));
            }
            planted += 1;
        }
    }
    assert!(failures.is_empty(), "{} failures\n{}", failures.len(), failures.join("\n"));
    assert!(planted >= 100, "{planted}");
}

#[test]
fn what_a_client_bore_is_not_its_end() {
    for version in VERSIONS {
        // An id that the version does not have, after which the client answers and walks on.
        let script =
            Script::healthy(version).bytes(Direction::Clientbound, State::Play, vec![0xff, 1]);
        let seq = script.seq;
        let script = script.kept_alive(50).wait(20).kept_alive(51).walk();
        let found = explained(script.close("closed by the client"));
        assert!(found.is_expected(), "{}", found.headline());
        let evidence = &found.evidence[0];
        assert_eq!((evidence.seq, evidence.certainty), (seq, Certainty::Possible));
        assert!(evidence.finding.reason.ends_with(", but the client went on"));
    }
}

#[test]
fn a_packet_that_a_rule_sent_or_changed_is_judged_as_the_client_got_it() {
    for version in VERSIONS {
        let with = |outcomes: [Outcome; 2]| {
            let mut script = Script::healthy(version).asked(60);
            let place = script.entries.len();
            // The server's keep-alive, and one with a byte too many.
            script = script.asked(60);
            let seq = script.seq;
            for (entry, outcome) in script.entries[place - 1..].iter_mut().zip(outcomes) {
                let Entry::Packet(record) = entry else { panic!() };
                record.outcome = outcome;
            }
            if let Some(Entry::Packet(record)) = script.entries.last_mut() {
                let body = [&record.packet.body().unwrap()[..], &[7]].concat();
                record.packet.replace_body(body.into());
            }
            (script.close("closed by the client"), seq)
        };
        let (bad, seq) = with([Outcome::Rewrite, Outcome::Send]);
        assert_eq!(judge(bad, seq, "bytes-left", Certainty::Certain), None);
        // One that was dropped did not reach the client.
        let (good, _) = with([Outcome::Pass, Outcome::Drop]);
        assert_eq!(first(&explained(good)), None, "{version}");
    }
}

#[test]
fn an_answer_that_a_rule_held_back_is_none_for_the_server() {
    for version in VERSIONS {
        let mut script = Script::healthy(version).kept_alive(99);
        let seq = script.seq - 1;
        if let Some(Entry::Packet(record)) = script.entries.last_mut() {
            record.outcome = Outcome::Drop;
        }
        let script = script.wait(30).kick(State::Play, "Timed out");
        let script = script.close("disconnected by the server: Timed out");
        assert_eq!(judge(script, seq, "keep-alive-unanswered", Certainty::Certain), None);
    }
}

#[test]
fn words_of_a_server_lead_to_their_packet() {
    let mut failures = Vec::new();
    for version in VERSIONS {
        let healthy = || Script::healthy(version);
        let kicked = |script: Script, words: &str| {
            script.kick(State::Play, words).close(&format!("disconnected by the server: {words}"))
        };
        // A kick by a plugin, and one by an operator.
        let seq = healthy().seq + 1;
        failures.extend(judge(
            kicked(healthy(), "Too much lag"),
            seq,
            "disconnect-text",
            Certainty::Possible,
        ));
        failures.extend(judge(
            kicked(healthy(), "Kicked by an operator"),
            seq,
            "disconnect-text",
            Certainty::Certain,
        ));
        // No answer to a keep-alive.
        let asked = healthy().asked(99);
        let seq = asked.seq;
        let script = kicked(asked.walk().wait(30), "Timed out");
        failures.extend(judge(script, seq, "keep-alive-unanswered", Certainty::Certain));
        // A position that is not a number.
        let moved = healthy().position(f64::NAN);
        let seq = moved.seq;
        let script = kicked(moved, "Invalid move player packet received");
        failures.extend(judge(script, seq, "position-out-of-range", Certainty::Certain));
        // Corrections before a kick for flying.
        let corrected = healthy().teleport(2).walk().wait(1).teleport(3).walk().wait(1).teleport(4);
        let seq = corrected.seq;
        let script = kicked(corrected, "Flying is not enabled on this server");
        failures.extend(judge(script, seq, "position-corrected", Certainty::Likely));
        // A packet of the client that ends too early.
        let cut = healthy().client("position", body().f64(1.0));
        let seq = cut.seq;
        let words = "Internal Exception: io.netty.handler.codec.DecoderException: x";
        failures.extend(judge(kicked(cut, words), seq, "bytes-missing", Certainty::Certain));
        // The same without a word.
        let cut = healthy().client("position", body().f64(1.0)).close("closed by the server");
        failures.extend(judge(cut, seq, "bytes-missing", Certainty::Certain));
    }
    assert!(failures.is_empty(), "{} failures\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn a_packet_of_the_client_beyond_a_limit_of_the_server_is_found() {
    for version in VERSIONS {
        let large = body().text("a:b").raw(&[7; 32_768]);
        let script = Script::healthy(version).client("custom_payload", large);
        let seq = script.seq;
        let script = script.close("closed by the server");
        assert_eq!(judge(script, seq, "length-invalid", Certainty::Likely), None);
    }
}

#[test]
fn the_end_of_a_login_leads_to_its_packet() {
    let mut failures = Vec::new();
    for version in VERSIONS {
        let login = || Script::login(version);
        let refused = |script: Script, words: &str| {
            let said = script.kick(State::Login, words);
            said.close(&format!("disconnected by the server: {words}"))
        };
        let request = |script: Script| {
            let request = body().text("").counted(&body().raw(&[1; 162])).counted(&body().i32(7));
            let request = if version >= 766 { request.i8(1) } else { request };
            script.server_in(State::Login, "encryption_begin", request)
        };
        let response = |script: Script| {
            let secret = body().counted(&body().raw(&[2; 128])).counted(&body().raw(&[3; 128]));
            script.client_in(State::Login, "encryption_begin", secret)
        };
        for (script, seq, rule, certainty) in [
            // The handshake has the version.
            (
                refused(login(), "Outdated client! Please use 1.7.10"),
                1,
                "version-differs",
                Certainty::Certain,
            ),
            (
                refused(login(), "You are not white-listed on this server!"),
                3,
                "disconnect-text",
                Certainty::Certain,
            ),
            (
                refused(
                    login(),
                    "If you wish to use IP forwarding, please enable it in your BungeeCord config as well!",
                ),
                1,
                "forwarding-missing",
                Certainty::Certain,
            ),
            (
                refused(response(request(login())), "Failed to verify username!"),
                4,
                "account-unverified",
                Certainty::Certain,
            ),
            (
                response(request(login())).close("closed by the server"),
                4,
                "account-unverified",
                Certainty::Likely,
            ),
            (login().close("closed by the server"), 2, "account-unverified", Certainty::Likely),
            (
                request(login()).close("closed by the client"),
                3,
                "account-unverified",
                Certainty::Likely,
            ),
            (
                login().wait(30).close("closed by the client"),
                2,
                "join-incomplete",
                Certainty::Likely,
            ),
        ] {
            failures.extend(judge(script, seq, rule, certainty));
        }
    }
    assert!(failures.is_empty(), "{} failures\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn a_connection_that_breaks_or_is_silent_leads_to_its_last_packet() {
    let mut failures = Vec::new();
    for version in VERSIONS {
        let healthy = || Script::healthy(version).asked(70);
        let seq = healthy().seq;
        let walked = |script: Script| script.wait(10).walk().wait(10).walk().wait(11);
        for (script, seq, rule, certainty) in [
            (
                healthy().close("lost the server: connection reset"),
                seq,
                "connection-lost",
                Certainty::Likely,
            ),
            (
                healthy().close("lost the client: connection reset"),
                seq - 1,
                "connection-lost",
                Certainty::Likely,
            ),
            (
                healthy().close("closed by the server"),
                seq - 1,
                "closed-without-a-word",
                Certainty::Possible,
            ),
            // The server sends nothing more, and the client gives up.
            (
                walked(healthy()).close("closed by the client"),
                seq,
                "server-silent",
                Certainty::Certain,
            ),
        ] {
            failures.extend(judge(script, seq, rule, certainty));
        }
    }
    // A client of 1.8 counts keep-alives alone.
    let silent = Script::healthy(47).kept_alive(70);
    let seq = silent.seq - 1;
    let silent = silent.wait(12).teleport(1).wait(9).teleport(1);
    let silent = silent.close("closed by the client");
    failures.extend(judge(silent, seq, "keep-alive-overdue", Certainty::Likely));
    assert!(failures.is_empty(), "{} failures\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn a_client_that_waits_before_its_world_leads_to_the_last_question() {
    let mut failures = Vec::new();
    for version in VERSIONS {
        let joined = Script::joined(version);
        let seq = joined.seq;
        let waited = joined.wait(9).kept_alive(1).wait(9).close("closed by the client");
        let reason = explained(waited.clone()).evidence[0].finding.reason.clone();
        let missing = match version {
            ..765 => "the client waits for its world: no position; no chunk for 18 s",
            _ => {
                "the client waits for its world: no `game_event` 13 (`game_state_change`, `level_chunks_load_start`); \
                 no chunk for 18 s"
            }
        };
        assert!(reason.starts_with(missing), "{reason}");
        failures.extend(judge(waited, seq, "join-incomplete", Certainty::Likely));
        // A player who does something is in the world.
        let acted = Script::joined(version).wait(9).kept_alive(1).walk().wait(9);
        assert_eq!(first(&explained(acted.close("closed by the client"))), None, "{version}");
        if version >= 764 {
            let script = Script::configured(version, &[]);
            let seq = script.seq;
            let script = script.wait(20).close("closed by the client");
            failures.extend(judge(script, seq, "join-incomplete", Certainty::Likely));
        }
    }
    assert!(failures.is_empty(), "{} failures\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn a_registry_that_was_not_sent_is_found_where_the_configuration_ends() {
    for version in [765, 769, 777] {
        let script = Script::configured(version, &["damage_type"]);
        let seq = script.seq;
        let script = script.close("closed by the client");
        assert_eq!(judge(script, seq, "registry-missing", Certainty::Certain), None);
    }
}
