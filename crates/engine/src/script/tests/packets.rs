//! What a script reads and changes.

use super::*;
use mitmcraft_protocol::wire::{Compound, Nbt, Tag};

#[test]
fn a_field_is_read_and_set() {
    let text = r#"
        on("serverbound and chat", function(packet, session)
          packet.message = packet.message:upper() .. " by " .. session.player
        end)"#;
    let packet = chat("hello");
    let judgement = judge(text, &packet);
    assert_eq!(after(&packet, &judgement).get("message"), Some(&"HELLO by Steve".into()));
    assert_eq!(judgement.effects.notes.rules, ["x.lua:2"]);
    assert_eq!(judgement.effects.messages, []);
}

#[test]
fn a_packet_is_dropped_delayed_commented_and_tagged() {
    let judgement = judge(
        r#"on("chat", function(packet)
             packet:delay("200ms")
             packet:comment("too late")
             packet:tag("spam")
             packet:drop()
           end)"#,
        &chat("x"),
    );
    assert_eq!(judgement.verdict, Verdict::Drop);
    let effects = judgement.effects;
    assert_eq!(effects.delay.unwrap().by, std::time::Duration::from_millis(200));
    assert_eq!(
        (effects.notes.comments, effects.notes.tags),
        (vec!["too late".into()], vec!["spam".into()])
    );
}

