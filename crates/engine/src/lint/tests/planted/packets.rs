//! The packets of all versions into which errors are planted. Each is written twice: as the game accepts it,
//! and with the error.

use super::body::{Body, body, compound, named, string};
use super::chunks;
use super::entities::entry;
use super::order;
use super::{Packet, Plant, Rule, game};
use mitmcraft_protocol::packet::Diagnostic;

/// A number beyond every registry of the game.
pub(super) const NOTHING: i32 = 60_000;

/// The number of an entry, and the end of its compound.
const NUMBERED: [u8; 10] = [3, 0, 2, b'i', b'd', 0, 0, 0, 0, 0];

pub(crate) fn plants(version: i32) -> Vec<Plant> {
    let mut plants = wire(version);
    plants.extend(texts(version));
    plants.extend(metadata(version));
    plants.extend(lengths(version));
    plants.push(slot(version));
    plants.push(chunks::chunk(version));
    plants.extend(entries(version));
    plants.extend(chunks::inside(version));
    plants.extend(chunks::blocks(version));
    if version >= 764 {
        plants.push(Plant::new("damage type that was not sent", Rule::EntryUnsent, |is_bad| {
            let number = if is_bad { 9 } else { 0 };
            let damage = body().varint(1).marked(|it| it.varint(number));
            vec![game("damage_event", damage.varint(0).varint(0).i8(0))]
        }));
        plants.push(Plant::new(
            "configuration without damage",
            Rule::RegistryMissing,
            move |is_bad| {
                let missing: &[&str] = if is_bad { &["damage_type"] } else { &[] };
                let mut packets = entered(version, missing);
                packets.iter_mut().last().into_iter().for_each(|last| last.is_at_fault = is_bad);
                packets
            },
        ));
    }
    plants.extend(order::plants(version));
    if version >= 762 {
        plants.push(Plant::new("bundle that is left open", Rule::BundleOpen, |is_bad| {
            let mut packets = vec![game("bundle_delimiter", body())];
            packets.extend((!is_bad).then(|| game("bundle_delimiter", body())));
            packets
        }));
        plants.push(Plant::new("bundle of 4097 packets", Rule::BundleTooLong, |is_bad| {
            let inner = || game("update_health", body().f32(20.0).varint(20).f32(5.0));
            let number = if is_bad { 4097 } else { 4096 };
            let mut packets = vec![game("bundle_delimiter", body())];
            packets.extend((0..number).map(|_| inner()));
            packets.push(game("bundle_delimiter", body()));
            if is_bad {
                packets[4097].is_at_fault = true;
            }
            packets
        }));
    } else if version < 735 {
        plants.push(Plant::new(
            "dimension of nowhere",
            Rule::Diagnosed(Diagnostic::DimensionInvalid),
            |is_bad| {
                let dimension = if is_bad { 5 } else { -1 };
                let respawn = body().marked(|it| it.i32(dimension));
                vec![game("respawn", respawn.i8(1).i8(0).text("flat"))]
            },
        ));
        plants.push(Plant::new(
            "painting with a long name",
            Rule::Diagnosed(Diagnostic::PaintingTitleTooLong),
            move |is_bad| {
                let title = if is_bad { "SkullAndRoses2" } else { "SkullAndRoses" };
                let body = if version < 107 { body().varint(1) } else { body().varint(1).uuid() };
                let painting = body.marked(|it| it.text(title));
                vec![game("spawn_entity_painting", painting.i64(0).i8(0))]
            },
        ));
    } else {
        for missing in ["minecraft:dimension_type", "minecraft:worldgen/biome"] {
            plants.push(Plant::new("Join Game that lacks a registry", Rule::RegistryMissing, {
                move |is_bad| vec![join(version, is_bad, missing)]
            }));
        }
    }
    plants
}

