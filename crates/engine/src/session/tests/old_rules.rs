//! Rules on what is older than 1.7: pings in all their forms, Alpha's NBT.

use std::time::Duration;

use hex_literal::hex;

use super::old::{login, plain_with};
use super::old_pings::ANSWERS;
use super::*;
use crate::filter::RuleSet;
use mitmcraft_protocol::packet::Content;
use mitmcraft_protocol::wire::Tag;

pub(super) fn rules(file: &str) -> Pipeline {
    let checked = RuleSet::parse(file, Catalog::embedded());
    let faults: Vec<String> = checked.faults.iter().map(|fault| fault.render("f")).collect();
    let set = checked.rules.unwrap_or_else(|| panic!("{}", faults.join("\n")));
    let mut pipeline = Pipeline::default();
    pipeline.push(Box::new(set.filter()));
    pipeline
}

/// Nothing happens for longer than the rest of a ping may take.
fn quiet(pair: &mut Pair) {
    pair.clock += 600_000_000;
    pair.input(Input::Timeout);
}

fn utf16(text: &str) -> Vec<u8> {
    let units: Vec<u16> = text.encode_utf16().collect();
    let length = u16::try_from(units.len()).unwrap();
    [length].into_iter().chain(units).flat_map(u16::to_be_bytes).collect()
}

fn kick(text: &str) -> Vec<u8> {
    [&[0xff][..], &utf16(text)].concat()
}

/// A request of 1.6 with the right length.
fn request(host: &str, port: i32) -> Vec<u8> {
    let front = [&hex!("fe 01 fa")[..], &utf16("MC|PingHost")].concat();
    let rest = [&[74][..], &utf16(host), &port.to_be_bytes()].concat();
    let length = u16::try_from(rest.len()).unwrap().to_be_bytes();
    [&front[..], &length, &rest].concat()
}

#[test]
fn rules_set_the_parts_of_an_answer_in_both_forms() {
    let set = |what: &str| {
        rules(&format!("[[rule]]\nwhen = 'kick_disconnect and motd.exists'\nset = {{ {what} }}"))
    };
    for size in SIZES {
        for (came, what, went) in [
            ("A§0§10", "motd = 'B §2C', online = '=online + 3'", "B §2C§3§10"),
            (
                "§1\x0074\x001.6.2\0A\x005\x0020",
                "motd = '§aB'",
                "§1\x0074\x001.6.2\0§aB\x005\x0020",
            ),
            (
                "§1\x0074\x001.6.2\0A\x005\x0020",
                "protocolVersion = 78, version = '1.6.4', max = -1",
                "§1\x0078\x001.6.4\0A\x005\0-1",
            ),
            ("A§0§10", "reason = 'Closed'", "Closed"),
            (
                "A§0§10",
                "reason = \"§1\\u000061\\u00001.5\\u0000B\\u00001\\u00002\"",
                "§1\x0061\x001.5\0B\x001\x002",
            ),
            // Not one of them, and no rule's business.
            ("Closed", "motd = 'B'", "Closed"),
        ] {
            let mut pair = plain_with(size, set(what));
            pair.send(Side::Client, &hex!("fe"));
            pair.send(Side::Server, &kick(came));
            assert_eq!(pair.got(Side::Client), kick(went), "{came} {what} {:?}", pair.comments());
        }
    }
}

#[test]
fn a_part_that_does_not_fit_leaves_the_answer_as_it_was_and_says_so() {
    for (what, why) in [
        ("motd = \"§1\\u0000\"", "something else"),
        ("version = '1.6.4'", "neither `reason`"),
        ("motd = 'a', reason = 'b'", "no place"),
    ] {
        let rules = rules(&format!("[[rule]]\nwhen = 'kick_disconnect'\nset = {{ {what} }}"));
        let mut pair = plain_with(usize::MAX, rules);
        pair.send(Side::Client, &hex!("fe"));
        pair.send(Side::Server, &kick("A§0§10"));
        assert_eq!(pair.got(Side::Client), kick("A§0§10"));
        let comments = pair.comments();
        let comment = comments.last().unwrap().unwrap();
        assert!(comment.contains(why), "{what}: {comment}");
    }
}

#[test]
fn a_rule_that_sets_what_is_there_already_changes_no_byte() {
    for size in SIZES {
        for answer in ANSWERS {
            let rules =
                rules("[[rule]]\nset = { motd = '=motd', max = '=max' }\nwhen = 'max.exists'");
            let mut pair = plain_with(size, rules);
            pair.send(Side::Client, &hex!("fe 01"));
            pair.send(Side::Server, answer);
            assert_eq!(pair.got(Side::Client), *answer);
            assert!(pair.records().iter().all(|record| record.outcome == Outcome::Pass));
        }
    }
}

