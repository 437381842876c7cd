//! Decides which values belong to the game and are kept.

use mitmcraft_protocol::packet::{Packet, TextColor};
use mitmcraft_protocol::schema::{Family, State};

/// The position of a value in a packet.
#[derive(Debug, Clone, Copy)]
pub(super) struct FieldContext<'a> {
    pub(super) family: Family,
    pub(super) state: State,
    pub(super) packet: &'a str,
    /// The name of the innermost field.
    pub(super) name: &'a str,
}

impl<'a> FieldContext<'a> {
    /// Returns the position of the packet's fields as a whole.
    pub(super) fn of(packet: &'a Packet) -> Self {
        Self {
            family: packet.context().protocol.family(),
            state: packet.state(),
            packet: packet.kind().map_or("", |packet| packet.name()),
            name: "",
        }
    }

    /// Returns `true` for texts of the game: a sound, a dimension, the name of a plugin channel.
    pub(super) fn keeps_text(self) -> bool {
        if self.family == Family::Query {
            return ["key", "gameType", "numPlayers", "maxPlayers"].contains(&self.name);
        }
        TEXT_FIELDS.contains(&self.name)
            || PACKETS.contains(&self.packet)
            || PACKET_FIELDS.contains(&(self.packet, self.name))
    }

    /// Returns `true` for NBT of the game: registries, height maps.
    pub(super) fn keeps_nbt(self) -> bool {
        NBT_FIELDS.contains(&self.name)
            || PACKETS.contains(&self.packet)
            || self.packet == "login" && self.name == "dimension"
            || self.packet == "respawn" && self.name == "dimension"
    }

    /// Returns `true` for bytes of the world: blocks, biomes, light, maps.
    pub(super) fn keeps_bytes(self) -> bool {
        self.state == State::Play && BYTE_PACKETS.contains(&self.packet)
            || self.family == Family::Query && ["header", "separator"].contains(&self.name)
    }
}

/// Returns `true` if the payload of a plugin channel is harmless: brands and lists of channels.
pub(super) fn keeps_payload(channel: &str) -> bool {
    CHANNELS.contains(&channel)
}

/// Returns `true` for names in the game's namespace: `minecraft:stone`.
pub(super) fn is_resource(text: &str) -> bool {
    let fits =
        |char: char| char.is_ascii_lowercase() || char.is_ascii_digit() || "_.-/".contains(char);
    text.strip_prefix("minecraft:").is_some_and(|name| name.chars().all(fits))
}

/// Returns `true` if a member of JSON or NBT holds keywords of the game, and the text is one.
pub(super) fn is_own_value(key: &str, text: &str) -> bool {
    let fits =
        |char: char| char.is_ascii_lowercase() || char.is_ascii_digit() || "_.:/#".contains(char);
    match key {
        "color" => text == "reset" || TextColor::from_name(text).is_some(),
        "action" | "type" => ACTIONS.contains(&text),
        "translate" | "keybind" => text.contains('.') && text.chars().all(fits),
        _ => false,
    }
}

/// Returns `true` if JSON of the game has members of that name.
pub(super) fn is_known_key(key: &str) -> bool {
    KEYS.contains(&key)
}

/// Packets whose whole content belongs to the game.
const PACKETS: [&str; 11] = [
    "registry_data",
    "tags",
    "feature_flags",
    "select_known_packs",
    "declare_recipes",
    "unlock_recipes",
    "recipe_book_add",
    "craft_recipe_request",
    "craft_recipe_response",
    "statistics",
    "game_rule_values",
];

const TEXT_FIELDS: [&str; 14] = [
    "channel",
    "parser",
    "suggestionType",
    "registry",
    "levelType",
    "worldType",
    "soundName",
    "resource",
    "inventoryType",
    "nameTagVisibility",
    "collisionRule",
    "positionType",
    "locale",
    "jointType",
];

const PACKET_FIELDS: [(&str, &str); 6] = [
    ("entity_update_attributes", "key"),
    ("entity_update_attributes", "name"),
    ("update_attributes", "key"),
    ("spawn_entity_painting", "title"),
    ("scoreboard_objective", "type"),
    ("kick_disconnect", "protocol"),
];

const NBT_FIELDS: [&str; 4] = ["dimensionCodec", "codec", "heightmaps", "factorCodec"];

const BYTE_PACKETS: [&str; 5] =
    ["map_chunk", "map_chunk_bulk", "chunk_biomes", "map", "multi_block_change"];

const CHANNELS: [&str; 6] = [
    "MC|Brand",
    "minecraft:brand",
    "REGISTER",
    "minecraft:register",
    "UNREGISTER",
    "minecraft:unregister",
];

const ACTIONS: [&str; 18] = [
    "open_url",
    "run_command",
    "suggest_command",
    "change_page",
    "copy_to_clipboard",
    "show_dialog",
    "custom",
    "show_text",
    "show_item",
    "show_entity",
    "show_achievement",
    "text",
    "translatable",
    "score",
    "selector",
    "keybind",
    "nbt",
    "object",
];

/// Members of chat components, server status, and other JSON of the game.
const KEYS: [&str; 58] = [
    "text",
    "extra",
    "with",
    "translate",
    "fallback",
    "color",
    "shadow_color",
    "bold",
    "italic",
    "underlined",
    "strikethrough",
    "obfuscated",
    "font",
    "insertion",
    "clickEvent",
    "hoverEvent",
    "click_event",
    "hover_event",
    "action",
    "value",
    "contents",
    "url",
    "command",
    "page",
    "selector",
    "separator",
    "keybind",
    "score",
    "name",
    "objective",
    "nbt",
    "block",
    "entity",
    "storage",
    "interpret",
    "type",
    "id",
    "uuid",
    "count",
    "components",
    "tag",
    "version",
    "protocol",
    "players",
    "max",
    "online",
    "sample",
    "description",
    "enforcesSecureChat",
    "previewsChat",
    "preventsChatReports",
    "modinfo",
    "modList",
    "modid",
    "forgeData",
    "profileId",
    "profileName",
    "properties",
];
