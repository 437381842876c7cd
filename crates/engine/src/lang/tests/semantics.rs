use super::{Sample, expr, formula, golden, goldens};
use crate::lang::{Expr, Formula, Subject};
use mitmcraft_protocol::schema::{Catalog, Direction, State, Value, parse_uuid};
use mitmcraft_protocol::wire::{Compound, List, Nbt, Tag, TagType};

/// Checks each line of `cases`: a condition that is true (`+`) or false (`-`) for the packet.
fn check(place: &str, cases: &str) {
    let sample = golden(place);
    for line in cases.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let (sign, text) = line.split_once(' ').unwrap();
        assert_eq!(sample.matches(text), sign == "+", "{place}: {text}");
        // Each condition is also negated, including those on absent fields.
        let negated = format!("not ({text})");
        assert_eq!(sample.matches(&negated), sign == "-", "{place}: {negated}");
        // Facts about a packet type are evaluated early in a condition, and not in a formula: both
        // must agree on every packet.
        let (condition, formula) = (expr(text), formula(&format!("not not ({text})")));
        for sample in goldens() {
            let value = formula.value(&sample.packet());
            assert_eq!(value, Some(Value::Bool(condition.matches(&sample.packet()))), "{text}");
        }
    }
}

#[test]
fn names_states_and_directions_are_conditions_by_themselves() {
    check(
        "play serverbound chat 0",
        r#"
        + chat
        + cha*
        + c?at
        + *
        - login
        - entity_*
        + play
        - status
        - state.login
        + state.play
        + serverbound
        - clientbound
        + true
        - false
        + chat and serverbound and not clientbound
        + chat && serverbound || false
        + !clientbound
        - login or clientbound
        + (login or chat) and play
        + login or chat and play
        "#,
    );
    check("login clientbound success 0", "+ state.login\n- login\n+ success");
    check("play clientbound login 0", "- state.login\n+ login\n+ login and play");
}

#[test]
fn packets_are_found_by_official_names_and_by_role() {
    check(
        "play clientbound map_chunk 0",
        "+ level_chunk_with_light
        + level_chunk_*
        + level_chunk_with_light.x == -9
        + level_chunk_*.x.exists
        - block_update
        - role.chat",
    );
    // `chat` is a name in the tables too, and has that meaning only.
    check(
        "play serverbound chat 0",
        "+ role.chat and chat
        + role.chat.message matches \"game\"
        + role.chat.message.exists
        - role.chat and clientbound
        - role.chat.content.exists
        - role.disconnect",
    );
    check("play clientbound chat 0", "+ role.chat and clientbound");
    check("play serverbound position 0", "+ move_player_pos\n+ role.position\n- player_position");
    check("play clientbound position 0", "- move_player_pos\n+ role.position\n+ player_position");
    check("play clientbound kick_disconnect 0", "+ role.disconnect\n- disconnect");
    check("login clientbound disconnect 0", "+ role.disconnect\n+ disconnect");
}

#[test]
fn attributes_of_every_packet_have_a_prefix() {
    check(
        "play serverbound chat 0",
        r#"
        + pkt.name == "chat"
        + pkt.name contains "ha"
        + pkt.name
        + pkt.id == 0x01
        + pkt.id in {0x15, 0x01..0x03}
        - pkt.id in {0x15, 0x02..0x03}
        + pkt.dir == "serverbound"
        + pkt.state == "play"
        + pkt.state in {"login", "play"}
        + pkt.size == 13
        + pkt.size <= 13 and not (pkt.size < 13)
        + pkt.wire == pkt.size + 2
        + pkt.time > 3 and pkt.time < 3.5 and pkt.time == 3.25
        + pkt.n == 42
        + pkt.origin == "server"
        + pkt.verdict != "drop"
        - pkt.comment
        - pkt.marked
        + not pkt.marked and pkt.marked == false
        - pkt.error
        - pkt.error contains "bytes"
        + pkt.protocol == 47 and pkt.version == "1.8"
        + pkt.body contains 67:61:6d:65
        + pkt.body contains "game"
        + pkt.body matches "^\x01\x0b/"
        + len(pkt.body) == pkt.size
        + session.id == 1
        + session.player == "Notch"
        + session.player.exists
        + session.client matches "^127\."
        + lower(session.server) contains "example.org"
        "#,
    );
}