#[test]
fn packets_are_sent_to_both_sides() {
    let judgement = judge(
        r#"on("chat", function(packet, session)
             session:send("client", "chat", {message = {text = "pong"}, position = 0})
             session:send("server", "chat", {message = "/back"}, {before = true})
           end)"#,
        &chat("!ping"),
    );
    let sends = judgement.effects.sends;
    assert_eq!(judgement.verdict, Verdict::Pass);
    let sent: Vec<_> = sends.iter().map(|it| (it.direction, it.before, it.body.clone())).collect();
    let protocol = protocol(47);
    let decode = |direction, body: &[u8]| {
        let (kind, start) = protocol.identify(State::Play, direction, body).unwrap();
        protocol.decode(kind, body, start).unwrap()
    };
    let pong = decode(Direction::Clientbound, &sent[0].2);
    assert_eq!(pong.get("message"), Some(&r#"{"text":"pong"}"#.into()));
    assert_eq!((sent[0].1, sent[1].1), (false, true));
    let back = decode(Direction::Serverbound, &sent[1].2);
    assert_eq!(back.get("message"), Some(&"/back".into()));
    assert_eq!(sends[0].rule.as_deref(), Some("x.lua:1"));
}

#[test]
fn a_packet_is_replaced_by_one_of_another_type_which_later_callbacks_see() {
    let packet = chat("hi");
    let judgement = judge(
        r#"on("serverbound and chat", function(packet)
             packet:replace("held_item_slot", {slotId = 3})
           end)
           on("serverbound and held_item_slot", function(packet) packet.slotId = packet.slotId + 1 end)"#,
        &packet,
    );
    assert_eq!(after(&packet, &judgement).get("slotId"), Some(&4.into()));
    assert_eq!(judgement.effects.notes.rules, ["x.lua:1", "x.lua:4"]);
    let judgement = judge(r#"on("chat", function(p) p:replace{message = "bye"} end)"#, &packet);
    assert_eq!(after(&packet, &judgement).get("message"), Some(&"bye".into()));
}

#[test]
fn a_packet_that_no_callback_reads_is_not_decoded() {
    // A packet whose body does not decode.
    let content = Content::Frame(Frame::from_body(vec![1, 0x7f].into()));
    let (context, direction) = (context(1, 47), Direction::Serverbound);
    let packet = Packet::new(context, 1, Timestamp(0), direction, State::Play, content);
    let quiet = r#"on("chat", function(p, s) s.vars.n = 1; log(p.pkt.name, p.pkt.size) end)"#;
    assert_eq!(says(quiet, &packet), ["chat 2"]);
    let failed = says("on('chat', function(p)\n log(p.message) end)", &packet);
    assert!(failed[0].starts_with("x.lua:2: the packet does not decode: "), "{failed:?}");
}

#[test]
fn numbers_keep_all_their_bits() {
    let large = 0x7fff_ffff_ffff_fffd;
    let fields = [("age", Value::Int(large)), ("time", Value::Int(-large))];
    let packet = packet_of(47, Direction::Clientbound, "update_time", &Value::map(fields));
    let text = r#"on("update_time", function(p) p.age, p.time = p.age + 1, p.time - 1; log(math.type(p.age)) end)"#;
    let judgement = judge(text, &packet);
    assert_eq!(said(&judgement.effects), ["integer"]);
    let value = after(&packet, &judgement);
    assert_eq!(
        (value.get("age"), value.get("time")),
        (Some(&Value::Int(large + 1)), Some(&Value::Int(-large - 1)))
    );
}

#[test]
fn a_float_of_32_bits_stays_one() {
    let text = r#"on("update_health", function(p) p.health = p.health; p.food = p.food + 1.0 end)"#;
    let fields = |food| {
        Value::map([
            ("health", Value::Float32(0.1)),
            ("food", Value::Int(food)),
            ("foodSaturation", Value::Float32(0.3)),
        ])
    };
    let packet = packet_of(47, Direction::Clientbound, "update_health", &fields(3));
    assert_eq!(after(&packet, &judge(text, &packet)), fields(4));
}

#[test]
fn bytes_are_strings_of_any_bytes() {
    let fields = Value::map([
        ("channel", "MC|Brand".into()),
        ("data", Value::Bytes(vec![0, 0xff, 0x80].into())),
    ]);
    let packet = packet_of(47, Direction::Clientbound, "custom_payload", &fields);
    let text = r#"on("custom_payload", function(p) p.data = p.data:reverse() .. "\xfe" end)"#;
    let value = after(&packet, &judge(text, &packet));
    assert_eq!(value.get("data").unwrap().as_bytes().unwrap()[..], [0x80, 0xff, 0, 0xfe]);
}

fn window_items() -> Packet {
    let text = |text: &str| match Tag::text(text) {
        Tag::Text(bytes) => bytes,
        _ => unreachable!(),
    };
    let display = Compound { entries: vec![(text("Name"), Tag::text("Sting"))] };
    let entries = vec![
        (text("display"), Tag::Compound(display)),
        (text("Damage"), Tag::Short(7)),
        (text("Uses"), Tag::Long(1 << 60)),
    ];
    let nbt = Nbt { name: Some("".into()), root: Tag::Compound(Compound { entries }) };
    let item = |id: i64| {
        Value::map([
            ("blockId", Value::Int(id)),
            ("itemCount", 1.into()),
            ("itemDamage", 0.into()),
            ("nbtData", Value::Nbt(Box::new(nbt.clone()))),
        ])
    };
    let none = Value::map([("blockId", Value::Int(-1))]);
    let items = Value::List(vec![item(264), none, item(1)]);
    packet_of(
        47,
        Direction::Clientbound,
        "window_items",
        &Value::map([("windowId", 0.into()), ("items", items)]),
    )
}

#[test]
fn lists_and_nbt_are_read_by_path_with_elements_from_1() {
    let text = r#"on("window_items", function(p)
        log(#p.items, p.items[1].blockId, p.items[-1].blockId, p.items[4], p.items[1].nbtData.display.Name)
        for i, item in ipairs(p.items) do log(i, item.blockId) end
        local names = {}
        for name, value in pairs(p.items[1]) do names[#names + 1] = name end
        log(table.concat(names, " "))
      end)"#;
    assert_eq!(
        says(text, &window_items()),
        ["3 264 1 nil Sting", "1 264", "2 -1", "3 1", "blockId itemCount itemDamage nbtData"]
    );
}

#[test]
fn nbt_is_changed_in_place_and_keeps_its_types() {
    let packet = window_items();
    let text = r#"on("window_items", function(p)
        local nbt = p.items[1].nbtData
        nbt.display.Name = "Glamdring"
        nbt.Damage = nbt.Damage + 1
        nbt.Uses = nbt.Uses + 1
        p.items[3] = p.items[1]
        p.items[2] = nil
      end)"#;
    let judgement = judge(text, &packet);
    assert_eq!(said(&judgement.effects), [""; 0]);
    let value = after(&packet, &judgement);
    let Some(Value::List(items)) = value.get("items") else { panic!("{value:?}") };
    assert_eq!(items.len(), 2);
    for item in items {
        let Value::Nbt(nbt) = item.get("nbtData").unwrap().plain() else { panic!("{item:?}") };
        let Tag::Compound(root) = &nbt.root else { panic!("{nbt:?}") };
        assert_eq!(root.get("Damage"), Some(&Tag::Short(8)));
        assert_eq!(root.get("Uses"), Some(&Tag::Long((1 << 60) + 1)));
        let Some(Tag::Compound(display)) = root.get("display") else { panic!("{root:?}") };
        assert_eq!(display.get("Name"), Some(&Tag::text("Glamdring")));
    }
}

#[test]
fn an_element_is_appended_and_a_copy_can_be_kept() {
    let packet = window_items();
    let text = r#"
      local kept
      on("window_items", function(p)
        kept = copy(p.items[1])
        p.items[#p.items + 1] = {blockId = 5, itemCount = 2, itemDamage = 0}
        log(#p.items, kept.nbtData.display.Name, type(kept))
      end)
      on("window_items", function(p) log(kept.blockId) end)"#;
    let judgement = judge(text, &packet);
    assert_eq!(said(&judgement.effects), ["4 Sting table", "264"]);
}

#[test]
fn a_change_that_cannot_be_encoded_leaves_the_packet_as_it_was_and_names_its_line() {
    for (change, why) in [
        ("p.message = 5", "x.lua:2: "),
        ("p.mesage = 'x'", "x.lua:2: "),
        ("p.message = function() end", "x.lua:2: a field cannot hold a function"),
        ("local t = {}; t.t = t; p.message = t", "x.lua:2: the table is too deep"),
        ("p:delay('soon')", "x.lua:2: invalid duration `soon`"),
        ("p:replace('nonsense', {})", "x.lua:2: no serverbound packet `nonsense`"),
    ] {
        let text = format!(
            "on('chat', function(p, session) p.message = 'changed'\n{change}\nsession:send('server', 'chat', {{message = 'x'}}) end)"
        );
        let judgement = judge(&text, &chat("as it was"));
        assert_eq!(judgement.verdict, Verdict::Pass, "{change}");
        assert_eq!(judgement.effects.sends, [], "{change}");
        assert!(
            said(&judgement.effects)[0].starts_with(why),
            "{change}: {:?}",
            judgement.effects.messages
        );
        assert!(judgement.effects.notes.comments[0].starts_with("script failed: x.lua:2: "));
    }
}

#[test]
fn a_packet_kept_beyond_its_callback_is_an_error() {
    let text = r#"
      local kept
      on("chat", function(p) log(kept and kept.message); kept = p end)"#;
    let mut pipeline = pipeline(&script(text));
    pipeline.apply(&chat("one"));
    let messages = said(&pipeline.apply(&chat("two")).effects);
    assert!(
        messages[0].starts_with("x.lua:3: the packet was kept beyond its callback"),
        "{messages:?}"
    );
}

#[test]
fn official_names_and_roles_select_packets() {
    let text = r#"on("role.chat and serverbound", function(p, session)
        session:send("client", "set_held_slot", {slot = 1})
        log(p.pkt.name)
      end)"#;
    assert_eq!(says(text, &chat("x")).last().unwrap(), "chat");
}

#[test]
fn components_are_read_as_a_player_reads_them() {
    let fields =
        [("message", r#"{"text":"a","extra":[{"text":"b"}]}"#.into()), ("position", 0.into())];
    let packet = packet_of(47, Direction::Clientbound, "chat", &Value::map(fields));
    assert_eq!(says("on('chat', function(p) log(text(p.message)) end)", &packet), ["ab"]);
}
