//! The names of numbers against the game's own reports, of which `reports.txt` has hashes. `tools/import_tables` writes
//! that file; `docs/protocol-tables.md` says from what.

use std::collections::BTreeMap;

use crate::meaning::RegistryKind;
use crate::meaning::registries::Registries;
use crate::schema::types::Type;
use crate::schema::{Catalog, Direction, Protocol, State};

/// A line of the file: how many names a list has, and their hash.
type Hashed = (usize, u64);

#[test]
fn names_of_numbers_are_those_of_the_games_reports() {
    let mut compared = BTreeMap::new();
    let mut faults = Vec::new();
    for line in include_str!("reports.txt").lines().filter(|line| !line.starts_with('#')) {
        let words: Vec<&str> = line.split(' ').collect();
        let [version, list, count, hash] = words[..] else { panic!("{line}") };
        let expected = (count.parse().unwrap(), u64::from_str_radix(hash, 16).unwrap());
        let found = Catalog::embedded().find(version.parse().unwrap()).unwrap();
        assert!(found.exact, "{line}");
        let lists = match list.split(':').collect::<Vec<_>>()[..] {
            ["names", kind] => vec![names(&found.protocol, kind)],
            ["packets", state, direction] => {
                let (state, direction) = (state.parse().unwrap(), direction.parse().unwrap());
                vec![packets(&found.protocol, state, direction)]
            }
            [registry] => mapped(&found.protocol, registry),
            _ => panic!("{line}"),
        };
        let kind = list.split(':').next().unwrap();
        *compared.entry(kind.to_owned()).or_insert(0) += lists.len();
        if lists.iter().any(|list| *list != expected) {
            faults.push(format!("{line}: {lists:x?}"));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    // Registries that only some versions have names for in their layouts.
    let least = [
        ("attribute", 11),
        ("command_argument_type", 18),
        ("consume_effect_type", 9),
        ("data_component_type", 11),
        ("names", 350),
        ("packets", 90),
        ("particle_type", 11),
        ("recipe_serializer", 2),
        ("slot_display", 9),
    ];
    for (kind, least) in least {
        assert!(compared[kind] >= least, "{kind}: {compared:?}");
    }
}

/// The names of a kind, each state of a block on its own.
fn names(protocol: &Protocol, kind: &str) -> Hashed {
    let kind = RegistryKind::ALL.into_iter().find(|it| it.name() == kind).unwrap();
    let Some(registry) = Registries::find(protocol.release(), kind) else { return (0, 0) };
    let ranges = registry.names().flat_map(|(first, name)| {
        registry.numbers(name).find(|range| *range.start() == first).unwrap()
    });
    hashed(ranges.map(|number| (number, registry.describe(number).unwrap())))
}

/// The official names of packets.
fn packets(protocol: &Protocol, state: State, direction: Direction) -> Hashed {
    let packets = protocol.packets().iter();
    let mut packets: Vec<_> = packets
        .filter(|it| (it.state(), it.direction()) == (state, direction))
        .filter(|it| **it.name() != *"legacy_server_list_ping")
        .map(|it| (it.id().into(), protocol.official_name(it).unwrap_or(it.name()).to_owned()))
        .collect();
    packets.sort_unstable();
    hashed(packets.into_iter())
}

/// The lists of names in layouts that have a name which only this registry has.
fn mapped(protocol: &Protocol, registry: &str) -> Vec<Hashed> {
    let mark = match registry {
        "attribute" => ["generic.max_health", "max_health"],
        "command_argument_type" => ["brigadier:bool"; 2],
        "consume_effect_type" => ["apply_effects"; 2],
        "data_component_type" => ["custom_data"; 2],
        "particle_type" => ["angry_villager"; 2],
        "recipe_book_category" => ["crafting_building_blocks"; 2],
        "recipe_display" => ["furnace"; 2],
        "recipe_serializer" => ["crafting_special_repairitem"; 2],
        "slot_display" => ["any_fuel"; 2],
        _ => panic!("{registry}"),
    };
    let bare = |name: &str| name.trim_start_matches("minecraft:").to_owned();
    let lists = protocol.types.iter().filter_map(|ty| match ty {
        Type::Mapper { names, .. } => {
            Some(names.iter().map(|(number, name)| (*number, bare(name))).collect::<Vec<_>>())
        }
        _ => None,
    });
    let marked = lists.filter(|list| list.iter().any(|(_, name)| mark.contains(&name.as_str())));
    marked.map(|list| hashed(list.into_iter())).collect()
}

/// FNV-1a of the numbers and names.
fn hashed(names: impl Iterator<Item = (i64, String)>) -> Hashed {
    let (mut count, mut hash) = (0, 0xcbf2_9ce4_8422_2325_u64);
    for (number, name) in names {
        count += 1;
        for byte in format!("{number} {name}\n").bytes() {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        }
    }
    (count, hash)
}