#[test]
fn the_length_of_a_request_follows_the_host_that_a_rule_sets() {
    let file =
        "[[rule]]\nwhen = 'legacy_server_list_ping'\nset = { serverHost = 'mc.example.org' }";
    for size in SIZES {
        let mut pair = plain_with(size, rules(file));
        pair.send(Side::Client, &request("localhost", 25565));
        assert_eq!(pair.got(Side::Server), request("mc.example.org", 25565), "{size}");
        assert_eq!(pair.seen(), ["~legacy_server_list_ping", "+legacy_server_list_ping"]);
    }
    // A length of the rule's own stays.
    let mut pair = plain_with(7, rules(&file.replace("set = {", "set = { length = 3,")));
    pair.send(Side::Client, &request("localhost", 25565));
    let mut expected = request("mc.example.org", 25565);
    expected[27..29].copy_from_slice(&[0, 3]);
    assert_eq!(pair.got(Side::Server), expected);
}

#[test]
fn a_request_that_rules_judge_goes_on_when_it_is_whole_or_has_not_grown_for_a_while() {
    let file = "[[rule]]\nwhen = 'legacy_server_list_ping'\ncomment = 'seen'";
    for size in SIZES {
        for form in [&hex!("fe")[..], &hex!("fe 01"), &hex!("fe 01 fa")] {
            for ends in ["quiet", "close", "answer"] {
                let mut pair = plain_with(size, rules(file));
                pair.send(Side::Client, form);
                assert_eq!(pair.got(Side::Server), b"");
                let settles = pair.session.poll_timeout().unwrap();
                assert!(settles > Timestamp(pair.clock) && settles < Timestamp(2_000_000_000));
                match ends {
                    "quiet" => {
                        quiet(&mut pair);
                        let next = pair.session.poll_timeout().unwrap();
                        assert!(next > Timestamp(pair.clock), "nothing is left to be waited for");
                    }
                    "close" => pair.input(Input::Closed(Side::Client)),
                    _ => pair.send(Side::Server, ANSWERS[0]),
                }
                assert_eq!(pair.got(Side::Server), form, "{ends}");
                assert_eq!(pair.comments()[0], Some("seen"));
                pair.send(Side::Server, ANSWERS[0]);
                assert!(pair.got(Side::Client).starts_with(ANSWERS[0]));
            }
        }
    }
}

#[test]
fn a_rule_that_closes_at_the_answer_says_why_in_the_form_of_the_request() {
    let file = "[[rule]]\nwhen = 'kick_disconnect'\nclose = 'enough'";
    for (form, last) in [
        (&hex!("fe")[..], "enough§0§0"),
        (&hex!("fe 01"), "§1\x00127\0mitmcraft\0enough\x000\x000"),
    ] {
        let mut pair = plain_with(7, rules(file));
        pair.send(Side::Client, form);
        pair.send(Side::Server, ANSWERS[1]);
        assert!(pair.got(Side::Client).ends_with(&kick(last)));
    }
}

#[test]
fn rules_drop_hide_and_close_a_request() {
    let file = |action: &str| format!("[[rule]]\nwhen = 'legacy_server_list_ping'\n{action}");
    for form in [hex!("fe").to_vec(), hex!("fe 01").to_vec(), request("localhost", 1)] {
        let mut pair = plain_with(usize::MAX, rules(&file("drop = true")));
        pair.send(Side::Client, &form);
        quiet(&mut pair);
        assert_eq!(
            (pair.got(Side::Server), pair.seen()),
            (vec![], vec!["-legacy_server_list_ping".into()])
        );

        let mut pair = plain_with(usize::MAX, rules(&file("log = false")));
        pair.send(Side::Client, &form);
        quiet(&mut pair);
        assert_eq!(pair.got(Side::Server), form);
        assert!(pair.records()[0].notes.as_ref().unwrap().hidden);

        let mut pair = plain_with(usize::MAX, rules(&file("close = 'no pings here'")));
        pair.send(Side::Client, &form);
        quiet(&mut pair);
        let told = pair.got(Side::Client);
        assert!(String::from_utf8_lossy(&told).replace('\0', "").contains("no pings here"));
        assert!(pair.session.is_over());
    }
}

