use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

use super::lists::IN_LAYOUTS;
use super::reports::ReportedPacket;
use super::*;
use crate::meaning::registry;
use crate::schema::types::{Type, TypeId};
use crate::schema::{Catalog, Direction, PacketType, Protocol, RegistryKind, State};

/// The bar for new versions: of each release, derived from the layouts of the one before it and its own ids and names.
#[expect(clippy::print_stdout, reason = "the counts are the result")]
#[test]
fn a_release_derived_from_the_one_before_it_is_right_or_listed() {
    let catalog = Catalog::embedded();
    let numbers: Vec<i32> = catalog.versions().map(|(number, _)| number).collect();
    let pairs = numbers.windows(2).filter(|it| it[0] >= 767 && it[1] <= 777);
    let mut totals = BTreeMap::new();
    for pair in pairs {
        let [old, own] = [pair[0], pair[1]].map(|it| catalog.find(it).unwrap().protocol);
        let import = import(catalog, &old, &reports_of(&own), own.version(), own.name()).unwrap();
        let mut derived = catalog.clone();
        derived.add(None, "derived", import.description.clone()).unwrap();
        let derived = derived.find(own.version()).unwrap().protocol;
        assert_eq!(ids(&derived), ids(&own), "{}", own.name());
        let shapes = [&old, &own, &derived].map(|it| Shapes::new(it));
        let (mut unchanged, mut counts) = (0, BTreeMap::new());
        for packet in import.packets.iter().filter(|it| it.id.is_some()) {
            let id = packet.id.unwrap().into();
            let [before, is, made] = [
                old.packets().iter().find(|it| {
                    (it.state(), it.direction(), it.id())
                        == (packet.state, packet.direction, packet.was.unwrap_or(-1))
                }),
                own.packet(packet.state, packet.direction, id),
                derived.packet(packet.state, packet.direction, id),
            ];
            let (is, made) = (is.unwrap(), made.unwrap());
            let right = shapes[1].same(is, &shapes[2], made);
            if before.is_some_and(|before| shapes[0].same(before, &shapes[1], is)) {
                unchanged += 1;
                assert!(right, "{}: {packet:?} did not change", own.name());
            }
            // Nothing else is taken for certain.
            assert!(right || packet.basis != Basis::AllVersions, "{packet:?}");
            assert_eq!(before.is_none(), packet.basis == Basis::New, "{packet:?}");
            let count: &mut (usize, usize) = counts.entry(packet.basis.word()).or_default();
            *(if right { &mut count.0 } else { &mut count.1 }) += 1;
            let total: &mut (usize, usize) = totals.entry(packet.basis.word()).or_default();
            *(if right { &mut total.0 } else { &mut total.1 }) += 1;
        }
        println!(
            "{} from {}: {unchanged} layouts did not change; right and wrong by what they rest on: {counts:?}",
            own.name(),
            old.name()
        );
        for (kind, _) in &import.names {
            let names = [&own, &derived].map(|it| registry(it, *kind).map(|it| it.tokens()));
            let of_server = [RegistryKind::Biome, RegistryKind::Metadata].contains(kind);
            assert!(of_server || names[0] == names[1], "{} {kind:?}", own.name());
        }
    }
    println!("together: {totals:?}");
    // Neither ids and names nor earlier changes tell which of these changed.
    let (right, wrong) = totals["unproven"];
    assert!(wrong * 25 < right, "more than four of a hundred names misled: {totals:?}");
}