/// Join Game of 1.16.2 to 1.18.2, with a registry or without.
fn join(version: i32, is_bad: bool, missing: &str) -> Packet {
    let entry = |name: &str| {
        let list =
            [&[10][..], &1_i32.to_be_bytes(), &string("name", "minecraft:a"), &NUMBERED].concat();
        named(10, name, &[named(9, "value", &list), vec![0]].concat())
    };
    let registries = ["minecraft:dimension_type", "minecraft:worldgen/biome"];
    let sent = registries.iter().filter(|name| !is_bad || **name != missing);
    let codec = compound(version, &sent.map(|name| entry(name)).collect::<Vec<_>>());
    let join = body().i32(1).i8(0).i8(0).i8(-1).varint(1).text("minecraft:overworld");
    let join = join.marked(|it| it.raw(&codec)).raw(&compound(version, &[]));
    let join = join.text("minecraft:overworld").i64(1).varint(20).varint(8);
    let join = if version >= 757 { join.varint(8) } else { join };
    game("login", join.i8(0).i8(1).i8(0).i8(0))
}

/// Errors that any packet can have.
fn wire(version: i32) -> Vec<Plant> {
    let keep_alive = move || if version < 340 { body().varint(5) } else { body().i64(5) };
    let health = || body().f32(20.0).varint(20);
    vec![
        Plant::new("packet id of nothing", Rule::IdUnknown, move |is_bad| {
            if is_bad {
                vec![Packet { id: Some(255), ..game("keep_alive", keep_alive()) }]
            } else {
                vec![game("keep_alive", keep_alive())]
            }
        }),
        Plant::new("byte after a keep-alive", Rule::BytesLeft, move |is_bad| {
            let rest: &[u8] = if is_bad { &[0xc0] } else { &[] };
            vec![game("keep_alive", keep_alive().marked(|it| it.raw(rest)))]
        }),
        Plant::new("keep-alive without its number", Rule::BytesMissing, move |is_bad| {
            let keep_alive = if is_bad { body() } else { keep_alive() };
            vec![game("keep_alive", body().marked(|it| it.raw(&keep_alive.bytes)))]
        }),
        Plant::new("health that ends in its last number", Rule::BytesMissing, move |is_bad| {
            let rest = 5.0_f32.to_be_bytes();
            let rest = if is_bad { &rest[..3] } else { &rest };
            vec![game("update_health", health().marked(|it| it.raw(rest)))]
        }),
        Plant::new("bytes after the health", Rule::BytesLeft, move |is_bad| {
            let rest: &[u8] = if is_bad { &[1, 2, 3] } else { &[] };
            vec![game("update_health", health().f32(5.0).marked(|it| it.raw(rest)))]
        }),
        Plant::new("VarInt of six bytes", Rule::FieldInvalid, |is_bad| {
            let long: &[u8] = if is_bad { &[0xff, 0xff, 0xff, 0xff, 0xff, 1] } else { &[5] };
            vec![game("experience", body().f32(0.5).marked(|it| it.raw(long)).varint(7))]
        }),
        Plant::new("entity without its status", Rule::BytesMissing, |is_bad| {
            let status: &[u8] = if is_bad { &[] } else { &[2] };
            vec![game("entity_status", body().i32(1).marked(|it| it.raw(status)))]
        }),
        Plant::new("channel that is longer than the packet", Rule::BytesMissing, |is_bad| {
            let length = if is_bad { 19 } else { 9 };
            let channel = body().marked(|it| it.varint(length).raw(b"test:a_bc"));
            vec![game("custom_payload", channel)]
        }),
        Plant::new("health before Join Game", Rule::OrderWrong, move |is_bad| {
            let mut packets = entered(version, &[]);
            let last = packets.len();
            if !is_bad {
                packets.push(joined(version));
            }
            packets.push(game("update_health", health().f32(5.0)));
            packets[last].is_at_fault = is_bad;
            packets
        }),
        Plant::new("silence of 31 seconds", Rule::ServerSilent, move |is_bad| {
            let first = game("keep_alive", keep_alive());
            let later = Packet { after: if is_bad { 31 } else { 29 }, ..first.clone() };
            vec![Packet { is_at_fault: is_bad, ..first }, later]
        }),
        Plant::compressed("short packet that is compressed", move |is_bad| {
            let size = if is_bad { 200 } else { 300 };
            (Diagnostic::CompressedBelowThreshold, size, true)
        }),
        Plant::compressed("long packet that is not compressed", move |is_bad| {
            let size = if is_bad { 300 } else { 200 };
            (Diagnostic::UncompressedAboveThreshold, size, false)
        }),
    ]
}