fn wire(packet: &Packet) -> &[u8] {
    match packet.content() {
        Content::Frame(frame) => frame.wire(),
        Content::Raw(bytes, _) => bytes,
    }
}

/// Found by fuzzing: the close event was recorded twice.
#[test]
fn a_rule_that_closes_at_a_request_cut_off_by_the_end_of_the_session_ends_it_once() {
    let file = "[[rule]]\nwhen = 'legacy_server_list_ping'\nclose = 'broken'";
    let ends: [fn() -> Input<'static>; 3] = [
        || Input::Lost(Side::Client, std::io::ErrorKind::ConnectionReset.into()),
        || Input::Lost(Side::Server, std::io::ErrorKind::ConnectionReset.into()),
        || Input::Closed(Side::Client),
    ];
    for form in [&hex!("fe 01 00 00 00 07")[..], &hex!("fe 01 fa 00 0b 00")] {
        for end in ends {
            let mut pair = plain_with(usize::MAX, rules(file));
            pair.send(Side::Client, form);
            pair.input(end());
            let closes = |entry: &Entry| matches!(entry, Entry::Event(event) if matches!(event.kind, EventKind::Close(_)));
            let last = pair.entries.last().map(closes);
            assert_eq!(
                (pair.entries.iter().filter(|it| closes(it)).count(), last),
                (1, Some(true))
            );
            assert_eq!(pair.reason(), Some("closed by a rule: broken"), "{form:02x?}");
            let records = pair.records();
            let came = records.iter().filter(|it| it.packet.direction() == Direction::Serverbound);
            let wires: Vec<u8> = came.flat_map(|it| wire(&it.packet).to_vec()).collect();
            assert_eq!(wires, form);
        }
    }
}

#[test]
fn rules_on_other_packets_hold_no_request_back() {
    let file = "[[rule]]\nwhen = 'kick_disconnect and motd == \"x\"'\ndrop = true";
    let mut pair = plain_with(1, rules(file));
    pair.send(Side::Client, &hex!("fe"));
    assert_eq!(pair.got(Side::Server), hex!("fe"));
    // Only the login's timeout is waited for.
    let last = pair.session.heard.client.max(pair.session.heard.server);
    assert_eq!(pair.session.poll_timeout(), Some(last.plus(Duration::from_secs(120))));
}

#[test]
fn a_rule_answers_a_ping_itself_by_the_parts_of_the_answer() {
    let file = "[[rule]]
when = 'legacy_server_list_ping'
drop = true
send = [{ to = 'client', packet = 'kick_disconnect', fields = { motd = 'ours', online = 1, max = 2 } }]";
    let mut pair = plain_with(7, rules(file));
    pair.send(Side::Client, &hex!("fe"));
    quiet(&mut pair);
    assert_eq!((pair.got(Side::Server), pair.got(Side::Client)), (vec![], kick("ours§1§2")));
}

#[test]
fn a_rule_changes_the_text_of_a_sign_within_its_gzip() {
    let file = "[[rule]]\nwhen = 'tile_entity_data and nbtData.id == \"Sign\"'
set = { nbtData = { Text2 = 'changed' } }";
    let protocol = Catalog::embedded().alpha(5).protocol;
    let packet = protocol.named(State::Play, Direction::Clientbound, "tile_entity_data").unwrap();
    let text = |text: &str| serde_json::json!({ "type": "string", "value": text });
    let sign = |id: &str| {
        let nbt = serde_json::json!({
            "type": "compound", "name": "",
            "value": { "id": text(id), "Text1": text("one"), "Text2": text("two") },
        });
        let location = serde_json::json!({ "x": 1, "y": 64, "z": -1 });
        Value::from_json(&serde_json::json!({ "location": location, "nbtData": nbt }))
    };
    for size in SIZES {
        let mut pair = plain_with(size, rules(file));
        pair.send(Side::Client, &login(5));
        for (id, second) in [("Sign", "changed"), ("Chest", "two")] {
            let before = pair.got(Side::Client).len();
            pair.send(Side::Server, &protocol.encode(packet, &sign(id)).unwrap());
            let got = &pair.got(Side::Client)[before..];
            let value = protocol.decode(packet, got, 1).unwrap();
            let Value::Nbt(nbt) = value.get("nbtData").unwrap().plain() else {
                panic!("{value:?}")
            };
            let Tag::Compound(root) = &nbt.root else { panic!("{nbt:?}") };
            assert_eq!(root.get("Text1"), Some(&Tag::text("one")));
            assert_eq!(root.get("Text2"), Some(&Tag::text(second)));
        }
    }
}
