use std::str::FromStr;

use thiserror::Error;

use mitmcraft_protocol::packet::{FieldPath, Glob, Packet, PathStep, glob_matches};

/// The packets and fields whose differences are ignored.
///
/// ```
/// use mitmcraft_engine::analysis::Ignore;
///
/// let mut ignore = Ignore::default();      // what differs from run to run
/// ignore.add("entity_velocity")?;          // a packet
/// ignore.add("*.metadata[*].value")?;      // a field and all in it, of every packet
/// # Ok::<(), mitmcraft_engine::analysis::IgnoreError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Ignore {
    rules: Vec<Rule>,
    /// `true` if entity ids may differ, as long as the same ids always correspond.
    pub(super) renumbered: bool,
}

/// An error from a rule that names neither a packet nor a field.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{0}` is neither a packet (`entity_*`) nor a field (`map_chunk.x`, `*.item.itemCount`)")]
pub struct IgnoreError(String);

#[derive(Debug, Clone)]
struct Rule {
    packets: Glob,
    /// The path to the ignored fields, in which `*` stands for any name; `None` for the whole packet.
    field: Option<FieldPath>,
}

impl Default for Ignore {
    /// Ignores what differs from run to run, see [`Ignore::defaults`].
    fn default() -> Self {
        let rules = DEFAULTS.iter().filter_map(|rule| rule.parse().ok()).collect();
        Self { rules, renumbered: true }
    }
}

impl Ignore {
    /// Ignores nothing.
    #[must_use]
    pub fn nothing() -> Self {
        Self { rules: Vec::new(), renumbered: false }
    }

    /// Ignores another packet (`entity_*`) or field (`map_chunk.x`), with `*` for any name.
    ///
    /// # Errors
    /// [`IgnoreError`] if `rule` is neither.
    pub fn add(&mut self, rule: &str) -> Result<(), IgnoreError> {
        self.rules.push(rule.parse()?);
        Ok(())
    }

    /// Ignores what differs between packets of one type: what [`Ignore::default`] does, and places, moves and the numbers
    /// of entities.
    #[must_use]
    pub fn unique() -> Self {
        let rules = DEFAULTS.iter().chain(&UNIQUE).filter_map(|rule| rule.parse().ok()).collect();
        Self { rules, renumbered: true }
    }

    /// The rules of [`Ignore::default`].
    #[must_use]
    pub fn defaults() -> &'static [&'static str] {
        &DEFAULTS
    }

    /// Returns `true` if the whole packet is ignored.
    pub(crate) fn packet(&self, packet: &Packet) -> bool {
        let Some(kind) = packet.kind() else { return false };
        let mut whole = self.rules.iter().filter(|rule| rule.field.is_none());
        whole.any(|rule| rule.packets.matches(kind.name()))
    }

    /// Returns `true` if all of a field of a packet, which is not within another one, is ignored.
    #[must_use]
    pub fn field(&self, packet: &Packet, name: &str) -> bool {
        let is =
            |path: &&[PathStep]| matches!(path, [PathStep::Name(glob)] if glob_matches(glob, name));
        self.packet(packet) || self.fields(packet).iter().any(is)
    }

    /// Returns the paths of the ignored fields of a packet. Their names are globs.
    pub(super) fn fields(&self, packet: &Packet) -> Vec<&[PathStep]> {
        let Some(kind) = packet.kind() else { return Vec::new() };
        let rules = self.rules.iter().filter(|rule| rule.packets.matches(kind.name()));
        rules.filter_map(|rule| rule.field.as_ref()).map(FieldPath::steps).collect()
    }
}

impl FromStr for Rule {
    type Err = IgnoreError;

    fn from_str(text: &str) -> Result<Self, IgnoreError> {
        let wrong = || IgnoreError(text.to_owned());
        let (packets, field) = match text.split_once('.') {
            Some((packets, field)) => {
                (packets, Some(FieldPath::parse(field).map_err(|_| wrong())?))
            }
            None => (text, None),
        };
        let appends = field.as_ref().is_some_and(|field| field.steps().contains(&PathStep::Append));
        let name = |char: char| char.is_alphanumeric() || "_*?:|/-".contains(char);
        if appends || packets.is_empty() || !packets.chars().all(name) {
            return Err(wrong());
        }
        Ok(Self { packets: Glob::new(packets), field })
    }
}

/// Packets and fields that differ between otherwise equal runs: packets sent at intervals, random and
/// sequential numbers, keys, and the address that the client was told to connect to.
const DEFAULTS: [&str; 37] = [
    "keep_alive",
    "update_time",
    "ping.time",
    "ping.id",
    "pong.id",
    "ping_request.id",
    "ping_response.id",
    "position.teleportId",
    "teleport_confirm.teleportId",
    "transaction.action",
    "window_click.action",
    "*.stateId",
    "login_plugin_request.messageId",
    "login_plugin_response.messageId",
    "set_protocol.serverHost",
    "set_protocol.serverPort",
    "encryption_begin.*",
    "player_info.ping",
    "player_info.data[*].ping",
    "player_info.data[*].latency",
    "player_info.data[*].chatSession",
    "chat_session_update",
    "chat_message.timestamp",
    "chat_message.salt",
    "chat_message.signature",
    "chat_message.offset",
    "chat_message.checksum",
    "chat_command*.timestamp",
    "chat_command*.salt",
    "chat_command*.argumentSignatures",
    "chat_command*.messageCount",
    "chat_command*.checksum",
    "player_chat.timestamp",
    "player_chat.salt",
    "player_chat.signature",
    "player_chat.previousMessages",
    "message_acknowledgement",
];

/// Fields whose value is another one in nearly every packet, besides [`DEFAULTS`]: where something is, how it moves, and
/// which one it is.
const UNIQUE: [&str; 21] = [
    "*.x",
    "*.y",
    "*.z",
    "*.dx",
    "*.dy",
    "*.dz",
    "*.dX",
    "*.dY",
    "*.dZ",
    "*.yaw",
    "*.pitch",
    "*.headYaw",
    "*.headPitch",
    "*.velocityX",
    "*.velocityY",
    "*.velocityZ",
    "*.location",
    "*.entityId",
    "*.objectUUID",
    "*.entityUUID",
    "*.sequence",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_rules_parse_and_invalid_ones_are_rejected() {
        assert_eq!(Ignore::default().rules.len(), DEFAULTS.len());
        assert_eq!(Ignore::unique().rules.len(), DEFAULTS.len() + UNIQUE.len());
        for text in [
            "", ".", "chat.", ".message", "a..b", "a.b[", "a.b[x]", "a.[0]", "a b", "a.b[0]c",
            "a.b[+]",
        ] {
            assert_eq!(Ignore::nothing().add(text), Err(IgnoreError(text.to_owned())));
        }
    }
}
