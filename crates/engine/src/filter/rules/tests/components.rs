//! Chat components in every version that has them as JSON or as NBT.

use super::*;

use Direction::{Clientbound, Serverbound};

/// A packet of a version, from the JSON of its fields.
fn packet(version: i32, direction: Direction, name: &str, fields: &str) -> Packet {
    let protocol = Catalog::embedded().find(version).unwrap().protocol;
    let value = Value::from_json(&serde_json::from_str(fields).unwrap());
    let named = protocol.named(State::Play, direction, name);
    let ty = named.unwrap_or_else(|| panic!("{version} has no {name}"));
    let body = protocol.encode(ty, &value).unwrap_or_else(|it| panic!("{version} {name}: {it}"));
    let context = Context { protocol, version: Some(version), ..context() };
    let content = Content::Frame(Frame::from_body(body.into()));
    Packet::new(Arc::new(context), 1, Timestamp(0), direction, State::Play, content)
}

/// The fields of a packet, as JSON.
fn fields(packet: &Packet) -> serde_json::Value {
    let mut out = Vec::new();
    packet.write_json(&mut out).unwrap();
    serde_json::from_slice(&out).unwrap()
}

/// Applies a rule, which must act, to the packet, and returns it as changed.
fn changed(packet: &Packet, rule: &str) -> serde_json::Value {
    let (mut pipeline, _) = rules(rule);
    let judgement = pipeline.apply(packet);
    assert_eq!(judgement.effects.notes.comments, Vec::<String>::new(), "{rule}");
    let Verdict::Replace(body) = judgement.verdict else { panic!("{rule}: not changed") };
    let mut packet = packet.clone();
    packet.replace_body(body);
    fields(&packet)
}

