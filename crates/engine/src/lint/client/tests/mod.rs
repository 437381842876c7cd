//! A client that follows the game tick by tick, in each range of versions that differ in it, and the same client with
//! one fault at a time.

mod player;

use serde_json::json;

use super::super::LintReport;
use super::super::tests::planted::body::body;
use super::super::tests::planted::packets;
use super::ClientRule::{self, *};
use crate::report::Report as _;
use crate::text::LineOptions;
use mitmcraft_protocol::meaning::{ClientRow, Grade};
use mitmcraft_protocol::schema::{Catalog, Release, State};
use player::Player;

/// The newest version of each range whose clients order their packets in another way.
const VERSIONS: [i32; 12] = [47, 340, 754, 758, 762, 766, 767, 768, 770, 774, 776, 777];

fn text(report: &LintReport) -> String {
    let mut text = String::new();
    report.write_text(&mut text, &LineOptions::default());
    text
}

/// Plays some ticks as the game does.
fn played(version: i32) -> Player {
    let player = Player::new(version).select(3).attack().walk(2.0).kept_alive(1);
    let player =
        player.place(0, 1).swing_if_before(777).walk(3.0).ping(1).pong(1).batch().batched();
    let player = player.start_digging().swing().stand().finish_digging().walk(4.0);
    let player = player.use_item().stand().release().walk(5.0).drop_item().walk(6.0).interact();
    let player = player.walk(7.0).hurry("start").walk(8.0).hurry("stop").walk(9.0);
    let player =
        if version >= 107 { player.place(0, 5).place(1, 5).walk(10.0) } else { player.walk(10.0) };
    let mut player = player.teleport(2).walk(11.0).rotate(7.0).walk(11.5);
    // The reminder of the 20th tick.
    if player.has_ticks() || version < 107 {
        let ticks = if version < 107 { 20 } else { 19 };
        for _ in 0..ticks {
            player = player.stand();
        }
        player = player.walk(11.0);
    }
    let player = player.open_inventory().confirm_click();
    let player =
        player.open_window(4).window_state(4, 9).click(4, 9).click(0, 9).complete(1).complete(2);
    let player = player.allow_flight(4).fly().die().respawn();
    player.select(4).select(3).walk(12.0)
}

#[test]
fn a_client_that_does_what_the_game_does_has_no_finding() {
    for version in VERSIONS {
        let report = played(version).judged();
        assert!(report.findings.is_empty(), "{version}\n{}", text(&report));
        assert!(report.passed());
        assert!(report.versions().all(|(_, packets)| packets > 40), "{version}");
    }
}

type Fault = fn(Player) -> Player;

