//! Faults that only earlier packets show.

use super::body::body;
use super::packets::{entered, joined};
use super::{Packet, Plant, Rule, game};

/// Errors that only what came before a packet shows.
pub(super) fn plants(version: i32) -> Vec<Plant> {
    let begun = move |packets: Vec<Packet>, is_bad: bool| {
        let mut all = entered(version, &[]);
        all.push(joined(version));
        all.extend(packets);
        all.iter_mut().last().into_iter().for_each(|last| last.is_at_fault = is_bad);
        all
    };
    let mut plants = Vec::new();
    if version >= 107 {
        plants.push(Plant::new("boss bar that was never added", Rule::OrderWrong, move |is_bad| {
            let health = game("boss_bar", body().marked(|it| it.uuid()).varint(2).f32(0.5));
            let removed = game("boss_bar", body().marked(|it| it.uuid()).varint(1));
            let packets =
                if is_bad { vec![removed, health] } else { vec![added_bar(version), health] };
            begun(packets, is_bad)
        }));
    }
    if (764..766).contains(&version) {
        plants.push(Plant::new("dimension that was not sent", Rule::EntryUnsent, |is_bad| {
            let name = if is_bad { "minecraft:nowhere" } else { "minecraft:a" };
            let respawn = body().marked(|it| it.text(name)).text("minecraft:overworld").i64(1);
            vec![game("respawn", respawn.i8(0).i8(-1).i8(0).i8(0).i8(0).varint(0).i8(0))]
        }));
    }
    if version >= 770 {
        plants.push(Plant::new("message that was left out", Rule::OrderWrong, move |is_bad| {
            let message = |index: i32| {
                let chat = body().marked(|it| it.varint(index)).uuid().varint(0).i8(0).text("a");
                let chat = chat.i64(1).i64(1).varint(0).i8(0).varint(0).varint(1);
                game("player_chat", chat.raw(&[8, 0, 1, b'a']).i8(0))
            };
            begun(vec![message(0), message(if is_bad { 2 } else { 1 })], is_bad)
        }));
    }
    if version >= 773 {
        plants.push(Plant::new("second code of conduct", Rule::OrderWrong, move |is_bad| {
            let mut packets = entered(version, &[]);
            let finish = packets.pop().into_iter();
            let conduct = game("code_of_conduct", body().text("a"));
            let conduct = Packet { state: "configuration", ..conduct };
            packets.push(conduct.clone());
            packets.extend(is_bad.then_some(Packet { is_at_fault: true, ..conduct }));
            packets.extend(finish);
            packets
        }));
    }
    plants
}

/// The packet that adds a boss bar.
pub(super) fn added_bar(version: i32) -> Packet {
    let added = body().uuid().varint(0);
    let added = match version {
        ..765 => added.text("{\"text\":\"a\"}"),
        _ => added.raw(&[8, 0, 1, b'a']),
    };
    game("boss_bar", added.f32(1.0).varint(0).varint(0).i8(0))
}
