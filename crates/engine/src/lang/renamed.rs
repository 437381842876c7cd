use super::packets::Packets;
use super::vocabulary::Vocabulary;
use mitmcraft_protocol::meaning::{other_fields, other_packets};
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
        lacking.iter().any(|it| versions.binary_search(it).is_ok())
    };
    other_packets(packet).into_iter().filter(helps).collect()
}

/// Returns the name of a field in releases that call it otherwise.
pub(super) fn field_elsewhere(field: &str) -> Option<&'static str> {
    let others = other_fields(field).into_iter();
    others.filter(|(_, first)| !first.is_snapshot()).map(|(name, _)| name).next()
}

fn named(name: &str) -> Packets {
    Packets::Named(Glob::new(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use mitmcraft_protocol::schema::Catalog;

    #[test]
    fn only_packets_of_versions_without_this_one_are_given() {
        let vocabulary = Vocabulary::new(Catalog::embedded());
        assert_eq!(elsewhere(&named("chat_message"), &vocabulary), ["chat"]);
        let spoken = ["chat_message", "player_chat", "system_chat", "profileless_chat"];
        assert_eq!(elsewhere(&named("chat"), &vocabulary), spoken);
        assert_eq!(elsewhere(&named("map_chunk"), &vocabulary), [""; 0]);
        assert_eq!(elsewhere(&named("keep_alive"), &vocabulary), [""; 0]);
    }
}