#[test]
fn faults_of_clients_are_found_in_their_packets() {
    const ALL: &[i32] = &VERSIONS;
    const TICKS: &[i32] = &[768, 770, 774, 776];
    let faults: &[(ClientRule, &[i32], Fault)] = &[
        (MoveTwice, TICKS, |it| {
            it.moved("position", 13.0, 0.0, true).bad().moved("position", 14.0, 0.0, true).end()
        }),
        (MoveTwice, TICKS, |it| {
            let it = it.rotate(8.0).moved("look", 0.0, 9.0, false);
            it.bad().moved("position", 13.0, 0.0, true).end()
        }),
        (MoveTwice, &[777], |it| {
            it.moved("position", 13.0, 0.0, true).bad().moved("position", 14.0, 0.0, true).end()
        }),
        (MoveNotLast, &[768, 770, 774, 776, 777], |it| {
            it.moved("position", 13.0, 0.0, true).bad().drop_item().end()
        }),
        (MoveNotLast, &[768, 774, 777], |it| {
            it.moved("look", 0.0, 5.0, true).bad().action("start_sprinting").end()
        }),
        (SwingOrder, &[340, 770], |it| {
            it.hear("game_state_change", body().i8(3).f32(3.0)).bad().hit(7).walk(13.0)
        }),
        (PositionOverdue, &[768, 774, 777], |it| {
            (0..19).fold(it, |it, _| it.stand()).bad().stand()
        }),
        (PositionOverdue, &[47], |it| (0..20).fold(it, |it, _| it.stand()).bad().stand()),
        (PositionRepeated, &[47, 768, 777], |it| it.walk(13.0).bad().walk(13.0)),
        (LookRepeated, &[47, 340, 754, 762, 767, 777], |it| {
            it.moved("look", 0.0, 5.0, true).end().bad().moved("look", 0.0, 5.0, true).end()
        }),
        (StatusRepeated, &[340, 754, 762, 768, 777], |it| {
            it.bad().moved("flying", 0.0, 0.0, true).end()
        }),
        (PitchInvalid, &[47, 754, 777], |it| {
            let flags = json!({ "onGround": true, "hasHorizontalCollision": false });
            let look = json!({ "yaw": 1.0, "pitch": 91.0, "onGround": true, "flags": flags });
            it.bad().say("look", look).end()
        }),
        (LoadedTwice, &[769, 774, 777], |it| it.bad().put(State::Play, "player_loaded", body())),
        (TeleportEcho, &[340, 762, 767, 770, 776], |it| {
            let it = Player { script: it.script.teleport(3), ..it };
            it.confirm(3).bad().walk(20.0)
        }),
        (AnswerUnasked, &[340, 754, 758], |it| {
            it.bad().say("teleport_confirm", json!({ "teleportId": 77 })).echo()
        }),
        (AnswerUnasked, &[767, 770, 776, 777], |it| {
            let it = it.bad().confirm(2);
            if it.version() == 777 { it } else { it.echo() }
        }),
        (AnswerUnasked, &[758, 762, 777], |it| it.bad().pong(5)),
        (AnswerUnasked, &[766, 777], |it| it.bad().batched()),
        (AnswerOrder, &[758, 768, 777], |it| it.ping(5).ping(6).bad().pong(6).pong(5)),
        (AnswerMissing, &[758, 777], |it| it.ping(5).was_bad().wait(11)),
        (AnswerMissing, &[766, 777], |it| it.batch().was_bad().wait(11).drop_item()),
        (SlotRepeated, ALL, |it| it.bad().select(3)),
        (SlotLate, &[47, 768, 777], |it| it.attack().bad().select(5).walk(13.0)),
        (SlotLate, &[47, 768, 777], |it| it.place(0, 5).bad().select(5).walk(13.0)),
        (SlotLate, &[47, 768, 777], |it| it.use_item().release().bad().select(5).walk(13.0)),
        (ClickLate, &[47, 768, 777], |it| {
            it.action("start_sprinting").bad().drop_item().walk(13.0)
        }),
        (SprintOrder, &[47], |it| {
            it.action("start_sneaking").bad().action("start_sprinting").walk(13.0)
        }),
        (SprintOrder, &[768, 770], |it| {
            it.action("start_sprinting").bad().action("start_sneaking").walk(13.0)
        }),
        (SprintOrder, &[774, 777], |it| it.action("start_sprinting").bad().input(true).walk(13.0)),
        (SprintRepeated, ALL, |it| {
            it.action("start_sprinting").walk(13.0).bad().action("start_sprinting").walk(14.0)
        }),
        (SprintRepeated, &[47, 777], |it| it.bad().action("stop_sprinting").walk(13.0)),
        (SneakRepeated, &[47, 754, 767, 770], |it| it.bad().action("stop_sneaking").walk(13.0)),
        (InputRepeated, &[768, 774, 777], |it| {
            it.input(true).walk(13.0).bad().input(true).walk(14.0)
        }),
        (SwingOrder, &[47, 340, 762, 774, 776, 777], |it| it.bad().hit(7).walk(13.0)),
        (InteractOrder, &[47, 340, 774], |it| it.bad().entity(7, 0).walk(13.0)),
        (HandOrder, &[754, 762, 777], |it| it.bad().place(1, 6).walk(13.0)),
        (UseForm, &[47], |it| it.bad().place_old(-1, 1).walk(13.0)),
        (UseForm, &[47], |it| it.bad().place_old(5, -1).walk(13.0)),
        (UseWithoutLook, &[758, 762, 766], |it| it.bad().use_item_only().walk(13.0)),
        (PlaceTwice, &[768, 777], |it| it.place(0, 5).bad().place(0, 6).walk(13.0)),
        (ReleaseUnused, &[47], |it| it.place(0, 5).walk(13.0).release().bad().release().walk(14.0)),
        (ActionPlace, ALL, |it| it.bad().dig(4, [1, 2, 3], 0, 0).walk(13.0)),
        (ActionPlace, &[762, 777], |it| it.bad().dig(4, [0, 0, 0], 0, 5).walk(13.0)),
        (DigOrder, ALL, |it| it.bad().dig(1, [1, 69, 2], 0, 0).walk(13.0)),
        (DigOrder, &[47, 754], |it| it.start_digging().bad().dig(2, [9, 69, 2], 1, 0).walk(13.0)),
        (SequenceOrder, &[762, 767, 777], |it| it.bad().place_as(0, 5, 99).walk(13.0)),
        (SequenceOrder, &[762, 777], |it| {
            it.start_digging().bad().dig(1, [1, 69, 2], 0, 4).walk(13.0)
        }),
        (SteerOnFoot, &[47, 762, 767], |it| {
            it.bad().say("steer_vehicle", json!({ "sideways": 0.0, "forward": 0.98, "jump": 0 }))
        }),
        (AttackSelf, ALL, |it| {
            if it.version() < 107 {
                it.swing().bad().hit(1).walk(13.0)
            } else {
                it.bad().hit(1).swing().walk(13.0)
            }
        }),
        (AttackInvalid, &[340, 762, 766, 774, 777], |it| it.orb(9).bad().hit(9).swing().walk(13.0)),
        (ActionEntity, ALL, |it| {
            let action = json!({ "entityId": 9, "actionId": "stop_sleeping", "jumpBoost": 0 });
            it.bad().say("entity_action", action).walk(13.0)
        }),
        (ClickForm, ALL, |it| it.bad().click_with(4, 9, 7)),
        (InventoryUnopened, &[47], |it| Player::new(it.version()).bad().click(0, 9)),
        (LecternClicked, &[754, 762, 766, 774, 777], |it| {
            let lectern = if it.version() < 765 { 16 } else { 17 };
            it.open_menu(6, lectern).bad().click(6, 9)
        }),
        (YawJumped, &[47, 340, 754, 762, 767, 777], |it| {
            let it = it.moved("look", 0.0, 170.0, true).end().moved("look", 0.0, 175.0, true).end();
            it.bad().moved("look", 0.0, -175.0, true).end()
        }),
        (RequestTwice, ALL, |it| it.bad().named_again()),
        (ChatPending, &[762, 767, 777], |mut it| {
            let chat = it.signed_chat();
            for _ in 0..4096 {
                it = it.hear("player_chat", chat.clone());
            }
            // The server ends the session, whatever the client sends then.
            it.bad().hear("player_chat", chat)
        }),
        (AnswerUnasked, &[47, 340, 754], |it| {
            let it = it.hear("transaction", body().i8(0).i16(3).i8(1));
            it.bad().put(State::Play, "transaction", body().i8(0).i16(3).i8(1))
        }),
        (WindowUnknown, ALL, |it| it.bad().click(9, 9)),
        (WindowState, &[758, 762, 770, 777], |it| it.bad().click(4, 77)),
        (RespawnAlive, ALL, |it| {
            let it = it.hear("update_health", body().f32(20.0).varint(20).f32(5.0));
            it.bad().respawn()
        }),
        (ViewDistance, &[47, 762, 777], |it| it.bad().settings_of(State::Play, 1)),
        (ChatUnseen, &[762, 767, 777], |it| {
            it.bad().put(State::Play, "message_acknowledgement", body().varint(3))
        }),
        (CompletionNumber, &[754, 777], |it| it.bad().complete(9)),
        (SignUnasked, &[754, 762], |it| {
            it.bad().say(
                "update_sign",
                json!({ "location": { "x": 1, "y": 2, "z": 3 }, "isFrontText": true,
                "text1": "a", "text2": "", "text3": "", "text4": "" }),
            )
        }),
    ];
    let (mut failures, mut planted) = (Vec::new(), 0);
    for (rule, versions, fault) in faults {
        for version in *versions {
            let mut player = played(*version);
            // A respawn is asked for only by the dead.
            if *rule == RespawnAlive {
                player = Player::new(*version);
            }
            let player = fault(player);
            let seq = player.bad.unwrap();
            let report = player.judged();
            let found =
                report.findings.iter().map(|it| (it.rule.to_string(), it.packet().unwrap().seq()));
            let found: Vec<_> = found.collect();
            if found != [(rule.name().to_owned(), seq)] {
                failures.push(format!(
                    "{version}: {} at {seq}: {found:?}\n{}",
                    rule.name(),
                    text(&report)
                ));
            }
            planted += 1;
        }
    }
    assert!(failures.is_empty(), "{} of {planted}\n{}", failures.len(), failures.join("\n"));
    assert!(planted >= 60, "{planted}");
}