#[test]
fn marks_are_part_of_the_comment_that_captures_have() {
    let packet = golden("play clientbound update_time 0").packet();
    let holds = |text: &str, comment| {
        let subject = Subject { comment: Some(comment), ..(&packet).into() };
        expr(text).matches(subject)
    };
    assert!(holds("pkt.marked", "slow; #marked"));
    assert!(holds("pkt.comment contains \"slow\" and pkt.comment", "slow; #marked"));
    assert!(!holds("pkt.marked", "not #marked"));
    assert!(expr("chat or pkt.comment == \"x\"").asks_comments());
    assert!(expr("not pkt.marked").asks_comments());
    assert!(!expr("pkt.verdict == \"send\"").asks_comments());
}

#[test]
fn a_packet_that_does_not_decode_has_an_error_and_the_fields_before_it() {
    let mut sample = golden("play clientbound update_time 0");
    sample.body.truncate(10);
    assert!(sample.matches("pkt.error"));
    assert!(sample.matches("pkt.error contains \"time\""));
    assert!(sample.matches("update_time and age == 1234567"));
    assert!(!sample.matches("time.exists"));
    sample.body[0] = 0x7f;
    for text in ["pkt.error", "pkt.id == 0x7f", "not pkt.name.exists", "not *", "play"] {
        assert!(sample.matches(text), "{text}");
    }
    for text in ["age == 1234567", "age != 1", "pkt.name != \"x\"", "update_time"] {
        assert!(!sample.matches(text), "{text}");
    }
}

#[test]
fn text_is_compared_searched_and_changed() {
    check(
        "play serverbound chat 1",
        r#"
        + message == "Привет, 世界 😀"
        - message != "Привет, 世界 😀"
        + message != "x"
        + message contains "世界"
        - message contains "World"
        + message contains ""
        + message matches "(?i)ПРИВЕТ"
        + message matches "^\w+, .. .$"
        + message matches "\u{1f600}$"
        - message matches "^$"
        + lower(message) contains "привет"
        + upper(message) contains "ПРИВЕТ"
        + len(message) == 12
        + message in {"a", "Привет, 世界 😀"}
        - message in {"a"}
        + message > "A"
        - message < "A"
        + message + "!" == "Привет, 世界 😀!"
        + "<" + session.player + "> " + message contains "<Notch> П"
        + chat.message == message
        + c*t.message.exists
        + *.message.exists
        - kick_disconnect.reason.exists
        "#,
    );
}

#[test]
fn numbers_of_every_width_are_compared_exactly() {
    check(
        "play clientbound position 1",
        r#"
        + x == -0.1
        + y == 1.62 and y > 1.61 and y < 1.63
        + z == 29999984 and z in {1, 29999984}
        + yaw == -1080.5
        + abs(yaw) == 1080.5
        + hex(flags) == "0x1f" and hex(pkt.id) == "0x08" and hex(-20) == "-0x14"
        + hex(pkt.body) matches "^08[0-9a-f]+1f$" and len(hex(pkt.body)) == pkt.size * 2
        - hex(0a:ff) != "0aff"
        + flags == 31 and flags == 0x1f and flags % 2 == 1
        + flags in {0..30, 31} and flags in {30.5..31.5} and flags != 31.5
        - flags in {32..40, -1}
        + flags + 1 == 32 and flags * 2 - 2 == 60 and flags / 2 == 15
        + -flags == -31 and -(flags - 1) < 0
        - flags / 0 == 0
        - flags / 0 != 0
        + x != y
        "#,
    );
    check(
        "play clientbound abilities 0",
        r#"
        + flyingSpeed == 0.05
        - flyingSpeed != 0.05
        - flyingSpeed < 0.05
        + walkingSpeed <= 0.1 and walkingSpeed >= 0.1
        + flyingSpeed == 0.025 + 0.025
        + flyingSpeed in {0.05}
        + flyingSpeed in {0.04..0.05}
        + flyingSpeed < walkingSpeed
        "#,
    );
    check(
        "play clientbound update_time 1",
        r#"
        + age == 9223372036854775807
        - age == 9223372036854775806
        - age == 9223372036854775808
        + age < 9223372036854775808
        - age == 9223372036854775807.0
        + age + 1 == 9223372036854775808
        - age * age > 0
        + time == -18000 and time < -1 and abs(time) == 18000
        "#,
    );
}

