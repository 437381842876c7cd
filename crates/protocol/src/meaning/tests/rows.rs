//! The rows of the data files against the descriptions of all versions.

use super::*;
use crate::meaning::rows::{ANY, Row, Table};

/// Checks that every packet and field that rows name is in every version of the row, and that there is such
/// a version.
fn check<T: std::fmt::Debug>(table: &Table<T>) {
    assert!(table.iter().next().is_some());
    for (place, packet, fields) in table.iter() {
        let protocols = protocols(place.0);
        for row in fields.rows.values().flatten() {
            let name = format!("{packet}.{} of {place:?}", row.path);
            let within: Vec<_> =
                protocols.iter().filter(|it| row.versions.contains(it.release())).collect();
            assert!(!within.is_empty(), "{name}: no version from {:?} on", row.versions);
            assert!(is_known(row.versions.first, &protocols), "{name}: {:?}", row.versions);
            let last = row.versions.last.unwrap_or(row.versions.first);
            assert!(is_known(last, &protocols), "{name}: {:?}", row.versions);
            let lacking = within.iter().find(|it| !has(it, place, packet, row));
            match packet {
                ANY => assert!(within.iter().any(|it| has(it, place, packet, row)), "{name}"),
                _ => assert!(lacking.is_none(), "{name}: not in {}", lacking.unwrap().version()),
            }
        }
    }
}

/// Returns whether a version exists, so that none of its family is meant to be before or after it by mistake.
fn is_known(release: Release, protocols: &[Arc<Protocol>]) -> bool {
    protocols.iter().any(|it| it.release() == release)
}

/// Returns whether a version has the packet and the field of a row.
fn has<T>(
    protocol: &Protocol,
    (_, state, direction): (Family, State, Direction),
    packet: &str,
    row: &Row<T>,
) -> bool {
    let of_place = |it: &&PacketType| (it.state(), it.direction()) == (state, direction);
    let mut packets = protocol.packets().iter().filter(of_place);
    if packet == ANY {
        let leaf = row.path.trim_start_matches(ANY);
        let depth = 5 + leaf.matches('.').count();
        return packets.any(|it| paths(protocol, it, depth).keys().any(|it| it.ends_with(leaf)));
    }
    let Some(kind) = packets.find(|it| **it.name() == *packet) else { return false };
    match row.path.strip_prefix("payload.") {
        _ if row.path.is_empty() => true,
        Some(path) => {
            let mut layouts = protocol.payload_layouts(kind);
            layouts.any(|layout| paths(protocol, layout, 6).contains_key(path))
        }
        None => paths(protocol, kind, 7).contains_key(&row.path),
    }
}

#[test]
fn every_row_is_of_a_packet_and_a_field_that_every_version_of_its_range_has() {
    check(crate::meaning::field_meanings::table());
    check(crate::meaning::limits::table());
    check(crate::meaning::components::table());
}
