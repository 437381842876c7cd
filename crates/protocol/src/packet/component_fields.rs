use crate::schema::{Direction, PacketType};

/// Returns whether the text at `path` (names separated by dots, without indexes) in a packet of a
/// version holds a chat component in JSON. The descriptions do not tell it from other text.
pub fn is_component(packet: &PacketType, version: i32, path: &str) -> bool {
    let name = &**packet.name();
    // Clients send components only in signs.
    (packet.direction() == Direction::Clientbound || name == "update_sign")
        && COMPONENTS
            .iter()
            .any(|(it, fields, since)| *it == name && *since <= version && fields.contains(&path))
}

/// Iterates over the names of all packets that hold chat components in JSON in any version.
pub fn component_packets() -> impl Iterator<Item = &'static str> {
    COMPONENTS.iter().map(|(name, ..)| *name)
}

/// The packets with components in JSON, their fields, and the first version whose text is JSON.
///
/// In the play and configuration states, the same fields are NBT since 1.20.3.
const COMPONENTS: [(&str, &[&str], i32); 25] = [
    ("action_bar", &["text"], 0),
    (
        "advancements",
        &[
            "advancementMapping.value.displayData.title",
            "advancementMapping.value.displayData.description",
        ],
        0,
    ),
    ("boss_bar", &["title"], 0),
    ("chat", &["message"], 0),
    ("chat_preview", &["message"], 0),
    ("combat_event", &["message"], V1_9),
    ("death_combat_event", &["message"], 0),
    ("disconnect", &["reason"], 0),
    ("kick_disconnect", &["reason"], 0),
    ("map", &["icons.displayName"], 0),
    ("open_window", &["windowTitle"], V1_8),
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
        0,
    ),
    ("player_info", &["data.displayName"], 0),
    ("playerlist_header", &["header", "footer"], 0),
    ("profileless_chat", &["message", "name", "target"], 0),
    ("resource_pack_send", &["promptMessage"], 0),
    ("scoreboard_objective", &["displayText"], V1_13),
    ("server_data", &["motd"], 0),
    ("set_title_subtitle", &["text"], 0),
    ("set_title_text", &["text"], 0),
    ("system_chat", &["content"], 0),
    ("tab_complete", &["matches.tooltip"], 0),
    ("teams", &["name", "prefix", "suffix"], V1_13),
    ("title", &["text"], 0),
    ("update_sign", &["text1", "text2", "text3", "text4"], V1_8),
];

const V1_8: i32 = 47;
const V1_9: i32 = 107;
const V1_13: i32 = 393;
