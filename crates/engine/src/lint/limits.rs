//! Lengths and numbers that the game refuses although the packet decodes.

use std::ops::RangeInclusive;

use mitmcraft_protocol::schema::Release;

/// A limit that the game sets for a field: the packet, the path of the field, the first and last
/// version, and what they accept there.
pub(super) type Limit<T> = (&'static str, &'static str, Release, Option<Release>, T);

/// Returns what the game accepts in a field of a packet of a version; `None` if it is not known.
pub(super) fn find<T: Clone>(
    limits: &[Limit<T>],
    release: Release,
    packet: &str,
    path: &str,
) -> Option<T> {
    let is = |(it, field, first, last, _): &&Limit<T>| {
        let within = *first <= release && last.is_none_or(|last| release <= last);
        *it == packet && *field == path && within
    };
    limits.iter().find(is).map(|(.., accepted)| accepted.clone())
}

/// Returns the number of slots of the player's inventory.
pub(super) fn inventory_slots(release: Release) -> i64 {
    if release < Release::V1_9 { 45 } else { 46 }
}

/// The lengths with which the game reads texts, in UTF-16 units. A longer one ends the connection: "The
/// received encoded string buffer length is longer than maximum allowed".
pub(super) const TEXTS: [Limit<usize>; 19] = [
    ("success", "username", Release::V1_7, None, 16),
    ("player_info", "data.name", Release::V1_8, Some(Release::V1_19_1), 16),
    ("player_info", "data.player.name", Release::V1_19_3, None, 16),
    ("login", "levelType", Release::V1_7, Some(Release::V1_15_2), 16),
    ("respawn", "levelType", Release::V1_7, Some(Release::V1_15_2), 16),
    ("custom_payload", "channel", Release::V1_7, Some(Release::V1_12_2), 20),
    ("open_window", "inventoryType", Release::V1_8, Some(Release::V1_13_2), 32),
    ("scoreboard_objective", "name", Release::V1_8, Some(Release::V1_17_1), 16),
    ("scoreboard_objective", "displayText", Release::V1_8, Some(Release::V1_12_2), 32),
    ("scoreboard_score", "itemName", Release::V1_8, Some(Release::V1_17_1), 40),
    ("scoreboard_score", "scoreName", Release::V1_8, Some(Release::V1_17_1), 16),
    ("scoreboard_display_objective", "name", Release::V1_8, Some(Release::V1_17_1), 16),
    ("scoreboard_team", "team", Release::V1_8, Some(Release::V1_17_1), 16),
    ("teams", "team", Release::V1_8, Some(Release::V1_17_1), 16),
    ("teams", "name", Release::V1_8, Some(Release::V1_12_2), 32),
    ("teams", "prefix", Release::V1_8, Some(Release::V1_12_2), 16),
    ("teams", "suffix", Release::V1_8, Some(Release::V1_12_2), 16),
    ("teams", "players", Release::V1_8, Some(Release::V1_17_1), 40),
    ("resource_pack_send", "hash", Release::V1_8, Some(Release::V1_20_2), 40),
];

/// The numbers with which the game finds an element of an array: any other ends the connection or crashes
/// the game with an `ArrayIndexOutOfBoundsException`.
pub(super) const NUMBERS: [Limit<RangeInclusive<i64>>; 10] = [
    ("entity_equipment", "slot", Release::V1_8, Some(Release::V1_8), 0..=4),
    ("entity_equipment", "slot", Release::V1_9, Some(Release::V1_15_2), 0..=5),
    ("player_info", "action", Release::V1_8, Some(Release::V1_19_1), 0..=4),
    ("title", "action", Release::V1_8, Some(Release::V1_10), 0..=4),
    ("title", "action", Release::V1_11, Some(Release::V1_16_4), 0..=5),
    ("world_border", "action", Release::V1_8, Some(Release::V1_16_4), 0..=5),
    ("combat_event", "event", Release::V1_8, Some(Release::V1_16_4), 0..=2),
    ("boss_bar", "action", Release::V1_9, None, 0..=5),
    ("boss_bar", "color", Release::V1_9, None, 0..=6),
    ("boss_bar", "dividers", Release::V1_9, None, 0..=4),
];