/// The way into the game, without Join Game and without some registries.
pub(crate) fn entered(version: i32, missing: &[&str]) -> Vec<Packet> {
    let success = match version {
        ..735 => body().text("069a79f4-44e9-4726-a5be-fca90e38aaf5").text("Steve"),
        735..759 => body().uuid().text("Steve"),
        776.. => body().uuid().text("Steve").varint(0).uuid(),
        _ => body().uuid().text("Steve").varint(0),
    };
    let mut packets = vec![Packet { state: "login", ..game("success", success) }];
    if version < 764 {
        return packets;
    }
    let needed = [
        "dimension_type",
        "damage_type",
        "worldgen/biome",
        "wolf_variant",
        "painting_variant",
        "cat_variant",
        "chicken_variant",
        "cow_variant",
        "frog_variant",
        "pig_variant",
        "wolf_sound_variant",
        "zombie_nautilus_variant",
    ];
    let needed = needed.into_iter().filter(|name| !missing.contains(name));
    if version < 766 {
        let list =
            [&[10][..], &1_i32.to_be_bytes(), &string("name", "minecraft:a"), &NUMBERED].concat();
        let registry = |name: &str| {
            let value = [named(9, "value", &list), vec![0]].concat();
            named(10, &format!("minecraft:{name}"), &value)
        };
        let all = compound(version, &needed.map(registry).collect::<Vec<_>>());
        let sent = game("registry_data", body().raw(&all));
        packets.push(Packet { state: "configuration", ..sent });
    } else {
        packets.extend(needed.map(|name| {
            let entries = body().text(&format!("minecraft:{name}")).varint(1);
            let sent = game("registry_data", entries.text("minecraft:a").i8(0));
            Packet { state: "configuration", ..sent }
        }));
    }
    packets.push(Packet { state: "configuration", ..game("finish_configuration", body()) });
    packets
}

/// Join Game, of the versions that differ in what matters here.
pub(crate) fn joined(version: i32) -> Packet {
    let world = "minecraft:overworld";
    match version {
        ..108 => game("login", body().i32(1).i8(0).i8(0).i8(1).i8(20).text("flat").i8(0)),
        108..735 => game("login", body().i32(1).i8(0).i32(0).i8(1).i8(20).text("flat").i8(0)),
        735..759 => join(version, false, ""),
        759..764 => {
            let registry = |name: &str| {
                let list =
                    [&[10][..], &1_i32.to_be_bytes(), &string("name", "minecraft:a"), &NUMBERED]
                        .concat();
                named(10, name, &[named(9, "value", &list), vec![0]].concat())
            };
            let codec = compound(
                version,
                &["minecraft:dimension_type", "minecraft:worldgen/biome", "minecraft:damage_type"]
                    .map(registry),
            );
            let login = body().i32(1).i8(0).i8(0).i8(-1).varint(1).text(world).raw(&codec);
            let login = login.text(world).text(world).i64(1).varint(20).varint(8).varint(8);
            game("login", login.i8(0).i8(1).i8(0).i8(0).i8(0))
        }
        _ => {
            let login = body().i32(1).i8(0).varint(1).text(world).varint(20).varint(8).varint(8);
            let login = login.i8(0).i8(1).i8(0);
            let login = if version < 766 { login.text("minecraft:a") } else { login.varint(0) };
            let login = login.text(world).i64(1).i8(0).i8(0).i8(0).i8(0).i8(0).varint(0);
            let login = if version >= 768 { login.varint(63) } else { login };
            let login = if version >= 766 { login.i8(0) } else { login };
            let login = if version >= 776 { login.i8(1) } else { login };
            game("login", login)
        }
    }
}