/// A packet that shows text in the chat.
fn spoken(version: i32) -> (&'static str, &'static str, Packet) {
    let (name, field, fields) = match version {
        ..47 => ("chat", "message", r#"{"message":"{\"text\":\"old\",\"bold\":true}"}"#),
        47..734 => {
            ("chat", "message", r#"{"message":"{\"text\":\"old\",\"bold\":true}","position":0}"#)
        }
        734..759 => (
            "chat",
            "message",
            r#"{"message":"{\"text\":\"old\",\"bold\":true}","position":0,"sender":"00000000-0000-0000-0000-000000000000"}"#,
        ),
        759 => {
            ("system_chat", "content", r#"{"content":"{\"text\":\"old\",\"bold\":true}","type":1}"#)
        }
        760..765 => (
            "system_chat",
            "content",
            r#"{"content":"{\"text\":\"old\",\"bold\":true}","isActionBar":false}"#,
        ),
        _ => (
            "system_chat",
            "content",
            r#"{"content":{"type":"compound","value":{"text":{"type":"string","value":"old"},"bold":{"type":"byte","value":1}}},"isActionBar":false}"#,
        ),
    };
    (name, field, packet(version, Clientbound, name, fields))
}

/// The number of the newest release.
pub(super) fn newest() -> i32 {
    let versions = Catalog::embedded().versions().map(|(version, _)| version);
    versions.filter(|version| *version < Catalog::FIRST_SNAPSHOT).max().unwrap()
}

/// Makes the packet of a message that a player of `version` sends.
pub(super) fn said(version: i32, text: &str) -> Packet {
    let protocol = Catalog::embedded().find(version).unwrap().protocol;
    let name = if version < 759 { "chat" } else { "chat_message" };
    let ty = protocol.named(State::Play, Serverbound, name).unwrap();
    let known = mitmcraft_protocol::schema::Shape::of(&protocol, ty);
    let fields = serde_json::json!({
        "message": text, "timestamp": 1, "salt": 2, "signature": if version < 761 { "".into() } else { serde_json::Value::Null },
        "signedPreview": false, "previousMessages": [], "offset": 0, "acknowledged": "AAAA", "checksum": 0,
    });
    let fields = fields.as_object().unwrap().iter().filter(|(name, _)| known.field(name).is_some());
    let fields: serde_json::Map<_, _> =
        fields.map(|(name, it)| (name.clone(), it.clone())).collect();
    packet(version, Serverbound, name, &serde_json::Value::from(fields).to_string())
}

/// The component in JSON, or in NBT as captures write it.
fn component(version: i32, members: &[(&str, serde_json::Value)]) -> serde_json::Value {
    if version < 765 {
        let members = members.iter().map(|(name, it)| ((*name).to_owned(), it.clone()));
        return serde_json::Value::Object(members.collect()).to_string().into();
    }
    let tag = |it: &serde_json::Value| match it {
        serde_json::Value::Bool(bool) => {
            serde_json::json!({"type": "byte", "value": u8::from(*bool)})
        }
        it => serde_json::json!({"type": "string", "value": it}),
    };
    let members = members.iter().map(|(name, it)| ((*name).to_owned(), tag(it)));
    let members: serde_json::Map<_, _> = members.collect();
    serde_json::json!({"type": "compound", "value": members})
}

#[test]
fn text_json_and_tables_become_components_in_every_version() {
    for (version, _) in Catalog::embedded().versions() {
        let Some(found) = Catalog::embedded().find(version) else { continue };
        if found.protocol.family() != mitmcraft_protocol::schema::Family::Java
            || version >= Catalog::FIRST_SNAPSHOT
        {
            continue;
        }
        let (name, field, packet) = spoken(version);
        let text = |text: &str| serde_json::Value::from(text);
        for (new, members) in [
            ("\"po \\\"n\\\" g\"", vec![("text", text("po \"n\" g"))]),
            ("'=\"a\" + \"b\"'", vec![("text", text("ab"))]),
            (
                "'{\"text\":\"x\",\"color\":\"red\"}'",
                vec![("text", text("x")), ("color", text("red"))],
            ),
            (
                "{ text = '=upper(\"x\")', color = \"red\" }",
                vec![("text", text("X")), ("bold", true.into()), ("color", text("red"))],
            ),
        ] {
            let rule = format!("[[rule]]\nwhen = '{name}'\nset.{field} = {new}\n");
            let got = changed(&packet, &rule);
            assert_eq!(got[field], component(version, &members), "{version}: {new}");
            let mut whole = fields(&packet);
            whole[field] = "".into();
            let others = whole.as_object().unwrap().iter().filter(|(name, _)| *name != field);
            let others: Vec<String> = others.map(|(name, it)| format!("{name} = {it}, ")).collect();
            let others = others.concat();
            let members: Vec<_> = members
                .into_iter()
                .filter(|(name, _)| !new.starts_with("{ ") || *name != "bold")
                .collect();
            let fields = format!("{{ {others}{field} = {new} }}");
            let rule = format!("[[rule]]\nwhen = '{name}'\nreplace = {{ fields = {fields} }}\n");
            let got = changed(&packet, &rule);
            assert_eq!(got[field], component(version, &members), "{version}: {rule}");
        }
    }
}

#[test]
fn lists_and_parts_of_components_become_nbt() {
    let (_, _, packet) = spoken(766);
    let text = |text: &str| serde_json::json!({"type": "string", "value": text});
    for new in [
        "'{\"text\":\"\",\"extra\":[\"a\",{\"text\":\"b\"}]}'",
        "{ text = '', extra = ['a', { text = 'b' }] }",
    ] {
        let got =
            changed(&packet, &format!("[[rule]]\nwhen = 'system_chat'\nset.content = {new}\n"));
        let items = serde_json::json!([{"": text("a")}, {"text": text("b")}]);
        let extra =
            serde_json::json!({"type": "list", "value": {"type": "compound", "value": items}});
        assert_eq!(got["content"]["value"]["extra"], extra, "{new}");
    }
    let got = changed(&packet, "[[rule]]\nwhen = 'system_chat'\nset.'content.text' = 'new'\n");
    assert_eq!(got["content"], component(766, &[("text", "new".into()), ("bold", true.into())]));
}

#[test]
fn what_a_player_says_and_other_text_stays_text() {
    let said = chat("hi");
    let got = changed(&said, "[[rule]]\nwhen = 'chat'\nset.message = 'plain words'\n");
    assert_eq!(got["message"], "plain words");
    let title =
        r#"{"windowId":1,"inventoryType":"minecraft:chest","windowTitle":"\"x\"","slotCount":9}"#;
    let window = packet(47, Clientbound, "open_window", title);
    let rule = "[[rule]]\nwhen = 'open_window'\nset = { windowTitle = 'a chest', inventoryType = 'b c' }\n";
    let got = changed(&window, rule);
    assert_eq!(got["windowTitle"], r#"{"text":"a chest"}"#);
    assert_eq!(got["inventoryType"], "b c");
    let sign =
        r#"{"location":{"x":1,"y":2,"z":3},"text1":"\"a\"","text2":"","text3":"","text4":""}"#;
    let sign = packet(47, Serverbound, "update_sign", sign);
    let got = changed(&sign, "[[rule]]\nwhen = 'update_sign'\nset.text1 = 'two words'\n");
    assert_eq!(got["text1"], r#"{"text":"two words"}"#);
    let faults = RuleSet::parse(
        "[[rule]]\nwhen = 'set_slot and pkt.protocol == 47'\nset.'item.nbtData' = 'x'\n",
        &Catalog::embedded().only(&[47]),
    );
    assert!(faults.rules.is_none());
    assert!(faults.faults[0].message.contains("expected NBT such as"), "{:?}", faults.faults);
}

#[test]
fn pointers_into_components_work_in_text_and_in_nbt() {
    for version in [47, 764, 765, newest()] {
        let (name, field, packet) = spoken(version);
        let set = format!(
            "[[rule]]\nwhen = '{name}'\nset = {{ '{field}#/text' = 'new', '{field}#/hoverEvent/value' = 'x' }}\nremove = ['{field}#/bold']"
        );
        let value = changed(&packet, &set)[field].clone();
        let json = match value.as_str() {
            Some(text) => serde_json::from_str(text).unwrap(),
            None => value["value"].clone(),
        };
        let (text, inner) = match version {
            ..765 => (&json["text"], &json["hoverEvent"]["value"]),
            _ => (&json["text"]["value"], &json["hoverEvent"]["value"]["value"]["value"]),
        };
        assert_eq!((text.as_str(), inner.as_str()), (Some("new"), Some("x")), "{version}: {json}");
        assert!(json.get("bold").is_none(), "{version}: {json}");
    }
}

#[test]
fn a_pointer_into_a_bare_text_makes_room_for_it() {
    let fields = r#"{"content":{"type":"string","value":"bare"},"isActionBar":false}"#;
    let packet = packet(newest(), Clientbound, "system_chat", fields);
    let changed =
        changed(&packet, "[[rule]]\nwhen = 'system_chat'\nset = { 'content#/color' = 'red' }");
    let value = &changed["content"]["value"];
    assert_eq!(value["text"]["value"], "bare");
    assert_eq!(value["color"]["value"], "red");
}
