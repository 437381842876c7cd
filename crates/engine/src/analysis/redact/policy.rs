//! Decides which values belong to the game and are kept.

use mitmcraft_protocol::meaning::{GameWords, Kept, Part};
use mitmcraft_protocol::packet::{Packet, TextColor};

/// The position of a value in a packet.
#[derive(Debug, Clone, Copy)]
pub(super) struct FieldContext<'a> {
    /// `None` if the type of the packet is not known.
    pub(super) kept: Option<Kept>,
    /// The name of the innermost field.
    pub(super) name: &'a str,
}

impl FieldContext<'_> {
    /// Returns the position of the packet's fields as a whole.
    pub(super) fn of(packet: &Packet) -> Self {
        let release = packet.context().protocol.release();
        Self { kept: packet.kind().map(|kind| Kept::of(release, kind)), name: "" }
    }

    /// Returns `true` if redaction keeps a part, because its values are those of the game: sounds, names of plugin
    /// channels, registries, blocks.
    pub(super) fn keeps(self, part: Part) -> bool {
        self.kept.is_some_and(|kept| kept.has(part, self.name))
    }
}

/// Returns `true` if redaction keeps the payload of a plugin channel, which is harmless: brands and lists of channels.
pub(super) fn keeps_payload(channel: &str) -> bool {
    GameWords::get().channels.iter().any(|it| it == channel)
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
        "action" | "type" => GameWords::get().actions.iter().any(|it| it == text),
        "translate" | "keybind" => text.contains('.') && text.chars().all(fits),
        _ => false,
    }
}

/// Returns `true` if JSON of the game has members of that name.
pub(super) fn is_known_key(key: &str) -> bool {
    GameWords::get().members.iter().any(|it| it == key)
}