/// Returns the reports of a version as its tables have them: `meaning::tests::reports` compares these with hashes of
/// the game's own.
fn reports_of(protocol: &Protocol) -> Reports {
    let packets = protocol.packets().iter();
    let packets = packets.filter(|it| **it.name() != *"legacy_server_list_ping");
    let packets = packets.map(|packet| ReportedPacket {
        state: packet.state(),
        direction: packet.direction(),
        id: packet.id().try_into().unwrap(),
        name: protocol.official_name(packet).unwrap_or(packet.name()).to_owned(),
    });
    let mut registries = BTreeMap::new();
    for name in IN_LAYOUTS {
        let mark = match name {
            "attribute" => &["generic.max_health", "max_health"][..],
            "command_argument_type" => &["brigadier:bool"],
            "consume_effect_type" => &["apply_effects"],
            "data_component_type" => &["custom_data"],
            "particle_type" => &["angry_villager"],
            "recipe_book_category" => &["crafting_building_blocks"],
            "recipe_display" => &["furnace"],
            "recipe_serializer" => &["crafting_special_repairitem"],
            "slot_display" => &["any_fuel"],
            _ => continue,
        };
        let bare = |name: &str| name.trim_start_matches("minecraft:").to_owned();
        let lists = protocol.types.iter().filter_map(|ty| match ty {
            Type::Mapper { names, .. } => {
                Some(names.iter().map(|(it, name)| (*it, bare(name))).collect::<Vec<_>>())
            }
            _ => None,
        });
        let mut marked =
            lists.filter(|list| list.iter().any(|(_, name)| mark.contains(&name.as_str())));
        registries.extend(marked.next().map(|list| (name.to_owned(), list)));
    }
    for (name, kind) in [
        ("item", RegistryKind::Item),
        ("entity_type", RegistryKind::Entity),
        ("mob_effect", RegistryKind::Effect),
        ("particle_type", RegistryKind::Particle),
        ("sound_event", RegistryKind::Sound),
        ("potion", RegistryKind::Potion),
        ("block_entity_type", RegistryKind::BlockEntity),
    ] {
        let names = registry(protocol, kind).unwrap().names();
        registries.insert(name.to_owned(), names.map(|(it, name)| (it, name.to_owned())).collect());
    }
    let blocks = registry(protocol, RegistryKind::Block).unwrap().tokens();
    Reports { packets: packets.collect(), registries, blocks }
}

fn ids(protocol: &Protocol) -> BTreeSet<(State, Direction, i32)> {
    protocol.packets().iter().map(|it| (it.state(), it.direction(), it.id())).collect()
}

/// The types of a version without the numbers by which it refers to types and fields.
struct Shapes(Vec<(String, Vec<TypeId>)>);

impl Shapes {
    fn new(protocol: &Protocol) -> Self {
        let shape = |ty: &Type| {
            let text = format!("{ty:?}");
            let (mut shape, mut parts) = (String::new(), Vec::new());
            let mut rest = text.as_str();
            while let Some((before, number)) = rest.split_once("TypeId(") {
                let (number, after) = number.split_once(')').unwrap();
                parts.push(TypeId(number.parse().unwrap()));
                shape += before;
                rest = after;
            }
            shape += rest;
            let mut parts_of_shape = shape.split("symbol: ");
            let mut plain = parts_of_shape.next().unwrap().to_owned();
            for part in parts_of_shape {
                let part = part.trim_start_matches("Some(");
                plain += part
                    .trim_start_matches(|it: char| it.is_ascii_digit())
                    .trim_start_matches("None");
            }
            (plain.replace("),", ","), parts)
        };
        Self(protocol.types.iter().map(shape).collect())
    }

    /// Returns whether two packets have the same layout.
    fn same(&self, packet: &PacketType, others: &Self, other: &PacketType) -> bool {
        let mut compared = HashSet::new();
        let mut waiting = vec![(packet.ty, other.ty)];
        while let Some(pair) = waiting.pop() {
            if !compared.insert(pair) {
                continue;
            }
            let (one, two) = (&self.0[pair.0.0 as usize], &others.0[pair.1.0 as usize]);
            if one.0 != two.0 || one.1.len() != two.1.len() {
                return false;
            }
            waiting.extend(one.1.iter().copied().zip(two.1.iter().copied()));
        }
        true
    }
}