#[test]
fn a_mapped_number_is_its_name_and_its_number() {
    check(
        "play clientbound difficulty 3",
        r#"
        + difficulty == "hard" and difficulty != "easy"
        + *.difficulty == 3 and difficulty > 2 and difficulty in {3} and difficulty in {"hard"}
        - difficulty == 2
        + difficulty contains "ar" and difficulty matches "^h"
        + upper(difficulty) == "HARD" and len(difficulty) == 4
        + difficulty + 1 == 4 and difficulty + "!" == "hard!"
        "#,
    );
    // A number without a name.
    check("play clientbound difficulty 4", "+ difficulty == 4\n- difficulty == \"hard\"");
}

#[test]
fn bools_bytes_and_uuids_compare_with_their_kind() {
    check(
        "play serverbound flying 0",
        "+ onGround == true\n- onGround == false\n- onGround != true\n+ onGround\n+ flying.onGround",
    );
    check(
        "play serverbound flying 1",
        "- onGround\n+ flying and not onGround\n+ onGround in {false}",
    );
    check(
        "play clientbound custom_payload 3",
        r#"
        + data == 00:ff:7f:80
        + data contains ff:7f
        + data contains :80
        - data contains ff:80
        + data != 00:ff
        + len(data) == 4
        + data > 00:fe
        "#,
    );
    check(
        "play clientbound custom_payload 0",
        r#"
        + data contains "vanilla"
        + data matches "^.vanilla$"
        + data matches r"(?-u:\x07)van"
        - data == "vanilla"
        + channel == "MC|Brand"
        "#,
    );
    check(
        "play clientbound named_entity_spawn 0",
        r#"
        + playerUUID == "069a79f4-44e9-4726-a5be-fca90e38aaf5"
        + playerUUID == "069A79F444E94726A5BEFCA90E38AAF5"
        - playerUUID != "069a79f4-44e9-4726-a5be-fca90e38aaf5"
        + playerUUID != "b50ad385-829d-3141-a216-7e7d7539ba7f"
        + playerUUID in {"069a79f4-44e9-4726-a5be-fca90e38aaf5"}
        + playerUUID matches "^069a"
        + playerUUID contains "44e9"
        "#,
    );
}

