use super::packets::Packets;
use super::vocabulary::Vocabulary;
use mitmcraft_protocol::packet::Glob;
use mitmcraft_protocol::schema::{Family, Release};

/// Returns the packets that do the work of `packet` in releases that lack it, oldest first.
pub(super) fn elsewhere(packets: &Packets, vocabulary: &Vocabulary<'_>) -> Vec<&'static str> {
    let Packets::Named(packet) = packets else { return Vec::new() };
    let (packet, has) = (packet.as_str(), vocabulary.versions_with(packets));
    let releases = vocabulary.catalog.versions().map(|(version, _)| version);
    let lacking: Vec<i32> = releases
        .filter(|it| !Release::new(Family::Java, *it).is_snapshot())
        .filter(|it| has.binary_search(it).is_err())
        .collect();
    let helps = |name: &&str| {
        let versions = vocabulary.versions_with(&named(name));
        *name != packet && lacking.iter().any(|it| versions.binary_search(it).is_ok())
    };
    let groups = PACKETS.iter().filter(|group| group.contains(&packet));
    let mut found = Vec::new();
    for name in groups.flat_map(|group| group.iter().copied()).filter(helps) {
        if !found.contains(&name) {
            found.push(name);
        }
    }
    found
}

/// Returns the name of a field in versions that call it otherwise.
pub(super) fn field_elsewhere(field: &str) -> Option<&'static str> {
    FIELDS.iter().find_map(|(one, other)| match field {
        _ if field == *one => Some(*other),
        _ if field == *other => Some(*one),
        _ => None,
    })
}

fn named(name: &str) -> Packets {
    Packets::Named(Glob::new(name))
}

/// Packets that were renamed, split or joined.
const PACKETS: [&[&str]; 17] = [
    &["chat", "chat_message"],
    &["chat", "system_chat", "player_chat", "profileless_chat"],
    &["title", "set_title_text", "set_title_subtitle", "set_title_time", "action_bar"],
    &["spawn_entity_living", "spawn_entity"],
    &["named_entity_spawn", "spawn_entity"],
    &["spawn_entity_weather", "spawn_entity"],
    &["spawn_entity_painting", "spawn_entity"],
    &["scoreboard_team", "teams"],
    &["combat_event", "death_combat_event", "enter_combat_event", "end_combat_event"],
    &["resource_pack_send", "add_resource_pack", "remove_resource_pack"],
    &["world_border", "initialize_world_border"],
    &["transaction", "ping", "pong"],
    &["map_chunk_bulk", "map_chunk"],
    &["update_entity_nbt", "nbt_query_response"],
    &["named_sound_effect", "sound_effect"],
    &["player_info", "player_remove"],
    &["compress", "set_compression"],
];

/// Fields that were renamed.
const FIELDS: [(&str, &str); 1] = [("blockId", "itemId")];

#[cfg(test)]
mod tests {
    use super::*;
    use mitmcraft_protocol::schema::Catalog;

    #[test]
    fn every_name_of_the_table_is_one_of_a_version() {
        let vocabulary = Vocabulary::new(Catalog::embedded());
        for name in PACKETS.iter().flat_map(|group| group.iter()) {
            assert!(!vocabulary.versions_with(&named(name)).is_empty(), "{name}");
        }
    }

    #[test]
    fn only_packets_of_versions_without_this_one_are_given() {
        let vocabulary = Vocabulary::new(Catalog::embedded());
        assert_eq!(elsewhere(&named("chat_message"), &vocabulary), ["chat"]);
        let spoken = ["chat_message", "system_chat", "player_chat", "profileless_chat"];
        assert_eq!(elsewhere(&named("chat"), &vocabulary), spoken);
        assert_eq!(elsewhere(&named("map_chunk"), &vocabulary), [""; 0]);
        assert_eq!(elsewhere(&named("keep_alive"), &vocabulary), [""; 0]);
    }
}