#[test]
fn what_is_no_report_is_rejected_with_its_file_and_place() {
    let packets = r#"{ "play": { "clientbound": { "minecraft:login": { "protocol_id": 43 } } } }"#;
    let registries = r#"{ "minecraft:item": { "protocol_id": 5, "entries": { "minecraft:air": { "protocol_id": 0 } } } }"#;
    let blocks = r#"{ "minecraft:lever": { "properties": { "powered": ["true", "false"] }, "states": [
        { "id": 7, "properties": { "powered": "true" }, "default": true }, { "id": 8, "properties": { "powered": "false" } }
    ] } }"#;
    let reports = Reports::parse(packets, registries, blocks).unwrap();
    assert_eq!(reports.blocks, ["@7", "lever[powered=true,false]"]);
    assert_eq!(reports.packets.len(), 1);
    // What is put in place of a text of the first, second or third file.
    for (file, text, replacement, fault) in [
        (0, packets, "{", "packets.json: no JSON: EOF while parsing"),
        (0, packets, "{}", "packets.json: no packets"),
        (0, packets, "[]", "packets.json: expected an object"),
        (0, "play", "game", "packets.json: game: unknown state"),
        (0, "client", "left", "packets.json: play.leftbound: unknown direction"),
        (0, "43", "-1", "play.clientbound.minecraft:login: no `protocol_id`"),
        (0, "43", "65536", "play.clientbound.login: the id is above 65535"),
        (0, "login", "\u{1b}", "packets.json: no JSON: control character"),
        (0, "login", "lo gin", "`minecraft:lo gin` is not a name"),
        (
            1,
            r#""minecraft:air""#,
            r#""minecraft:a": { "protocol_id": 0 }, "minecraft:b""#,
            "registries.json: minecraft:item.entries: `a` and `b` have the same `protocol_id`",
        ),
        (1, "entries", "list", "registries.json: minecraft:item.entries: expected an object"),
        (2, "8", "9", "blocks.json: minecraft:lever: the ids of the states do not follow"),
        (2, r#", "false"]"#, "]", "not one state for each combination"),
        (2, "states", "all", "blocks.json: minecraft:lever: no list `states`"),
        (
            2,
            r#"{ "minecraft:lever""#,
            r#"{ "minecraft:air": { "states": [{ "id": 18446744073709551615 }] }, "minecraft:lever""#,
            "blocks.json: minecraft:air: a state without an `id`",
        ),
        (
            2,
            r#"{ "minecraft:lever""#,
            r#"{ "minecraft:air": { "states": [{ "id": 8 }] }, "minecraft:lever""#,
            "blocks.json: `lever` and `air` have states with the same `id`",
        ),
    ] {
        let mut files = [packets, registries, blocks].map(str::to_owned);
        files[file] = files[file].replace(text, replacement);
        let error = Reports::parse(&files[0], &files[1], &files[2]).unwrap_err().to_string();
        assert!(error.contains(fault), "{error}: {fault}");
    }
}

#[test]
fn a_new_packet_is_bytes_and_new_data_ends_the_decoding() {
    let catalog = Catalog::embedded();
    let old = catalog.find(776).unwrap().protocol;
    let mut reports = reports_of(&old);
    assert_eq!(nearest(catalog, &reports, 778).unwrap().version(), 776);
    // A description must not extend itself.
    assert_eq!(nearest(catalog, &reports, 776).unwrap().version(), 775);
    let error = import(catalog, &old, &reports, 776, "26.2").unwrap_err().to_string();
    assert!(error.contains("extends: protocol 776 is the version of the reports"), "{error}");
    let side = (State::Play, Direction::Clientbound);
    for packet in reports.packets.iter_mut().filter(|it| (it.state, it.direction) == side) {
        packet.id += 1;
    }
    reports.packets.retain(|it| it.name != "waypoint");
    let name = "debug/magic".to_owned();
    reports.packets.push(ReportedPacket { state: side.0, direction: side.1, id: 0, name });
    let particles = reports.registries.get_mut("particle_type").unwrap();
    particles.iter_mut().for_each(|(number, _)| *number += 1);
    particles.insert(0, (0, "glitter".to_owned()));
    let import = import(catalog, &old, &reports, 778, "26.4").unwrap();
    let of = |name: &str| {
        let found = import
            .packets
            .iter()
            .find(|it| it.official == name && (it.state, it.direction) == side);
        let found = found.unwrap();
        (found.basis.word(), found.name.as_str(), found.id)
    };
    assert_eq!(of("debug/magic"), ("new", "debug_magic", Some(0)));
    assert_eq!(of("waypoint"), ("gone", "tracked_waypoint", None));
    assert_eq!(of("level_particles").0, "unsure");
    assert_eq!(of("keep_alive").0, "unproven");
    let list = import.lists.iter().find(|it| it.registry == "particle_type").unwrap();
    assert_eq!((&list.added[..], list.decides), (&["glitter".to_owned()][..], true));
    let mut derived = catalog.clone();
    derived.add(None, "it", import.description.clone()).unwrap();
    let derived = derived.by_name("26.4").unwrap();
    let magic = derived.packet(side.0, side.1, 0).unwrap();
    assert!(derived.decode(magic, &[0, 1, 2, 3], 1).unwrap().get("data").is_some());
    assert!(derived.named(side.0, side.1, "tracked_waypoint").is_none());
    // A particle of the old list has its data at its new number; the new one ends the packet.
    let particle = |protocol: &Protocol, number: u8| {
        let packet = protocol.named(side.0, side.1, "world_particles").unwrap();
        let body = [&[packet.id() as u8][..], &[0; 2 + 3 * 8 + 4 * 4 + 4], &[number]].concat();
        protocol.decode(packet, &body, 1).map(|value| value.to_json()["particle"]["type"].clone())
    };
    assert_eq!(particle(&derived, 1).unwrap(), particle(&old, 0).unwrap());
    let error = particle(&derived, 0).unwrap_err().to_string();
    assert!(
        error.contains("particle") && error.contains("0 is not known in this version"),
        "{error}"
    );
}