/// What the game does in a version, or to a player, and no one else.
#[test]
fn exceptions_of_the_game_are_no_faults() {
    let exceptions: &[(&[i32], Fault)] = &[
        // Up to 1.12.2 a block that cannot be placed is not tried by the main hand.
        (&[340], |it| it.place(1, 6).walk(13.0)),
        // An item is dropped from the slot of before, and a miss needs none.
        (&[47, 768, 777], |it| it.drop_item().swing().select(5).walk(13.0)),
        // In a vehicle, sprinting follows the look.
        (&[768, 774, 777], |it| {
            let it = it.hear("set_passengers", body().varint(9).varint(1).varint(1));
            it.moved("look", 0.0, 5.0, true).action("start_sprinting").end()
        }),
        // Spectators since 1.21.11 attack without a swing.
        (&[774, 776, 777], |it| {
            it.hear("game_state_change", body().i8(3).f32(3.0)).hit(7).walk(13.0)
        }),
        // Since 1.9 the server can begin the use of an item.
        (&[340, 762, 777], |it| it.release().walk(13.0).release().walk(14.0)),
    ];
    for (versions, act) in exceptions {
        for version in *versions {
            let report = act(played(*version)).judged();
            assert!(report.findings.is_empty(), "{version}\n{}", text(&report));
        }
    }
}

