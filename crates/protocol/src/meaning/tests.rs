//! The data files against the descriptions of all versions.

mod bytes;
mod limits;
mod reports;
mod rows;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::json;

use super::field_meanings::FILES;
use super::limits::Limit;
use super::registries::Registries;
use super::{FieldMeanings, RegistryKind, meanings};
use crate::codec::Frame;
use crate::packet::{Content, Context, Packet, Timestamp};
use crate::schema::{Catalog, Direction, Family, PacketType, Protocol, Release, State, Value};

/// All protocols of a family, from oldest to newest.
fn protocols(family: Family) -> Vec<Arc<Protocol>> {
    let catalog = Catalog::embedded();
    let mut all: Vec<_> = match family {
        Family::Java => catalog.protocols().cloned().collect(),
        _ => catalog.old().filter(|it| it.family() == family).collect(),
    };
    all.sort_by_key(|protocol| protocol.release());
    all
}

/// The paths of a packet's fields, with their types on the wire.
fn paths(protocol: &Protocol, packet: &PacketType, depth: usize) -> BTreeMap<String, String> {
    let fields = protocol.layout(packet, depth).into_iter();
    fields.map(|field| (field.path, field.wire)).collect()
}

#[test]
fn every_registry_of_every_version_is_read() {
    let mut count = 0;
    for protocol in protocols(Family::Java) {
        let version = protocol.release();
        for kind in RegistryKind::ALL {
            let Some(registry) = Registries::find(version, kind) else { continue };
            count += 1;
            for (number, name) in registry.names() {
                assert_eq!(registry.name(number), Some(name), "{version:?} {kind}");
                assert!(registry.numbers(name).any(|range| range.contains(&number)));
            }
        }
    }
    assert!(count > 300, "{count}");
}

#[test]
fn names_are_those_of_their_version() {
    let name = |number, kind, value| {
        Registries::find(Release::new(Family::Java, number), kind)?.describe(value)
    };
    for (version, kind, value, expected) in [
        (5, RegistryKind::Item, 264, "diamond"),
        (47, RegistryKind::Item, 276, "diamond_sword"),
        (47, RegistryKind::Block, 1, "stone"),
        (47, RegistryKind::Entity, 50, "creeper"),
        (47, RegistryKind::Entity, 57, "zombie_pigman"),
        (47, RegistryKind::Effect, 1, "speed"),
        (47, RegistryKind::Particle, 36, "iconcrack"),
        (340, RegistryKind::Entity, 50, "creeper"),
        (340, RegistryKind::Sound, 0, "ambient.cave"),
        (404, RegistryKind::Entity, 10, "creeper"),
        (404, RegistryKind::Effect, 30, "dolphins_grace"),
        (477, RegistryKind::Effect, 31, "bad_omen"),
        (754, RegistryKind::Effect, 30, "dolphins_grace"),
        (754, RegistryKind::Effect, 31, "bad_omen"),
        (754, RegistryKind::Effect, 32, "hero_of_the_village"),
        (754, RegistryKind::Block, 0, "air"),
        (754, RegistryKind::Block, 9, "grass_block[snowy=false]"),
        (765, RegistryKind::Effect, 0, "speed"),
        (754, RegistryKind::Sound, 600, "entity.parrot.imitate.wither_skeleton"),
        (762, RegistryKind::Sound, 200, "entity.camel.saddle"),
        (766, RegistryKind::Sound, 300, "block.chest.close"),
        (401, RegistryKind::Block, 1127, "tnt[unstable=false]"),
        (401, RegistryKind::Item, 443, "dead_brain_coral"),
        (578, RegistryKind::Enchantment, 32, "multishot"),
        (753, RegistryKind::Enchantment, 11, "soul_speed"),
        (765, RegistryKind::Effect, 26, "unluck"),
        (210, RegistryKind::Block, 217, "structure_void"),
        (204, RegistryKind::Entity, 102, "polar_bear"),
        (304, RegistryKind::Item, 450, "shulker_shell"),
        (316, RegistryKind::Item, 452, "iron_nugget"),
        (321, RegistryKind::Block, 251, "concrete"),
        (775, RegistryKind::Item, 1, "stone"),
        (776, RegistryKind::Item, 1, "stone"),
        (777, RegistryKind::Entity, 1, "acacia_chest_boat"),
    ] {
        assert_eq!(name(version, kind, value).as_deref(), Some(expected), "{version} {kind}");
    }
}

