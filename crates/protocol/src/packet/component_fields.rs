use crate::schema::{Direction, PacketType, Release};

/// Returns whether the text at `path` (names separated by dots, without indexes) in a packet of a
/// version holds a chat component in JSON. The descriptions do not tell it from other text.
pub fn is_component(packet: &PacketType, release: Release, path: &str) -> bool {
    let name = &**packet.name();
    // Clients send components only in signs.
    (packet.direction() == Direction::Clientbound || name == "update_sign")
        && COMPONENTS
            .iter()
            .any(|(it, fields, since)| *it == name && *since <= release && fields.contains(&path))
}

/// Iterates over the names of all packets that hold chat components in JSON in any version.
pub fn component_packets() -> impl Iterator<Item = &'static str> {
    COMPONENTS.iter().map(|(name, ..)| *name)
}

/// The packets with components in JSON, their fields, and the first version whose text is JSON.
///
/// In the play and configuration states, the same fields are NBT since 1.20.3.
const COMPONENTS: [(&str, &[&str], Release); 25] = [
    ("action_bar", &["text"], Release::V1_7),
    (
        "advancements",
        &[
            "advancementMapping.value.displayData.title",
            "advancementMapping.value.displayData.description",
        ],
        Release::V1_7,
    ),
    ("boss_bar", &["title"], Release::V1_7),
    ("chat", &["message"], Release::V1_7),
    ("chat_preview", &["message"], Release::V1_7),
    ("combat_event", &["message"], Release::V1_9),
    ("death_combat_event", &["message"], Release::V1_7),
    ("disconnect", &["reason"], Release::V1_7),
    ("kick_disconnect", &["reason"], Release::V1_7),
    ("map", &["icons.displayName"], Release::V1_7),
    ("open_window", &["windowTitle"], Release::V1_8),
    (
        "player_chat",
        &[
            "networkName",
            "networkTargetName",
            "unsignedChatContent",
            "senderName",
            "senderTeam",
            "signedChatContent",
            "formattedMessage",
        ],
        Release::V1_7,
    ),
    ("player_info", &["data.displayName"], Release::V1_7),
    ("playerlist_header", &["header", "footer"], Release::V1_7),
    ("profileless_chat", &["message", "name", "target"], Release::V1_7),
    ("resource_pack_send", &["promptMessage"], Release::V1_7),
    ("scoreboard_objective", &["displayText"], Release::V1_13),
    ("server_data", &["motd"], Release::V1_7),
    ("set_title_subtitle", &["text"], Release::V1_7),
    ("set_title_text", &["text"], Release::V1_7),
    ("system_chat", &["content"], Release::V1_7),
    ("tab_complete", &["matches.tooltip"], Release::V1_7),
    ("teams", &["name", "prefix", "suffix"], Release::V1_13),
    ("title", &["text"], Release::V1_7),
    ("update_sign", &["text1", "text2", "text3", "text4"], Release::V1_8),
];