/// A proxy in front of several servers sends Join Game again when the player changes to another.
#[test]
fn a_second_join_game_is_not_judged_as_the_first() {
    for version in [47, 754, 762] {
        let player = played(version);
        let player = Player { script: player.script.sent(&packets::joined(version)), ..player };
        // On its way when Join Game came.
        let player = player.drop_item().walk(13.0);
        let player = player.settings(State::Play).brand(State::Play).teleport(9).walk(14.0);
        let report = player.complete(1).complete(2).judged();
        assert!(report.findings.is_empty(), "{version}\n{}", text(&report));
    }
}

/// What is only known at the beginning.
#[test]
fn faults_before_the_world_are_found() {
    let faults: [(ClientRule, &[i32], &str, Fault); 3] = [
        // The client has not said that it shows the world.
        (LoadingActed, &[769, 774, 777], "player_loaded", |it| it.bad().drop_item()),
        (SettingsOrder, &[47, 754, 762], "settings", |it| it.bad().drop_item()),
        (MoveEarly, &[47, 754, 762], "position", |it| it.bad().walk(2.0)),
    ];
    for (rule, versions, first_missing, fault) in faults {
        for version in versions {
            let mut player = Player::new(*version);
            let place = player.script.entries.iter().position(|entry| {
                let kind = entry.record().and_then(|it| it.packet.kind());
                kind.is_some_and(|kind| &**kind.name() == first_missing)
            });
            player.script.entries.truncate(place.unwrap());
            player.script.seq =
                player.script.entries.last().unwrap().record().unwrap().packet.seq();
            let player = fault(player);
            let seq = player.bad.unwrap();
            let report = player.judged();
            let found: Vec<_> =
                report.findings.iter().map(|it| (&*it.rule, it.packet().unwrap().seq())).collect();
            assert_eq!(found, [(rule.name(), seq)], "{version}\n{}", text(&report));
        }
    }
    // No `tick_end` ever: 26.3 ends the session, before it is only strange.
    for (version, grade) in [(774, Grade::Differs), (777, Grade::Ends)] {
        let mut player = Player::new(version);
        player.script.entries.retain(|entry| {
            let packet = entry.record().map(|it| &it.packet);
            packet.and_then(|it| it.kind()).is_none_or(|kind| &**kind.name() != "tick_end")
        });
        for (seq, entry) in (1..).zip(player.script.entries.iter_mut().skip(1)) {
            let crate::capture::Entry::Packet(record) = entry else { panic!() };
            record.packet.set_seq(seq);
            player.script.seq = seq;
        }
        let player = player.bad().moved("position", 2.0, 0.0, true);
        // What needs ticks is not judged.
        let player = player.place(0, 5).swing_if_before(777).place(0, 6).swing_if_before(777);
        let player = player.drop_item().select(5).moved("position", 2.0, 0.0, true);
        let (seq, report) = (player.bad.unwrap(), player.judged());
        let found: Vec<_> = report
            .findings
            .iter()
            .map(|it| (&*it.rule, it.packet().unwrap().seq(), it.grade))
            .collect();
        assert_eq!(found, [("tick-end-missing", seq, Some(grade))], "{version}\n{}", text(&report));
        assert_eq!(report.passed(), grade != Grade::Ends);
        assert!(!LintReport { is_strict: true, ..report }.passed());
    }
}