/// Numbers of the documents' versions that have no meaning of their own: identifiers, counts, positions
/// in blocks and such. A field that is neither here nor annotated fails the test.
#[test]
fn the_numbers_of_the_documents_have_a_meaning_or_need_none() {
    let alpha = Catalog::embedded().alpha(6).protocol;
    let java = Catalog::embedded().find(47).unwrap().protocol;
    let mut bare = BTreeSet::new();
    for protocol in [alpha, java] {
        for packet in protocol.packets() {
            let meanings = FieldMeanings::of(&protocol, packet);
            for (path, wire) in paths(&protocol, packet, 6) {
                let number = ["i8", "u8", "i16", "u16", "i32", "i64", "VarInt", "VarLong", "f32"];
                if number.contains(&wire.as_str())
                    && meanings.is_none_or(|it| it.any_at(&path).is_none())
                {
                    let side = match packet.direction() {
                        Direction::Clientbound => "<",
                        Direction::Serverbound => ">",
                    };
                    bare.insert(format!("{side} {} {path}", packet.name()));
                }
            }
        }
    }
    let bare: Vec<String> = bare.into_iter().collect();
    insta::assert_snapshot!(bare.join("\n"));
}

#[test]
fn a_meaning_can_depend_on_the_same_element_of_another_list() {
    let protocol = Catalog::embedded().alpha(6).protocol;
    let packet = protocol.named(State::Play, Direction::Clientbound, "multi_block_change").unwrap();
    let meanings = FieldMeanings::of(&protocol, packet).unwrap();
    let fields = Value::from_json(&json!({"types": [59, 9], "metadata": [7, 7]}));
    let text = |path| meanings.text(&fields, path, &Value::Int(7));
    assert_eq!(text("metadata[0]").as_deref(), Some("stage 8 of 8, ripe"));
    assert_eq!(text("metadata[1]"), None);
    assert_eq!(text("metadata[2]"), None);
}

#[test]
fn keys_of_metadata_are_named_by_entity() {
    let key = |number, entity, key| {
        Registries::find(Release::new(Family::Java, number), RegistryKind::Metadata)?
            .key(entity, key)
    };
    assert_eq!(key(5, "creeper", 10), Some("custom_name"));
    assert_eq!(key(5, "creeper", 2), None);
    assert_eq!(key(5, "armor_stand", 0), None);
    assert_eq!(key(47, "wolf", 12), Some("age"));
    assert_eq!(key(47, "wolf", 20), Some("collar_color"));
    assert_eq!(key(47, "wolf", 21), None);
    assert_eq!(key(47, "wolf", -1), None);
    assert_eq!(key(47, "chair", 0), None);
    assert_eq!(key(762, "wolf", 20), Some("collar_color"));
    for (number, entity, place, name) in [
        (107, "skeleton", 11, Some("type")),
        (110, "potion", 5, None),
        (110, "potion", 6, Some("item_stack")),
        (210, "horse", 16, Some("owneruuid")),
        (315, "evocation_illager", 12, Some("spell_casting")),
        (340, "evocation_illager", 13, Some("spell_casting")),
        (340, "player", 15, Some("shoulder_left")),
        (404, "zombie", 15, Some("drowned_conversion")),
        (485, "villager", 15, Some("unhappy_counter")),
        (754, "shulker", 16, Some("attach_pos")),
        (754, "shulker", 19, None),
        (758, "cat", 19, Some("type")),
        (759, "cat", 19, Some("variant")),
    ] {
        assert_eq!(key(number, entity, place), name, "{number} {entity} {place}");
    }
    // Every entity that a packet can name has keys, but in snapshots up to 1.19.3.
    for protocol in protocols(Family::Java) {
        let version = protocol.release();
        let keys = Registries::find(version, RegistryKind::Metadata);
        let is_release = protocol.name().bytes().all(|it| it == b'.' || it.is_ascii_digit());
        let has_keys = version <= Release::V26_1 && is_release;
        assert_eq!(keys.is_some(), has_keys, "{version:?}");
        let entities = Registries::find(version, RegistryKind::Entity);
        for (_, entity) in keys.and(entities).into_iter().flat_map(|it| it.names()) {
            let abstract_ = matches!(entity, "mob" | "monster");
            let first = keys.and_then(|keys| keys.key(entity, 0));
            assert!(abstract_ || first == Some("shared_flags"), "{version:?} {entity}: {first:?}");
        }
    }
}