/// Errors in what the player reads.
fn texts(version: i32) -> Vec<Plant> {
    let chat = move |text: Body| match version {
        ..735 => game("chat", text.i8(0)),
        735..759 => game("chat", text.i8(0).uuid()),
        _ => game("system_chat", text.i8(0)),
    };
    if version < 765 {
        let planted = |name, rule, good: &'static str, bad: &'static str, packet: &'static str| {
            Plant::new(name, rule, move |is_bad| {
                let text = body().marked(|it| it.text(if is_bad { bad } else { good }));
                let text = if packet == "playerlist_header" { text.text("\"\"") } else { text };
                vec![if packet == "chat" { chat(text) } else { game(packet, text) }]
            })
        };
        let json = |name, good: &'static str, bad: &'static str, packet: &'static str| {
            planted(name, Rule::Diagnosed(Diagnostic::JsonInvalid), good, bad, packet)
        };
        let form = |name, good: &'static str, bad: &'static str| {
            planted(name, Rule::TextInvalid, good, bad, "chat")
        };
        return vec![
            form("chat that is an empty list", "[\"a\"]", "[]"),
            form("chat without contents", "{\"text\":\"\",\"foo\":1}", "{\"foo\":1}"),
            form(
                "chat with nothing more",
                "{\"text\":\"\",\"extra\":[\"a\"]}",
                "{\"text\":\"\",\"extra\":[]}",
            ),
            json("chat that is cut off", "{\"text\":\"a\"}", "{\"text\":\"a\"", "chat"),
            json("chat with two texts", "\"a\"", "\"a\" \"b\"", "chat"),
            json("reason with a bare word", "\"bye\"", "bye", "kick_disconnect"),
            json(
                "header with a comma",
                "{\"text\":\"a\"}",
                "{\"text\":\"a\",}",
                "playerlist_header",
            ),
        ];
    }
    let nbt = move |name, good: Vec<u8>, bad: Vec<u8>, packet: &'static str| {
        Plant::new(name, Rule::TextInvalid, move |is_bad| {
            let text = body().marked(|it| it.raw(if is_bad { &bad } else { &good }));
            vec![if packet == "chat" { chat(text) } else { game(packet, text) }]
        })
    };
    let all = |tags: &[Vec<u8>]| compound(version, tags);
    let part = |text: &str| [string("text", text), vec![0]].concat();
    let list = |parts: &[Vec<u8>]| {
        let kind = if parts.is_empty() { 0 } else { 10 };
        [&[kind][..], &(parts.len() as i32).to_be_bytes(), &parts.concat()].concat()
    };
    let extra = |parts: &[Vec<u8>]| named(9, "extra", &list(parts));
    let a = string("text", "a");
    vec![
        nbt("chat that is a number", all(std::slice::from_ref(&a)), vec![3, 0, 0, 0, 5], "chat"),
        nbt(
            "chat that is an empty list",
            all(std::slice::from_ref(&a)),
            vec![9, 0, 0, 0, 0, 0],
            "chat",
        ),
        nbt(
            "reason in a colour that there is not",
            all(&[a.clone(), string("color", "gold")]),
            all(&[a.clone(), string("color", "golden")]),
            "kick_disconnect",
        ),
        nbt(
            "reason without an end",
            all(&[a.clone(), extra(&[part("b")])]),
            all(&[a.clone(), extra(&[])]),
            "kick_disconnect",
        ),
        nbt(
            "chat whose text is a number",
            all(std::slice::from_ref(&a)),
            all(&[named(3, "text", &[0, 0, 0, 1])]),
            "chat",
        ),
        nbt(
            "a part of chat that has a list as text",
            all(&[a.clone(), extra(&[part("b")])]),
            all(&[a, extra(&[[named(9, "text", &list(&[])), vec![0]].concat()])]),
            "chat",
        ),
    ]
}

/// Errors in the metadata of an entity: values of another type than the game reads.
fn metadata(version: i32) -> Vec<Plant> {
    let end = if version < 107 { [0x7f] } else { [0xff] };
    let air = if version < 107 { "short" } else { "int" };
    let flag = if version < 107 { "byte" } else { "boolean" };
    let name = if version < 393 { "string" } else { "name" };
    let plant = move |what, key: u8, good: &'static str, bad: &'static str| {
        Plant::new(what, Rule::MetadataInvalid, move |is_bad| {
            let entity = body().varint(9);
            let entity = entry(version, entity, key, if is_bad { bad } else { good });
            vec![game("entity_metadata", entity.raw(&end))]
        })
    };
    vec![
        plant("flags of an entity as an int", 0, "byte", "int"),
        plant("air of an entity as a float", 1, air, "float"),
        plant("name of an entity as a float", 2, name, "float"),
        plant("visible name of an entity as a text", 3, flag, "string"),
        plant("silence of an entity as an int", 4, flag, "int"),
    ]
}

