//! Lengths and numbers that the game refuses although the packet decodes.

use std::ops::RangeInclusive;

/// A limit that the game sets for a field: the packet, the path of the field, the protocol numbers of the
/// versions, and what they accept there.
pub(super) type Limit<T> = (&'static str, &'static str, RangeInclusive<i32>, T);

/// Returns what the game accepts in a field of a packet of a version; `None` if it is not known.
pub(super) fn find<T: Clone>(
    limits: &[Limit<T>],
    version: i32,
    packet: &str,
    path: &str,
) -> Option<T> {
    let is = |(it, field, versions, _): &&Limit<T>| {
        *it == packet && *field == path && versions.contains(&version)
    };
    limits.iter().find(is).map(|(.., accepted)| accepted.clone())
}

/// Returns the number of slots of the player's inventory.
pub(super) fn inventory_slots(version: i32) -> i64 {
    if version < V1_9 { 45 } else { 46 }
}

/// The lengths with which the game reads texts, in UTF-16 units. A longer one ends the connection: "The
/// received encoded string buffer length is longer than maximum allowed".
pub(super) const TEXTS: [Limit<usize>; 19] = [
    ("success", "username", V1_7..=ANY, 16),
    ("player_info", "data.name", V1_8..=V1_19_2, 16),
    ("player_info", "data.player.name", V1_19_3..=ANY, 16),
    ("login", "levelType", V1_7..=V1_15_2, 16),
    ("respawn", "levelType", V1_7..=V1_15_2, 16),
    ("custom_payload", "channel", V1_7..=V1_12_2, 20),
    ("open_window", "inventoryType", V1_8..=V1_13_2, 32),
    ("scoreboard_objective", "name", V1_8..=V1_17_1, 16),
    ("scoreboard_objective", "displayText", V1_8..=V1_12_2, 32),
    ("scoreboard_score", "itemName", V1_8..=V1_17_1, 40),
    ("scoreboard_score", "scoreName", V1_8..=V1_17_1, 16),
    ("scoreboard_display_objective", "name", V1_8..=V1_17_1, 16),
    ("scoreboard_team", "team", V1_8..=V1_17_1, 16),
    ("teams", "team", V1_8..=V1_17_1, 16),
    ("teams", "name", V1_8..=V1_12_2, 32),
    ("teams", "prefix", V1_8..=V1_12_2, 16),
    ("teams", "suffix", V1_8..=V1_12_2, 16),
    ("teams", "players", V1_8..=V1_17_1, 40),
    ("resource_pack_send", "hash", V1_8..=V1_20_2, 40),
];

/// The numbers with which the game finds an element of an array: any other ends the connection or crashes
/// the game with an `ArrayIndexOutOfBoundsException`.
pub(super) const NUMBERS: [Limit<RangeInclusive<i64>>; 10] = [
    ("entity_equipment", "slot", V1_8..=V1_8, 0..=4),
    ("entity_equipment", "slot", V1_9..=V1_15_2, 0..=5),
    ("player_info", "action", V1_8..=V1_19_2, 0..=4),
    ("title", "action", V1_8..=V1_10_2, 0..=4),
    ("title", "action", V1_11..=V1_16_5, 0..=5),
    ("world_border", "action", V1_8..=V1_16_5, 0..=5),
    ("combat_event", "event", V1_8..=V1_16_5, 0..=2),
    ("boss_bar", "action", V1_9..=ANY, 0..=5),
    ("boss_bar", "color", V1_9..=ANY, 0..=6),
    ("boss_bar", "dividers", V1_9..=ANY, 0..=4),
];

const ANY: i32 = i32::MAX;
const V1_7: i32 = 4;
const V1_8: i32 = 47;
const V1_9: i32 = 107;
const V1_10_2: i32 = 210;
const V1_11: i32 = 315;
const V1_12_2: i32 = 340;
const V1_13_2: i32 = 404;
const V1_15_2: i32 = 578;
const V1_16_5: i32 = 754;
const V1_17_1: i32 = 756;
const V1_19_2: i32 = 760;
const V1_19_3: i32 = 761;
const V1_20_2: i32 = 764;