#[test]
fn living_entities_had_other_keys_up_to_1_5() {
    let key = |number, entity, key| {
        Registries::find(Release::new(Family::Legacy, number), RegistryKind::Metadata)?
            .key(entity, key)
    };
    for (entity, number, earlier, later) in [
        ("creeper", 5, Some("custom_name"), None),
        ("creeper", 6, Some("custom_name_visible"), Some("health")),
        ("creeper", 7, None, Some("effect_color")),
        ("creeper", 8, Some("effect_color"), Some("effect_ambience")),
        ("creeper", 10, Some("arrow_count"), Some("custom_name")),
        ("creeper", 16, Some("swell_dir"), Some("swell_dir")),
        ("wither", 16, Some("health"), None),
        ("wolf", 18, Some("tail_health"), Some("tail_health")),
        ("item", 10, Some("item"), Some("item")),
        ("slime", 16, Some("size"), Some("size")),
    ] {
        for version in Catalog::embedded().legacy_versions() {
            let expected = if version < 72 { earlier } else { later };
            assert_eq!(key(version, entity, number), expected, "{version} {entity} {number}");
        }
    }
}

#[test]
fn a_packet_with_the_type_of_its_entity_names_the_keys_of_its_metadata() {
    let protocol = Catalog::embedded().find(47).unwrap().protocol;
    let creeper = json!({"entityId": 7, "type": 50, "x": 0, "y": 0, "z": 0, "yaw": 0, "pitch": 0,
        "headPitch": 0, "velocity": {"x": 0, "y": 0, "z": 0},
        "metadata": [{"key": 18, "type": 0, "value": 1}, {"key": 21, "type": 0, "value": 1}]});
    let player = json!({"entityId": 7, "playerUUID": "00000000-0000-0000-0000-000000000007", "x": 0,
        "y": 0, "z": 0, "yaw": 0, "pitch": 0, "currentItem": 0,
        "metadata": [{"key": 18, "type": 2, "value": 1}]});
    for (name, fields, expected) in [
        ("spawn_entity_living", creeper, vec!["is_ignited"]),
        ("named_entity_spawn", player, vec!["score"]),
    ] {
        let kind = protocol.named(State::Play, Direction::Clientbound, name).unwrap();
        let body = protocol.encode(kind, &Value::from_json(&fields)).unwrap();
        let context = Context::new(
            1,
            Timestamp(0),
            "127.0.0.1:50000".parse().unwrap(),
            Arc::clone(&protocol),
        );
        let content = Content::Frame(Frame::from_body(body.into()));
        let (way, state) = (Direction::Clientbound, State::Play);
        let packet = Packet::new(context.into(), 1, Timestamp(0), way, state, content);
        let keys = meanings(&packet, None).into_iter().filter(|(path, _)| path.ends_with(".key"));
        assert_eq!(keys.map(|(_, name)| name).collect::<Vec<_>>(), expected, "{name}");
    }
}

#[test]
fn the_tables_are_small() {
    let text: usize = FILES.iter().map(|(_, text)| text.len()).sum();
    let rows = [
        include_str!("data/client.toml"),
        include_str!("data/components.toml"),
        super::disconnects::FILE,
        include_str!("data/limits.toml"),
        include_str!("data/metadata.toml"),
        include_str!("data/names.toml"),
        include_str!("data/order.toml"),
        include_str!("data/redaction.toml"),
        include_str!("data/rhythm.toml"),
    ];
    let rows: usize = rows.iter().map(|text| text.len()).sum();
    let size = text + rows + super::registries::FILE.len();
    assert!(size < 216_000, "{size} bytes; docs/meanings.md has the sizes too");
}