#[test]
fn a_layout_is_confirmed_by_three_packets_that_differ() {
    let protocol = Catalog::embedded().find(776).unwrap().protocol;
    let mut proof = Proof::new(Arc::clone(&protocol));
    let (state, direction) = (State::Play, Direction::Clientbound);
    let named = |name: &str| protocol.named(state, direction, name).unwrap().id() as u8;
    let mut take =
        |body: &[u8], place: &str| proof.take(state, direction, body, || place.to_owned());
    for value in [1, 2, 3] {
        take(&[named("keep_alive"), 0, 0, 0, 0, 0, 0, 0, value], "a");
        take(&[named("custom_payload"), 1, b'a', value], "b");
        take(&[named("set_ticking_state"), 0, 0, 0, 0, 0], "c");
        take(&[named("close_window"), value, 0], "d");
        take(&[0xff, 0x01, value], "e");
    }
    take(&[named("close_window"), 1], "f");
    take(&[named("bundle_delimiter")], "g");
    let results = proof.results();
    let standing = |name: &str| {
        let found = results.iter().find(|it| {
            it.name.as_deref() == Some(name) && (it.state, it.direction) == (state, direction)
        });
        found.unwrap().standing.clone()
    };
    assert_eq!(standing("keep_alive"), Standing::Confirmed);
    assert_eq!(standing("custom_payload"), Standing::Unprovable);
    assert_eq!(standing("bundle_delimiter"), Standing::Unprovable);
    assert_eq!(standing("set_ticking_state"), Standing::TooFew(1));
    assert_eq!(standing("map_chunk"), Standing::Unseen);
    let Standing::Misfit(misfits) = standing("close_window") else { panic!("it does not fit") };
    let [misfit] = &misfits[..] else { panic!("{misfits:?}") };
    assert_eq!((misfit.at, misfit.length, misfit.packets, misfit.first.as_str()), (2, 3, 3, "d"));
    assert_eq!(misfit.cause, "1 byte left after the last field");
    let unknown = results.last().unwrap();
    assert_eq!((unknown.id, unknown.packets, unknown.standing.word()), (Some(0xff), 3, "misfit"));
}

/// Decoding keeps such forms as they are, so that they encode to the same bytes.
#[test]
fn a_form_that_no_program_writes_fits_no_layout() {
    let protocol = Catalog::embedded().find(776).unwrap().protocol;
    let (state, direction) = (State::Play, Direction::Clientbound);
    // The name of a packet, its fields, and the offset of what is odd.
    for (name, fields, at) in [
        ("set_ticking_state", &[0, 0, 0, 0, 2][..], 5),
        ("cookie_request", &[2, b'a', 0xff], 1),
        ("set_passengers", &[0, 0x80, 0], 2),
        ("set_passengers", &[0, 1, 0x85, 0], 3),
        ("remove_resource_pack", &[[2].as_slice(), &[0; 16]].concat(), 1),
    ] {
        let mut proof = Proof::new(Arc::clone(&protocol));
        let packet = protocol.named(state, direction, name).unwrap();
        let body = [&[packet.id() as u8], fields].concat();
        proof.take(state, direction, &body, String::new);
        let results = proof.results();
        let result = results.iter().find(|it| it.packets > 0).unwrap();
        let Standing::Misfit(misfits) = &result.standing else { panic!("{name}: {result:?}") };
        assert_eq!((misfits[0].at, misfits[0].packets), (at, 1), "{name}");
        assert_eq!(misfits[0].cause, "a form that no program writes");
    }
}
