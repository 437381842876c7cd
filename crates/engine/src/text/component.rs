use std::borrow::Cow;

use serde_json::Value as Json;

use super::payload::payload_text;
use mitmcraft_protocol::meaning::disconnect_words;
use mitmcraft_protocol::packet::{Packet, StyledText};
use mitmcraft_protocol::schema::{Direction, Family, Name, Role, Scalar};

/// Finds the texts that players read among the fields of a packet.
#[derive(Debug, Clone, Copy)]
pub(super) struct Components {
    /// `true` if texts may be components in JSON.
    json: bool,
    /// `true` if texts may have `§` codes, which are formatting and no characters.
    codes: bool,
    /// `true` if bytes are the payload of a plugin channel without a known layout, which may be text.
    payload: bool,
}

/// A text component, as a player reads it.
#[derive(Debug)]
pub(super) struct Component {
    pub(super) text: StyledText,
    /// The version and the players of a status, in words.
    pub(super) about: Option<String>,
}

impl Components {
    /// Components are in JSON if the packet comes from a server; in NBT they are told by their form.
    /// Texts of players are shown as they are.
    pub(super) fn of(packet: &Packet) -> Self {
        let clientbound = packet.direction() == Direction::Clientbound;
        let sign = || packet.kind().is_some_and(|kind| &**kind.name() == "update_sign");
        let java = packet.context().protocol.family() == Family::Java;
        let payload = packet.role() == Some(Role::PluginMessage) && !packet.has_payload();
        Self { json: java && (clientbound || sign()), codes: !java && clientbound, payload }
    }

    /// Returns the component that a field holds.
    pub(super) fn read(self, scalar: &Scalar<'_>, name: Option<&Name>) -> Option<Component> {
        let typed = name.is_some_and(|name| TYPED.contains(&&**name));
        let found = match *scalar {
            Scalar::Text(bytes, encoding) if bytes.len() <= MAX_LENGTH && !typed => {
                self.text(&encoding.decode_lossy(bytes))
            }
            Scalar::Nbt { bytes, .. } if bytes.len() <= MAX_LENGTH => {
                let text = StyledText::from_nbt(&scalar.nbt()?.root)?;
                Some(Component { text, about: None })
            }
            Scalar::Bytes(bytes) if self.payload => {
                Some(Component { text: StyledText::unstyled(payload_text(bytes)?), about: None })
            }
            _ => None,
        };
        found.map(|it| Component { text: in_english(it.text), ..it })
    }

    fn text(self, raw: &str) -> Option<Component> {
        if self.codes && raw.contains('§') {
            return Some(Component { text: StyledText::from_codes(raw), about: None });
        }
        if !self.json || !raw.trim_start().starts_with(['{', '[', '"']) {
            return None;
        }
        let json: Json = serde_json::from_str(raw).ok()?;
        if let Some(text) = StyledText::from_json(&json) {
            return Some(Component { text, about: None });
        }
        status(&json)
    }
}

/// Returns a component that is only the key of a disconnect or of a refusal in English, with the key behind it.
pub(super) fn in_english(text: StyledText) -> StyledText {
    match disconnect_words(&text.plain()) {
        Cow::Owned(words) => StyledText::unstyled(words),
        Cow::Borrowed(_) => text,
    }
}

/// Reads the status that a Server List Ping returns.
fn status(json: &Json) -> Option<Component> {
    let players = json.get("players")?;
    let text = json.get("description").and_then(StyledText::from_json).unwrap_or_default();
    let version = json["version"]["name"].as_str().unwrap_or("unknown version");
    let number = |name: &str| players[name].as_i64().unwrap_or_default();
    let about = format!("{version}, {} of {} players", number("online"), number("max"));
    Some(Component { text, about: Some(about) })
}

/// Fields with text that a player has typed, which is no component whatever it looks like.
const TYPED: [&str; 2] = ["plainMessage", "match"];

/// Greatest length in bytes of a component that is read for its text.
const MAX_LENGTH: usize = 64 << 10;