#[test]
fn a_late_answer_is_an_answer() {
    let found = |player: Player| {
        let findings = player.judged().findings.into_iter();
        findings.map(|it| (it.rule.to_string(), it.certain)).collect::<Vec<_>>()
    };
    let twice = |rule: &str, certain| vec![(rule.to_owned(), certain); 2];
    for version in [766, 777] {
        let asked = Player::new(version).ping(5).batch().wait(11).drop_item();
        // While the session goes on, the answer may still come.
        let late = twice("answer-missing", false);
        assert_eq!(found(asked.clone().pong(5).batched()), late, "{version}");
        // Later questions are answered in time, before or after the late ones.
        let both = asked.clone().ping(6).batch().pong(6).batched().pong(5).batched();
        assert_eq!(found(both), late, "{version}");
        let never = asked.clone().ping(6).batch().pong(6).batched().wait(11).drop_item();
        assert_eq!(found(never), late, "{version}");
        // A second answer is one to nothing.
        let unasked = found(asked.pong(5).pong(5).batched().batched());
        assert_eq!(unasked, [twice("answer-unasked", true), late].concat(), "{version}");
        let ended = Player::new(version).ping(5).batch().wait(11);
        assert_eq!(found(ended), twice("answer-missing", true), "{version}");
    }
}

#[test]
fn a_capture_with_a_gap_says_nothing_about_the_client() {
    let mut player = played(777).bad().select(3);
    let entry = player.script.entries.remove(20);
    assert!(entry.record().is_some());
    assert!(player.judged().findings.is_empty());
}

#[test]
fn what_a_session_can_make_the_linter_keep_of_its_client_is_bounded() {
    let ping = |it: Player, number| it.ping(number);
    let asked = (0..5000).fold(Player::new(777), ping);
    let states = (0..5000).fold(asked, |it, number| it.window_state(4, number));
    let mut client = super::Client::default();
    for record in states.script.entries.iter().filter_map(crate::capture::Entry::record) {
        client.hear(record);
    }
    assert_eq!((client.answers.kept(), client.states.len()), (256, 4096));
    // What was forgotten is not called unasked, and states that were not kept not unknown.
    let player = states.pong(1).open_window(4).click(4, 4999);
    assert!(player.judged().findings.is_empty());
}

#[test]
fn large_questions_are_forgotten_before_many_small_ones() {
    let mut player = Player::new(777);
    for number in 1..100 {
        let question = body().varint(number).text("a:b").raw(&[0; 1 << 16]);
        let script = player.script.server_in(State::Login, "login_plugin_request", question);
        player = Player { script, ..player };
    }
    let mut client = super::Client::default();
    for record in player.script.entries.iter().filter_map(crate::capture::Entry::record) {
        client.hear(record);
    }
    assert_eq!(client.answers.kept(), 15);
    let answer = body().varint(1).i8(0);
    let script = player.script.client_in(State::Login, "login_plugin_response", answer);
    assert_eq!(client.say(script.entries.last().unwrap().record().unwrap(), &|_| None).len(), 0);
}

#[test]
fn every_rule_of_a_client_has_rows_and_every_row_a_rule() {
    let catalog = Catalog::embedded();
    for rule in ClientRule::ALL {
        let has_row = catalog.versions().any(|(version, _)| {
            let release = catalog.find(version).unwrap().protocol.release();
            ClientRow::find(rule.name(), release).is_some()
        });
        let is_answer = rule.name().starts_with("answer-");
        assert!(has_row != is_answer, "{}", rule.name());
    }
    let file = include_str!("../../../../../protocol/src/meaning/data/client.toml");
    let named = file.lines().filter_map(|line| line.strip_prefix("name = \"")?.strip_suffix('"'));
    for name in named {
        assert!(ClientRule::ALL.iter().any(|rule| rule.name() == name), "{name}");
    }
    assert!(ClientRow::find("move-twice", Release::V1_20_5).is_none());
}
