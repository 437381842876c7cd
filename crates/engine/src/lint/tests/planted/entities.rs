//! Errors in the metadata of entities whose type an earlier packet says.

use super::body::{Body, body};
use super::{game, judge, rule_of, seq};
use crate::lint::LintRule;
use mitmcraft_protocol::meaning::{RegistryKind, registry};
use mitmcraft_protocol::schema::Catalog;

/// Appends a value with its key and its type, marked, to the metadata of an entity.
pub(super) fn entry(version: i32, it: Body, key: u8, kind: &str) -> Body {
    let number = type_number(version, kind);
    let it = if version < 107 {
        it.marked(|it| it.raw(&[number << 5 | key]))
    } else {
        it.raw(&[key]).marked(|it| it.raw(&[number]))
    };
    match (kind, version) {
        ("int", ..107) => it.i32(1),
        ("int", _) => it.varint(1),
        ("short", _) => it.i16(1),
        ("float", _) => it.f32(1.0),
        ("string", _) => it.text("a"),
        // An optional name that is absent.
        _ => it.i8(0),
    }
}

/// Returns the number of a type by its name, in each era.
fn type_number(version: i32, kind: &str) -> u8 {
    let names: &[&str] = match version {
        ..107 => &["byte", "short", "int", "float", "string"],
        107..393 => &["byte", "int", "float", "string", "component", "item", "boolean"],
        393..761 => &["byte", "int", "float", "string", "component", "name", "item", "boolean"],
        _ => &["byte", "int", "long", "float", "string", "component", "name", "item", "boolean"],
    };
    names.iter().position(|it| *it == kind).unwrap() as u8
}

/// The numbers of keys in 1.9.4, 1.11.2, 1.12.2, 1.13.2, 1.14.4, 1.15.2, 1.16.5, 1.18.2, 1.19.2, 1.19.3 and 1.19.4.
const VERSIONS: [i32; 11] = [110, 316, 340, 404, 498, 578, 754, 758, 760, 761, 762];

/// Entities, the number of a key in each of these versions, its type, and another one.
///
/// Sources: for 1.9.4 EntityDataIndex1_9 of ViaVersion/ViaVersion@03e0f231, and for the others what its rewriters
/// of entities add to it: gravity with 1.10 (5), the pose (6) and where one sleeps (12) with 1.14, stingers with
/// 1.15 (11), freezing with 1.17 (7), and what they say of the class itself.
const ENTITIES: [(&str, [u8; 11], &str, &str); 9] = [
    ("creeper", [11, 12, 12, 12, 14, 15, 15, 16, 16, 16, 16], "int", "byte"),
    ("enderman", [12, 13, 13, 13, 15, 16, 16, 17, 17, 17, 17], "boolean", "byte"),
    ("pig", [12, 13, 13, 13, 15, 16, 16, 17, 17, 17, 17], "boolean", "int"),
    ("rabbit", [12, 13, 13, 13, 15, 16, 16, 17, 17, 17, 17], "int", "byte"),
    ("sheep", [12, 13, 13, 13, 15, 16, 16, 17, 17, 17, 17], "byte", "int"),
    ("slime", [11, 12, 12, 12, 14, 15, 15, 16, 16, 16, 16], "int", "byte"),
    ("zombie", [11, 12, 12, 12, 14, 15, 15, 16, 16, 16, 16], "boolean", "byte"),
    ("boat", [7, 8, 8, 8, 9, 9, 9, 10, 10, 10, 10], "float", "int"),
    ("wither_skull", [5, 6, 6, 6, 7, 7, 7, 8, 8, 8, 8], "boolean", "byte"),
];

#[test]
fn values_of_another_type_than_their_entity_has_are_found_since_1_9() {
    for (entity, keys, good, bad) in ENTITIES {
        for (version, key) in VERSIONS.into_iter().zip(keys) {
            let planted = |kind: &str| {
                let metadata = entry(version, body().varint(9), key, kind).raw(&[0xff]);
                let report =
                    judge(version, &[spawned(version, entity), game("entity_metadata", metadata)]);
                let found = report.findings.iter();
                found.map(|it| (rule_of(it), seq(it), it.span.clone())).collect::<Vec<_>>()
            };
            let place = format!("{entity} of {version}");
            assert_eq!(planted(good), [], "{place}");
            assert_eq!(planted(bad), [(LintRule::MetadataInvalid, 2, Some(3..4))], "{place}");
        }
    }
}

#[test]
fn attributes_of_what_does_not_live_are_found() {
    for version in VERSIONS {
        for (entity, is_bad) in [("zombie", false), ("boat", true)] {
            let none = body().varint(9);
            let none = if version < 755 { none.i32(0) } else { none.varint(0) };
            let packets = [spawned(version, entity), game("entity_update_attributes", none)];
            let report = judge(version, &packets);
            let found: Vec<_> =
                report.findings.iter().map(|it| (rule_of(it), it.certain, seq(it))).collect();
            let wanted = is_bad.then_some((LintRule::AttributesInvalid, true, 2));
            assert_eq!(found, Vec::from_iter(wanted), "{entity} of {version}");
        }
    }
}

#[test]
fn keys_that_an_entity_does_not_have_are_found_since_1_20_5() {
    for (version, wanted) in
        [(765, None), (766, Some(true)), (769, Some(true)), (772, Some(true)), (775, Some(false))]
    {
        let metadata = entry(version, body().varint(9), 60, "byte").raw(&[0xff]);
        let report =
            judge(version, &[spawned(version, "zombie"), game("entity_metadata", metadata)]);
        let found: Vec<_> = report
            .findings
            .iter()
            .map(|it| (rule_of(it), it.certain, seq(it), it.span.clone()))
            .collect();
        let wanted = wanted.map(|certain| (LintRule::MetadataInvalid, certain, 2, Some(2..3)));
        assert_eq!(found, Vec::from_iter(wanted), "{version}");
    }
}

/// The packet with which an entity of that type and the number 9 appears.
fn spawned(version: i32, entity: &str) -> super::Packet {
    let object = match entity {
        "boat" => Some(1),
        "wither_skull" => Some(66),
        _ => None,
    };
    let protocol = Catalog::embedded().find(version).unwrap().protocol;
    let entities = registry(&protocol, RegistryKind::Entity).unwrap();
    let number = || i32::try_from(*entities.numbers(entity).next().unwrap().start()).unwrap();
    let start = body().varint(9).uuid();
    let start = match object {
        Some(object) if version < 477 => start.i8(object),
        _ if version < 315 => start.i8(number() as i8),
        _ => start.varint(number()),
    };
    let place = start.f64(0.0).f64(64.0).f64(0.0);
    if version >= 773 {
        return game("spawn_entity", place.i8(0).i8(0).i8(0).i8(0).varint(0));
    }
    let place = place.i8(0).i8(0);
    let speed = |it: Body| it.i16(0).i16(0).i16(0);
    if version >= 759 {
        return game("spawn_entity", speed(place.i8(0).varint(0)));
    }
    if object.is_some() {
        return game("spawn_entity", speed(place.i32(0)));
    }
    let spawned = speed(place.i8(0));
    // With metadata up to 1.14.4, here none.
    game("spawn_entity_living", if version < 573 { spawned.raw(&[0xff]) } else { spawned })
}