/// Texts and numbers that decode, but that the game refuses.
fn lengths(version: i32) -> Vec<Plant> {
    let mut plants = Vec::new();
    let long_name = |is_bad: bool| if is_bad { "Seventeen_letters" } else { "Sixteen_letters_" };
    plants.push(Plant::new(
        "player with a long name",
        Rule::Diagnosed(Diagnostic::TextTooLong),
        move |is_bad| {
            let player = if version < 761 { body().varint(0) } else { body().i8(1) };
            let player = player.varint(1).uuid().marked(|it| it.text(long_name(is_bad))).varint(0);
            let player = if version < 761 { player.varint(0).varint(0).i8(0) } else { player };
            vec![game("player_info", player)]
        },
    ));
    plants.push(Plant::new(
        "login of a long name",
        Rule::Diagnosed(Diagnostic::TextTooLong),
        move |is_bad| {
            let success = if version < 735 { body().text(&"a".repeat(36)) } else { body().uuid() };
            let success = success.marked(|it| it.text(long_name(is_bad)));
            let success = if version >= 759 { success.varint(0) } else { success };
            let success = if version >= 776 { success.uuid() } else { success };
            vec![Packet { state: "login", ..game("success", success) }]
        },
    ));
    if version < 107 {
        plants.push(Plant::new(
            "armour in slot 5",
            Rule::Diagnosed(Diagnostic::NumberInvalid),
            |is_bad| {
                let slot = if is_bad { 5 } else { 4 };
                let armour = body().varint(1).marked(|it| it.i16(slot)).i16(-1);
                vec![game("entity_equipment", armour)]
            },
        ));
    } else {
        plants.push(Plant::new(
            "colour of a boss bar",
            Rule::Diagnosed(Diagnostic::NumberInvalid),
            move |is_bad| {
                let color = if is_bad { 7 } else { 6 };
                let bar = body().uuid().varint(4).marked(|it| it.varint(color)).varint(0);
                let changed = Packet { is_at_fault: is_bad, ..game("boss_bar", bar) };
                vec![order::added_bar(version), changed]
            },
        ));
        plants.push(Plant::new(
            "notches of a boss bar",
            Rule::Diagnosed(Diagnostic::NumberInvalid),
            move |is_bad| {
                let notches = if is_bad { 5 } else { 4 };
                let bar = body().uuid().varint(4).varint(1).marked(|it| it.varint(notches));
                let changed = Packet { is_at_fault: is_bad, ..game("boss_bar", bar) };
                vec![order::added_bar(version), changed]
            },
        ));
    }
    if version >= 735 {
        plants.push(Plant::new(
            "armour in a slot after the last",
            Rule::Diagnosed(Diagnostic::NumberInvalid),
            move |is_bad| {
                let slots = if version < 766 { 6 } else { 7 + i8::from(version >= 770) };
                let slot = slots - i8::from(!is_bad);
                // No item.
                vec![game("entity_equipment", body().varint(1).marked(|it| it.i8(slot)).i8(0))]
            },
        ));
        plants.push(Plant::new(
            "sound with a blank",
            Rule::Diagnosed(Diagnostic::IdentifierInvalid),
            move |is_bad| {
                let sound = if is_bad { "minecraft:No Such" } else { "minecraft:no_such" };
                vec![game("stop_sound", body().i8(2).marked(|it| it.text(sound)))]
            },
        ));
    }
    // 26.1 reads any number as a hand.
    if (477..775).contains(&version) {
        plants.push(Plant::new(
            "third hand",
            Rule::Diagnosed(Diagnostic::NumberInvalid),
            |is_bad| {
                let hand = if is_bad { 2 } else { 1 };
                vec![game("open_book", body().marked(|it| it.varint(hand)))]
            },
        ));
    }
    if version >= 766 {
        plants.push(Plant::new(
            "cookie of 5,121 bytes",
            Rule::Diagnosed(Diagnostic::LengthInvalid),
            |is_bad| {
                let cookie = body().raw(&vec![7; 5120 + usize::from(is_bad)]);
                vec![game("store_cookie", body().text("a:b").marked(|it| it.counted(&cookie)))]
            },
        ));
    }
    if version < 393 {
        plants.push(Plant::new(
            "channel of 21 letters",
            Rule::Diagnosed(Diagnostic::TextTooLong),
            |is_bad| {
                let channel = if is_bad { "my_plugin|my_channels" } else { "my_plugin|my_channel" };
                vec![game("custom_payload", body().marked(|it| it.text(channel)).i8(1))]
            },
        ));
    }
    if version < 757 {
        plants.push(Plant::new(
            "objective of 17 letters",
            Rule::Diagnosed(Diagnostic::TextTooLong),
            move |is_bad| {
                let objective = body().marked(|it| it.text(long_name(is_bad))).i8(1);
                vec![game("scoreboard_objective", objective)]
            },
        ));
    }
    plants
}