#[test]
fn a_packets_name_is_compared_with_its_official_one_too() {
    check(
        "play clientbound map_chunk 0",
        r#"
        + pkt.name == "level_chunk_with_light" and pkt.name == "map_chunk"
        + pkt.name in {"level_chunk_with_light"} and pkt.name in {"sound", "map_chunk"}
        - pkt.name != "level_chunk_with_light"
        - pkt.name == "set_health" or pkt.name in {"set_health"}
        + pkt.name != "set_health"
        - pkt.name contains "level"
        "#,
    );
    check(
        "play clientbound difficulty 3",
        "+ pkt.name == \"change_difficulty\"\n+ pkt.name in {\"change_difficulty\"}",
    );
    let refused = Expr::parse(r#"pkt.name != "change_difficulty""#, Catalog::embedded());
    let hint = refused.unwrap_err().hint.unwrap();
    assert_eq!(hint, r#"write `not (pkt.name in {"difficulty", "set_difficulty"})`"#);
}

#[test]
fn parts_of_a_handshakes_host_have_fields() {
    check(
        "handshaking serverbound set_protocol 3",
        r#"
        + payload.host == "localhost" and payload.forge == "FML"
        + set_protocol.payload.forge matches "^FML" and serverHost contains "FML"
        - payload.forwarded.exists or payload.shield.address.exists
        - payload.host == serverHost
        "#,
    );
    check(
        "handshaking serverbound set_protocol 0",
        r#"
        + payload.host == "localhost" and payload.host == serverHost
        - payload.forge.exists
        "#,
    );
    let refused = Expr::parse(r#"payload.shield.adress == "x""#, Catalog::embedded()).unwrap_err();
    assert_eq!(refused.hint.as_deref(), Some("did you mean `address`?"));
}

#[test]
fn payloads_of_plugin_channels_have_fields() {
    check(
        "play clientbound custom_payload 0",
        r#"
        + payload.brand == "vanilla" and payload.exists
        + custom_payload.payload.brand contains "nil" and data contains "nil"
        + role.plugin_message.payload.brand matches "^v"
        - payload.channels.exists
        - payload.subchannel == "Connect"
        - payload.channels[-1] == "FML"
        "#,
    );
    // No payload of its channel.
    check("play clientbound custom_payload 3", "- payload.exists\n+ data.exists");
    let channels = payload(b"FML|HS\0FML\0");
    assert!(
        channels.matches(r#"payload.channels[-1] == "FML" and payload.channels[0] == "FML|HS""#)
    );
    assert!(channels.matches(r#"payload.channels[*] == "FML" and len(payload.channels) == 2"#));
    assert!(!channels.matches(r#"payload.channels[*] == """#));
    assert_eq!(channels.value("upper(payload.channels[1])"), Some(Value::from("FML")));
    let refused = Expr::parse(r#"payload.brnd == "x""#, Catalog::embedded()).unwrap_err();
    assert_eq!(refused.hint.as_deref(), Some("did you mean `brand`?"));
    let refused = Expr::parse("payload == 3", Catalog::embedded());
    assert!(refused.is_ok(), "`client_command` has a field of that name");
    let refused = Expr::parse("custom_payload.payload == 3", Catalog::embedded()).unwrap_err();
    assert!(refused.to_string().contains("container"), "{refused}");
}

fn payload(data: &[u8]) -> Sample {
    let body = [&[0x3f, 8], &b"REGISTER"[..], data].concat();
    Sample::new(State::Play, Direction::Clientbound, body)
}

#[test]
fn a_comparison_with_an_absent_field_is_false() {
    check(
        "play clientbound spawn_entity 0",
        r#"
        + objectData.exists
        - velocity.exists
        - velocity.x == 0
        - velocity.x != 0
        + not (velocity.x == 0)
        - velocity.x in {0}
        - abs(velocity.x) >= 0
        - velocity.x + 1 != 0
        - message == "x"
        - message != "x"
        - message contains ""
        - message matches ""
        - len(message) >= 0
        - message.exists
        - chat.message != "x"
        "#,
    );
    check("play clientbound spawn_entity 1", "+ velocity.exists\n+ velocity.x == -1343");
    let mut sample = golden("play serverbound chat 0");
    sample.player = None;
    assert!(!sample.matches("session.player"));
    assert!(!sample.matches("session.player != \"Notch\""));
}

#[test]
fn indexes_count_from_both_ends_and_a_star_is_any() {
    check(
        "play clientbound entity_destroy 0",
        r#"
        + entityIds[0] == 1
        + entityIds[-1] == -2147483648
        + entityIds[-6] == 1
        - entityIds[-7] != 1
        - entityIds[6].exists
        + entityIds[2] == 300
        + entityIds[*] == 300
        - entityIds[*] == 301
        + entityIds[*] != 300
        + not (entityIds[*] in {301..302})
        + entityIds[*] > 2147483646
        + len(entityIds) == 6
        + entityIds.exists
        + entityIds[*].exists
        + entityIds[*] + entityIds[*] == 301
        + -entityIds[*] == 2147483648
        "#,
    );
    check(
        "play clientbound window_items 0",
        r#"
        + items[*].itemDamage == 12
        + items[2].itemDamage == 12 and items[-1].itemCount.exists
        - items[0].itemCount.exists
        + items[0].blockId == -1
        - items[*].blockId == 277
        + windowId == 0 and items[*].blockId in {276}
        "#,
    );
    check(
        "play clientbound window_items 1",
        "+ len(items) == 0\n- items[*].exists\n- items[-1].exists",
    );
    check(
        "play clientbound tab_complete 0",
        r#"
        + matches[*] == "Notch"
        + matches[2] matches "^/"
        + matches[*] matches "^Zo"
        + lower(matches[*]) == "notch"
        + len(matches[*]) == 0
        - matches[*] contains "z"
        "#,
    );
}

#[test]
fn indexes_from_the_end_work_in_lists_without_a_count() {
    check(
        "play clientbound named_entity_spawn 0",
        r#"
        + metadata[0].type == 0
        + metadata[1].value == 300
        + metadata[*].value == "Zoë 😀"
        + len(metadata) > 2
        + metadata[-1].exists
        - metadata[-1].key == metadata[0].key
        + metadata[-1].key == metadata[*].key
        - metadata[-100].exists
        "#,
    );
    check(
        "play clientbound named_entity_spawn 2",
        "+ metadata[-1].value == 2147483647\n+ len(metadata) == 1",
    );
    check("play clientbound named_entity_spawn 1", "- metadata[-1].exists\n+ len(metadata) == 0");
}

#[test]
fn nbt_is_addressed_by_path() {
    check(
        "play clientbound set_slot 2",
        r#"
        + item.nbtData.exists
        + item.nbtData.ench[0].id == 16
        + item.nbtData.ench[*].lvl == 5
        + item.nbtData.ench[-1].id.exists
        + item.nbtData."ench"[0].id > 15
        - item.nbtData.ench[0].nothing.exists
        - item.nbtData.nothing != 1
        + len(item.nbtData.ench) == 1
        + len(item.nbtData) >= 1
        + set_slot.item.nbtData.ench[*].id in {16}
        "#,
    );
    check("play clientbound set_slot 0", "- item.nbtData.exists\n- item.nbtData.x.exists");
    check(
        "play clientbound tile_entity_data 0",
        r#"
        + nbtData.id == "MobSpawner" and nbtData.x == -9
        + nbtData.id matches "^Mob" and lower(nbtData.id) == "mobspawner"
        "#,
    );
    check(
        "play clientbound update_entity_nbt 0",
        r#"
        + tag.CustomName == "Зоя"
        + tag.Health == 20.0 and tag.Health == 20
        + tag.Pos[0] == -9.5 and tag.Pos[*] == 12.25 and tag.Pos[-1] == 12.25
        "#,
    );
}

#[test]
fn the_text_function_returns_plain_text() {
    check(
        "play clientbound chat 0",
        r#"+ text(message) == "Hello"
        + message contains "text" and not (text(message) contains "text")"#,
    );
    check("play clientbound chat 1", r#"+ text(message) == "<Zoë> 你好,世界 😀 Привет""#);
    check("play clientbound kick_disconnect 1", r#"+ text(reason) == "Забанен 😀""#);
    check("play serverbound chat 0", r#"+ text(message) == "/gamemode 1""#);
    check("play clientbound update_sign 0", r#"+ text(update_sign.text1) == "Willkommen""#);
}

#[test]
fn words_are_replaced_and_parts_are_taken() {
    check(
        "play serverbound chat 1",
        r#"
        + replace(message, "世.", "world") == "Привет, world 😀"
        + replace(message, "xyz", "$$") == message
        + replace(message, "(?<who>\w+), (\w+)", "$2 $who $$1 ${0}!") == "世界 Привет $1 Привет, 世界! 😀"
        + replace(message, "", "-") == "-П-р-и-в-е-т-,- -世-界- -😀-"
        + slice(message, 0, 6) == "Привет" and slice(message, 8) == "世界 😀"
        + slice(message, -1) == "😀" and slice(message, -4, -2) == "世界"
        + slice(message, 5, 2) == "" and slice(message, 99) == "" and slice(message, -99, 1) == "П"
        + slice(message, len(message) - 1) == "😀"
        + replace(slice(upper(message), 0, 3), "Р", "r") == "ПrИ"
        - replace(message, ".", "12345678901234567890") contains "x"
        "#,
    );
    let slice = golden("play serverbound chat 1").value("slice(message, 0, 1 / 0)");
    assert_eq!(slice, None, "a place without a value");
}

#[test]
fn texts_of_a_component_are_replaced_each_on_its_own() {
    let chat = |json: &str| {
        let (protocol, chat) = (super::java_47(), golden("play clientbound chat 0"));
        let (packet, _) = chat.identify().unwrap();
        let fields = [("message", Value::from(json)), ("position", Value::Int(0))];
        let fields = fields.map(|(name, value)| (name.into(), value)).to_vec();
        let body = protocol.encode(packet, &Value::Map(fields)).unwrap();
        Sample::new(State::Play, Direction::Clientbound, body)
    };
    let cases = [
        (
            r#"{"text":"darn","color":"red","extra":["oh darn",{"text":"da"},{"text":"rn","bold":true}]}"#,
            r#"{"text":"****","color":"red","extra":["oh ****",{"text":"da"},{"text":"rn","bold":true}]}"#,
        ),
        (
            r#"{"translate":"chat.type.darn","with":["darn",{"text":"darn","insertion":"darn"},7]}"#,
            r#"{"translate":"chat.type.darn","with":["****",{"text":"****","insertion":"darn"},7]}"#,
        ),
        (r#"["darn", "dar"]"#, r#"["****","dar"]"#),
        (r#""darn""#, r#""****""#),
        // What is not changed stays byte for byte, and what is no component is text.
        (r#"{ "text" : "fine" }"#, r#"{ "text" : "fine" }"#),
        (r#"{"darn": 1}"#, r#"{"****": 1}"#),
        ("{darn", "{****"),
    ];
    for (json, expected) in cases {
        let value = chat(json).value(r#"replace(message, "darn", "****")"#);
        assert_eq!(value, Some(expected.into()), "{json}");
    }
    // A text of the game has at most 32,767 characters, in all of its parts together.
    let twice = format!(r#"["{0}","{0}"]"#, "x".repeat(10_000));
    for (with, fits) in [("y", true), ("é", true), ("yy", false), ("yyyyyyyyy", false)] {
        let value = chat(&twice).value(&format!(r#"replace(message, "x", "{with}")"#));
        assert_eq!(value.is_some(), fits, "{with}");
    }
}

#[test]
fn texts_of_a_component_in_nbt_are_replaced() {
    let text = |text: &str| Tag::Text(text.as_bytes().to_vec().into());
    let compound = |entries: Vec<(&'static str, Tag)>| {
        let entries = entries.into_iter().map(|(name, tag)| (name.as_bytes().into(), tag));
        Tag::Compound(Compound { entries: entries.collect() })
    };
    let component = |word: &str, other: &str| {
        let parts = vec![
            compound(vec![("", text(word))]),
            compound(vec![("text", text("da")), ("bold", Tag::Byte(1))]),
        ];
        compound(vec![
            ("translate", text(other)),
            ("with", Tag::List(List::new(TagType::Compound, parts.clone()))),
            ("extra", Tag::List(List::new(TagType::Compound, parts))),
            ("insertion", text(other)),
        ])
    };
    let protocol = Catalog::embedded().find(769).unwrap().protocol;
    let packet =
        protocol.packets().iter().find(|packet| **packet.name() == *"system_chat").unwrap();
    let content = |root: Tag| Value::Nbt(Box::new(Nbt { name: None, root }));
    let fields =
        [("content", content(component("darn", "darn"))), ("isActionBar", Value::Bool(false))];
    let fields = fields.map(|(name, value)| (name.into(), value)).to_vec();
    let body = protocol.encode(packet, &Value::Map(fields)).unwrap();
    let sample = Sample {
        protocol: protocol.clone(),
        ..Sample::new(State::Play, Direction::Clientbound, body)
    };
    let value = sample.value(r#"replace(content, "d(ar)n", "<$1>")"#);
    assert_eq!(value, Some(content(component("<ar>", "darn"))));
}

#[test]
fn conditions_can_be_values() {
    check(
        "play serverbound chat 0",
        r#"
        + (chat and serverbound) == true
        + (message contains "game") != (message contains "xyz")
        - (message == "x") == true
        "#,
    );
}

#[test]
fn a_formula_returns_a_value_of_the_fields_kind() {
    let chat = golden("play serverbound chat 0");
    assert_eq!(chat.value("message"), Some("/gamemode 1".into()));
    assert_eq!(chat.value("upper(message) + \"!\""), Some("/GAMEMODE 1!".into()));
    assert_eq!(chat.value("len(message) * 2"), Some(Value::Int(22)));
    assert_eq!(chat.value("\"x\""), Some("x".into()));
    assert_eq!(chat.value("-1"), Some(Value::Int(-1)));
    assert_eq!(chat.value("message + 1 + 2"), Some("/gamemode 112".into()));
    assert_eq!(chat.value("message contains \"1\""), Some(Value::Bool(true)));
    assert_eq!(chat.value("session.player + \": \" + message"), Some("Notch: /gamemode 1".into()));
    assert_eq!(chat.value("pkt.body"), Some(Value::Bytes(chat.body.clone().into())));
    assert_eq!(chat.value("kick_disconnect.reason"), None);
    assert_eq!(chat.value("1 / 0"), None);
    let health = golden("play clientbound update_health 0");
    assert_eq!(health.value("health"), Some(Value::Float32(20.0)));
    assert_eq!(health.value("health / 2"), Some(Value::Float64(10.0)));
    assert_eq!(health.value("food + 1"), Some(Value::Int(21)));
    let uuid = parse_uuid("069a79f4-44e9-4726-a5be-fca90e38aaf5").unwrap();
    let spawn = golden("play clientbound named_entity_spawn 0");
    assert_eq!(spawn.value("playerUUID"), Some(Value::Uuid(uuid)));
    let difficulty = golden("play clientbound difficulty 3");
    assert_eq!(difficulty.value("difficulty"), Some("hard".into()));
    let slot = golden("play clientbound set_slot 2");
    assert_eq!(slot.value("item.nbtData.ench[0].id"), Some(Value::Int(16)));
    let protocol = super::java_47();
    let (packet, start) = slot.identify().unwrap();
    let decoded = protocol.decode(packet, &slot.body, start).unwrap();
    assert_eq!(slot.value("item.nbtData").as_ref(), decoded.get("item").unwrap().get("nbtData"));
    let ids = golden("play clientbound entity_destroy 0");
    assert_eq!(ids.value("entityIds[*]"), Some(Value::Int(1)));
}

#[test]
fn an_expression_keeps_its_text() {
    assert_eq!(expr("chat  and play").to_string(), "chat  and play");
    assert_eq!(format!("{:?}", expr("chat")), "Expr(\"chat\")");
}

#[test]
fn many_fields_and_deep_conditions_are_evaluated() {
    let sample = golden("play clientbound position 1");
    let all = "x.exists and y.exists and z.exists and yaw.exists and pitch.exists and flags == 31";
    assert!(sample.matches(all));
    let deep = format!("{}flags == 31{}", "not (".repeat(48), ")".repeat(48));
    assert!(sample.matches(&deep));
    let sum = format!("{}flags == 31", "0 + ".repeat(96));
    assert!(sample.matches(&sum));
}

#[test]
fn expressions_are_shared_between_threads() {
    fn is_shared<T: Send + Sync + Clone>() {}
    is_shared::<Expr>();
    is_shared::<Formula>();
}

#[test]
fn values_are_what_their_names_say() {
    check(
        "play clientbound spawn_entity_living 0",
        r#"
        + type is creeper
        + spawn_entity_living and type is "minecraft:creeper"
        - type is zombie
        - spawn_entity.type is arrow
        + distance(x, y, z, x, y, z) == 0
        + distance(x, y, z, x / 32, y / 32, z / 32) >= 0
        "#,
    );
    check("play clientbound login 0", "+ difficulty is easy\n- difficulty is hard");
    check(
        "play serverbound block_place 0",
        "+ heldItem is stone\n+ heldItem.blockId is stone\n- heldItem is diamond_sword",
    );
    check("play clientbound window_items 0", "+ items[*] is stone or items[*].blockId is stone");
    // A flag, also beside a number with a name.
    let mut abilities = golden("play clientbound abilities 0");
    abilities.body[1] = 0x05;
    assert!(abilities.matches("flags is invulnerable and flags is \"allow flying\""));
    assert!(!abilities.matches("flags is flying or flags is creative"));
    let mut login = golden("play clientbound login 0");
    login.body[5] = 0x09;
    assert!(login.matches("gameMode is creative and gameMode is hardcore"));
    assert!(!login.matches("gameMode is survival"));
    // A mapped number.
    check("play clientbound player_info 0", "+ action is add_player\n- action is update_latency");
}

#[test]
fn distances_are_in_blocks() {
    let living = golden("play clientbound spawn_entity_living 0");
    // -3216, 2048 and 8008 in units of 1/32 block.
    assert!(living.matches("distance(x, y, z, -100.5, 64, 250.25) == 0"));
    assert!(living.matches("distance(x, y, z, -100.5, 60, 253.25) == 5"));
    assert!(!living.matches("distance(x, y, z, 0, 64, 0) < 10"));
    let value = formula("distance(x, y, z, -100.5, 60, 253.25)").value(&living.packet());
    assert_eq!(value, Some(Value::Float64(5.0)));
    // Other packets have positions in blocks.
    let position = golden("play serverbound position 0");
    assert!(position.matches("distance(x, y, z, x, y, z + 2) == 2"));
}