/// A slot of the inventory after its last.
fn slot(version: i32) -> Plant {
    Plant::new("slot after the last", Rule::Diagnosed(Diagnostic::NumberInvalid), move |is_bad| {
        let slots = if version < 107 { 45 } else { 46 };
        let slot = slots - i16::from(!is_bad);
        let window = if version < 768 { body().i8(0) } else { body().varint(0) };
        let window = if version < 756 { window } else { window.varint(1) };
        let window = window.marked(|it| it.i16(slot));
        // No item.
        let window = if version < 393 { window.i16(-1) } else { window.i8(0) };
        vec![game("set_slot", window)]
    })
}

/// Numbers for which the version's registries have nothing.
fn entries(version: i32) -> Vec<Plant> {
    let pick = |is_bad: bool, good: i32| if is_bad { NOTHING } else { good };
    let entity = Plant::new("mob of no kind", Rule::EntryUnknown, move |is_bad| {
        // A vector of zeros is one byte since 1.21.9.
        let motion = |it: Body| if version < 773 { it.i16(0).i16(0).i16(0) } else { it.i8(0) };
        if version < 107 {
            let kind = if is_bad { -56 } else { 50 };
            let mob = body().varint(9).marked(|it| it.i8(kind)).i32(0).i32(0).i32(0);
            let mob = motion(mob.i8(0).i8(0).i8(0)).raw(&[0, 0, 0x7f]);
            return vec![game("spawn_entity_living", mob)];
        }
        let mob = body().varint(9).uuid().marked(|it| it.varint(pick(is_bad, 50)));
        let mob = mob.f64(0.0).f64(64.0).f64(0.0).i8(0).i8(0);
        if version < 735 {
            let mob = motion(mob.i8(0)).raw(&[0xff]);
            return vec![game("spawn_entity_living", mob)];
        }
        let mob = if version < 759 { mob.i32(0) } else { mob.i8(0).varint(0) };
        vec![game("spawn_entity", motion(mob))]
    });
    let effect = Plant::new("effect of no kind", Rule::EntryUnknown, move |is_bad| {
        let effect = if version < 758 {
            let number = if is_bad { 100 } else { 1 };
            body().varint(9).marked(|it| it.i8(number)).i8(0)
        } else {
            let effect = body().varint(9).marked(|it| it.varint(pick(is_bad, 1)));
            if version < 766 { effect.i8(0) } else { effect.varint(0) }
        };
        let effect = effect.varint(20).i8(0);
        vec![game(
            "entity_effect",
            if (759..766).contains(&version) { effect.i8(0) } else { effect },
        )]
    });
    let item = Plant::new("item of no kind", Rule::EntryUnknown, move |is_bad| {
        let window = if version < 768 { body().i8(0) } else { body().varint(0) };
        let window = if version < 756 { window } else { window.varint(1) }.i16(36);
        let item = match version {
            ..393 => {
                let number = if is_bad { 30_000 } else { 1 };
                window.marked(|it| it.i16(number)).i8(1).i16(0).i8(0)
            }
            393..766 => window.i8(1).marked(|it| it.varint(pick(is_bad, 1))).i8(1).i8(0),
            _ => window.varint(1).marked(|it| it.varint(pick(is_bad, 1))).varint(0).varint(0),
        };
        vec![game("set_slot", item)]
    });
    let block = Plant::new("block of no kind", Rule::EntryUnknown, move |is_bad| {
        vec![game("block_change", body().i64(0).marked(|it| it.varint(pick(is_bad, 16))))]
    });
    vec![entity, effect, item, block]
}
